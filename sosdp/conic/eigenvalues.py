"""Some eigenvalues of a dense symmetric matrix, whatever LAPACK makes of clusters."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl


def eigenvalues_between(matrix: np.ndarray, first: int, last: int) -> np.ndarray:
    """Eigenvalues number first..last, ascending, of a dense symmetric matrix, without vectors.

    LAPACK's search for a range may come back with fewer than asked for, or fail, where eigenvalues cluster
    (the empty graph on 16 vertices does it); then the whole spectrum is computed. Raises LinAlgError or
    ValueError only if that fails too.
    """
    try:
        result = sl.eigh(matrix, eigvals_only=True, subset_by_index=[first, last], check_finite=False)
    except np.linalg.LinAlgError:
        result = np.empty(0)
    if len(result) != last - first + 1 or not np.all(np.isfinite(result)):
        result = sl.eigh(matrix, eigvals_only=True, driver="evd", check_finite=False)[first : last + 1]
    return np.asarray(result)


def eigenvectors_between(matrix: np.ndarray, first: int, last: int) -> np.ndarray:
    """Unit eigenvectors (n, last - first + 1) of these eigenvalues; as `eigenvalues_between`."""
    try:
        result = sl.eigh(matrix, subset_by_index=[first, last], check_finite=False)[1]
    except np.linalg.LinAlgError:
        result = np.empty((len(matrix), 0))
    if result.shape[1] != last - first + 1 or not np.all(np.isfinite(result)):
        result = sl.eigh(matrix, driver="evd", check_finite=False)[1][:, first : last + 1]
    return np.asarray(result)


def least_eigenvalue(matrix: np.ndarray) -> float:
    """The least eigenvalue, in floating point: a guess, not a bound (`rigorous` has bounds)."""
    return float(eigenvalues_between(matrix, 0, 0)[0])
