"""Columns of Arrow, as Parquet files have them, entry by entry: none decides how another one is read.

Proof: docs/proofs/tables.md, "Reading"
"""

from __future__ import annotations

from typing import Any

from sosdp.extras import need
from sosdp.privacy.files import InputFileError


def listed(source: str, name: str, column: Any) -> Any:
    """The entries of a column: numbers, dates and truths in an array of their type where none is missing or
    the array can say so; otherwise a list of plain objects, None for texts that are not in UTF-8.

    Args:
        source, name: for the message. column: an array of Arrow.

    Raises:
        InputFileError: a type, which is public, other than those.
    """
    pyarrow = need("pyarrow", "a column of Arrow")
    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_floating(kind) or types.is_date(kind) or types.is_timestamp(kind):
        return column.to_numpy(zero_copy_only=False)
    if types.is_integer(kind) or types.is_boolean(kind):
        whole = column.null_count == 0
        return column.to_numpy(zero_copy_only=False) if whole else column.to_pylist()
    if types.is_string(kind) or types.is_large_string(kind):
        binary = pyarrow.binary() if types.is_string(kind) else pyarrow.large_binary()
        return [_decoded(entry) for entry in column.view(binary).to_pylist()]
    if types.is_null(kind):
        return [None] * len(column)
    raise InputFileError(source, "columns", f"{name}: entries of the type {kind} are not read: convert them")


def _decoded(entry: bytes | None) -> str | None:
    """The text of some bytes, None where they are none."""
    try:
        return None if entry is None else entry.decode("utf-8")
    except UnicodeDecodeError:
        return None
