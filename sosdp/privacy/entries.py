"""The entries of a column of numpy, pandas, polars or Arrow, or of any iterable, and of a record, by itself.

What one is read as depends on this entry and on the type of its column, which is public. Types that hold
missing entries become objects, not float64: there one that is missing would round the whole numbers of all
others, and so merge keys and owners.

Proof: docs/proofs/tables.md, "Reading"
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import getattr_static
from operator import methodcaller
from typing import Any

import numpy as np

from sosdp.extras import need


def listed(values: Any, unread: Callable[[Any], Any] | None = None) -> Any:
    """The entries of a column, or the rows of a frame: an array where the types are numpy's, else a list.

    Entries that a type of pandas, polars or Arrow calls missing are NaN or pandas' NA, times without one of
    them NaT; what Python cannot hold, as texts that are not UTF-8, is NaN. Masked entries are None.

    Args:
        unread: what becomes of a column of Arrow whose type is none of numbers, truths, texts, dates and
            times; by default its entries are objects of Python.
    """
    require_computed(values)
    # a series of pandas has its labels as attributes, a frame its columns, but not their class
    offers = type(values)
    kind: Any = values.dtype if hasattr(offers, "dtype") else None
    if hasattr(offers, "levels"):  # pandas' index of several columns, which are coded
        return list(zip(*map(_coded, values.levels, values.codes), strict=True))
    stored = values.array if hasattr(offers, "array") else values
    if isinstance(values, np.ma.MaskedArray):
        return values.astype(object).tolist()
    if hasattr(offers, "toarray"):  # scipy's sparse matrices
        return values.toarray()
    named = hasattr(offers, "items")  # pandas, else polars
    if hasattr(offers, "columns") and not (named and all(isinstance(one, np.dtype) for one in values.dtypes)):
        columns = [one for _, one in values.items()] if named else values.get_columns()
        return [list(row) for row in zip(*map(listed, columns), strict=True)]
    if hasattr(offers, "to_arrow"):  # polars; Arrow has no integers of 128 bits
        unread = unread or (lambda _: [_read(at, values.__getitem__) for at in range(len(values))])
        return unread(kind) if "Int128" in str(kind) else _of_arrow(values.to_arrow(), unread)
    if hasattr(kind, "pyarrow_dtype") or getattr(kind, "storage", None) == "pyarrow":  # pandas
        values = stored.__arrow_array__()
    if hasattr(type(values), "to_pylist"):
        return _of_arrow(values, unread)
    if hasattr(kind, "categories"):
        return _coded(kind.categories, stored.codes)
    if getattr(kind, "tz", None) is not None:
        return stored.tz_convert("UTC").tz_localize(None).to_numpy()
    if getattr(kind, "kind", "") == "f" and hasattr(kind, "numpy_dtype"):  # pandas: NaN for what is missing
        return values.to_numpy(dtype=kind.numpy_dtype, na_value=math.nan)
    if hasattr(values, "to_numpy"):
        return values.to_numpy() if isinstance(kind, np.dtype | None) else values.to_numpy(dtype=object)
    return values if isinstance(values, np.ndarray) else list(values)


def entries(record: Any, length: int | None = None) -> list[Any] | None:
    """The entries of one record that is a list, tuple or array (or a subclass of one); None for all else, and
    where there are not `length` of them: a record may be long that takes no memory (`numpy.broadcast_to`)."""
    kind, count = type(record), length_of(record)
    if count is None or length not in (None, count):
        return None
    if issubclass(kind, list):
        return list(list.__iter__(record))
    if issubclass(kind, tuple):
        return list(tuple.__iter__(record))
    array = np.ndarray.view(record, np.ndarray)
    return array.tolist() if array.ndim == 1 else list(array)


def length_of(record: Any) -> int | None:
    """How many entries a record has that is a list, tuple or array; None for all else. Opens nothing."""
    kind = type(record)
    if issubclass(kind, list):
        return list.__len__(record)
    if issubclass(kind, tuple):
        return tuple.__len__(record)
    if not issubclass(kind, np.ndarray) or issubclass(kind, np.ma.MaskedArray):
        return None
    shape: tuple[int, ...] = np.ndarray.shape.__get__(record)  # type: ignore[attr-defined]
    return shape[0] if shape else None


def require_computed(values: Any) -> None:
    """Refuse, by its type, what may be a computation that is not done, as Dask's are: it would run where
    entries are read, and what it raises quotes them.

    Raises:
        TypeError: it is one.
    """
    if getattr_static(type(values), "compute", None) is not None:
        kind = type(values).__name__
        raise TypeError(f"{kind} is a computation: pass what it holds, as an array (compute(), to_numpy())")


def _coded(names: Any, codes: Any) -> list[Any]:
    """The names of some codes, NaN where the code is -1: the entry is missing."""
    known = [*names.astype(object), math.nan]
    return [known[code] for code in codes.tolist()]


def _of_arrow(column: Any, unread: Callable[[Any], Any] | None) -> Any:
    arrow = need("pyarrow", "a column of Arrow")
    types, chunks = arrow.types, getattr(column, "chunks", [column])
    texts = types.is_string(column.type) or types.is_large_string(column.type)
    if len(chunks) > 1 and (texts or types.is_dictionary(column.type)):
        # one array holds texts of 2 GB at most; whether dictionaries have one in common is private
        return [entry for chunk in chunks for entry in _of_arrow(chunk, unread)]
    column = column.combine_chunks() if hasattr(column, "chunks") else column
    if types.is_dictionary(column.type):  # a text that is repeated stays one, others may be those of a file
        codes = column.indices.cast("int64").fill_null(-1).to_numpy()
        used, places = np.unique(codes, return_inverse=True)
        names = _of_arrow(column.dictionary.take(arrow.array(used, mask=used < 0)), unread)
        return [names[place] for place in places.tolist()]
    kind, numbers = column.type, are_numbers(column.type)
    signed = types.is_floating(kind) or types.is_date(kind) or types.is_timestamp(kind)  # NaN, NaT
    if signed or (numbers and not column.null_count):
        return column.to_numpy(zero_copy_only=False)
    if texts:
        binary = arrow.binary() if types.is_string(kind) else arrow.large_binary()
        return [_read(entry, bytes.decode) for entry in column.view(binary).to_pylist()]
    if numbers or types.is_null(kind):
        return [math.nan if entry is None else entry for entry in column.to_pylist()]
    return unread(kind) if unread else [_read(entry, methodcaller("as_py")) for entry in column]


def are_numbers(kind: Any) -> bool:
    """Whether a type of Arrow is one of numbers or truths."""
    types = need("pyarrow", "a column of Arrow").types
    return any(
        is_one(kind) for is_one in (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    )


def _read(entry: Any, read: Callable[[Any], Any]) -> Any:
    """What an entry is read as; NaN where it is missing, or where there is no such object of Python."""
    try:
        result = None if entry is None else read(entry)
    except Exception:  # bytes that are no text, times beyond those of Python
        return math.nan
    return math.nan if result is None else result
