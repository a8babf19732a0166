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


@lru_cache(maxsize=256)
def roots(side: int) -> np.ndarray:
    """What entries are multiplied by in the vector form: 1 on the diagonal, sqrt(2) off it."""
    result = np.where(np.equal(*triangle(side)), 1.0, SQRT2)
    result.flags.writeable = False
    return result


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
