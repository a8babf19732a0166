"""Directions with integer coordinates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def unit_rows(values: npt.NDArray[np.float64], length: int) -> npt.NDArray[np.int64]:
    """Rows (n, r) scaled to a Euclidean length and truncated towards zero, as integers.

    A row that is not finite or too short to have a direction becomes zero: the length is a bound for every
    input, on which privacy may rest, and is checked in integers.
    """
    with np.errstate(all="ignore"):
        lengths = np.sqrt((values * values).sum(axis=1))
        rows = np.trunc(values / lengths[:, None] * length)
    rows = np.where(np.isfinite(rows).all(axis=1)[:, None], rows, 0.0).astype(np.int64)
    rows[np.abs(rows).max(axis=1) > length] = 0
    rows[(rows * rows).sum(axis=1) > length * length] = 0
    return rows
