"""Symmetric matrices as vectors, the only place that knows their order.

A symmetric matrix of side N is a vector of length N(N+1)/2: upper triangle, column by column, off-diagonal
entries times sqrt(2), so that inner products of vectors are inner products of matrices.
"""

from __future__ import annotations

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


def svec(matrix: np.ndarray) -> np.ndarray:
    """Vector form of a symmetric matrix (side, side) -> (side (side + 1) / 2,)."""
    row, column = triangle(matrix.shape[0])
    return matrix[row, column] * np.where(row == column, 1.0, SQRT2)


def smat(vector: np.ndarray, side: int) -> np.ndarray:
    """Symmetric matrix (side, side) from its vector form."""
    row, column = triangle(side)
    entries = vector / np.where(row == column, 1.0, SQRT2)
    matrix = np.empty((side, side))
    matrix[row, column] = entries
    matrix[column, row] = entries
    return matrix


def svec_length(side: int) -> int:
    """Number of entries of the vector form of a matrix of the given side."""
    return side * (side + 1) // 2


def full_position(side: int) -> np.ndarray:
    """Place in the vector form of every entry of the matrix, shape (side, side)."""
    row, column = triangle(side)
    place = np.empty((side, side), dtype=np.int64)
    place[row, column] = place[column, row] = np.arange(row.size)
    return place


def unpacking(side: int) -> sp.csr_matrix:
    """Matrix that turns a vector form into all side**2 entries (the same row and column by column)."""
    place = full_position(side).reshape(-1)
    row, column = triangle(side)
    weight = np.where(row == column, 1.0, 1.0 / SQRT2)[place]
    return sp.csr_matrix((weight, place, np.arange(place.size + 1)), shape=(place.size, row.size))
