"""Tables as the command line takes them: CSV, TSV, `.npy`, Parquet, and scikit-learn's built-in data.

How many rows and columns a table has is public. What an entry holds is not: an entry that is no number makes
its record the zero record, silently, and no error depends on it. The texts true and false (True, TRUE, ...)
are 1 and 0, each by itself.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sosdp.extras import need

TEXT = {".csv": ",", ".tsv": "\t", ".txt": None}
BUILTIN = ("iris", "wine", "breast-cancer", "diabetes", "digits")
LARGEST = 50_000_000  # entries
TRUTHS = {
    spelling: float(word == "true")
    for word in ("true", "false")
    for spelling in (word, word.title(), word.upper())
}


class TableFileError(ValueError):
    """A table that cannot be read; the message names the file, the place and the reason in one line."""

    def __init__(self, source: str, place: str, reason: str):
        super().__init__(f"{source}: {place}: {reason}")


def read_table(source: str, header: bool = False, columns: Sequence[str] | None = None) -> np.ndarray:
    """The rows of `read_named_table`."""
    return read_named_table(source, header, columns)[0]


def read_named_table(
    source: str, header: bool = False, columns: Sequence[str] | None = None
) -> tuple[np.ndarray, list[str] | None]:
    """The rows of a table as an (n, d) array, float64 or objects where the file is text, and the names of its
    columns where they are public: stated by a header, by Parquet or by a built-in table.

    Args:
        source: a file, or builtin:NAME. header: whether the first row of a text file names the columns. It is
            never guessed: a first row of data may hold anything, and the number of rows is public. Where it
            has no comma but semicolons or tabs, these separate the entries of a .csv. columns: names of the
            columns to keep, in this order, of a text file with a header or of Parquet; by default all.

    Raises:
        TableFileError: no such file or format, rows of different lengths, no rows, no such column.
    """
    named = Path(source).suffix.lower()
    if columns is not None and not (header and named in TEXT) and named != ".parquet":
        raise TableFileError(
            source, "--columns", "only a text table with --header, and Parquet, name their columns"
        )
    if source.startswith("builtin:"):
        return _builtin(source)
    path = Path(source)
    if not os.path.isfile(source):
        raise TableFileError(source, "file", "no such file (built-in tables are written builtin:iris)")
    suffix = path.suffix.lower()
    if suffix in TEXT:
        return _text(path, TEXT[suffix], header, columns)
    if suffix == ".npy":
        try:
            table = np.load(path, allow_pickle=False)
        except Exception as error:  # a broken header breaks numpy's reader in many ways
            raise TableFileError(source, "file", "not a .npy file of numbers") from error
        return _checked(source, table), None
    if suffix == ".parquet":
        return _parquet(path, columns)
    known = ", ".join([*TEXT, ".npy", ".parquet"])
    raise TableFileError(source, "file", f"the ending says no table format; known are: {known}")


def _text(
    path: Path, delimiter: str | None, header: bool, columns: Sequence[str] | None
) -> tuple[np.ndarray, list[str] | None]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            if delimiter == "," and header:
                delimiter = _separator(lines.readline())
                lines.seek(0)
            if delimiter is None:
                rows = [line.split() for line in lines if line.strip()]
            else:
                rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableFileError(str(path), "file", "not a text table in UTF-8") from error
    names = [name.strip() for name in rows[0]] if header and rows else []
    if header:
        rows = rows[1:]
    lengths = {len(row) for row in rows}
    if not rows:
        raise TableFileError(str(path), "file", "no rows of data")
    if len(lengths) > 1:
        raise TableFileError(str(path), "file", "rows of different lengths: not a table")
    if columns is not None:
        if len(names) not in lengths:
            raise TableFileError(str(path), "header", "it names another number of columns than the rows have")
        kept = _places(str(path), names, columns)
        rows, names = [[row[j] for j in kept] for row in rows], list(columns)
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            out[i, j] = _entry(entry)
    return _checked(str(path), out), names if names and len(names) == out.shape[1] else None


def named(columns: str | None) -> list[str] | None:
    """The names in `--columns a,b`; None where the option is not given."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


def _separator(names: str) -> str:
    """What separates the entries of a .csv, by the line of its column names: the data have no say."""
    return next((mark for mark in (",", ";", "\t") if mark in names), ",")


def _places(source: str, names: Sequence[str], columns: Sequence[str]) -> list[int]:
    """The places of the columns among the names."""
    for column in columns:
        if names.count(column) != 1:
            reason = "no such column" if column not in names else "several columns have this name"
            raise TableFileError(source, "--columns", f"{column}: {reason}; there are: {', '.join(names)}")
    return [names.index(column) for column in columns]


def _entry(text: str) -> float | str:
    """The number that a text is, 1 and 0 for true and false, or the text; a function of this entry alone."""
    word = text.strip()
    if word in TRUTHS:
        return TRUTHS[word]
    try:
        return float(text)
    except ValueError:  # no number: what that counts as is the estimator's to say
        return text


def _parquet(path: Path, columns: Sequence[str] | None) -> tuple[np.ndarray, list[str] | None]:
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise TableFileError(
            str(path), "file", "Parquet needs pandas and pyarrow: pip install pandas pyarrow"
        ) from error
    try:
        frame = pandas.read_parquet(path)
        if columns is not None:
            frame = frame.iloc[:, _places(str(path), [str(name) for name in frame.columns], columns)]
        return _checked(str(path), frame.to_numpy()), [str(name) for name in frame.columns]
    except TableFileError:
        raise
    except (ValueError, OSError, ImportError) as error:
        raise TableFileError(str(path), "file", "not a Parquet file that can be read here") from error


def _builtin(source: str) -> tuple[np.ndarray, list[str] | None]:
    need("sklearn", "a built-in table")
    from sklearn import datasets

    name = source.partition(":")[2]
    if name not in BUILTIN:
        raise TableFileError(source, "name", f"no such table; the names are: {', '.join(BUILTIN)}")
    found = getattr(datasets, f"load_{name.replace('-', '_')}")()
    return _checked(source, found.data), [str(column) for column in found.feature_names]


def _checked(source: str, table: Any) -> np.ndarray:
    rows = np.asarray(table)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.size == 0:
        raise TableFileError(source, "file", f"a table has rows and columns, this has shape {rows.shape}")
    if rows.dtype.kind not in "biufO":
        raise TableFileError(source, "file", f"entries of the type {rows.dtype} are no real numbers")
    if rows.size > LARGEST:
        raise TableFileError(source, "file", f"{rows.size} entries: at most {LARGEST} are read")
    return rows
