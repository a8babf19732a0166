"""Tables as chunks of records: files of lines, Parquet, frames, columns, and whatever is made of such parts.

Every line, or row, is one record; every entry has one meaning, that of the schema, a function of this entry.
Proof: docs/proofs/tables.md, "Reading"
"""

from __future__ import annotations

import datetime as dates
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.entries import require_computed
from sosdp.privacy.files import (
    ROWS,
    InputFileError,
    attempt,
    form_of,
    headed,
    is_stream,
    listed,
    places_of,
    require_file,
    stored,
    suffix_of,
)
from sosdp.privacy.guarantee.condition import Condition
from sosdp.privacy.inputs import LARGEST_INTEGER, as_float, plain
from sosdp.privacy.schema import EPOCH, Column, days
from sosdp.privacy.silence import contained, no_warnings
from sosdp.privacy.table.question import Question

TEXTS = (".csv", ".tsv", ".txt", "")
COMPUTED = Condition(
    "condition: what Dask computes fails for neither of the neighbouring tables (read columns as texts: one "
    "record that is no number of a stated type fails)"
)
_PER_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86400} | {
    unit: 86400 * 1000**k for k, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), 1)
}
_DISTANT = 10**6  # years, months or weeks: what is beyond is beyond every bound
_REMEMBERED = 1 << 16  # texts of a column whose numbers are remembered


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
    if isinstance(source, str | Path) and not is_stream(source) and Path(source).is_dir():
        result = sorted(
            path for path in Path(source).iterdir() if path.is_file() and not path.name.startswith((".", "_"))
        )
        if not result:
            raise InputFileError(str(source), "folder", "no files")
        return [str(path) for path in result]
    if hasattr(type(source), "to_delayed"):  # Dask: frames and bags
        return list(source.to_delayed())
    return list(source) if isinstance(source, Parts) else [source]


def chunks(source: Any, question: Question) -> Iterator[Chunk]:
    """The records of one part.

    Args:
        source: a path (.csv, .tsv, .txt, each also .gz or .zst; .parquet; .xlsx; "-" for standard input),
            a data frame, a mapping of names to columns, a list of records (dictionaries by names; what is
            none is a record without entries), or a computation of Dask.

    Raises:
        InputFileError: no such file or format, no such column, or a computation that fails. TypeError: none
            of these.
    """
    if isinstance(source, str | Path):
        name = str(source)
        if not is_stream(name):
            require_file(name)
        for count, taken in (_lines if suffix_of(name) in TEXTS else _stored)(name, question):
            yield from _columns(taken, count, question)
        return
    if is_computed(source):
        source = attempt(source.compute)
        if source is None:
            raise InputFileError("the table", "Dask", "the computation of a part failed")
    if isinstance(source, list | tuple) and not isinstance(source, Parts):
        records = [_by_plain_names(one) for one in source]
        columns = {name: [record.get(name) for record in records] for name in _wanted(question)}
        yield from _columns(columns, len(source), question)
        return
    yield from _frame(source, question)


def is_computed(source: Any) -> bool:
    """Whether this part is a computation of Dask, of whatever it is."""
    return hasattr(type(source), "compute")


def _by_plain_names(record: Any) -> dict[Any, Any]:
    """The entries of a dictionary by its texts; a key's own code would run in a look-up among its keys."""
    items = dict.items(record) if issubclass(type(record), dict) else ()
    return {plain(key).strip(): value for key, value in items if issubclass(type(key), str)}


def _wanted(question: Question) -> list[str]:
    """The names of all columns that are read, each once."""
    texts = [name for name in question.texts if name is not None]
    return list(dict.fromkeys([*(column.name for column in question.columns), *texts]))


def _lines(source: str, question: Question) -> Iterator[tuple[int, dict[str, Any]]]:
    """The entries of a text table as they are written, None where a line has another number of fields than
    the header names; without a header, fewer than the schema has, whose columns are the first ones."""
    statement, wanted = [column.name for column in question.schema.columns], _wanted(question)
    heading, records = headed(source, form_of(question.schema))
    names, place = (statement, "schema") if heading is None else (heading, "header")
    places = places_of(source, place, names, [*statement, *wanted])[len(statement) :]
    most = sys.maxsize if heading is None else len(names)
    while batch := [
        record if record and len(names) <= len(record) <= most else None for record in islice(records, ROWS)
    ]:
        yield (
            len(batch),
            {
                name: [record[place] if record else None for record in batch]
                for name, place in zip(wanted, places, strict=True)
            },
        )


def _stored(source: str, question: Question) -> Iterator[tuple[int, dict[str, Any]]]:
    """The entries of a Parquet or an Excel file."""
    names, _, batches = stored(source)
    places_of(source, "columns", names, [*_wanted(question), *(c.name for c in question.schema.columns)])
    return batches(_wanted(question))


# ------------------------------------------------------------------------------------------------------------
# Frames


def _frame(frame: Any, question: Question) -> Iterator[Chunk]:
    """A data frame or a mapping of columns, in chunks."""
    if not isinstance(frame, Mapping) and not hasattr(frame, "columns"):
        raise TypeError(
            f"a file, a data frame or a mapping of columns is expected, got {type(frame).__name__}"
        )
    labels = list(frame if isinstance(frame, Mapping) else frame.columns)
    names, wanted = [str(label).strip() for label in labels], _wanted(question)  # as those of a file
    places = places_of("the table", "columns", names, wanted)
    taken = {name: _listed(name, frame[labels[place]]) for name, place in zip(wanted, places, strict=True)}
    for column in question.columns:
        _check_type(taken[column.name], column)
    first = next(iter(frame.values()), ()) if isinstance(frame, Mapping) else frame
    require_computed(first)
    lengths = {len(column) for column in taken.values() or (first,)}
    if len(lengths) > 1:
        raise ValueError("the columns of a table have one length")
    yield from _columns(taken, lengths.pop(), question)


def _check_type(values: Any, column: Column) -> None:
    """TypeError where the public type of a column is one whose entries the schema's type would not read."""
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind in "mc" or (kind == "M" and column.type != "date"):
        raise TypeError(
            f"column {column.name!r} has type {values.dtype}, of which the schema's type {column.type!r} "
            "reads no entry: state the type date, or recode publicly (times: seconds as numbers)"
        )


def _columns(taken: Mapping[str, Any], count: int, question: Question) -> Iterator[Chunk]:
    """The chunks of columns of one length."""
    for start in range(0, count, ROWS):
        part = slice(start, min(start + ROWS, count))
        numbers = {column.name: entries(taken[column.name][part], column) for column in question.columns}
        texts = [None if name is None else [text_of(e) for e in taken[name][part]] for name in question.texts]
        yield Chunk(part.stop - start, numbers, *texts)


def _listed(name: str, column: Any) -> Any:
    """The entries of a column; TypeError where it is none, an array of another dimension, or an iterator,
    which a second release would find empty."""
    shape = getattr(column, "shape", ("",))
    if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__len__") or len(shape) != 1:
        raise TypeError(f"{name}: one column is expected, got {type(column).__name__} {shape or ''}")
    return listed("the table", name, column)


def entries(values: Any, column: Column) -> npt.NDArray[np.float64]:
    """The numbers of some entries, as `Column.read` gives them for texts."""
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    with no_warnings():
        if kind in "biuf" and column.type != "date" and not column.is_named:  # numbers are no dates
            numbers = np.asarray(values, dtype=np.float64)
        elif kind == "M" and column.type == "date":
            numbers = _in_days(values)
        else:
            read = lru_cache(_REMEMBERED)(column.read)
            members = values.tolist() if kind in "biufSU" else list(values)
            return np.array([_entry(value, column, read) for value in members], dtype=np.float64)
        if column.type == "integer":
            numbers = np.where(numbers == np.floor(numbers), numbers, math.nan)
        # codes as the type of the column holds them: one of 32 bits has no -999.9
        codes = np.asarray(column.codes, dtype=values.dtype if kind == "f" else np.float64)
        missing = np.isinf(numbers) | np.isin(numbers, codes)
        return np.clip(np.where(missing, math.nan, numbers), *column.bounds)


def _in_days(values: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Days since 1970 of times of any unit, also of those that other units cannot hold; NaN for none."""
    unit, count = np.datetime_data(values.dtype)
    steps = values.astype(np.int64)
    if unit in _PER_DAY:
        result = steps.astype(np.float64) * count / _PER_DAY[unit]
    else:  # years, months, weeks
        near = np.clip(steps, -_DISTANT, _DISTANT).astype(values.dtype)
        result = near.astype("datetime64[D]").astype(np.float64)
    return np.where(np.isnat(values), math.nan, result)


def _entry(value: Any, column: Column, read: Callable[[str], float]) -> float:
    """One entry of any kind: a text as in a file, a number or truth as such, a date in days; never raises."""
    if column.is_named and not (column.truths and type(value) in (bool, np.bool_)):
        text = text_of(value)
        return math.nan if text is None else read(text)
    if issubclass(type(value), str):
        return read(str.__str__(value))
    return column.within(_days(value) if column.type == "date" else as_float(value))


def _days(value: Any) -> float:
    """Days since 1970 of a date or time (in UTC where it has a zone), NaN for everything else."""
    kind = type(value)
    if kind is np.datetime64:
        return float(_in_days(np.asarray(value)))
    if kind is getattr(sys.modules.get("pandas"), "Timestamp", None):
        return float(_in_days(np.asarray(value.to_datetime64())))
    if kind is dates.datetime and value.tzinfo is not None:  # which has code of its own
        return contained(lambda: days(value), math.nan)
    if kind is dates.datetime:
        return days(value)
    return float(value.toordinal() - EPOCH.toordinal()) if kind is dates.date else math.nan


def text_of(value: Any) -> str | None:
    """A key or an owner as a text: texts without blanks at their ends, numbers, whole ones up to 2^256; None
    for all else."""
    result = plain(value)
    if type(result) is str:
        return sys.intern(result.strip())  # one that is repeated takes the memory of one
    if type(result) is float and math.isfinite(result):
        return str(int(result)) if result.is_integer() and abs(result) < 1 << 53 else repr(result)
    whole = type(result) is bool or type(result) is int and abs(result) <= LARGEST_INTEGER
    return str(result) if whole else None


def all_chunks(source: Any, question: Question) -> Iterator[Chunk]:
    """The records of all parts, one after the other."""
    for part in parts(source):
        yield from chunks(part, question)
