"""What is asked of a table: counts, sums, means, histograms and quantiles, as vectors of integers.

Every record adds one integer code to one cell of each statistic, so a table is a sum over its records, exact
and the same however they are divided. `laws` says with which noise the sum is released.

Proof: docs/proofs/tables.md
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sosdp.privacy.contributions import Unit
from sosdp.privacy.guarantee.evidence import Law
from sosdp.privacy.guarantee.rounding import float_near
from sosdp.privacy.mechanisms.basic.columns import contribution, mean_laws
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.schema import Column
from sosdp.privacy.table import intervals

MISSING = int(np.iinfo(np.int64).min)
"""The code of a record that adds nothing."""

DIGITS = 40
"""Sums and means are computed on a grid of 2^40 steps."""

Codes = npt.NDArray[np.int64]
Row = dict[str, Any]


@dataclass(frozen=True)
class Noise:
    """What a statistic is drawn with.

    Attributes:
        unit: what neighbours differ in. epsilon: the share of the budget. bits: random bits.
        alpha: probability that an interval misses. sample: whether intervals are for what the records are a
            sample of.
    """

    unit: Unit
    epsilon: Fraction
    alpha: float
    bits: RandomBits
    sample: bool = False

    @property
    def normal(self) -> float:
        """The two-sided quantile of the normal law where intervals are for a population, else 0."""
        return NormalDist().inv_cdf(1 - self.alpha / 2) if self.sample else 0.0

    def laplace(self, law: Law, value: int) -> int:
        """The value with the discrete Laplace noise of the law."""
        return value + exact.discrete_laplace(law.numbers[0], self.bits)


@dataclass(frozen=True)
class Statistic(ABC):
    """One question about one column (about whole records where it is None)."""

    column: Column | None

    @property
    @abstractmethod
    def name(self) -> str:
        """As rows call it."""

    def repeats(self, other: Statistic) -> bool:
        """Whether an answer about the same column would be given a second time."""
        return self.name == other.name

    @property
    def width(self) -> int:
        """Number of integers of one cell."""
        return 1

    @property
    def answers(self) -> int:
        """Number of rows of one cell."""
        return 1

    @property
    def levels(self) -> list[tuple[Row, Statistic]]:
        """The parts of equal budgets that differ in their errors, with what tells them apart."""
        return [({}, self)]

    @abstractmethod
    def code(self, values: npt.NDArray[np.float64]) -> Codes:
        """One integer a record, a function of its entry; MISSING where it adds nothing."""

    def tally(self, codes: Codes, keys: npt.NDArray[np.intp], count: int) -> Any:
        """The cell of each of `count` keys: by default, how often each of `width` codes occurs."""
        kept = (codes != MISSING) & (keys >= 0)
        places = keys[kept] * self.width + codes[kept]
        return np.bincount(places, minlength=count * self.width).reshape(count, self.width)

    def merged(self, first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The cell of the records of both."""
        return first + second

    @abstractmethod
    def laws(self, unit: Unit, epsilon: Fraction) -> tuple[Law, ...]:
        """The noise of every cell, with the sensitivity that the unit has in all cells together."""

    @abstractmethod
    def rows(self, cell: npt.NDArray[Any], noise: Noise) -> list[Row]:
        """Draw the answers of one cell: value, low and high, and what tells several apart."""

    @abstractmethod
    def spread(self, unit: Unit, epsilon: Fraction) -> float:
        """Expected error in records: what so many records of the largest size change."""

    @property
    def size(self) -> float:
        """The largest change of an answer by one record of a cell of one."""
        return 1.0

    def error(self, unit: Unit, epsilon: Fraction, n: float) -> float:
        """Expected absolute error of a cell of n records."""
        return self.spread(unit, epsilon) * self.size

    def shown(self, value: Any, side: int = 0) -> Any:
        """The value as it is printed; side -1 and 1 for the ends of an interval."""
        return value


@dataclass(frozen=True)
class Count(Statistic):
    """How many records there are, or have an entry that can be read (or, `missing`, cannot)."""

    missing: bool = False

    @property
    def name(self) -> str:
        """As rows call it."""
        return "missing" if self.missing else "count"

    def code(self, values: npt.NDArray[np.float64]) -> Codes:
        """0 where the record counts."""
        if self.column is None:
            return np.zeros(len(values), dtype=np.int64)
        return np.where(np.isnan(values) == self.missing, 0, MISSING)

    def laws(self, unit: Unit, epsilon: Fraction) -> tuple[Law, ...]:
        """A unit adds 0 to `most` records."""
        return (Law("discrete laplace", (unit.most / epsilon, unit.most)),)

    def rows(self, cell: npt.NDArray[Any], noise: Noise) -> list[Row]:
        """One row."""
        return [counted(int(cell[0]), self.laws(noise.unit, noise.epsilon)[0], noise)]

    def spread(self, unit: Unit, epsilon: Fraction) -> float:
        """The scale of the noise."""
        return float_near(Fraction(self.laws(unit, epsilon)[0].numbers[0]))


def counted(value: int, law: Law, noise: Noise) -> Row:
    """A noisy count with its interval; neither is below 0."""
    noisy = noise.laplace(law, value)
    away = intervals.margin(Fraction(law.numbers[0]), noise.alpha)
    if noise.sample:
        away = math.ceil(math.hypot(away, noise.normal * math.sqrt(max(noisy, 1))))
    return {"value": max(noisy, 0), "low": max(noisy - away, 0), "high": max(noisy + away, 0)}


class ByPlace(Statistic):
    """A statistic of many places, whose cells hold those that occur: their size is that of the records."""

    def tally(self, codes: Codes, keys: npt.NDArray[np.intp], count: int) -> list[Codes]:
        """Of each key (2, m): the places that occur, ascending, and how often."""
        kept = (codes != MISSING) & (keys >= 0)
        places, times = np.unique(keys[kept] * self.width + codes[kept], return_counts=True)
        ends = np.searchsorted(places, self.width * np.arange(count + 1))
        return [
            np.stack([places[start:end] - key * self.width, times[start:end]])
            for key, (start, end) in enumerate(itertools.pairwise(ends))
        ]

    def merged(self, first: Codes, second: Codes) -> Codes:
        """The places of both, with the sums of their counts."""
        at = np.searchsorted(first[0], second[0])
        known = np.append(first[0], -1)[at] == second[0]
        both = first.copy()
        both[1, at[known]] += second[1, known]
        return np.insert(both, at[~known], second[:, ~known], axis=1)


@dataclass(frozen=True)
class Histogram(ByPlace, Count):
    """How many entries lie in each category, or between the edges (the last bin holds its upper edge).

    The edges enclose the bounds of the column.
    """

    edges: tuple[float, ...] = ()

    def repeats(self, other: Statistic) -> bool:
        """Other edges are another question, unless the column has one value."""
        low, high = column_of(self).bounds
        return type(other) is type(self) and (self == other or low == high)

    name: ClassVar[str] = "histogram"

    @property
    def width(self) -> int:
        """Number of bins."""
        return len(column_of(self).values) or len(self.edges) - 1

    @property
    def answers(self) -> int:
        """One row a bin."""
        return self.width

    def code(self, values: npt.NDArray[np.float64]) -> Codes:
        """The place of the bin; the edges reach as far as the bounds, so every entry has one."""
        there = ~np.isnan(values)
        places = np.where(
            there, values, 0.0
        )  # a search among objects, or for what is no number, has no order
        if not column_of(self).values:
            edges = np.array(self.edges, dtype=np.float64)
            places = np.clip(np.searchsorted(edges, places, side="right") - 1, 0, self.width - 1)
        return np.where(there, places.astype(np.int64), MISSING)

    def rows(self, cell: npt.NDArray[Any], noise: Noise) -> list[Row]:
        """One row a bin."""
        law, column = self.laws(noise.unit, noise.epsilon)[0], column_of(self)
        bins = column.values or [[*map(column.shown, pair)] for pair in itertools.pairwise(self.edges)]
        counts = dict(zip(*cell.tolist(), strict=True))
        return [{"bin": ends} | counted(counts.get(k, 0), law, noise) for k, ends in enumerate(bins)]

    def laws(self, unit: Unit, epsilon: Fraction) -> tuple[Law, ...]:
        """A unit that is replaced leaves bins and enters others."""
        moved = unit.most * (1 + unit.replaced)
        return (Law("discrete laplace", (moved / epsilon, moved)),)


@dataclass(frozen=True)
class Sum(Statistic):
    """The sum of the entries, each rounded to a grid of a power of two: 1 for integers."""

    name: ClassVar[str] = "sum"

    @property
    def step(self) -> Fraction:
        """The step of the grid."""
        step = _power(max(map(abs, column_of(self).bounds)))
        return max(step, Fraction(1)) if column_of(self).type == "integer" else step

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest code."""
        low, high = column_of(self).bounds
        return round(Fraction(low) / self.step), round(Fraction(high) / self.step)

    def code(self, values: npt.NDArray[np.float64]) -> Codes:
        """The entry in steps."""
        return _rounded(values / float(self.step), *self.ends)

    def tally(self, codes: Codes, keys: npt.NDArray[np.intp], count: int) -> npt.NDArray[Any]:
        """Sums of the codes, as integers of any size."""
        return _summed(codes, keys, count)[:, None]

    def laws(self, unit: Unit, epsilon: Fraction) -> tuple[Law, ...]:
        """A unit adds at most `most` codes."""
        moved = unit.most * contribution(*self.ends, replaced=unit.replaced)
        return (Law("discrete laplace", (max(moved, 1) / epsilon, moved)),)

    def rows(self, cell: npt.NDArray[Any], noise: Noise) -> list[Row]:
        """One row; where all entries have one sign, so have value and interval."""
        law = self.laws(noise.unit, noise.epsilon)[0]
        noisy = noise.laplace(law, int(cell[0]))
        away = intervals.margin(Fraction(law.numbers[0]), noise.alpha)
        least, most = self.ends
        row: Row = {"value": noisy, "low": noisy - away, "high": noisy + away}
        for name, units in row.items():
            units = max(units, 0) if least >= 0 else units
            units = min(units, 0) if most <= 0 else units
            row[name] = int(self.step * units) if self.step >= 1 else float_near(self.step * units)
        return [row]

    def spread(self, unit: Unit, epsilon: Fraction) -> float:
        """The scale of the noise."""
        return float_near(self.step * Fraction(self.laws(unit, epsilon)[0].numbers[0])) / self.size

    @property
    def size(self) -> float:
        """The largest entry."""
        return max(map(abs, column_of(self).bounds)) or 1.0


class Within(Statistic):
    """A statistic that lies within the bounds of its column, and is a date where the column has dates."""

    def error(self, unit: Unit, epsilon: Fraction, n: float) -> float:
        """At most half the interval."""
        return self.size * min(self.spread(unit, epsilon) / n, 0.5)

    def shown(self, value: Any, side: int = 0) -> Any:
        """Dates as texts."""
        return column_of(self).shown(value, side)


@dataclass(frozen=True)
class Mean(Within):
    """The mean of the entries, from the sum of their deviations from the middle and their number."""

    name: ClassVar[str] = "mean"

    width: ClassVar[int] = 2

    @property
    def middle(self) -> float:
        """Of the bounds."""
        low, high = column_of(self).bounds
        return low / 2 + high / 2

    @property
    def step(self) -> Fraction:
        """The step of the grid."""
        low, high = column_of(self).bounds
        return _power(high / 2 - low / 2)

    @property
    def half(self) -> int:
        """The largest deviation in steps, at least 1."""
        low, high = column_of(self).bounds
        return max(1, math.ceil((Fraction(high) - Fraction(low)) / 2 / self.step))

    def code(self, values: npt.NDArray[np.float64]) -> Codes:
        """The deviation in steps."""
        return _rounded((values - self.middle) / float(self.step), -self.half, self.half)

    def tally(self, codes: Codes, keys: npt.NDArray[np.intp], count: int) -> npt.NDArray[Any]:
        """Sum of the deviations, and number of entries."""
        kept = keys[(codes != MISSING) & (keys >= 0)]
        entries = np.bincount(kept, minlength=count).astype(object)
        return np.stack([_summed(codes, keys, count), entries], axis=1)

    def laws(self, unit: Unit, epsilon: Fraction) -> tuple[Law, ...]:
        """Deviation and number share one budget."""
        return mean_laws(unit, epsilon, 2 * self.half)

    def rows(self, cell: npt.NDArray[Any], noise: Noise) -> list[Row]:
        """One row within the bounds."""
        laws = self.laws(noise.unit, noise.epsilon)
        total, count, *squares = (noise.laplace(law, int(n)) for law, n in zip(laws, cell, strict=True))
        scales = Fraction(laws[0].numbers[0]), Fraction(laws[1].numbers[0])
        ends = intervals.quotient((total, count), scales, self.half, noise.alpha)
        if squares:
            ends = self._sampled(total / max(count, 1), ends, count, squares[0], laws[2], noise.normal)
        quotients = [Fraction(total, max(count, 1)), *map(Fraction, ends)]
        low, high = map(Fraction, column_of(self).bounds)
        result = [min(max(Fraction(self.middle) + self.step * q, low), high) for q in quotients]
        value, least, most = map(float_near, result)
        if (least, most) == column_of(self).bounds:  # nothing is known, and the noise alone is at the bounds
            value = self.middle
        return [{"value": value, "low": min(least, value), "high": max(most, value)}]

    def _sampled(
        self, mean: float, ends: tuple[float, float], count: int, squares: int, law: Law, normal: float
    ) -> tuple[float, float]:
        """The ends, for the mean of what the records are a sample of; about right, by the normal law."""
        records, unit = max(count, 1), (self.half / float(SQUARES)) ** 2
        least = float(law.numbers[0]) / records * unit  # what noise leaves of a variance of 0
        variance = max(squares / records * unit - mean * mean, least)
        away = normal * math.sqrt(variance / records)
        below, above = (math.hypot(max(side, 0.0), away) for side in (mean - ends[0], ends[1] - mean))
        return mean - below, mean + above

    def spread(self, unit: Unit, epsilon: Fraction) -> float:
        """At most 1.5 scales of the noise of the deviation."""
        return 1.5 * float_near(Fraction(self.laws(unit, epsilon)[0].numbers[0]) / (2 * self.half))

    @property
    def size(self) -> float:
        """The length of the interval."""
        return float_near(2 * self.step * self.half)


SQUARES = 1 << 20
"""Steps of half the interval in which deviations are squared."""


@dataclass(frozen=True)
class SampledMean(Mean):
    """A mean with the squares of the deviations, which have a quarter of its budget."""

    width: ClassVar[int] = 3

    def tally(self, codes: Codes, keys: npt.NDArray[np.intp], count: int) -> npt.NDArray[Any]:
        """Sum of the deviations, number of entries, and sum of the squares."""
        kept = np.where(codes == MISSING, 0, codes)
        steps = np.abs(kept) // max(1, self.half // SQUARES)
        squares = np.where(codes == MISSING, MISSING, np.minimum(steps, SQUARES) ** 2)
        return np.column_stack([super().tally(codes, keys, count), _summed(squares, keys, count)])

    def laws(self, unit: Unit, epsilon: Fraction) -> tuple[Law, ...]:
        """Those of a mean, and of a sum of numbers of one sign."""
        moved = unit.most * SQUARES**2
        return (*super().laws(unit, epsilon * 3 / 4), Law("discrete laplace", (4 * moved / epsilon, moved)))


def column_of(statistic: Statistic) -> Column:
    """The column of a statistic that is about one."""
    assert statistic.column is not None
    return statistic.column


def _power(largest: float) -> Fraction:
    """The power of two of which 2^DIGITS are at least the number; 1 for 0."""
    return Fraction(2) ** (math.frexp(largest)[1] - DIGITS) if largest else Fraction(1)


def _rounded(steps: npt.NDArray[np.float64], least: int, most: int) -> Codes:
    """The nearest integers, moved into [least, most]; MISSING for NaN."""
    there = ~np.isnan(steps)
    whole = np.clip(np.rint(np.where(there, steps, 0.0)), float(least), float(most))
    return np.where(there, whole.astype(np.int64), MISSING)


def _summed(codes: Codes, keys: npt.NDArray[np.intp], count: int) -> npt.NDArray[Any]:
    """(count,) sums of codes below 2^42 of at most 2^20 records, as Python's integers."""
    kept = (codes != MISSING) & (keys >= 0)
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, keys[kept], codes[kept])
    return total.astype(object)
