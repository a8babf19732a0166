"""Certified distance between a correlation matrix and the nearest correlation matrix.

Statement and proof: docs/proofs/sbm_weak_recovery.md, section "Distance certificate".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .spectrum import ROUNDING, Spectrum


@dataclass(frozen=True, eq=False)
class DistanceCertificate:
    """A feasible point `factor @ factor.T` (of the prescribed diagonal) and a proof that it is within
    `distance` (Frobenius) of the minimiser.

    gap: upper bound on objective(point) - minimum; `distance` is the sharper of the two statements. floor:
    the part of the distance that comes from rounding alone; no further iteration gets below it.
    """

    factor: np.ndarray
    dual: np.ndarray
    distance: float
    gap: float
    floor: float


def normalised_rows(factor: np.ndarray) -> np.ndarray:
    """The factor with every row scaled to length one; a row that is zero becomes the first unit vector."""
    if factor.shape[1] == 0:
        factor = np.zeros((factor.shape[0], 1))
    lengths = np.linalg.norm(factor, axis=1)
    tiny = ~(lengths > 1e-150)
    rows = factor / np.where(tiny, 1.0, lengths)[:, None]
    rows[tiny] = 0.0
    rows[tiny, 0] = 1.0
    return rows


def rounding_margin(matrix: np.ndarray, spectrum: Spectrum) -> float:
    """Allowance for || B + Diag y - P Lambda P^T ||: the computed residual plus 10 n u ||B + Diag y||.

    The first part is measured for this decomposition, so a LAPACK failure cannot hide; the second covers the
    rounding of the measurement itself (an engineering margin, not an interval proof). Costs one matrix
    product.
    """
    vectors, values = spectrum.eigenvectors, spectrum.eigenvalues
    residual = (vectors * values) @ vectors.T
    residual -= matrix
    residual[np.diag_indices_from(residual)] -= spectrum.dual
    norm = max(abs(float(values[0])), abs(float(values[-1])))
    return float(np.linalg.norm(residual)) + 10 * len(values) * ROUNDING * norm


def distance_certificate(matrix: np.ndarray, spectrum: Spectrum) -> DistanceCertificate:
    """Round C(y) = (B + Diag y)_+ to the prescribed diagonal (ones by default) and bound its distance to the
    minimiser.

    With Z = (B + Diag y)_-, e = ||Ct - C(y)||_F and z = <Z, Ct> (both widened by the rounding margin):
    ||Ct - C*||_F <= (e + sqrt(e^2 + 4 z)) / 2 and objective gap <= z + e^2 / 2.
    """
    n = len(spectrum.dual)
    margin = rounding_margin(matrix, spectrum)
    factor = spectrum.factor()
    rows = normalised_rows(factor) * np.sqrt(spectrum.target)[:, None]
    trace = float(spectrum.target.sum())
    k = spectrum.positive
    negative_vectors = spectrum.eigenvectors[:, : n - k]
    negative_values = np.maximum(-spectrum.eigenvalues[: n - k], 0.0)
    # <Z, Ct> as a sum of non-negative terms: no cancellation.
    weights = ((negative_vectors.T @ rows) ** 2).sum(axis=1)
    complementarity = float(negative_values @ weights) * (1 + 4 * n * ROUNDING) + trace * margin
    difference = rows @ rows.T
    if k:
        difference -= factor @ factor.T
    # The diagonal holds up to the rounding of the row lengths; the last term covers it.
    residual = float(np.linalg.norm(difference)) * (1 + 4 * n * ROUNDING) + margin + 8 * trace * ROUNDING
    gap = complementarity + 0.5 * residual**2
    distance = 0.5 * (residual + np.sqrt(residual**2 + 4 * complementarity))
    if not np.isfinite(distance):
        gap = distance = float("inf")
    floor = float(np.sqrt(trace * margin))
    return DistanceCertificate(rows, spectrum.dual, float(distance), float(gap), floor)
