"""The entries of a column of numpy, pandas, polars or Arrow, or of any iterable, each by itself.

What one is read as depends on this entry and on the type of its column, which is public. Types that hold
missing entries become objects, not float64: there one that is missing would round the whole numbers of all
others, and so merge keys and owners.

Proof: docs/proofs/tables.md, "Reading"
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sosdp.extras import need


def listed(values: Any, unread: Callable[[Any], Any] | None = None) -> Any:
    """The entries of a column, or the rows of a frame: an array where the types are numpy's, else a list.

    Entries that a type of pandas, polars or Arrow calls missing are NaN or pandas' NA, times without one of
    them NaT; texts of Arrow that are not UTF-8 are NaN. Masked entries are None.

    Args:
        unread: what becomes of a column of Arrow whose type is none of numbers, truths, texts, dates and
            times; by default its entries are objects of Python.
    """
    # a series of pandas has its labels as attributes, but not its class
    kind: Any = getattr(values, "dtype", None)
    stored, offers = getattr(values, "array", values), type(values)
    if isinstance(values, np.ma.MaskedArray):
        return values.astype(object).tolist()
    if hasattr(offers, "toarray"):  # scipy's sparse matrices
        return values.toarray()
    if hasattr(offers, "columns") and not all(isinstance(kind, np.dtype) for kind in values.dtypes):
        columns = [one for _, one in values.items()] if hasattr(offers, "items") else values.get_columns()
        return [list(row) for row in zip(*map(listed, columns), strict=True)]
    if hasattr(offers, "to_arrow"):  # polars
        return _of_arrow(values.to_arrow(), unread or (lambda _: values.to_list()))
    if hasattr(kind, "pyarrow_dtype") or getattr(kind, "storage", None) == "pyarrow":  # pandas
        values = stored.__arrow_array__()
    if hasattr(type(values), "to_pylist"):
        return _of_arrow(values, unread or (lambda _: values.to_pylist()))
    if hasattr(kind, "categories"):
        known = [*kind.categories.astype(object), math.nan]
        return [known[code] for code in stored.codes.tolist()]  # -1 where the entry is missing
    if getattr(kind, "tz", None) is not None:
        return stored.tz_convert("UTC").tz_localize(None).to_numpy()
    if hasattr(values, "to_numpy"):
        return values.to_numpy() if isinstance(kind, np.dtype | None) else values.to_numpy(dtype=object)
    return values if isinstance(values, np.ndarray) else list(values)


def _of_arrow(column: Any, unread: Callable[[Any], Any]) -> Any:
    arrow = need("pyarrow", "a column of Arrow")
    column, types = column.combine_chunks() if hasattr(column, "chunks") else column, arrow.types
    column = column.dictionary_decode() if types.is_dictionary(column.type) else column
    kind, numbers = column.type, are_numbers(column.type)
    signed = types.is_floating(kind) or types.is_date(kind) or types.is_timestamp(kind)  # NaN, NaT
    if signed or (numbers and not column.null_count):
        return column.to_numpy(zero_copy_only=False)
    if types.is_string(kind) or types.is_large_string(kind):
        binary = arrow.binary() if types.is_string(kind) else arrow.large_binary()
        return [_decoded(entry) for entry in column.view(binary).to_pylist()]
    if numbers or types.is_null(kind):
        return [math.nan if entry is None else entry for entry in column.to_pylist()]
    return unread(kind)


def are_numbers(kind: Any) -> bool:
    """Whether a type of Arrow is one of numbers or truths."""
    types = need("pyarrow", "a column of Arrow").types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _decoded(entry: bytes | None) -> Any:
    """The text of some bytes, NaN where they are none."""
    try:
        return math.nan if entry is None else entry.decode("utf-8")
    except UnicodeDecodeError:
        return math.nan
