"""Files of records: every physical line is one record, whatever its bytes, so the number of lines is n.

A line ends at the byte 10 and nowhere else; a carriage return before it is a blank at the end of the last
entry. Separator, header, decimal mark, encoding and the number of columns are stated, never guessed. A line
that cannot be decoded, has an open quote, or has another number of fields than there are columns is a record
of missing entries. No exception carries a byte of a line.

Proof that neighbours look alike: docs/proofs/inputs.md
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from sosdp.extras import need
from sosdp.privacy.guarantee.condition import Condition, Fact
from sosdp.privacy.inputs import check_schema, floats, number_in
from sosdp.privacy.schema import Schema
from sosdp.privacy.silence import no_warnings

LONGEST_LINE = 1 << 20
"""Bytes; a longer line is a record of missing entries, and is not kept in memory."""

LARGEST = 50_000_000
"""Entries of a table."""

SEPARATORS: dict[str, str | None] = {".csv": ",", ".tsv": "\t", ".txt": None}
"""What separates the entries of a text table where nobody says so, by its ending; None: blanks."""

_ENCODINGS = re.compile(r"utf-8(-sig)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|gbk|gb18030|big5|euc_\w+")
"""Names of encodings, as `codecs` spells them, in which a line ends with the byte 10 and nowhere else."""


class InputFileError(ValueError):
    """A file that is not of the stated form; one line that names the file, the place and the reason."""

    def __init__(self, source: str, place: str, reason: str):
        super().__init__(f"{source}: {place}: {reason}")


@dataclass(frozen=True)
class Form:
    """How the lines of a text table are written: public, and stated.

    Attributes:
        separator: one character, or None for any blanks.
        header: the first line names the columns. encoding: of the text. decimal: "." or ",".

    Raises:
        ValueError: a separator that is no single character or also the decimal mark, an unknown encoding, or
            one in which other bytes than 10 end a line.
    """

    separator: str | None = ","
    header: bool = False
    encoding: str = "utf-8"
    decimal: str = "."

    def __post_init__(self) -> None:
        mark = self.separator
        if mark is not None and (len(mark) != 1 or mark in '\n\r\0"'):
            raise ValueError(f"separator: one character is expected, got {mark!r}")
        if self.decimal not in (".", ",") or self.decimal == mark:
            raise ValueError(
                f"decimal: . or , is expected, and not the separator, got {self.decimal!r} with {mark!r}"
            )
        try:
            name = codecs.lookup(self.encoding).name
        except (LookupError, ValueError):
            name = ""
        if not _ENCODINGS.fullmatch(name):
            raise ValueError(f"encoding: {self.encoding!r} is none in which lines are read here")

    def fields(self, line: bytes | None) -> list[str] | None:
        """The entries of one line as they are written, None where they cannot be told apart. Never raises."""
        try:
            text = "" if line is None else line.decode(self.encoding)
        except UnicodeError:
            return None
        if line is None:
            return None
        if self.separator is None:
            return text.split()
        if '"' not in text:
            return text.split(self.separator)
        try:
            return next(csv.reader([text], delimiter=self.separator, strict=True))
        except (csv.Error, StopIteration):  # an open quote, or text after a closing one
            return None


@dataclass(frozen=True, eq=False)
class Table:
    """The records of a table and what is public about it.

    Attributes:
        values: (n, d) float64, NaN for a missing entry. names: of the columns where they are public.
        assumptions: what the reading rests on. bounds: (low, high) of every column, from a schema.
    """

    values: npt.NDArray[np.float64]
    names: list[str] | None = None
    assumptions: tuple[str, ...] = ()
    bounds: list[tuple[float, float]] | None = None


def physical_lines(source: str | Path) -> Iterator[bytes | None]:
    """The lines of a file without their ends, one at a time; None for one longer than `LONGEST_LINE`.

    A last line without an end counts where it holds a byte. A name that ends in .gz or .zst is decompressed,
    "-" is standard input. A byte order mark at the beginning of a line, of any line, is no part of it: which
    line is the first may be private.

    Raises:
        InputFileError: the file cannot be read as a file; nothing in it is repeated.
    """
    problem = ""
    try:
        with _opened(source) as file:
            line = file.readline(LONGEST_LINE)
            while line:
                whole = line.endswith(b"\n") or len(line) < LONGEST_LINE
                yield line.removesuffix(b"\n").removeprefix(codecs.BOM_UTF8) if whole else None
                while not whole and line and not line.endswith(b"\n"):
                    line = file.readline(LONGEST_LINE)
                line = file.readline(LONGEST_LINE)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        problem = "not a file of lines compressed by gzip"
    except OSError as error:
        problem = error.strerror or "cannot be read"
    if problem:  # outside the handler: the exception has no context
        raise InputFileError(str(source), "file", problem)


def _opened(source: str | Path) -> IO[bytes]:
    """The bytes of a file, decompressed where its name says so; of standard input for "-"."""
    ending = Path(source).suffix.lower()
    if ending == ".gz":
        return cast(IO[bytes], gzip.open(source, "rb"))
    if ending == ".zst":
        arrow = need("pyarrow", "a file compressed by zstd")
        return io.BufferedReader(arrow.input_stream(str(source), compression="zstd"))
    return open(0, "rb", closefd=False) if str(source) == "-" else open(source, "rb")


def suffix_of(source: str | Path) -> str:
    """The ending that says the format, without .gz or .zst."""
    path = Path(source)
    return (Path(path.stem) if path.suffix.lower() in (".gz", ".zst") else path).suffix.lower()


def require_file(source: str) -> None:
    """Raises InputFileError where there is no file of this name."""
    if not os.path.isfile(source):
        what = "a folder, not a file" if os.path.isdir(source) else "no such file"
        raise InputFileError(source, "file", what)


# ------------------------------------------------------------------------------------------------------------
# Tables


def read_table(
    source: str, form: Form | None = None, *, columns: Sequence[str] | int | None = None, schema: Any = None
) -> Table:
    """A table in a file as numbers, entry by entry.

    Args:
        source: .csv, .tsv, .txt (each also .gz), .npy or .parquet.
        form: of a text table; by default without header, separated as its ending says.
        columns: names of the columns to keep, in this order, where they are named; of a text table without a
            header, how many columns it has. Where nothing states that number, it is that of more than half of
            the lines, and what is released is conditional on this.
        schema: a `Schema`; it states the form, the columns and their bounds.

    Raises:
        InputFileError: no such file or format, no lines, no such column. ValueError: a form out of range.
    """
    require_file(source)
    kind = suffix_of(source)
    if kind in SEPARATORS:
        return _text(source, form or Form(SEPARATORS[kind]), columns, schema)
    if schema is not None:
        raise InputFileError(source, "--schema", "only a text table (.csv, .tsv, .txt) is read with a schema")
    if kind == ".npy":
        if columns is not None:
            raise InputFileError(source, "--columns", "an array names no columns")
        return Table(_loaded(source, lambda: np.load(source, allow_pickle=False), "a .npy file of numbers"))
    if kind == ".parquet":
        return _parquet(source, columns)
    known = ", ".join([*SEPARATORS, ".npy", ".parquet"])
    raise InputFileError(source, "file", f"the ending says no table format; known are: {known}")


def _text(source: str, form: Form, columns: Sequence[str] | int | None, schema: Schema | None) -> Table:
    if schema is not None:
        form = replace(form, separator=schema.separator, header=schema.header, encoding=schema.encoding)
    names, width = _heading(source, form)
    if schema is not None and names is None:
        names = [column.name for column in schema.columns]
        width = len(names)
    counted = False
    if isinstance(columns, int):
        if names is not None:
            raise InputFileError(source, "--columns", "names are expected: the columns have some")
        width, columns = columns, None
    if width is None:
        width, counted = _usual_width(source, form), True
    wanted = columns
    if wanted is None:
        wanted = names if schema is None else [column.name for column in schema.columns]
    if columns is not None and names is None:
        raise InputFileError(source, "--columns", "only a header or a schema names the columns of a text")
    every = columns is None and schema is None
    places = list(range(width)) if every else _places(source, names or [], wanted or [])
    readers: list[Callable[[str], float]] = [lambda text: number_in(text, form.decimal)] * len(places)
    bounds = None
    if schema is not None:
        chosen = [schema.column(name) for name in wanted or ()]
        readers, bounds = [column.read for column in chosen], [column.bounds for column in chosen]
    values = _values(source, form, width, places, readers)
    width_from = counted_columns(width, form) if counted else COLUMNS_STATED
    rests = (width_from,) if _every_line_ends(source) else (width_from, LAST_LINE)
    return Table(values, None if wanted is None else list(wanted), rests, bounds)


COLUMNS_STATED = Fact("every line of the file is one record, and how many lines it has is public")


LAST_LINE = Condition(
    "condition: in both neighbouring files the last line, which has no end, holds a byte (end every line)"
)
"""An empty line at the end of a file without a last line end is no record."""


def counted_columns(width: int, form: Form) -> Condition:
    """The condition of a table whose number of columns nobody stated."""
    mark = "blanks" if form.separator is None else repr(form.separator)
    other = "; another separator: --separator" if width == 1 else ""
    return Condition(
        f"condition: in both neighbouring files more than half of the lines have {width} "
        f"field{'s' if width != 1 else ''}, separated by {mark} (state the number of columns: --header, "
        f"--schema, or --columns N{other})"
    )


def _every_line_ends(source: str) -> bool:
    """Whether the last byte of a file is a line end; this is public."""
    last = b"\n"
    with _opened(source) as file:
        while block := file.read(LONGEST_LINE):
            last = block[-1:]
    return last == b"\n"


def _heading(source: str, form: Form) -> tuple[list[str] | None, int | None]:
    """The names in the header, which is public, and how many there are."""
    if not form.header:
        return None, None
    first = next(physical_lines(source), None)
    names = form.fields(first)
    if names is None:
        raise InputFileError(source, "header", "the first line names no columns in the stated encoding")
    return [name.strip() for name in names], len(names)


def _records(source: str, form: Form) -> Iterator[list[str] | None]:
    result = physical_lines(source)
    if form.header:
        next(result, None)
    return map(form.fields, result)


def _usual_width(source: str, form: Form) -> int:
    """How many fields more than half of the lines have."""
    counts = Counter(None if record is None else len(record) for record in _records(source, form))
    width, count = counts.most_common(1)[0] if counts else (1, 1)
    if not width or 2 * count <= counts.total():
        raise InputFileError(
            source, "file", "how many columns it has is not clear: state it (--header, --columns N, --schema)"
        )
    return width


def _values(
    source: str, form: Form, width: int, places: list[int], readers: list[Callable[[str], float]]
) -> npt.NDArray[np.float64]:
    """(n, len(places)) numbers: one row a line, NaN all over where a line has not `width` fields."""
    missing = [np.nan] * len(places)
    flat, most = array("d"), LARGEST // max(1, len(places))
    count = 0
    taken = list(zip(places, readers, strict=True))
    with no_warnings():
        for count, record in enumerate(_records(source, form), 1):
            if count > most:
                raise InputFileError(source, "file", f"more than {LARGEST} entries")
            if record is None or len(record) != width:
                flat.extend(missing)
            else:
                flat.extend([read(record[place]) for place, read in taken])
    if not count:
        raise InputFileError(source, "file", "no lines of data")
    return np.frombuffer(flat, dtype=np.float64).reshape(count, len(places)).copy()


def _places(source: str, names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The places of the wanted columns among the names, which are public."""
    if not wanted:
        raise InputFileError(source, "--columns", "no column is named")
    for column in wanted:
        if list(wanted).count(column) != 1:
            raise InputFileError(source, "--columns", f"{column}: named twice")
        if names.count(column) != 1:
            reason = "no such column" if column not in names else "several columns have this name"
            raise InputFileError(source, "--columns", f"{column}: {reason}; there are: {', '.join(names)}")
    return [names.index(column) for column in wanted]


def _parquet(source: str, columns: Sequence[str] | int | None) -> Table:
    try:
        import pandas
    except ModuleNotFoundError:
        pandas = None
    if pandas is None:
        raise InputFileError(source, "file", "Parquet needs pandas and pyarrow: pip install pandas pyarrow")
    if isinstance(columns, int):
        raise InputFileError(source, "--columns", "names are expected: the columns have some")
    # nullable types: a missing entry does not change the type of its column
    frame = _attempt(lambda: pandas.read_parquet(source, dtype_backend="numpy_nullable"))
    if frame is None:
        raise InputFileError(source, "file", "not a Parquet file that can be read here")
    names = [str(name) for name in frame.columns]
    if columns is not None:
        frame = frame.iloc[:, _places(source, names, columns)]
        names = list(columns)
    try:
        check_schema(frame)
        problem = ""
    except (TypeError, ValueError) as error:  # about names and types, which are public
        problem = str(error)
    if problem:
        raise InputFileError(source, "columns", problem)
    return Table(_loaded(source, lambda: frame, "a table of numbers"), names)


def _attempt(load: Callable[[], Any]) -> Any:
    """What `load` returns, None where it raises anything; what a library says may quote the file."""
    try:
        with no_warnings():
            return load()
    except Exception:  # a broken file breaks libraries' readers in many ways
        return None


def _loaded(source: str, load: Callable[[], Any], what: str) -> npt.NDArray[np.float64]:
    """(n, d) numbers of an array or frame whose type is that of its file, and so public."""
    loaded = _attempt(load)
    shape = getattr(loaded, "shape", ())
    if loaded is None:
        raise InputFileError(source, "file", f"not {what}")
    if isinstance(loaded, np.ndarray) and loaded.dtype.kind not in "biuf":
        raise InputFileError(source, "file", f"entries of the type {loaded.dtype} are no real numbers")
    if len(shape) not in (1, 2) or 0 in shape:
        raise InputFileError(source, "file", f"a table has rows and columns, this has shape {shape}")
    if np.prod(shape) > LARGEST:
        raise InputFileError(source, "file", f"more than {LARGEST} entries")
    values = floats(loaded)
    return values[:, None] if values.ndim == 1 else values
