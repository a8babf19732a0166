"""Functions on {-1, 1}^p by their parities: the fast Walsh-Hadamard transform.

A state is an integer code; bit i of the code is 1 where coordinate i is -1, so that parity I (a bit mask) has
the value (-1)^popcount(I & code).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def walsh_hadamard(values: npt.ArrayLike) -> Array:
    """Entry I is sum over s of values[s] (-1)^popcount(I & s), for 2^p values; its own inverse up to 2^p.

    Raises:
        ValueError: not a vector whose length is a power of two.
    """
    table = np.array(values, dtype=np.float64)
    size = table.size
    if table.ndim != 1 or size == 0 or size & (size - 1):
        raise ValueError(f"the length must be a power of two, got shape {table.shape}")
    half = 1
    while half < size:
        pairs = table.reshape(-1, 2, half)
        first = pairs[:, 0] + pairs[:, 1]
        pairs[:, 1] = pairs[:, 0] - pairs[:, 1]
        pairs[:, 0] = first
        half *= 2
    return table


def mask(monomial: Iterable[int]) -> int:
    """The bit mask of a set of coordinates."""
    return sum(1 << i for i in set(monomial))


def state_codes(signs: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """(n,) codes of (n, p) signs: bit i where coordinate i is negative.

    Raises:
        ValueError: not a table, or more than 62 columns.
    """
    table = np.asarray(signs)
    if table.ndim != 2 or table.shape[1] > 62:
        raise ValueError(f"signs must be (n, p) with p <= 62, got shape {table.shape}")
    codes = np.zeros(len(table), dtype=np.int64)
    for i in range(table.shape[1]):
        codes |= (table[:, i] < 0).astype(np.int64) << i
    return codes


def code_signs(codes: npt.ArrayLike, p: int) -> npt.NDArray[np.int8]:
    """(n, p) signs of state codes."""
    bits = np.asarray(codes, dtype=np.int64)[:, None] >> np.arange(p) & 1
    return (1 - 2 * bits).astype(np.int8)


def gibbs(log_weights: Array) -> Array:
    """Probabilities proportional to exp(log_weights)."""
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()
