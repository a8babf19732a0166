"""The graph in the box nearest to a matrix in cut norm, by a compact semidefinite program with a certificate.

minimise (1/4) sum d over X, d with -Diag(d) <= P(X - W)P' <= Diag(d), 0 <= X <= 1, X_ii = 0, P = [I; -1']:
equivalent,
up to Grothendieck's constant, to the linear program with one constraint a cut. Solved by splitting.

Statement and proofs: docs/proofs/cuts_synthetic_graph.md, section 3
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .cut_norm import dual_bound, padded
from .matrix_input import as_dense, as_matrix
from .spectrum import eigendecomposition


@dataclass(frozen=True, eq=False)
class CutProjection:
    """graph: X (n, n) in the box; weights: d (n+1,) of the certificate; upper: proven bound on the cut norm
    of X - W;
    lower: proven lower bound on the program's optimum; iterations.
    """

    graph: np.ndarray
    weights: np.ndarray
    upper: float
    lower: float
    iterations: int

    @property
    def gap(self) -> float:
        """Relative distance between the bound and the least value."""
        return (self.upper - self.lower) / self.upper if self.upper > 0 else 0.0


def certificate(matrix: np.ndarray, weights: np.ndarray) -> float:
    """A proven bound on |M(S, T)| over all S, T, for symmetric M (n, n) and any positive weights d (n+1,)."""
    return dual_bound(padded(matrix), weights, weights) / 4.0


def project_in_cut_norm(
    matrix: Any, *, tolerance: float = 0.02, max_iterations: int = 400, check_every: int = 25
) -> CutProjection:
    """Nearest symmetric X with entries in [0, 1] and zero diagonal, in the semidefinite form of the cut norm.

    Args:
        matrix: W, symmetric (n, n), finite.
        tolerance: relative gap at which to stop.
        max_iterations: two eigendecompositions of side n + 1 each.

    Raises:
        ValueError: not a finite symmetric matrix.

    Cost: 5 s at n = 77 for a gap of 1 per cent. Source: docs/proofs/cuts_synthetic_graph.md.
    """
    array = as_dense(as_matrix(matrix))
    n = array.shape[0]
    scale = float(np.linalg.norm(array, 2)) or 1.0
    kappa, rho = math.sqrt(n), 1.0 / scale
    root = np.linalg.eigh(np.eye(n) + 1.0)
    weights_of_basis = np.outer(root[0], root[0]) + kappa
    clipped = _box(array)
    slack = clipped - array
    d = np.full(n + 1, float(np.abs(padded(slack)).sum(axis=1).max()))
    first, second = np.diag(d) - padded(slack), np.diag(d) + padded(slack)
    dual1, dual2, dual3 = np.zeros_like(first), np.zeros_like(first), np.zeros_like(array)
    box = clipped
    best = CutProjection(clipped, d, certificate(slack, np.maximum(d, 1e-12)), 0.0, 0)
    for iteration in range(1, max_iterations + 1):
        one, two = first - dual1, second - dual2
        d = 0.5 * (one.diagonal() + two.diagonal()) - 0.5 / rho
        half = 0.5 * (two - one)
        right = _reduced(half) + kappa * (box - dual3 - array)
        right = 0.5 * (right + right.T)
        rotated = root[1].T @ right @ root[1]
        slack = root[1] @ (rotated / weights_of_basis) @ root[1].T
        slack = 0.5 * (slack + slack.T)  # an asymmetry of rounding would grow: eigh reads one triangle
        big = padded(slack)
        parts = [_positive(np.diag(d) - big + dual1), _positive(np.diag(d) + big + dual2)]
        if parts[0] is None or parts[1] is None:
            break
        first, second = parts
        box = _box(slack + array + dual3)
        dual1 += np.diag(d) - big - first
        dual2 += np.diag(d) + big - second
        dual3 += slack + array - box
        if iteration % check_every and iteration != max_iterations:
            continue
        best = _better(best, array, box, d, iteration)
        best = _with_lower(best, array, dual1, dual2)
        if best.gap <= tolerance:
            break
    return best


def _reduced(matrix: np.ndarray) -> np.ndarray:
    """P' M P for P = [I; -1']."""
    return matrix[:-1, :-1] - matrix[:-1, -1:] - matrix[-1:, :-1] + matrix[-1, -1]


def _box(matrix: np.ndarray) -> np.ndarray:
    result = np.clip(matrix, 0.0, 1.0)
    np.fill_diagonal(result, 0.0)
    return result


def _positive(matrix: np.ndarray) -> Any:
    """Positive semidefinite part, or None where there is no decomposition."""
    result = eigendecomposition(0.5 * (matrix + matrix.T))
    if result is None:
        return None
    keep = result[0] > 0.0
    part = (result[1][:, keep] * result[0][keep]) @ result[1][:, keep].T
    return 0.5 * (part + part.T)


def _better(best: CutProjection, array: np.ndarray, box: np.ndarray, d: np.ndarray, at: int) -> CutProjection:
    weights = np.maximum(d, 1e-6 * float(np.abs(d).mean()) + 1e-12)
    upper = certificate(box - array, weights)
    better = {"graph": box, "weights": weights, "upper": upper} if upper < best.upper else {}
    return replace(best, iterations=at, **better)


def _with_lower(
    best: CutProjection, array: np.ndarray, dual1: np.ndarray, dual2: np.ndarray
) -> CutProjection:
    """A dual point: C = P' S^-1/2 (V1 - V2) S^-1/2 P bounds the optimum by the least of <C, X - W> / 4 over
    the box."""
    first, second = _positive(-dual1), _positive(-dual2)
    if first is None or second is None:
        return best
    diagonal = first.diagonal() + second.diagonal()
    if not (diagonal > 0).all():
        return best
    side = 1.0 / np.sqrt(diagonal)
    inner = (first - second) * side[:, None] * side
    reduced = _reduced(inner)
    lower = best.lower
    for sign in (1.0, -1.0):
        signed = sign * reduced
        least = np.minimum(-signed * array, signed * (1.0 - array))
        np.fill_diagonal(least, 0.0)
        fixed = -float((signed.diagonal() * array.diagonal()).sum())
        lower = max(lower, 0.25 * (float(least.sum()) + fixed))
    return replace(best, lower=min(lower, best.upper))
