"""What is public of the columns of a table, and every entry made a finite number by itself.

Source: docs/proofs/gaussian_frame.md, 1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

FARTHEST = 2.0**100  # entries are clipped here where no bounds are given


@dataclass(frozen=True, eq=False)
class Columns:
    """Public facts of d columns.

    Attributes:
        low, high: (d,) bounds; entries beyond them are clipped. Both None where nothing is known.
        tight: (d,) bool: the bounds of this column are meant literally (a rating, a count, 0/1): no scale is
            learnt for it and nothing is folded away.
    """

    low: np.ndarray | None
    high: np.ndarray | None
    tight: np.ndarray

    @property
    def robust(self) -> np.ndarray:
        """Indices of the columns whose place and scale are learnt."""
        return np.flatnonzero(~self.tight)

    @property
    def bounds(self) -> np.ndarray | None:
        """(d, 2) bounds, or None."""
        if self.low is None or self.high is None:
            return None
        return np.stack([self.low, self.high], axis=1)

    @property
    def bounded(self) -> bool:
        """Whether bounds are known."""
        return self.low is not None

    def clipped(self, X: np.ndarray) -> np.ndarray:
        """(n, d) entries within the bounds; what is no number counts as 0, moved into the bounds.

        A function of each entry alone.
        """
        low = np.full(X.shape[1], -FARTHEST) if self.low is None else self.low
        high = np.full(X.shape[1], FARTHEST) if self.high is None else self.high
        return np.clip(np.where(np.isnan(X), 0.0, X), low, high)


def public_columns(bounds: Any, tight: Any, d: int) -> Columns:
    """Checked public facts: `bounds` None, a pair, or (d, 2); `tight` a bool or (d,) of them.

    Raises:
        ValueError: shapes, infinite or empty bounds, or tight columns without bounds.
    """
    flags = np.broadcast_to(np.asarray(tight), (d,)).copy() if np.shape(tight) in ((), (d,)) else None
    if flags is None or flags.dtype != np.bool_:
        raise ValueError(f"tight must be True, False or one of them a column ({d}), got {tight!r}")
    if bounds is None:
        if flags.any():
            raise ValueError("a tight column needs bounds: they are what makes it tight")
        return Columns(None, None, flags)
    pairs = np.asarray(bounds, dtype=np.float64)
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (d, 1))
    if pairs.shape != (d, 2):
        raise ValueError(
            f"bounds must be None, a pair (low, high), or one pair a column, shape ({d}, 2); "
            f"got shape {pairs.shape}"
        )
    low, high = pairs[:, 0].copy(), pairs[:, 1].copy()
    for j in range(d):
        width = float(high[j]) - float(low[j])
        if not (low[j] < high[j] and math.isfinite(width)):
            raise ValueError(f"bounds of column {j} must be finite with low < high, got {pairs[j].tolist()}")
        if not 2.0**-900 < width < 2.0**900 or max(abs(low[j]), abs(high[j])) > 2.0**40 * width:
            raise ValueError(
                f"bounds of column {j}, {pairs[j].tolist()}, are too narrow for their place, or out of range"
            )
    return Columns(low, high, flags)
