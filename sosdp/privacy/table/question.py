"""The public question: which statistics of which columns, of all records or of each group.

Proof: docs/proofs/tables.md
"""

from __future__ import annotations

import contextlib
import datetime as dates
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.contributions import Unit, unit_of
from sosdp.privacy.guarantee.adjacency import (
    ONE_RECORD_ADDED,
    ONE_RECORD_REPLACED,
    ONE_USER_ADDED,
    ONE_USER_REPLACED,
    Adjacency,
)
from sosdp.privacy.inputs import as_float, plain
from sosdp.privacy.schema import Column, Schema, SchemaError, day
from sosdp.privacy.table.quantiles import Quantiles
from sosdp.privacy.table.statistics import Count, Histogram, Mean, SampledMean, Statistic, Sum

INTERVALS = ("noise", "sample", "none")
"""For the statistic of this table; of what its records are a sample of; no interval."""

LARGEST = 1e100
"""Bounds beyond it, nearer to 0 than one over it, or closer together, are refused."""

LAST_DAY = float(dates.date.max.toordinal() - dates.date(1970, 1, 1).toordinal())
"""Bounds of dates beyond it are refused: rounded outwards they are in no calendar."""

BINS = 10
FEW = 20
FINEST = 10**6
"""Shares of quantiles are the nearest fractions with at most this denominator."""


@dataclass(frozen=True)
class Groups:
    """By which column the records are divided.

    Attributes:
        column: its name. public: the public keys, each of which has rows; None where keys are released, too.
        names: what an entry may stand for: the categories of the schema, also those that are no keys, else
            the public keys.
    """

    column: str
    public: tuple[str, ...] | None
    names: tuple[str, ...] | None


@dataclass(frozen=True)
class Question:
    """What is asked of a table; public.

    Attributes:
        schema: of the table. unit: what neighbours differ in. groups: None for all records together.
        statistics: what is asked of every group. interval: one of INTERVALS, what low and high are for.
    """

    schema: Schema
    unit: Unit
    groups: Groups | None = None
    statistics: tuple[Statistic, ...] = ()
    interval: str = "noise"

    @property
    def names(self) -> list[str]:
        """What is asked, for people: `count`, `mean(age)`."""
        return [f"{s.name}({s.column.name})" if s.column else s.name for s in self.statistics]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are read as numbers, each once."""
        result = {s.column.name: s.column for s in self.statistics if s.column is not None}
        return tuple(result.values())

    @property
    def texts(self) -> tuple[str | None, str | None]:
        """Names of the columns that are read as texts: the keys', the owners'."""
        owner = self.schema.owner[0] if self.schema.owner else None
        return (self.groups.column if self.groups else None), owner

    @property
    def tallied(self) -> tuple[Statistic, ...]:
        """What is computed of every group: with private keys, its size too, the last."""
        private = self.groups is not None and self.groups.public is None
        return (*self.statistics, Count(None)) if private else self.statistics

    @property
    def shared(self) -> tuple[Unit, int]:
        """The unit for which every statistic is priced, and how often it is: a unit that is replaced leaves
        groups and enters others, so it is priced as one removed and one added."""
        if self.groups is None or not self.unit.replaced:
            return self.unit, 1
        return Unit(ADDED[self.unit.adjacency], self.unit.most), 2

    def asking(self, *statistics: Statistic) -> Question:
        """The question with these statistics more.

        Raises:
            ValueError: one that is asked already: its answers would differ, each from a part of the budget.
        """
        result = list(self.statistics)
        for statistic in statistics:
            twice = [one.name for one in result if one.column == statistic.column and one.repeats(statistic)]
            if twice:
                of = f" of column {statistic.column.name!r}" if statistic.column else ""
                raise ValueError(f"the {twice[0]}{of} is asked twice")
            result.append(statistic)
        return replace(self, statistics=tuple(result))


ADDED = {ONE_RECORD_REPLACED: ONE_RECORD_ADDED, ONE_USER_REPLACED: ONE_USER_ADDED}


def unit_in(schema: Schema, adjacency: Adjacency | str | None) -> Unit:
    """The unit of protection: a record, or the owner of records where the schema names a column of owners.

    Args:
        adjacency: one of the four known ones, or only its relation; by default "add or remove".

    Raises:
        ValueError: another one, or one of another unit.
    """
    return unit_of(adjacency or "add or remove", *schema.owner or (None, None))


def numbers(schema: Schema, name: str, what: str) -> Column:
    """A column of numbers or dates.

    Raises:
        SchemaError: no such column, or of texts.
    """
    column = schema.column(name)
    if column.type == "category" or (what == "sum" and column.type == "date"):
        kind = "categories" if column.type == "category" else "dates"
        raise SchemaError(f"column {name!r} holds {kind}, which have no {what}")
    return _in_range(column)


def _in_range(column: Column) -> Column:
    """The column, refused where its bounds, or their distance, are near the ends of float64."""
    low, high = column.bounds
    small, large = 1 / LARGEST, LARGEST
    if any(size and not small <= size <= large for size in (abs(low), abs(high), high - low)):
        raise SchemaError(f"column {column.name!r}: bounds beyond {LARGEST:g}: choose other units")
    if column.type == "date" and high > LAST_DAY:
        raise SchemaError(f"column {column.name!r}: bounds after {dates.date.max}T00:00")
    return column


def counts(schema: Schema, name: str | None, *, missing: bool = False) -> Count:
    """The number of records, or of entries of a column."""
    if name is None and missing:
        raise ValueError("missing entries are those of a column: name it")
    return Count(None if name is None else schema.column(name), missing)


def sums(schema: Schema, name: str, interval: str) -> Sum:
    """The sum of a column."""
    _of_this_table("sum", interval)
    return Sum(numbers(schema, name, "sum"))


def means(schema: Schema, name: str, interval: str) -> Mean:
    """The mean of a column."""
    return (SampledMean if interval == "sample" else Mean)(numbers(schema, name, "mean"))


def _of_this_table(what: str, interval: str) -> None:
    if interval == "sample":
        raise ValueError(f'interval="sample" is for counts, histograms and means, not for a {what}')


def quantiles(schema: Schema, name: str, shares: Any, interval: str) -> Quantiles:
    """Quantiles of a column: one share, or several.

    Raises:
        ValueError: no share, one outside [0, 1], or one twice.
    """
    _of_this_table("quantile", interval)
    result = []
    for share in shares if isinstance(shares, Iterable) and plain(shares) is None else (shares,):
        try:
            fraction = Fraction(str(share))
        except (ValueError, ZeroDivisionError):
            fraction = Fraction(-1)
        if not 0 <= fraction <= 1:
            raise ValueError(f"quantiles must lie in [0, 1], got {share!r}")
        result.append(fraction.limit_denominator(FINEST))
    if not result or len(set(result)) < len(result):
        raise ValueError("quantiles: at least one is expected, for example 0.5, and none twice")
    return Quantiles(numbers(schema, name, "quantile"), tuple(result), interval == "noise")


def histogram(schema: Schema, name: str, bins: int | Sequence[float] | None = None) -> Histogram:
    """Counts of the categories, or of entries between edges.

    Args:
        bins: how many of equal width between the bounds (by default BINS), or their edges, in ascending
            order (of dates: dates, their ISO texts, or days since 1970). Where the bounds reach further than
            the edges, two bins more hold what lies between, so every entry is in a bin. Of a column of
            integers so many at most, each with as many whole numbers (the last with what is left); by
            default one for every number where they are at most FEW.

    Raises:
        ValueError: edges that do not ascend, or bins for categories.
    """
    column = schema.column(name)
    if column.type == "category":
        if bins is not None:
            raise ValueError(f"bins: column {name!r} has categories, which are its bins")
        return Histogram(column)
    low, high = _in_range(column).bounds
    given = plain(bins)
    if bins is None or type(given) is int:
        first, last = math.floor(low), math.floor(high)
        few = FEW if column.type == "integer" and last - first < FEW else BINS
        count = few if bins is None else given
        if not 1 <= count <= 10_000:
            raise ValueError(f"bins must be between 1 and 10000, got {bins}")
        if column.type == "integer":
            # whole numbers as entries are read: beyond 2^53 those that float64 has, each once
            starts = [*dict.fromkeys(map(float, range(first, last + 1, (last - first) // count + 1)))]
            end = max(high, starts[-1] + 1, math.nextafter(starts[-1], math.inf))
            return Histogram(column, edges=tuple(map(int, [*starts, end])))
        edges = np.linspace(low, high, count + 1).tolist() if high > low else [low, high]
    else:
        read = _edge if column.type == "date" else as_float
        edges = list(map(read, bins)) if given is None and isinstance(bins, Iterable) else []
    ascending = all(a < b for a, b in zip(edges, edges[1:], strict=False)) or (
        low == high and len(edges) == 2
    )
    if len(edges) < 2 or not ascending or not all(map(math.isfinite, edges)):
        such = " such as 2030-01-01" if column.type == "date" else ""
        raise ValueError(f"bins: a number, or at least two finite edges{such} in ascending order")
    below, above = ([low] if low < edges[0] else []), ([high] if edges[-1] < high else [])
    edges = [*below, *edges, *above]
    whole = column.type == "integer" and all(map(float.is_integer, edges))
    return Histogram(column, edges=tuple(map(int, edges) if whole else edges))


def _edge(value: Any) -> float:
    """An edge of a bin of dates in days since 1970, NaN for what is none."""
    number = as_float(value)
    with contextlib.suppress(ValueError):
        return day(value) if math.isnan(number) else number
    return math.nan


def groups(schema: Schema, name: str, keys: Iterable[Any] | None) -> Groups:
    """By a column: with the public keys that are given, else the categories of the schema; of a column that
    the schema does not have, the keys that occur often enough are released.

    Raises:
        ValueError: keys that are not distinct, or that a column of categories does not have. SchemaError: a
            column of numbers without keys.
    """
    column = next((column for column in schema.columns if column.name == name), None)
    if isinstance(keys, str | bytes):
        raise ValueError(f"keys: a list of keys of column {name!r} is expected; groups are of one column")
    listed = None if keys is None else tuple(str(key).strip() for key in keys)
    if listed is not None and (not listed or len(set(listed)) < len(listed)):
        raise ValueError("keys must be distinct, and at least one")
    if column is None:
        return Groups(name, listed, listed)
    if column.type != "category":
        held, values = ("booleans", '["true", "false"]') if column.truths else (f"{column.type}s", "[...]")
        raise SchemaError(
            f"column {name!r} holds {held}: groups need a column of categories; in the schema say "
            f'{{"type": "category", "values": {values}}} of it'
        )
    foreign = [key for key in listed or () if key not in column.values]
    if foreign:
        raise ValueError(f"keys: {foreign[0]!r} is no category of column {name!r}")
    return Groups(name, listed or column.values, column.values)


def described(schema: Schema, names: Iterable[str], interval: str) -> tuple[Statistic, ...]:
    """The number of records; of every column of numbers mean and quartiles, of categories the counts."""
    result: list[Statistic] = [counts(schema, None)]
    for name in names:
        if schema.column(name).type == "category":
            result.append(histogram(schema, name))
        else:
            result.append(means(schema, name, interval))
            if interval != "sample":
                result.append(quantiles(schema, name, (0.25, 0.5, 0.75), interval))
    return tuple(result)
