"""The nearest correlation matrix, with a certified distance to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .burer_monteiro import low_rank_projection
from .certificate import DistanceCertificate, distance_certificate
from .matrix_input import MatrixLike, as_dense, as_matrix
from .newton import interior_point, semismooth_newton
from .spectrum import Decomposer, Spectrum

# Below this size a Newton step costs less than a low-rank start.
WARM_START_FROM = 150

Method = Literal["newton", "interior-point", "none"]


@dataclass(frozen=True, eq=False)
class Projection:
    """A correlation matrix C = factor @ factor.T and what is proven about it.

    factor: (n, k), unit rows; dual: (n,), multipliers of the unit diagonal; distance: certified upper bound
    on ||C - C*||_F, C* the exact minimiser; gap: upper bound on the excess objective; certified: distance
    <= tolerance; eigendecompositions: how many full ones were spent; method: which solver delivered the
    point.
    """

    factor: np.ndarray
    dual: np.ndarray
    distance: float
    gap: float
    certified: bool
    tolerance: float
    eigendecompositions: int
    method: Method

    @property
    def matrix(self) -> np.ndarray:
        """The correlation matrix, shape (n, n): positive semidefinite with unit diagonal."""
        matrix = self.factor @ self.factor.T
        np.fill_diagonal(matrix, 1.0)
        return matrix

    def __repr__(self) -> str:
        n, rank = self.factor.shape
        return (
            f"Projection(n={n}, rank={rank}, distance={self.distance:.3g}, certified={self.certified}, "
            f"eigendecompositions={self.eigendecompositions}, method={self.method!r})"
        )


def _starting_dual(matrix: MatrixLike, tolerance: float, warm_start: bool | np.ndarray) -> np.ndarray:
    n = matrix.shape[0]
    if isinstance(warm_start, np.ndarray):
        dual = np.asarray(warm_start, dtype=float)
        if dual.shape != (n,) or not np.all(np.isfinite(dual)):
            raise ValueError(f"warm_start: expected a finite dual vector of shape ({n},)")
        return dual
    if warm_start and n >= WARM_START_FROM:
        return low_rank_projection(matrix, gradient_tolerance=0.3 * tolerance)[1]
    return 1.0 - as_dense(matrix).diagonal()


def nearest_correlation(
    matrix: Any,
    *,
    tolerance: float,
    warm_start: bool | np.ndarray = True,
    max_iterations: int = 60,
) -> Projection:
    """Project a symmetric matrix onto the correlation matrices {C psd, C_ii = 1} in Frobenius norm.

    matrix: dense (n, n), scipy sparse, or `StructuredMatrix`; tolerance: the certified distance to stop at;
    warm_start: True for a low-rank (Burer-Monteiro) start on n >= 150, False for none, or a dual vector (n,);
    max_iterations: eigendecompositions for the semismooth Newton method, after which the interior-point
    method takes over. Never raises because of the values of a finite symmetric matrix: `certified` tells
    whether the tolerance was proven, and the point returned is the best one proven so far (the identity, at
    distance n, if nothing was). Raises ValueError for input that is not a finite symmetric matrix, or
    tolerance <= 0.

    Method: dual semismooth Newton (Qi and Sun 2006), certificate of docs/proofs/sbm_weak_recovery.md. Cost:
    two to ten eigendecompositions of size n.
    """
    checked = as_matrix(matrix)
    if not tolerance > 0:
        raise ValueError(f"tolerance must be positive, got {tolerance}")
    n = checked.shape[0]
    with np.errstate(all="ignore"):
        start = _starting_dual(checked, tolerance, warm_start)
        dense = as_dense(checked)
        decompose = Decomposer(dense)
        # No correlation matrix is further than sqrt(n (n - 1)) from the identity.
        best = DistanceCertificate(np.eye(n), start, float(n), float("inf"), 0.0)
        method: Method = "none"
        # At the centre of this barrier e <= n sqrt(barrier) and z <= n barrier (1 + |Z|), in the names of the
        # proof; Z is of the size of B. The cap exceeds the proven number of exact steps; it is
        # reached only where rounding keeps the tolerance out of reach.
        barrier = tolerance**2 / (100 * n * (n + float(np.linalg.norm(dense))))
        cap = 10_000 * (n + 10)
        attempts: list[tuple[Method, Iterator[Spectrum]]] = [
            ("newton", semismooth_newton(decompose, start, max_iterations)),
            ("interior-point", interior_point(decompose, 1.0 - dense.diagonal(), barrier, cap)),
        ]
        for name, iterates in attempts:
            for spectrum in iterates:
                certificate = distance_certificate(dense, spectrum)
                if certificate.distance < best.distance:
                    best, method = certificate, name
                if best.distance <= tolerance:
                    break
            if best.distance <= tolerance or best.floor > tolerance:
                break
    return Projection(
        best.factor,
        best.dual,
        best.distance,
        best.gap,
        best.distance <= tolerance,
        tolerance,
        decompose.count,
        method,
    )
