"""Eigendecompositions of B + Diag(y), counted, and the positive part they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues (ascending) and eigenvectors (columns) of one symmetric matrix B + Diag(dual); target: the
    diagonal that the positive part should have.
    """

    dual: np.ndarray
    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    target: np.ndarray

    @property
    def positive(self) -> int:
        """How many eigenvalues are positive; they are the last ones."""
        return int(np.count_nonzero(self.eigenvalues > 0))

    def factor(self) -> np.ndarray:
        """G with G G^T = (B + Diag y)_+, shape (n, k), k = number of positive eigenvalues."""
        k = self.positive
        if k == 0:
            return np.zeros((len(self.dual), 0))
        return self.eigenvectors[:, -k:] * np.sqrt(self.eigenvalues[-k:])


def eigendecomposition(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Eigenvalues (ascending) and eigenvectors of a symmetric matrix, or None where LAPACK finds none."""
    if not np.isfinite(matrix).all():  # on which it may not return
        return None
    for driver in ("evd", "evr", "ev"):
        try:
            values, vectors = sl.eigh(matrix, driver=driver, check_finite=False)
        except (np.linalg.LinAlgError, ValueError):
            continue
        if np.isfinite(values).all() and np.isfinite(vectors).all():
            return values, vectors
    return None


class Decomposer:
    """Eigendecompositions of matrix + Diag(dual) for one fixed matrix and one prescribed diagonal (default:
    ones); `count` says how many were made.
    """

    def __init__(self, matrix: np.ndarray, target: np.ndarray | None = None) -> None:
        self.matrix = matrix
        self.target = np.ones(matrix.shape[0]) if target is None else target
        self.count = 0

    def __call__(self, dual: np.ndarray) -> Spectrum | None:
        """The full decomposition at this dual vector, or None if there is none in double precision."""
        shifted = np.array(self.matrix, order="F")
        shifted[np.diag_indices_from(shifted)] += dual
        self.count += 1
        result = eigendecomposition(shifted)
        return None if result is None else Spectrum(np.array(dual), *result, self.target)


def dual_value(spectrum: Spectrum) -> float:
    """theta(y) = (1/2) ||(B + Diag y)_+||_F^2 - <target, y>: the convex dual that all methods minimise."""
    positive = spectrum.eigenvalues[spectrum.eigenvalues > 0]
    return 0.5 * float(positive @ positive) - float(spectrum.target @ spectrum.dual)
