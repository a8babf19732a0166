"""Tables of private records as numbers, each record made usable by itself."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.inputs import number

Array = npt.NDArray[np.float64]

LARGEST_RECORD = 2.0**40
"""Coordinates beyond this many units make a record the zero record."""


def as_records(data: Any) -> Array:
    """(n, d) float64 records; one that holds anything but numbers below 2^40 in size is the zero record.

    A map of each record by itself. A vector is read as n records of one coordinate.

    Raises:
        ValueError: not a table (two dimensions, at least one row and column): the shape is public.
    """
    for conversion in ("to_numpy", "toarray"):  # pandas, polars; scipy's sparse matrices
        if hasattr(data, conversion):
            data = getattr(data, conversion)()
    table = np.asarray(data) if isinstance(data, np.ndarray) else _table(data)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.size == 0:
        raise ValueError(
            f"data must be an (n, d) table with at least one record and coordinate, got shape {table.shape}"
        )
    with np.errstate(all="ignore"):
        if table.dtype.kind in "biuf":
            records = table.astype(np.float64)
        else:
            records = np.array([[_plain(entry) for entry in row] for row in table.tolist()], dtype=np.float64)
        usable = (np.abs(records) < LARGEST_RECORD).all(axis=1)
    records[~usable] = 0.0
    return np.ascontiguousarray(records)


def _table(data: Any) -> np.ndarray:
    """A list of rows as an object array, so that no entry is converted yet."""
    rows = [row if isinstance(row, list | tuple | np.ndarray) else [row] for row in data]
    sizes = {len(row) for row in rows}
    if len(sizes) != 1:
        raise ValueError("data must be an (n, d) table: all rows of the same length")
    table = np.empty((len(rows), sizes.pop()), dtype=object)
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            table[i, j] = entry
    return table


def _plain(entry: Any) -> float:
    exact_entry = number(entry)
    if not isinstance(exact_entry, Fraction) or abs(exact_entry) >= LARGEST_RECORD:
        return np.inf
    return float(exact_entry)
