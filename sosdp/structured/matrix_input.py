"""The matrices that the projection solvers accept: dense, or a scaled sparse matrix plus one of rank one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.conic.rigorous import UNIT

_ROUNDED = 8  # units in the last place of the largest entry by which a symmetric matrix may be off


@dataclass(frozen=True, eq=False)
class StructuredMatrix:
    """The symmetric matrix `scale * sparse + shift * u u^T`, never formed unless asked for.

    sparse: symmetric scipy sparse matrix, shape (n, n); scale, shift: real numbers; direction: u, shape (n,),
    by default all ones. A product with an (n, k)
    matrix costs O(k (nnz + n)). The centred adjacency matrix of a graph has this form.
    """

    sparse: Any
    scale: float = 1.0
    shift: float = 0.0
    direction: np.ndarray | None = None

    def __post_init__(self) -> None:
        matrix = sp.csr_array(self.sparse, dtype=float)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
            raise ValueError(f"StructuredMatrix: expected a square, non-empty matrix, got {matrix.shape}")
        asymmetry = abs(matrix - matrix.T)
        if asymmetry.nnz and asymmetry.max() > 0:
            raise ValueError("StructuredMatrix: the sparse part must be exactly symmetric; use (S + S.T) / 2")
        object.__setattr__(self, "sparse", matrix)
        if self.direction is not None:
            direction = np.asarray(self.direction, dtype=float)
            if direction.shape != (matrix.shape[0],) or not np.all(np.isfinite(direction)):
                raise ValueError(
                    f"StructuredMatrix: direction must be a finite vector of length {matrix.shape[0]}"
                )
            object.__setattr__(self, "direction", direction)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n, n)."""
        return self.sparse.shape

    def __matmul__(self, other: np.ndarray) -> np.ndarray:
        product = self.scale * (self.sparse @ other)
        if self.direction is None:
            return product + self.shift * other.sum(axis=0)
        return product + self.shift * np.multiply.outer(self.direction, self.direction @ other)

    @cached_property
    def _dense(self) -> np.ndarray:
        dense = self.scale * self.sparse.toarray()
        if self.direction is None:
            dense += self.shift
        else:
            dense += self.shift * np.outer(self.direction, self.direction)
        dense.setflags(write=False)
        return dense

    def toarray(self) -> np.ndarray:
        """The matrix as a dense read-only array, shape (n, n); kept after the first call."""
        return self._dense


MatrixLike = np.ndarray | StructuredMatrix


def as_matrix(matrix: Any) -> MatrixLike:
    """A symmetric real matrix, checked: dense arrays as float64, `StructuredMatrix` and scipy sparse as
    they are.

    Raises ValueError for anything that is not a finite, symmetric, non-empty square matrix.
    """
    if isinstance(matrix, StructuredMatrix):
        return matrix
    if sp.issparse(matrix):
        return StructuredMatrix(matrix)
    dense = np.asarray(matrix, dtype=float)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or dense.shape[0] == 0:
        raise ValueError(f"expected a square, non-empty matrix, got an array of shape {dense.shape}")
    if not np.all(np.isfinite(dense)):
        raise ValueError("the matrix has entries that are not finite; replace NaN and infinities first")
    if np.any(dense != dense.T):
        raise ValueError("the matrix is not symmetric; use (B + B.T) / 2")
    return dense


def symmetrised(matrix: Any) -> tuple[Any, float]:
    """A dense matrix that is symmetric up to rounding (``np.corrcoef`` returns such), made symmetric, and a
    bound on the Frobenius distance from its symmetric part; anything else as it is, and 0.

    Symmetric matrices are orthogonal to the antisymmetric part, so it moves no projection onto them.
    """
    if isinstance(matrix, StructuredMatrix) or sp.issparse(matrix):
        return matrix, 0.0
    dense = np.asarray(matrix, dtype=float)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or not np.isfinite(dense).all():
        return matrix, 0.0
    off = float(np.abs(dense - dense.T).max(initial=0.0))
    if not 0 < off <= _ROUNDED * UNIT * float(np.abs(dense).max()):
        return matrix, 0.0
    result = dense / 2 + dense.T / 2
    # one rounding of every entry, and halves of tiny ones
    return result, 1.01 * UNIT * float(np.linalg.norm(result)) + 5e-324 * 2 * len(result)


def as_dense(matrix: MatrixLike) -> np.ndarray:
    """The dense array behind a checked matrix (no copy for dense input)."""
    return matrix.toarray() if isinstance(matrix, StructuredMatrix) else matrix
