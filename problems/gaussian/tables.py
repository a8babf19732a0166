"""A table of a user as (n, d) numbers: what its schema rules out is refused, what an entry holds never is."""

from __future__ import annotations

from typing import Any

import numpy as np

from sosdp.privacy.inputs import check_schema, floats

UNREADABLE = {"M": "dates", "m": "times", "V": "structures"}


def read_table(X: Any, least: int = 2) -> tuple[np.ndarray, list[str] | None]:
    """(n, d) float64 entries, NaN for what is no number, and column names of a data frame.

    Arrays, lists of rows, sparse matrices and data frames whose columns are numbers or booleans, nullable
    types included. One column may come as a vector.

    Raises:
        TypeError: column types that are no numbers (`check_schema`), arrays of dates or structures.
        ValueError: no table of at least so many records; complex numbers.
    """
    check_schema(X)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if isinstance(kind, str) and kind in UNREADABLE:
        raise TypeError(f"numbers are expected, X holds {UNREADABLE[kind]}: make them numbers publicly")
    if hasattr(X, "iloc"):  # nullable columns hold no float that stands for a missing entry
        entries = np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    else:
        if hasattr(X, "toarray"):
            X = X.toarray()
        entries = floats(X)
    if entries.ndim == 1:
        entries = entries[:, None]
    if entries.ndim != 2 or entries.shape[0] < least or entries.shape[1] < 1:
        raise ValueError(f"X must have shape (n, d) with n >= {least} and d >= 1, got {entries.shape}")
    return entries, names


def boolean_columns(X: Any) -> list[bool]:
    """Which columns a data frame declares as booleans (its schema is public); empty for other tables."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return []
    return [getattr(kind, "kind", "") == "b" or str(kind) == "Boolean" for kind in X.dtypes]
