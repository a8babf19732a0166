"""Tables of private records as numbers, each record made usable by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.inputs import check_schema, floats
from sosdp.privacy.rows import numbers
from sosdp.privacy.silence import no_warnings

Array = npt.NDArray[np.float64]

LARGEST_RECORD = 2.0**40
"""Coordinates beyond this many units make a record the zero record."""


def as_records(data: Any) -> Array:
    """(n, d) float64 records; one that holds anything but numbers below 2^40 in size is the zero record.

    A map of each record by itself, whatever the record is. Raises as `as_numbers` does.
    """
    records = np.array(as_numbers(data))
    with no_warnings():
        usable = (np.abs(records) < LARGEST_RECORD).all(axis=1)
    records[~usable] = 0.0
    return np.ascontiguousarray(records)


def as_numbers(data: Any) -> Array:
    """(n, d) float64 entries, NaN for what is no number; d as `sosdp.privacy.rows.numbers` says.

    Raises:
        ValueError: not a table (two dimensions, at least one row and column): the shape is public.
        TypeError: a frame with columns that are no numbers, a mapping or a text (`check_schema`).
    """
    check_schema(data)
    shape = getattr(data, "shape", None)
    if isinstance(shape, tuple) and 0 in shape:
        raise ValueError(_empty(shape))
    result = numbers(data)
    if result.ndim != 2 or result.size == 0:
        raise ValueError(_empty(result.shape))
    return result


def pairs_of(bounds: Any, d: int) -> Array:
    """(d, 2) public bounds of columns, from one pair for all of them or one a column.

    Raises:
        ValueError: another shape, or no finite low <= high.
    """
    pairs = floats(() if isinstance(bounds, Mapping) else bounds)  # columns have no names here
    if pairs.shape not in ((2,), (d, 2)):
        raise ValueError(f"bounds must be a pair, or one pair a column ({d}, 2), got shape {pairs.shape}")
    pairs = np.broadcast_to(pairs, (d, 2))
    if not (np.isfinite(pairs).all() and (pairs[:, 0] <= pairs[:, 1]).all()):
        raise ValueError("bounds must be finite numbers low <= high")
    return pairs


def column_names(data: Any) -> npt.NDArray[np.object_] | None:
    """Names of the columns of a data frame where all are texts (scikit-learn's rule), else None."""
    kind = type(data)  # a computation has any attribute
    names = list(data.columns) if hasattr(kind, "to_numpy") and hasattr(kind, "columns") else []
    return np.array(names, dtype=object) if names and all(isinstance(n, str) for n in names) else None


def check_width(data: Array, expected: int, name: str) -> None:
    """Refuse records for a prediction that have another number of columns than those of the fit.

    Raises:
        ValueError: they have.
    """
    if data.shape[1] != expected:
        raise ValueError(
            f"X has {data.shape[1]} features, but {name} is expecting {expected} features as input"
        )


def _empty(shape: tuple[int, ...]) -> str:
    missing = "0 feature(s)" if len(shape) == 2 and shape[0] else "0 sample(s)"
    lacks = f": {missing} (shape={shape}) while a minimum of 1 is required." if 0 in shape else ""
    return f"data must be an (n, d) table with at least one record and coordinate, got shape {shape}{lacks}"
