"""Tables as chunks of records: files of lines, Parquet, frames, columns, and whatever is made of such parts.

Every line, or row, is one record; every entry has one meaning, that of the schema, a function of this entry.
Proof: docs/proofs/tables.md, "Reading"
"""

from __future__ import annotations

import datetime as dates
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.extras import need
from sosdp.privacy.files import Form, InputFileError, physical_lines, require_file, suffix_of
from sosdp.privacy.inputs import as_float, plain
from sosdp.privacy.schema import Column, Schema, days
from sosdp.privacy.silence import no_warnings
from sosdp.privacy.table import arrow
from sosdp.privacy.table.question import Question

ROWS = 1 << 16
"""Records of a chunk."""

TEXTS = (".csv", ".tsv", ".txt", "")
STDIN = "-"
_EPOCH = dates.datetime(1970, 1, 1)
_PER_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86400} | {
    unit: 86400 * 1000**k for k, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), 1)
}
_FAR = 10**6
"""Of years, months or weeks: what is beyond is beyond every bound."""

_REMEMBERED = 1 << 16


@dataclass(frozen=True)
class Chunk:
    """Some records in their order.

    Attributes:
        count: how many. numbers: (count,) float64 by column, NaN for what cannot be read.
        groups, owners: texts, None for what is none; None where nobody asks for them.
    """

    count: int
    numbers: dict[str, npt.NDArray[np.float64]]
    groups: list[str | None] | None
    owners: list[str | None] | None


class Parts(tuple[Any, ...]):
    """The parts of one table, in order: `Parts([first, second])`, each a file, a frame, columns or records.

    A list without it is one of records, whatever they are: no record decides how the others are read.
    """

    __slots__ = ()


def parts(source: Any) -> list[Any]:
    """What a source is made of, in order: the files of a folder, the partitions of Dask, `Parts`.

    Raises:
        InputFileError: an empty folder.
    """
    if isinstance(source, str | Path) and str(source) != STDIN and Path(source).is_dir():
        found = sorted(
            path for path in Path(source).iterdir() if path.is_file() and not path.name.startswith((".", "_"))
        )
        if not found:
            raise InputFileError(str(source), "folder", "no files")
        return [str(path) for path in found]
    if hasattr(source, "to_delayed"):  # Dask: frames and bags
        return list(source.to_delayed())
    return list(source) if isinstance(source, Parts) else [source]


def chunks(source: Any, question: Question) -> Iterator[Chunk]:
    """The records of one part.

    Args:
        source: a path (.csv, .tsv, .txt, each also .gz or .zst; .parquet; "-" for standard input), a data
            frame, a mapping of names to columns, a list of records (dictionaries by names; what is none is a
            record without entries), or a computation of Dask.

    Raises:
        InputFileError: no such file or format, or no such column. TypeError: none of these.
    """
    if isinstance(source, str | Path):
        name = str(source)
        if name != STDIN:
            require_file(name)
        if suffix_of(name) == ".parquet":
            yield from _parquet(name, question)
        elif suffix_of(name) in TEXTS:
            yield from _lines(name, question)
        else:
            raise InputFileError(
                name, "file", "a text table (.csv, .tsv, .txt, .gz, .zst) or .parquet is expected"
            )
        return
    if hasattr(source, "compute"):  # Dask's, of whatever it is
        source = source.compute()
    if isinstance(source, list | tuple) and not isinstance(source, Parts):
        columns = {name: [_of(record, name) for record in source] for name in _wanted(question)}
        yield from _columns(columns, len(source), question)
        return
    yield from _frame(source, question)


def _of(record: Any, name: str) -> Any:
    return dict.get(record, name) if issubclass(type(record), dict) else None


def _wanted(question: Question) -> list[str]:
    """The names of all columns that are read, each once."""
    texts = [name for name in question.texts if name is not None]
    return list(dict.fromkeys([*(column.name for column in question.columns), *texts]))


# ------------------------------------------------------------------------------------------------------------
# Lines


def form_of(schema: Schema) -> Form:
    """How the lines are written; raises ValueError for a separator or encoding that is none."""
    return Form(schema.separator, schema.header, schema.encoding)


def _lines(source: str, question: Question) -> Iterator[Chunk]:
    schema = question.schema
    form, lines = form_of(schema), physical_lines(source)
    names = [column.name for column in schema.columns]
    if form.header:
        heading = form.fields(next(lines, None))
        if heading is None:
            raise InputFileError(source, "header", "the first line names no columns in the stated encoding")
        names = [name.strip() for name in heading]
    stated = names if not form.header else [column.name for column in schema.columns]
    for name in [*stated, *_wanted(question)]:
        if names.count(name) != 1:
            reason = "no such column" if name not in names else "several columns have this name"
            raise InputFileError(source, "header" if form.header else "schema", f"{name}: {reason}")
    places = {name: names.index(name) for name in _wanted(question)}
    readers = {column.name: _Reader(column) for column in question.columns}
    while batch := list(islice(lines, ROWS)):
        records = [form.fields(line) for line in batch]
        taken = {
            name: [record[place] if record and len(record) == len(names) else None for record in records]
            for name, place in places.items()
        }
        numbers = {
            name: np.array([math.nan if text is None else read(text) for text in taken[name]])
            for name, read in readers.items()
        }
        yield Chunk(len(batch), numbers, *(_stripped(taken, name) for name in question.texts))


def _stripped(taken: Mapping[str, list[str | None]], name: str | None) -> list[str | None] | None:
    if name is None:
        return None
    return [None if text is None else text.strip() for text in taken[name]]


class _Reader:
    """`Column.read` with a memory of the texts that came first."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.known: dict[str, float] = {}

    def __call__(self, text: str) -> float:
        result = self.known.get(text)
        if result is None:
            result = self.column.read(text)
            if len(self.known) < _REMEMBERED:
                self.known[text] = result
        return result


# ------------------------------------------------------------------------------------------------------------
# Frames


def _parquet(source: str, question: Question) -> Iterator[Chunk]:
    parquet = need("pyarrow.parquet", "a Parquet file")
    problem, result = "", None
    try:
        with no_warnings():
            result = parquet.ParquetFile(source)
            names = list(result.schema_arrow.names)
    except Exception:  # what a library says may quote the file
        problem = "not a Parquet file that can be read here"
    if problem or result is None:
        raise InputFileError(source, "file", problem)
    _check_names(source, names, [*_wanted(question), *(column.name for column in question.schema.columns)])
    wanted = _wanted(question)
    batches = result.iter_batches(batch_size=ROWS, columns=wanted or names[:1])
    while True:
        try:
            with no_warnings():
                batch = next(batches, None)
        except Exception:  # as above
            problem = "a part of it cannot be read"
        if problem:
            raise InputFileError(source, "file", problem)
        if batch is None:
            return
        taken = {name: arrow.listed(source, name, batch.column(name)) for name in wanted}
        yield from _columns(taken, batch.num_rows, question)


def _frame(frame: Any, question: Question) -> Iterator[Chunk]:
    """A data frame or a mapping of columns, in chunks."""
    if not isinstance(frame, Mapping) and not hasattr(frame, "columns"):
        raise TypeError(
            f"a file, a data frame or a mapping of columns is expected, got {type(frame).__name__}"
        )
    names = [str(name) for name in (frame if isinstance(frame, Mapping) else frame.columns)]
    _check_names("the table", names, _wanted(question))
    wanted = _wanted(question)
    taken = {name: _listed(name, frame[name]) for name in wanted}
    lengths = {len(column) for column in taken.values()} | {_length(frame)}
    if len(lengths) > 1:
        raise ValueError("the columns of a table have one length")
    yield from _columns(taken, lengths.pop(), question)


def _columns(taken: Mapping[str, Any], count: int, question: Question) -> Iterator[Chunk]:
    """The chunks of columns of one length."""
    for start in range(0, count, ROWS):
        part = slice(start, min(start + ROWS, count))
        numbers = {column.name: entries(taken[column.name][part], column) for column in question.columns}
        texts = [None if name is None else [text_of(e) for e in taken[name][part]] for name in question.texts]
        yield Chunk(part.stop - start, numbers, *texts)


def _length(frame: Any) -> int:
    return len(next(iter(frame.values()), ())) if isinstance(frame, Mapping) else len(frame)


def _check_names(source: str, names: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if names.count(name) != 1:
            reason = "no such column" if name not in names else "several columns have this name"
            raise InputFileError(source, "columns", f"{name}: {reason}")


def _listed(name: str, column: Any) -> Any:
    """The entries of a column: an array where its type, which is public, is one of numbers.

    Types of pandas' own become objects: as an array of numbers, one missing entry would round the others.
    """
    if isinstance(column, str | bytes):
        raise TypeError(f"{name}: a column is expected, got a text")
    if isinstance(column, np.ma.MaskedArray):
        return column.astype(object).tolist()
    kind = getattr(column, "dtype", None)
    if hasattr(column, "to_arrow"):  # polars
        return arrow.listed("the table", name, column.to_arrow())
    if hasattr(kind, "pyarrow_dtype"):  # pandas
        return arrow.listed("the table", name, column.array.__arrow_array__().combine_chunks())
    if hasattr(column, "to_numpy"):
        if getattr(kind, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        column = column.to_numpy() if isinstance(column.dtype, np.dtype) else column.to_numpy(dtype=object)
    return column if isinstance(column, np.ndarray) else list(column)


def entries(values: Any, column: Column) -> npt.NDArray[np.float64]:
    """The numbers of some entries, as `Column.read` gives them for texts."""
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    with no_warnings():
        if kind in "biuf" and column.type not in ("category", "date"):  # numbers are no dates
            numbers = np.asarray(values, dtype=np.float64)
        elif kind == "M" and column.type == "date":
            numbers = _in_days(values)
        else:
            return np.array([_entry(value, column) for value in _plain_list(values)], dtype=np.float64)
        if column.type == "integer":
            numbers = np.where(numbers == np.floor(numbers), numbers, math.nan)
        return np.clip(np.where(np.isinf(numbers), math.nan, numbers), *column.bounds)


def _in_days(values: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Days since 1970 of times of any unit, also of those that other units cannot hold; NaN for none."""
    unit, count = np.datetime_data(values.dtype)
    steps = values.astype(np.int64)
    if unit in _PER_DAY:
        result = steps.astype(np.float64) * count / _PER_DAY[unit]
    else:  # years, months, weeks
        near = np.clip(steps, -_FAR, _FAR).astype(values.dtype)
        result = near.astype("datetime64[D]").astype(np.float64)
    return np.where(np.isnat(values), math.nan, result)


def _plain_list(values: Any) -> list[Any]:
    return (
        values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "biufSU" else list(values)
    )


def _entry(value: Any, column: Column) -> float:
    """One entry of any kind: a text as in a file, a number as such, a date in days; never raises."""
    if column.type == "category":
        text = text_of(value)
        return math.nan if text is None else column.read(text)
    if issubclass(type(value), str):
        return column.read(str.__str__(value))
    number = _days(value) if column.type == "date" else as_float(value)
    if not math.isfinite(number) or (column.type == "integer" and number != math.floor(number)):
        return math.nan
    return min(max(number, column.low), column.high)


def _days(value: Any) -> float:
    """Days since 1970 of a date or time (in UTC where it has a zone), NaN for everything else."""
    kind = type(value)
    if kind is np.datetime64:
        return float(_in_days(np.asarray(value)))
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "Timestamp":
        return float(_in_days(np.asarray(value.to_datetime64())))
    if kind is dates.datetime:
        try:
            return float(days(value))
        except Exception:  # the code of a zone
            return math.nan
    if kind is dates.date:
        return float(value.toordinal() - _EPOCH.toordinal())
    return math.nan


def text_of(value: Any) -> str | None:
    """A key or an owner as a text: texts without blanks at their ends, whole numbers; None for all else."""
    result = plain(value)
    if type(result) is str:
        return result.strip()
    if type(result) is float and math.isfinite(result):
        return str(int(result)) if result.is_integer() and abs(result) < 1 << 53 else repr(result)
    return str(result) if type(result) is int or type(result) is bool else None


def all_chunks(source: Any, question: Question) -> Iterator[Chunk]:
    """The records of all parts, one after the other."""
    found: Iterable[Any] = parts(source)
    for part in found:
        yield from chunks(part, question)
