"""Records mapped, one by one, into a cube or ball of integers; far ones go to 0.

A fixed far record then moves the sum by nothing at all, while clipping it would leave its full weight. Every
product below is taken column by column, so that no record's rounding depends on another record.

Source: docs/proofs/gaussian_frame.md, 3
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def redescending(sizes: Array, c: float) -> Array:
    """min(1, c/a) clip(3 - a/c, 0, 1): 1 up to c, held to length c up to 2c, zero from 3c; 0 for inf, NaN."""
    near = sizes < 3.0 * c
    a = np.where(near, sizes, c)
    factor = np.minimum(1.0, c / np.maximum(a, c)) * np.clip(3.0 - a / c, 0.0, 1.0)
    return np.where(near, factor, 0.0)


def cells(y: Array, c: float) -> Array:
    """Every entry of (n, d) folded by itself: y f(|y|; c)."""
    return np.where(np.abs(y) < 3.0 * c, y, 0.0) * redescending(np.abs(y), c)


def norms(y: Array) -> Array:
    """(n,) Euclidean norms, summed column by column."""
    total = np.zeros(y.shape[0])
    for j in range(y.shape[1]):
        total += y[:, j] * y[:, j]
    return np.sqrt(total)


def to_ball(y: Array, radius: float) -> Array:
    """Rows folded to the radius: zero from 3 radii on."""
    return y * redescending(norms(y), radius)[:, None]


def whole_rows(z: Array, sizes: Array, radius: float) -> tuple[Array, Array]:
    """Rows w min(1, C/|z|) z of length at most w C, and their weights w = clip(3 - |z|/C, 0, 1).

    sizes: (n,) norms of z (n, d); radius: C.
    """
    near = sizes < 3.0 * radius
    size = np.where(near, sizes, radius)
    weights = np.where(near, np.clip(3.0 - size / radius, 0.0, 1.0), 0.0)
    factor = weights * np.minimum(1.0, radius / np.maximum(size, radius))
    return np.where(near[:, None], z, 0.0) * factor[:, None], weights


def shortened(z: Array, sizes: Array, radius: float) -> Array:
    """Rows min(1, R/|z|) z: no record loses its direction; 0 where the size is no number."""
    near = np.isfinite(sizes)
    factor = radius / np.maximum(np.where(near, sizes, radius), radius)
    return np.where(near[:, None], z, 0.0) * factor[:, None]


def combined(columns: Array, weights: Array) -> Array:
    """(n,) sums of weights (d,) times the columns, one column after the other."""
    total = np.zeros(columns.shape[0])
    for j in range(columns.shape[1]):
        total += weights[j] * columns[:, j]
    return total


def image(columns: Array, matrix: Array) -> Array:
    """Row by row matrix @ y, (n, d), column by column (in an order of memory in which columns are dense)."""
    columns = np.asfortranarray(columns)
    out = np.zeros_like(columns)
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            if matrix[i, j] != 0.0:
                out[:, i] += matrix[i, j] * columns[:, j]
    return out


def integers(y: Array, unit: float) -> Array:
    """int64 multiples of the unit, towards 0: norms do not grow."""
    return np.trunc(np.clip(y / unit, -(2.0**40), 2.0**40)).astype(np.int64)
