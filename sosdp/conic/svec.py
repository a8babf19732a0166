"""Symmetric matrices as vectors, the only place that knows their order.

A symmetric matrix of side N is a vector of length N(N+1)/2: upper triangle, column by column, off-diagonal
entries times sqrt(2), so that inner products of vectors are inner products of matrices.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

SQRT2 = float(np.sqrt(2.0))
SHORT = 32  # binary digits of short numbers


@lru_cache(maxsize=256)
def triangle(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column indices (i <= j) of the vector form of a symmetric matrix, in its order."""
    column, row = np.tril_indices(side)
    row.flags.writeable = column.flags.writeable = False
    return row, column


def position(i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Places in the vector form of the entries (i, j), in any order."""
    large = np.maximum(i, j)
    return np.asarray(large * (large + 1) // 2 + np.minimum(i, j))


def diagonal(side: int) -> np.ndarray:
    """Places of the diagonal in the vector form."""
    k = np.arange(side)
    return k * (k + 3) // 2


@lru_cache(maxsize=256)
def roots(side: int) -> np.ndarray:
    """What entries are multiplied by in the vector form: 1 on the diagonal, sqrt(2) off it."""
    result = np.where(np.equal(*triangle(side)), 1.0, SQRT2)
    result.flags.writeable = False
    return result


def shortened(values: np.ndarray) -> np.ndarray:
    """The numbers of few binary digits next to the values."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**SHORT), exponent - SHORT)


def stored(values: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Entries times their factors. Neighbours may have one product with sqrt(2): what is no short number is
    not stored as one is, but as the next float."""
    result = values * factors
    if (np.rint(values) == values).all() and np.abs(values).max(initial=0.0) < 2.0**SHORT:
        return result
    short = shortened(values)
    taken = (short != values) & (short * factors == result)
    return np.where(taken, np.nextafter(result, np.inf), result) if taken.any() else result


def unstored(values: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The entries that were stored times their factors, and which of them are known: short numbers, and all
    whose factor is 1. The others are within five roundings."""
    result = values / factors
    short = shortened(result)
    known = short * factors == values
    return np.where(known, short, result), known | (factors == 1)


def units(sides: Iterable[int]) -> np.ndarray:
    """Vector form of identity matrices of these sides."""
    return np.concatenate([np.zeros(0), *(np.where(np.equal(*triangle(n)), 1.0, 0.0) for n in sides)])


def svec(matrix: np.ndarray) -> np.ndarray:
    """Vector form of symmetric matrices (..., side, side) -> (..., side (side + 1) / 2)."""
    return matrix[..., *triangle(matrix.shape[-1])] * roots(matrix.shape[-1])


def smat(vector: np.ndarray, side: int) -> np.ndarray:
    """Symmetric matrices (..., side, side) from their vector forms."""
    return np.asarray((vector / roots(side)).take(full_position(side), axis=-1))


def svec_length(side: int) -> int:
    """Number of entries of the vector form of a matrix of the given side."""
    return side * (side + 1) // 2


@lru_cache(maxsize=256)
def full_position(side: int) -> np.ndarray:
    """Place in the vector form of every entry of the matrix, shape (side, side)."""
    place = position(*np.indices((side, side)))
    place.flags.writeable = False
    return place


def unpacking(side: int) -> sp.csr_matrix:
    """Matrix that turns a vector form into all side**2 entries (the same row and column by column)."""
    place = full_position(side).reshape(-1)
    shape = (place.size, svec_length(side))
    return sp.csr_matrix((1.0 / roots(side)[place], place, np.arange(place.size + 1)), shape=shape)
