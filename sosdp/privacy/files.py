"""Files of records: every physical line is one record, whatever its bytes, so the number of lines is n.

A line ends at the byte 10 and nowhere else; a carriage return before it is a blank at the end of the last
entry. Separator, header, decimal mark, encoding and the number of columns are stated, never guessed. A line
that cannot be decoded, has an open quote, or has another number of fields than there are columns is a record
of missing entries. Of columns that are stored as such (Parquet, Excel) every entry is read by itself. A sheet
has no record in a blank row, wherever that is. No exception carries a byte of a line.

Proof that neighbours look alike: docs/proofs/inputs.md; docs/proofs/tables.md, "Reading"
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from sosdp import read
from sosdp.extras import need
from sosdp.privacy import entries
from sosdp.privacy.schema import Schema
from sosdp.privacy.silence import contained

LONGEST_LINE = 1 << 20
"""Bytes; a longer line is a record of missing entries, and is not kept in memory."""

ROWS = 1 << 16
"""Records that are read at a time."""

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


def form_of(schema: Schema) -> Form:
    """How the lines are written; raises ValueError for a separator or encoding that is none."""
    return Form(schema.separator, schema.header, schema.encoding)


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
        with opened(source) as file:
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


def opened(source: str | Path) -> IO[bytes]:
    """The bytes of a file, decompressed where its name says so; of standard input for "-"."""
    ending = Path(source).suffix.lower()
    if ending == ".gz":
        return cast(IO[bytes], gzip.open(source, "rb"))
    if ending == ".zst":
        arrow = need("pyarrow", "a file compressed by zstd")
        return io.BufferedReader(arrow.input_stream(str(source), compression="zstd"))
    return read.opened(source, "rb")


def is_stream(source: str | Path) -> bool:
    """Whether the name is that of standard input ("-") or of a pipe, which are read once."""
    name = str(source)
    return name == read.STANDARD_INPUT or (os.path.exists(name) and stat.S_ISFIFO(os.stat(name).st_mode))


def suffix_of(source: str | Path) -> str:
    """The ending that says the format, without .gz or .zst."""
    path = Path(source)
    return (Path(path.stem) if path.suffix.lower() in (".gz", ".zst") else path).suffix.lower()


def require_file(source: str) -> None:
    """Raises InputFileError where there is no file of this name."""
    if not os.path.isfile(source):
        what = "a folder, not a file" if os.path.isdir(source) else "no such file"
        raise InputFileError(source, "file", what)


def headed(source: str, form: Form) -> tuple[list[str] | None, Iterator[list[str] | None]]:
    """The names of the columns, which are public (None without a header), and the entries of every record.

    Raises:
        InputFileError: the file cannot be read, or its first line names no columns.
    """
    lines, names = physical_lines(source), None
    if form.header:
        heading = form.fields(next(lines, None))
        if heading is None:
            raise InputFileError(source, "header", "the first line names no columns in the stated encoding")
        names = [name.strip() for name in heading]
    return names, map(form.fields, lines)


def places_of(source: str, place: str, names: Sequence[str], wanted: Iterable[str]) -> list[int]:
    """The places of the wanted columns among the public names; InputFileError where one has none."""
    for column in wanted:
        if names.count(column) != 1:
            reason = "no such column" if column not in names else "several columns have this name"
            # a first line that is a record, not the header that a schema states, is not repeated
            there = f"; there are: {', '.join(names)}" if place == "--columns" else ""
            raise InputFileError(source, place, f"{column}: {reason}{there}")
    return [names.index(column) for column in wanted]


# ------------------------------------------------------------------------------------------------------------
# Columns that are stored as such

Batches = Callable[[Sequence[str]], Iterator[tuple[int, dict[str, Any]]]]
"""Names of columns -> numbers of records with their entries, part by part."""


def stored(source: str) -> tuple[list[str], list[str], Batches]:
    """The columns of a Parquet file or of the first sheet of an Excel file: their names, those whose type is
    not one of numbers (both public), and what reads them.

    Raises:
        InputFileError: another format, or a file that cannot be read.
    """
    readers = {".parquet": _parquet, ".xlsx": _sheet}
    kind = suffix_of(source)
    if kind not in readers:
        known = ", ".join([*SEPARATORS, ".npy", *readers])
        raise InputFileError(source, "file", f"the ending says no table format; known are: {known}")
    return readers[kind](source)


def _parquet(source: str) -> tuple[list[str], list[str], Batches]:
    types, end = need("pyarrow", "a Parquet file").types, object()
    parquet = need("pyarrow.parquet", "a Parquet file")

    def load() -> Any:
        # dictionaries as they are stored: pyarrow converts those of other types at once, and refuses a column
        # for one entry that is not UTF-8, or for many different ones
        coded = [field.name for field in parquet.read_schema(source) if types.is_dictionary(field.type)]
        return parquet.ParquetFile(source, read_dictionary=coded)

    file = attempt(load)
    if file is None:
        raise InputFileError(source, "file", "not a Parquet file that can be read here")
    kept = {field.name: field.name.strip() for field in file.schema_arrow}  # as those of a text are
    names = [kept[name] for name in file.schema_arrow.names]
    texts = [kept[field.name] for field in file.schema_arrow if not entries.are_numbers(field.type)]
    places = {name: place for place, name in kept.items()}

    def batches(wanted: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        chosen = [places[name] for name in wanted] or list(kept)[:1]
        left = file.iter_batches(batch_size=ROWS, columns=chosen)
        while (batch := attempt(lambda: next(left, end))) is not end:
            if batch is None:
                raise InputFileError(source, "file", "a part of it cannot be read")
            taken = {name: batch.column(places[name]) for name in wanted}
            yield batch.num_rows, {name: listed(source, name, column) for name, column in taken.items()}

    return names, texts, batches


_NO_TEXT = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile("&#x([0-9a-fA-F]{1,999});|&#([0-9]{1,999});")
_DECLARED = re.compile(rb"""<\?xml[^>]*encoding=["']([^"']*)""")
_DECLARATION = re.compile(r"\ufeff?<\?xml[^>]*>")


def xml_of(data: bytes) -> bytes:
    """The same XML in UTF-8. A character that XML, or the encoding, does not have is replaced: one of a
    record would make the file no XML."""

    def character(one: re.Match[str]) -> str:
        code = int(one[1], 16) if one[1] else int(one[2])
        return "\ufffd" if code >= 0x110000 or _NO_TEXT.match(chr(code)) else one[0]

    declared = _DECLARED.match(data)
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    text = data.decode(declared[1].decode() if declared else encoding, "replace")
    return _REFERENCE.sub(character, _NO_TEXT.sub("\ufffd", _DECLARATION.sub("", text, 1))).encode()


def _elements(data: bytes, depth: int, tag: str, last: str = "") -> Iterator[Any]:
    """The elements of this name at this depth in their order, up to the end of `last`, which holds them; each
    is forgotten once it was read. What stands within one of them is a part of it, whatever its name."""
    parse, inside = need("openpyxl.xml.functions", "an Excel file").iterparse, 0
    for event, element in parse(io.BytesIO(xml_of(data)), events=("start", "end")):
        inside += 1 if event == "start" else -1
        if event == "end" and inside == depth and element.tag == tag:
            yield element
            element.clear()
        elif event == "end" and inside == depth - 1 and element.tag == last:
            return


def _cells_of(source: str) -> list[dict[int, Any]]:
    """The cells of the rows of the first sheet in their order, by the numbers of their columns; one that
    cannot be read is missing. The numbers of rows, and the range that the file states, are not looked at."""
    excel, sheets = need("openpyxl.reader.excel", "an Excel file"), need("openpyxl.worksheet._reader", "")
    strings = need("openpyxl.reader.strings", "an Excel file")
    book = excel.ExcelReader(source, read_only=True, data_only=True)
    book.read_manifest()
    book.read_workbook()
    excel.apply_stylesheet(book.archive, wb := book.wb)

    def text_of(element: Any) -> Any:
        return strings.Text.from_tree(element).content.replace("x005F_", "")

    part, texts = book.package.find(excel.SHARED_STRINGS), []
    if part is not None:
        data = book.archive.read(part.PartName[1:])
        texts = [_or_none(text_of, one) for one in _elements(data, 1, f"{{{strings.SHEET_MAIN_NS}}}si")]
    shared = dict(enumerate(texts))  # a list counts -1 from its end
    parser = sheets.WorkSheetParser(None, shared, True, wb.epoch, wb._date_formats, wb._timedelta_formats)
    known = (part.target for _, part in book.parser.find_sheets() if "chartsheet" not in part.Type)
    place = next(name for name in known if name in book.valid_files)
    records: list[dict[int, Any]] = []
    for row in _elements(book.archive.read(place), 2, sheets.ROW_TAG, sheets.DATA_TAG):
        if not records and row.get("r", "1") != "1":
            records.append({})  # the first one is blank
        parser.col_counter = 0
        cells = [_or_none(parser.parse_cell, cell) for cell in row]
        records.append({cell["column"]: cell["value"] for cell in cells if cell})
    return records


def _or_none(read: Callable[[Any], Any], element: Any) -> Any:
    """What an element is read as; None for one that is not as it should be."""
    try:
        return read(element)
    except Exception:  # of many kinds
        return None


def _sheet(source: str) -> tuple[list[str], list[str], Batches]:
    """Every row after the first that has a value in a named column is one record; a formula is the value that
    it had last. Cells in columns that the first row does not name are not read: how far the rows of a sheet
    reach, and how many it has, depends on the records."""
    lines = attempt(lambda: _cells_of(source))
    if not lines:
        raise InputFileError(source, "file", "not an Excel file whose first sheet can be read here")
    heading = {place: "" if name is None else str(name).strip() for place, name in sorted(lines[0].items())}
    places = [place for place, name in heading.items() if name]
    cells = [[row.get(place) for place in places] for row in lines[1:]]
    records = [record for record in cells if any(cell is not None for cell in record)]
    names = [heading[place] for place in places]

    def batches(wanted: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        yield len(records), {name: [record[names.index(name)] for record in records] for name in wanted}

    return names, [], batches


def listed(source: str, name: str, column: Any) -> Any:
    """The entries of a column of a table, one by one (`entries.listed`).

    Raises:
        InputFileError: of Arrow, and of a type that is none of those that are read, which is public.
    """

    def refuse(kind: Any) -> None:
        raise InputFileError(
            source, "columns", f"{name}: entries of the type {kind} are not read: convert them"
        )

    return entries.listed(column, refuse)


def attempt(load: Callable[[], Any]) -> Any:
    """What `load` returns, None where it raises anything: a broken file breaks libraries' readers in many
    ways, and what they say may quote the file."""
    return contained(load, None)
