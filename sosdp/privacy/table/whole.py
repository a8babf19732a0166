"""A table in a file as one array of numbers, for estimators.

Proof that neighbours look alike: docs/proofs/inputs.md
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.files import (
    LONGEST_LINE,
    SEPARATORS,
    Form,
    InputFileError,
    attempt,
    headed,
    is_stream,
    opened,
    places_of,
    require_file,
    stored,
    suffix_of,
)
from sosdp.privacy.guarantee.condition import Condition, Fact
from sosdp.privacy.inputs import floats, no_numbers, number_in
from sosdp.privacy.schema import Schema
from sosdp.privacy.silence import no_warnings
from sosdp.privacy.table.question import Question, unit_in
from sosdp.privacy.table.records import COMPUTED, TEXTS, chunks, is_computed
from sosdp.privacy.table.statistics import Count

LARGEST = 50_000_000
"""Entries of a table."""

COLUMNS_STATED = Fact("every line of the file is one record, and how many lines it has is public")

LAST_LINE = Condition(
    "condition: in both neighbouring files the last line, which has no end, holds a byte (end every line)"
)
"""An empty line at the end of a file without a last line end is no record."""

UNSTATED = "numbers as 1234{}5, true and false; others are missing (a schema says how they are written)"

BLANK_ROWS = Condition(
    "condition: in both neighbouring sheets every record has a value (a blank row of a sheet is no record)"
)
"""How many rows a sheet has is said by its last one that is not blank."""


@dataclass(frozen=True, eq=False)
class Table:
    """The records of a table and what is public about it.

    Attributes:
        values: (n, d) float64, NaN for a missing entry. names: of the columns where they are public.
        assumptions: what the reading rests on. bounds: (low, high) of every column, from a schema.
        categories: texts of every column, which are read as their places, from a schema; others have none.
        literal: which columns hold nothing but the ends of their bounds: indicators of a category.
        reads: how entries are written that can be read, of a text or by a schema; public.
    """

    values: npt.NDArray[np.float64]
    names: list[str] | None = None
    assumptions: tuple[str, ...] = ()
    bounds: list[tuple[float, float]] | None = None
    categories: list[tuple[str, ...]] | None = None
    literal: list[bool] | None = None
    reads: str = ""

    def with_indicators(self, besides: str | None = None) -> Table:
        """Categories as indicators 0 or 1 of all their values but the first, "column=value", in their place.

        A record by itself: what is none of the values is missing in each of them.

        Args:
            besides: a column that stays as it is.

        Raises:
            ValueError: by the schema two columns have one name, or there is none.
        """
        if self.categories is None or self.bounds is None or self.names is None:
            return self
        made: list[tuple[Any, ...]] = []
        for j, (name, texts) in enumerate(zip(self.names, self.categories, strict=True)):
            column = self.values[:, j]
            if texts and name != besides:
                ones = np.where(np.isnan(column), np.nan, column == np.arange(len(texts))[:, None])
                made += [(f"{name}={t}", ones[k], (0.0, 1.0), (), True) for k, t in enumerate(texts) if k]
            else:
                made.append((name, column, self.bounds[j], texts, False))
        if not made:
            raise ValueError("columns: none has two values")
        names, columns, bounds, kept, literal = (list(part) for part in zip(*made, strict=True))
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"columns: two have the name {twice[0]!r}, one of them from a category")
        values = np.column_stack(columns).astype(np.float64)
        return Table(values, names, self.assumptions, bounds, kept, literal, self.reads)


def read_table(
    source: str,
    form: Form | None = None,
    *,
    columns: Sequence[str] | int | None = None,
    schema: Schema | None = None,
) -> Table:
    """A table in a file as numbers, entry by entry.

    Args:
        source: .csv, .tsv, .txt (each also .gz or .zst), .npy, .parquet or .xlsx.
        form: of a text table; by default without header, separated as its ending says.
        columns: names of the columns to keep, in this order, where they are named; of a text table without a
            header, how many columns it has. Where nothing states that number, it is that of more than half of
            the lines, and what is released is conditional on this.
        schema: states the form, the columns and their bounds.

    Raises:
        InputFileError: no such file or format, no lines, no such column. ValueError: a form out of range.
    """
    if not is_stream(source):
        require_file(source)
    elif schema is None:
        raise InputFileError(source, "--schema", "what is read once, from a pipe, needs one")
    kind = suffix_of(source)
    if kind in SEPARATORS and schema is None:
        return _text(source, form or Form(SEPARATORS[kind]), columns)
    if kind == ".npy":
        if columns is not None or schema is not None:
            raise InputFileError(source, "--columns", "an array names no columns")
        values = attempt(lambda: np.load(source, allow_pickle=False))
        return Table(_numbers(source, values, "a .npy file of numbers"))
    if isinstance(columns, int):
        raise InputFileError(source, "--columns", "names are expected: the columns have some")
    if schema is not None:
        return by_schema(source, schema, columns)
    names, texts, batches = stored(source)
    wanted = _chosen(source, names, columns)
    if wrong := [name for name in wanted if name in texts]:
        raise InputFileError(source, "columns", no_numbers(wrong))
    parts = [np.column_stack([floats(taken[name], ()) for name in wanted]) for _, taken in batches(wanted)]
    values = _numbers(source, np.concatenate(parts) if parts else None, "a table with records")
    return Table(values, wanted, rests_of(source))


def _chosen(source: str, names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """The columns that were named, or all; each has one place among the names."""
    wanted = list(names if columns is None else columns)
    if not wanted:
        raise InputFileError(source, "--columns", "no column is named")
    if twice := [name for name in wanted if wanted.count(name) > 1 and columns is not None]:
        raise InputFileError(source, "--columns", f"{twice[0]}: named twice")
    places_of(source, "--columns", names, wanted)
    return wanted


def named_in(data: Any, schema: Schema) -> list[str] | None:
    """The columns of a schema that data have, where they name theirs and the schema has all of these; None
    otherwise: what is misspelled is no column that was left out."""
    # a computation has any attribute
    given = data.columns if hasattr(type(data), "columns") else data if isinstance(data, Mapping) else ()
    given = {str(name).strip() for name in given}
    names = [column.name for column in schema.columns if column.name in given]
    return names if given and len(names) == len(given) else None


def by_schema(source: Any, schema: Schema, columns: Sequence[str] | None = None) -> Table:
    """The same of whatever `records.chunks` takes, read by a schema; None: what is public of it, no records.

    Raises InputFileError, or TypeError, as there.
    """
    path = source if isinstance(source, str) else "X"
    wanted = _chosen(path, [column.name for column in schema.columns], columns)
    chosen = [schema.column(name) for name in wanted]
    parts, count = [np.zeros((0, len(wanted)))], 0
    question = Question(schema, unit_in(schema, None), statistics=tuple(Count(column) for column in chosen))
    for chunk in () if source is None else chunks(source, question):
        parts.append(np.column_stack([chunk.numbers[name] for name in wanted]))
        count += chunk.count
        if count * len(wanted) > LARGEST:
            raise InputFileError(path, "file", f"more than {LARGEST} entries")
    if not count and source is not None:
        raise InputFileError(path, "file", "no lines of data")
    bounds, texts = [column.bounds for column in chosen], [column.values for column in chosen]
    reads = "; ".join(f"{column.name}: {column.form}" for column in chosen)
    return Table(np.concatenate(parts), wanted, rests_of(source), bounds, texts, reads=reads)


def _text(source: str, form: Form, columns: Sequence[str] | int | None) -> Table:
    heading, records = headed(source, form)
    names: list[str] | None = heading
    rests: str = COLUMNS_STATED
    if isinstance(columns, int):
        if heading is not None:
            raise InputFileError(source, "--columns", "names are expected: the columns have some")
        width, places = columns, list(range(columns))
    elif heading is not None:
        width, places = len(heading), list(range(len(heading)))
        if columns is not None:
            names = _chosen(source, heading, columns)
            places = places_of(source, "--columns", heading, names)
    elif columns is not None:
        raise InputFileError(source, "--columns", "only a header or a schema names the columns of a text")
    else:
        width = _usual_width(source, form)
        places, rests = list(range(width)), counted_columns(width, form)
    missing, flat, count = [np.nan] * len(places), array("d"), 0
    with no_warnings():
        for count, record in enumerate(records, 1):
            if count * len(places) > LARGEST:
                raise InputFileError(source, "file", f"more than {LARGEST} entries")
            if record is None or len(record) != width:
                flat.extend(missing)
            else:
                flat.extend([number_in(record[place], form.decimal) for place in places])
    if not count:
        raise InputFileError(source, "file", "no lines of data")
    values = np.frombuffer(flat, dtype=np.float64).reshape(count, len(places)).copy()
    return Table(values, names, (rests, *rests_of(source)[1:]), reads=UNSTATED.format(form.decimal))


def counted_columns(width: int, form: Form) -> Condition:
    """The condition of a table whose number of columns nobody stated."""
    mark = "blanks" if form.separator is None else repr(form.separator)
    other = "; another separator: --separator" if width == 1 else ""
    return Condition(
        f"condition: in both neighbouring files more than half of the lines have {width} "
        f"field{'s' if width != 1 else ''}, separated by {mark} (state the number of columns: --header, "
        f"--schema, or --columns N{other})"
    )


def _usual_width(source: str, form: Form) -> int:
    """How many fields more than half of the lines have."""
    counts = Counter(None if record is None else len(record) for record in headed(source, form)[1])
    width, count = counts.most_common(1)[0] if counts else (1, 1)
    if not width or 2 * count <= counts.total():
        raise InputFileError(
            source, "file", "how many columns it has is not clear: state it (--header, --columns N, --schema)"
        )
    return width


def rests_of(source: Any) -> tuple[str, ...]:
    """What it rests on that a part of a table is read, and that the number of its records is public; whether
    the last byte of a file is a line end is public."""
    if is_computed(source):
        return (COMPUTED,)
    kind = suffix_of(source) if isinstance(source, str | Path) else None
    if kind == ".xlsx":
        return (BLANK_ROWS,)
    if kind not in TEXTS:
        return ()
    if is_stream(source):  # it was read, and cannot be read again
        return (COLUMNS_STATED, LAST_LINE)
    last = b"\n"
    with opened(source) as file:
        while block := file.read(LONGEST_LINE):
            last = block[-1:]
    return (COLUMNS_STATED,) if last == b"\n" else (COLUMNS_STATED, LAST_LINE)


def _numbers(source: str, loaded: npt.NDArray[np.float64] | None, what: str) -> npt.NDArray[np.float64]:
    """(n, d) numbers of an array whose type is that of its file, and so public."""
    shape = getattr(loaded, "shape", ())
    if loaded is None:
        raise InputFileError(source, "file", f"not {what}")
    if loaded.dtype.kind not in "biuf":
        raise InputFileError(source, "file", f"entries of the type {loaded.dtype} are no real numbers")
    if len(shape) not in (1, 2) or 0 in shape:
        raise InputFileError(source, "file", f"a table has rows and columns, this has shape {shape}")
    if np.prod(shape) > LARGEST:
        raise InputFileError(source, "file", f"more than {LARGEST} entries")
    return floats(loaded, (1,))
