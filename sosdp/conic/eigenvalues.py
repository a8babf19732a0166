"""Some eigenvalues of a dense symmetric matrix, whatever LAPACK makes of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

TINY_SIDE = 40
_WORK = 34  # numbers a column with which LAPACK works in blocks


def eigenvalues_between(matrix: np.ndarray, first: int, last: int) -> np.ndarray:
    """Eigenvalues number first..last, ascending, of a dense symmetric matrix, without vectors.

    LAPACK's search for a range may come back with fewer than asked for, or fail, where eigenvalues cluster
    (the empty graph on 16 vertices does it); then the whole spectrum is computed. Raises LinAlgError or
    ValueError only if that fails too.
    """
    return _between(matrix, first, last, False)


def eigenvectors_between(matrix: np.ndarray, first: int, last: int) -> np.ndarray:
    """Unit eigenvectors (n, last - first + 1) of these eigenvalues; as `eigenvalues_between`."""
    return _between(matrix, first, last, True)


def _between(matrix: np.ndarray, first: int, last: int, vectors: bool) -> np.ndarray:
    def _solved(**options: Any) -> np.ndarray:
        result = sl.eigh(matrix, eigvals_only=not vectors, check_finite=False, **options)
        return np.asarray(result[1] if vectors else result)

    try:
        result = _solved(subset_by_index=[first, last])
    except np.linalg.LinAlgError:
        result = np.empty(0)
    if result.shape[-1] != last - first + 1 or not np.isfinite(result).all():
        result = _solved(driver="evd")[..., first : last + 1]
    return result


def least_eigenvalue(matrix: np.ndarray) -> float:
    """The least eigenvalue, in floating point: a guess, not a bound (`rigorous` has bounds). One of many is
    cheaper only where the matrix is not tiny. Raises LinAlgError or ValueError."""
    side = matrix.shape[0]
    if side <= TINY_SIDE:
        values, _, failed = sl.lapack.dsyevd(matrix, compute_v=0, lower=1, lwork=_WORK * side)
        if not failed:
            return float(values[0])
    return float(eigenvalues_between(matrix, 0, 0)[0])
