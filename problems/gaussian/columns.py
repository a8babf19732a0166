"""A table as numbers, what is public of its columns, and every entry made a finite number by itself.

Source: docs/proofs/gaussian_frame.md, 1
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sosdp.privacy.calibrate import shown
from sosdp.privacy.entries import entries
from sosdp.privacy.inputs import check_schema, floats, number
from sosdp.privacy.rows import numbers

FARTHEST = 2.0**100  # entries are clipped here where no bounds are given


@dataclass(frozen=True, eq=False)
class Columns:
    """Public facts of d columns.

    Attributes:
        low, high: (d,) bounds; entries beyond them are clipped. Infinite where nothing is known.
        tight: (d,) bool: the bounds of this column are meant literally (a rating, a count, 0/1): no scale is
            learnt for it and no row is left out.
        log: (d,) bool: the column is looked at in logarithms (and its bounds above are those of them).
    """

    low: np.ndarray
    high: np.ndarray
    tight: np.ndarray
    log: np.ndarray

    @property
    def robust(self) -> np.ndarray:
        """Indices of the columns whose place and scale are learnt."""
        return np.flatnonzero(~self.tight)

    @property
    def bounds(self) -> np.ndarray | None:
        """(d, 2) bounds, or None where none is known."""
        if not self.known.any():
            return None
        return np.stack([self.low, self.high], axis=1)

    @property
    def known(self) -> np.ndarray:
        """(d,) bool: which columns have bounds."""
        return np.isfinite(self.low)

    @property
    def bounded(self) -> bool:
        """Whether all columns have bounds."""
        return bool(self.known.all())

    def clipped(self, X: np.ndarray) -> np.ndarray:
        """(n, d) entries within the bounds, logarithms where these are asked for, NaN for what is no number.

        A function of each entry alone. What has no logarithm is no number.
        """
        if self.log.any():
            X = np.where(self.log & ~(X > 0.0), np.nan, X)
            X = np.where(self.log, np.log(np.where(self.log, X, 1.0)), X)
        return np.clip(X, np.maximum(self.low, -FARTHEST), np.minimum(self.high, FARTHEST))

    def raw(self, values: np.ndarray) -> np.ndarray:
        """Estimates (d,) or (d, 2) within the bounds, where records are, in the units of the table: of
        logarithms, their exponentials."""
        flags, low, high = self.log, self.low, self.high
        if values.ndim == 2:
            flags, low, high = flags[:, None], low[:, None], high[:, None]
        values = np.clip(values, low, high)
        return np.where(flags, np.exp(np.clip(np.where(flags, values, 0.0), -700.0, 700.0)), values)


def bounds_by_name(value: Any, names: Sequence[str] | None) -> Any:
    """Bounds by column name as a list in the order of the columns, None for those not named; others as they
    are. ValueError for a name that no column or several have."""
    if not isinstance(value, Mapping):
        return value
    given = [(str(name).strip(), pair) for name, pair in value.items()]
    there = _check_names("bounds", [name for name, _ in given], names)
    return [dict(given).get(name) for name in there]


def pairs_of(bounds: Any, d: int) -> list[Any]:
    """One pair, or None, a column, of bounds that may be one for all.

    Raises:
        ValueError: something else.
    """
    given = entries(bounds)
    one = bounds is None or _is_pair(given)
    pairs = [given] * d if one else given or []
    if len(pairs) != d or not all(pair is None or _is_pair(entries(pair)) for pair in pairs):
        raise ValueError(
            f"bounds must be None, a pair (low, high), or one pair a column, shape ({d}, 2); "
            f"got {shown(bounds)}"
        )
    return pairs


def _is_pair(ends: list[Any] | None) -> bool:
    return ends is not None and len(ends) == 2 and all(number(end) is not None for end in ends)


def flags_by_name(what: str, value: Any, names: Sequence[str] | None) -> Any:
    """Names of columns as (d,) bool; other values as they are. ValueError as `bounds_by_name`."""
    wanted = [value] if isinstance(value, str) else value
    if not (isinstance(wanted, list | tuple) and wanted and all(isinstance(name, str) for name in wanted)):
        return value
    wanted = [name.strip() for name in wanted]
    return np.array([name in wanted for name in _check_names(what, wanted, names)], dtype=bool)


def _check_names(what: str, wanted: Sequence[str], names: Sequence[str] | None) -> list[str]:
    """The names of the columns, without blanks at their ends, of which each wanted one is one."""
    if names is None:
        raise ValueError(
            f"{what} names columns, and the records have no names: pass a data frame, or one entry a column"
        )
    there = [str(name).strip() for name in names]
    for name in wanted:
        if there.count(name) != 1 or wanted.count(name) != 1:
            held = "several columns have" if name in there else "no column has"
            raise ValueError(f"{what}: {held} the name {name!r}; the columns are: {', '.join(there)}")
    return there


def flags_of(value: Any, name: str, d: int) -> np.ndarray:
    """(d,) bool, of one for all or one a column; ValueError for something else."""
    flags = np.broadcast_to(np.asarray(value), (d,)).copy() if np.shape(value) in ((), (d,)) else None
    if flags is None or flags.dtype != np.bool_:
        raise ValueError(f"{name} must be True, False or one of them a column ({d}), got {shown(value)}")
    return flags


def public_columns(bounds: Any, tight: Any, d: int, log: Any = False) -> Columns:
    """Checked public facts: `bounds` None, a pair, or (d, 2), in which a column without any is None.

    tight, log: a bool or (d,) of them.

    Raises:
        ValueError: shapes, infinite or empty bounds, tight columns without bounds or in logarithms, or
            logarithms of bounds that are not above 0.
    """
    flags, logs = flags_of(tight, "tight", d), flags_of(log, "log", d)
    if (flags & logs).any():
        raise ValueError("a column is either tight or looked at in logarithms")
    given = [(-math.inf, math.inf) if pair is None else pair for pair in pairs_of(bounds, d)]
    pairs = np.array(given, dtype=np.float64).reshape(d, 2)
    low, high = pairs[:, 0].copy(), pairs[:, 1].copy()
    known = ~(np.isneginf(low) & np.isposinf(high))
    if (flags & ~known).any():
        raise ValueError("a tight column needs bounds: they are what makes it tight")
    for j in np.flatnonzero(logs & known):
        if not 0.0 < low[j] < high[j] < math.inf:
            raise ValueError(f"column {j} has logarithms only with bounds above 0, got {pairs[j].tolist()}")
        low[j], high[j] = math.log(low[j]), math.log(high[j])
    for j in np.flatnonzero(known):
        width = float(high[j]) - float(low[j])
        if not (low[j] < high[j] and math.isfinite(width)):
            raise ValueError(f"bounds of column {j} must be finite with low < high, got {pairs[j].tolist()}")
        most = max(abs(float(low[j])), abs(float(high[j])))
        if not 2.0**-400 < width or most > 2.0**40 * width or most > FARTHEST:  # squares are floats
            raise ValueError(
                f"bounds of column {j}, {pairs[j].tolist()}, are too narrow for their place, or out of range"
            )
    return Columns(low, high, flags, logs)


def read_table(X: Any, least: int = 2, width: int | None = None) -> tuple[np.ndarray, list[str] | None]:
    """(n, d) float64 entries, NaN for what is no number, and column names of a data frame.

    Arrays, lists of rows, sparse matrices and data frames whose columns are numbers or booleans, nullable
    types included. One column may come as a vector. Of lists, `width` is the number of columns where it is
    public, else it is counted (`sosdp.privacy.rows`).

    Raises:
        TypeError: types that are no numbers (`check_schema`).
        ValueError: no table of at least so many records; complex numbers.
    """
    check_schema(X)
    names = [str(name) for name in X.columns] if hasattr(type(X), "columns") else None
    if hasattr(X, "iloc"):  # nullable columns hold no float that stands for a missing entry
        entries = np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    else:
        entries = numbers(X) if width is None else floats(X, (width,))
    entries = entries[:, None] if entries.ndim == 1 else entries
    if entries.ndim != 2 or entries.shape[0] < least or entries.shape[1] < 1:
        raise ValueError(f"X must have shape (n, d) with n >= {least} and d >= 1, got {entries.shape}")
    return entries, names


def boolean_columns(X: Any) -> set[str]:
    """The columns that a data frame declares as booleans (its schema is public); none of other tables."""
    if not (hasattr(type(X), "columns") and hasattr(X, "dtypes")):
        return set()
    kinds = zip(X.columns, X.dtypes, strict=True)
    return {str(name) for name, k in kinds if getattr(k, "kind", "") == "b" or str(k) == "Boolean"}
