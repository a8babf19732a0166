"""The nearest correlation matrix, with a certified distance to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from .burer_monteiro import low_rank_projection
from .correlation_gap import DistanceCertificate, distance_certificate
from .correlation_newton import interior_point, semismooth_newton
from .matrix_input import MatrixLike, StructuredMatrix, as_dense, as_matrix, symmetrised
from .spectrum import Decomposer, Spectrum

# Below this size a Newton step costs less than a low-rank start.
WARM_START_FROM = 150

_ROUNDING_LEFT = 1.1  # times the part of a distance that is rounding, up to which no step gains

Method = Literal["newton", "interior-point", "none"]


@dataclass(frozen=True, eq=False)
class Projection:
    """A correlation matrix C = least I + (1 - least) factor @ factor.T and what is proven about it.

    factor: (n, k), unit rows; dual: (n,), multipliers of the diagonal; distance: certified upper bound on
    ||C - C*||, C* the exact minimiser (Frobenius norm, weighted as the problem was); gap: upper bound on the
    excess objective; certified: distance <= tolerance; eigendecompositions: how many full ones were spent;
    method: which solver delivered the point; least: the smallest eigenvalue that was prescribed.
    """

    factor: np.ndarray
    dual: np.ndarray
    distance: float
    gap: float
    certified: bool
    tolerance: float
    eigendecompositions: int
    method: Method
    least: float = 0.0

    @property
    def matrix(self) -> np.ndarray:
        """The correlation matrix, shape (n, n): positive semidefinite with unit diagonal."""
        matrix = self.factor @ self.factor.T
        matrix *= 1.0 - self.least
        np.fill_diagonal(matrix, 1.0)
        return matrix

    def __repr__(self) -> str:
        n, rank = self.factor.shape
        return (
            f"Projection(n={n}, rank={rank}, distance={self.distance:.3g}, certified={self.certified}, "
            f"eigendecompositions={self.eigendecompositions}, method={self.method!r})"
        )


def _starting_dual(
    matrix: MatrixLike, target: np.ndarray, tolerance: float, warm_start: bool | np.ndarray
) -> np.ndarray:
    n = matrix.shape[0]
    if isinstance(warm_start, np.ndarray):
        dual = np.asarray(warm_start, dtype=float)
        if dual.shape != (n,) or not np.all(np.isfinite(dual)):
            raise ValueError(f"warm_start: expected a finite dual vector of shape ({n},)")
        return dual
    if warm_start and n >= WARM_START_FROM:
        return low_rank_projection(matrix, target=target, gradient_tolerance=0.3 * tolerance)[1]
    return target - as_dense(matrix).diagonal()


def _weighted(matrix: MatrixLike, roots: np.ndarray, shrink: float) -> MatrixLike:
    """D B D / shrink for D = Diag(roots); the diagonal of B does not matter, as that of C is prescribed."""
    if isinstance(matrix, StructuredMatrix):
        scaling = sp.diags_array(roots)
        direction = roots if matrix.direction is None else roots * matrix.direction
        upper = sp.triu(scaling @ matrix.sparse @ scaling, format="csr")
        lower = sp.triu(upper, k=1).T  # rounding must not break the symmetry
        return StructuredMatrix(upper + lower, matrix.scale / shrink, matrix.shift / shrink, direction)
    return (matrix * np.outer(roots, roots)) / shrink


def _checked_weights(weights: np.ndarray | None, n: int) -> np.ndarray | None:
    if weights is None:
        return None
    array = np.asarray(weights, dtype=float)
    if array.shape != (n,) or not np.all(np.isfinite(array)) or not np.all(array > 0):
        raise ValueError(
            f"weights: expected {n} positive numbers, one a row; weights of single entries have no "
            "projection by eigenvalues, use a conic solver for them"
        )
    return array


def nearest_correlation(
    matrix: Any,
    *,
    tolerance: float,
    weights: np.ndarray | None = None,
    smallest_eigenvalue: float = 0.0,
    warm_start: bool | np.ndarray = True,
    max_iterations: int = 60,
) -> Projection:
    """Project a symmetric matrix onto the correlation matrices {C psd, C_ii = 1}, with a certified distance.

    Args:
        matrix: B, any finite symmetric matrix: dense (n, n), symmetric up to rounding, scipy sparse, or
            `StructuredMatrix` (sparse plus rank one). Its diagonal does not matter.
        tolerance: the certified distance to stop at, in the norm of the problem; at least about
            5e-8 n sqrt(||B||), where rounding ends.
        weights: w > 0, shape (n,): minimise ||W^(1/2) (C - B) W^(1/2)||_F, W = Diag(w), so that entry (i, j)
            counts w_i w_j times; default ones, the Frobenius norm. Distance and gap are in that norm.
        smallest_eigenvalue: in [0, 1): only C with no eigenvalue below it, so that C is invertible.
        warm_start: True for a low-rank (Burer-Monteiro) start on n >= 150, which forms no dense matrix; False
            for none; or a dual vector (n,), such as `Projection.dual` of a similar problem.
        max_iterations: eigendecompositions for the semismooth Newton method, after which the interior-point
            method takes over.

    Returns:
        `Projection`. Never raises because of the values of a finite symmetric matrix: `certified` tells
        whether the tolerance was proven, and the point returned is the best one proven so far (the identity
        if nothing was).

    Raises:
        ValueError: not a finite symmetric matrix, tolerance <= 0, weights or eigenvalue out of range.

    Bounds on single entries are not offered. Method: dual semismooth Newton (Qi and Sun 2006), certificate of
    docs/proofs/sbm_weak_recovery.md. Cost: two to ten eigendecompositions of size n.
    """
    given, moved = symmetrised(matrix)
    checked = as_matrix(given)
    if not tolerance > 0:
        raise ValueError(f"tolerance must be positive, got {tolerance}")
    if not 0 <= smallest_eigenvalue < 1:
        raise ValueError(f"smallest_eigenvalue must be in [0, 1), got {smallest_eigenvalue}")
    n = checked.shape[0]
    chosen = _checked_weights(weights, n)
    shrink = 1.0 - float(smallest_eigenvalue)
    # C = least I + shrink K and K' = D K D: project D B D / shrink onto {K' psd, K'_ii = w_i}.
    target = np.ones(n) if chosen is None else chosen
    plain = chosen is None and shrink == 1.0
    moved *= float(target.max())  # in the norm of the problem
    wanted = max(tolerance - moved, tolerance / 2) / shrink
    with np.errstate(all="ignore"):
        scaled = checked if plain else _weighted(checked, np.sqrt(target), shrink)
        inner = _project(scaled, target, wanted, warm_start, max_iterations)
    # a projection moves no further than what is projected, and the objective by no more than this
    distance = shrink * inner.distance + moved
    return replace(
        inner,
        factor=inner.factor if plain else inner.factor / np.sqrt(target)[:, None],
        distance=distance,
        gap=shrink**2 * inner.gap + moved * distance,
        certified=distance <= tolerance,
        tolerance=tolerance,
        least=float(smallest_eigenvalue),
    )


def _project(
    checked: MatrixLike,
    target: np.ndarray,
    tolerance: float,
    warm_start: bool | np.ndarray,
    max_iterations: int,
) -> Projection:
    """Project onto {C psd, diag C = target}; within `np.errstate`."""
    n, trace = checked.shape[0], float(target.sum())
    start = _starting_dual(checked, target, tolerance, warm_start)
    dense = as_dense(checked)
    decompose = Decomposer(dense, target)
    # No feasible matrix is further than the trace from the diagonal one.
    best = DistanceCertificate(np.diag(np.sqrt(target)), start, trace, float("inf"), 0.0)
    method: Method = "none"
    lowest = float("inf")
    # At the centre of this barrier e <= n sqrt(barrier) and z <= n barrier (1 + |Z|), in the names of the
    # proof (for unit weights); Z is of the size of B. The cap exceeds the proven number of exact steps;
    # it is reached only where rounding keeps the tolerance out of reach.
    barrier = tolerance**2 / (100 * n * (trace + float(np.linalg.norm(dense))))
    cap = 10_000 * (n + 10)
    attempts: list[tuple[Method, Iterator[Spectrum]]] = [
        ("newton", semismooth_newton(decompose, start, max_iterations)),
        ("interior-point", interior_point(decompose, target - dense.diagonal(), barrier, cap)),
    ]
    for name, iterates in attempts:
        for spectrum in iterates:
            certificate = distance_certificate(dense, spectrum)
            lowest = min(lowest, certificate.floor)
            if certificate.distance < best.distance:
                best, method = certificate, name
            if best.distance <= max(tolerance, _ROUNDING_LEFT * best.floor):
                break
        # Rounding alone keeps this tolerance out of reach: more steps would not help.
        hopeless = best.floor > tolerance or 10 * tolerance < lowest < float("inf")
        if best.distance <= tolerance or hopeless:
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
