"""Proofs by residuals: what a floating-point inverse, however it was made, proves about a matrix.

Only the products that form the residual are trusted, as conventional inner products in round-to-nearest
float64 (any order, fused or not; not Strassen, not reduced precision). With u = 2^-53 and
g_k = k u / (1 - k u) a computed inner product of length k is off by at most g_k times the sum of the absolute
values. Proof: docs/proofs/sbm_certificate.md, section "Rigorous numbers".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from sosdp.conic.rigorous import UNIT

OUTWARD = 1.0 + 2.0**-20
"""Inflation of computed norms and bounds: more than n^2 u for every n up to 2^16."""

LARGEST_SIDE = 1 << 16


def gamma(terms: int) -> float:
    """g_k = k u / (1 - k u), a little more."""
    return terms * UNIT / (1 - terms * UNIT) * OUTWARD


def _norm(matrix: np.ndarray) -> float:
    """An upper bound on the Frobenius norm of a float matrix, free of under- and overflow surprises."""
    value = float(np.linalg.norm(matrix)) * OUTWARD
    return value + matrix.size * 1e-150 if np.isfinite(value) else np.inf


@dataclass(frozen=True, eq=False)
class ProvenInverse:
    """matrix: P~ (n, n); error: a proven bound on |K^-1 - P~| in the spectral norm."""

    matrix: np.ndarray
    error: float


def inverse_proof(matrix: np.ndarray, least: float) -> ProvenInverse | None:
    """An approximate inverse of a symmetric matrix K with a proven error; None if nothing is proven.

    least: a proven lower bound on the least eigenvalue, > 0. K^-1 - P~ = K^-1 (I - K P~), so the error is at
    most |I - K P~|_F / least. Cost: an inverse and a product.
    """
    n = matrix.shape[0]
    if not least > 0 or n > LARGEST_SIDE:
        return None
    try:
        inverse = sl.inv(matrix, check_finite=False)
    except (np.linalg.LinAlgError, ValueError):
        return None
    if not np.all(np.isfinite(inverse)):
        return None
    residual = matrix @ inverse
    residual[np.diag_indices(n)] -= 1.0
    eta = _norm(residual) + gamma(n + 2) * (_norm(matrix) * _norm(inverse) + np.sqrt(n))
    error = eta / least * OUTWARD
    return ProvenInverse(inverse, error) if np.isfinite(error) else None
