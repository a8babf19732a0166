"""Certified distance between a correlation matrix and the nearest correlation matrix.

Statement and proof: docs/proofs/sbm_weak_recovery.md, section "Distance certificate".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sosdp.conic.rigorous import UNIT

from .spectrum import Spectrum


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


def scattered(rows: int, columns: int) -> np.ndarray:
    """Fixed numbers in (-1, 1), shape (rows, columns), for directions that need no generator."""
    angles = np.add.outer(12.9898 * np.arange(1, rows + 1), 78.233 * np.arange(1, columns + 1))
    return np.modf(43758.5453 * np.sin(angles))[0]


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


def rounding_margin(matrix: np.ndarray, spectrum: Spectrum) -> tuple[float, float]:
    """Proven bounds on || B + Diag y - P Lambda P^T ||, spectral and Frobenius: residual, and its rounding.

    Measured for this decomposition, so a LAPACK failure cannot hide. The product is summed in about sqrt(n)
    blocks, so that its rounding is `_units(n)` times |P| |Lambda| |P|^T, in whatever order a block is summed:
    spectral norm at most its largest row sum, Frobenius norm at most `_trace_norm`. Costs one matrix product.
    """
    vectors, values = spectrum.eigenvectors, spectrum.eigenvalues
    n = len(values)
    residual = np.zeros_like(matrix)
    for block in _blocks(n):
        residual += (vectors[:, block] * values[block]) @ vectors[:, block].T
    residual -= matrix
    residual[np.diag_indices_from(residual)] -= spectrum.dual
    result = float(np.linalg.norm(residual)) * (1.0 + 2.0 * n * n * UNIT)
    sizes = np.abs(vectors)
    rows = float((sizes @ (np.abs(values) * sizes.sum(axis=0))).max()) * (1.0 + 4.0 * n * UNIT)
    frobenius = _trace_norm(spectrum)
    diagonal = 4.0 * UNIT * float(np.linalg.norm(spectrum.dual))
    rest = result * (1.0 + 4.0 * UNIT) + diagonal
    return rest + _units(n) * min(rows, frobenius), rest + _units(n) * frobenius


def _blocks(n: int) -> list[slice]:
    """0..n-1 in about sqrt(n) slices of about as many."""
    step = max(1, math.isqrt(n))
    return [slice(k, k + step) for k in range(0, n, step)]


def _units(n: int) -> float:
    """Relative rounding of a product of n terms, summed in `_blocks`: at most sqrt(n) + 3 of them."""
    return (2.0 * math.isqrt(n) + 6.0) * UNIT * 1.01


def _trace_norm(spectrum: Spectrum) -> float:
    """Sum of |lambda_k| |v_k|^2, which bounds the Frobenius norm of |P| |Lambda| |P|^T; rounded up."""
    lengths = (spectrum.eigenvectors**2).sum(axis=0)
    return float(np.abs(spectrum.eigenvalues) @ lengths) * (1.0 + 4.0 * len(lengths) * UNIT)


def distance_certificate(matrix: np.ndarray, spectrum: Spectrum) -> DistanceCertificate:
    """Round C(y) = (B + Diag y)_+ to the prescribed diagonal (ones by default) and bound its distance to the
    minimiser.

    With Z = (B + Diag y)_-, e = ||Ct - C(y)||_F and z = <Z, Ct> (both widened by the rounding margin):
    ||Ct - C*||_F <= (e + sqrt(e^2 + 4 z)) / 2 and objective gap <= z + e^2 / 2.
    """
    n = len(spectrum.dual)
    spectral, margin = rounding_margin(matrix, spectrum)
    factor = spectrum.factor()
    rows = normalised_rows(factor) * np.sqrt(spectrum.target)[:, None]
    trace = float(spectrum.target.sum())
    k = spectrum.positive
    negative_vectors = spectrum.eigenvectors[:, : n - k]
    negative_values = np.maximum(-spectrum.eigenvalues[: n - k], 0.0)
    # <Z, Ct> as a sum of non-negative terms: no cancellation.
    lengths = np.sqrt(((negative_vectors.T @ rows) ** 2).sum(axis=1)) * (1 + 2 * n * UNIT)
    weights = (lengths + 1.01 * (n + 4) * UNIT * math.sqrt(trace)) ** 2  # an inner product's own rounding
    complementarity = float(negative_values @ weights) * (1 + 4 * n * UNIT) + trace * spectral
    difference = np.zeros_like(matrix)
    for block in _blocks(rows.shape[1]):
        difference += rows[:, block] @ rows[:, block].T
    for block in _blocks(k):
        difference -= factor[:, block] @ factor[:, block].T
    # the products' own rounding, that of the factor, and that of the row lengths on the diagonal
    rounding = _units(n) * (trace + _trace_norm(spectrum)) + 8 * trace * UNIT
    residual = float(np.linalg.norm(difference)) * (1 + 2 * n * n * UNIT) + margin + rounding
    gap = complementarity + 0.5 * residual**2
    distance = 0.5 * (residual + np.sqrt(residual**2 + 4 * complementarity))
    if not np.isfinite(distance):
        gap = distance = float("inf")
    floor = float(np.sqrt(trace * spectral))
    return DistanceCertificate(rows, spectrum.dual, float(distance), float(gap), floor)
