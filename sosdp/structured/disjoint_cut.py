"""Largest cut between two disjoint sets of a symmetric matrix: a relaxation whose value moves by at most
one when
one pair of entries moves by one, to a certified gap.

For z = 1_S + 1_T and y = 1_S - 1_T, M(S, T) = (z'Mz - y'My) / 4. The relaxation keeps Z = zz', Y = yy' as
positive
semidefinite matrices with Z_ii = Y_ii = z_i and [1 z'; z Z] >= 0.

Statement and proofs: docs/proofs/cuts_error_bar.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.conic.rigorous import UNIT, least_eigenvalue_bound

from .burer_monteiro import minimise_over_rows, start_rows
from .correlation_gap import scattered

STAGES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Gradient accuracies of the ascent, relative to the size of the matrix; the bound is tried after each."""


@dataclass(frozen=True, eq=False)
class DisjointCut:
    """attained <= largest disjoint cut <= relaxation <= upper, and value <= relaxation <= upper.

    attained: |M(S, T)| of the sets below; value: of a feasible point of the relaxation, rounded down;
    upper: certified by dual vectors; first, second: S and T, sorted; certified: upper - value <= the gap
    asked for.
    """

    attained: float
    value: float
    upper: float
    first: np.ndarray
    second: np.ndarray
    certified: bool


@dataclass(frozen=True, eq=False)
class _Point:
    """A feasible point: unit rows u (n, r) with z_i = (e_1 + u_i) / 2, unit rows h with y_i = rho_i h_i."""

    u: np.ndarray
    h: np.ndarray

    @property
    def z(self) -> np.ndarray:
        """z_i = (e_1 + u_i) / 2, shape (n, r)."""
        half = 0.5 * self.u
        half[:, 0] += 0.5
        return half

    @property
    def rho(self) -> np.ndarray:
        """|z_i|, shape (n,)."""
        return np.sqrt(np.maximum(0.5 * (1.0 + self.u[:, 0]), 0.0))


def bound_disjoint_cut(matrix: Any, *, gap: float, max_iterations: int = 1500) -> DisjointCut:
    """Bracket max over disjoint S, T of |sum_{i in S, j in T} M_ij| for a symmetric M with zero diagonal.

    Args:
        matrix: (n, n) finite, symmetric, zero diagonal.
        gap: absolute; `certified` tells whether the relaxation's value is known to within it.
        max_iterations: of L-BFGS in each of the stages.

    Deterministic; never raises because of finite values.

    Raises:
        ValueError: not a finite symmetric matrix with zero diagonal, or gap <= 0.

    Cost: about a second at n = 400. Source: docs/proofs/cuts_error_bar.md.
    """
    array = np.asarray(matrix, dtype=float)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] < 2:
        raise ValueError(f"needs a square matrix of side at least 2, got shape {array.shape}")
    if not np.isfinite(array).all() or (array != array.T).any() or array.diagonal().any():
        raise ValueError("the matrix must be finite and symmetric, with a zero diagonal")
    allowed = exact_gap(gap)
    with np.errstate(all="ignore"):
        sides = [_one_sign(sign * array, gap, max_iterations) for sign in (1.0, -1.0)]
    value, upper = max(side.value for side in sides), max(side.upper for side in sides)
    best = max(sides, key=lambda side: side.attained)
    certified = math.isfinite(upper) and Fraction(upper) - Fraction(value) <= allowed
    return DisjointCut(best.attained, value, upper, best.first, best.second, certified)


def exact_gap(gap: float | Fraction) -> Fraction:
    """The gap asked for; ValueError unless it is positive."""
    if not gap > 0:
        raise ValueError(f"gap must be positive, got {gap}")
    return gap if isinstance(gap, Fraction) else Fraction(float(gap))


def _one_sign(matrix: np.ndarray, gap: float, max_iterations: int) -> DisjointCut:
    """Both ends for max over disjoint S, T of +M(S, T)."""
    n = matrix.shape[0]
    rank = min(n + 1, math.ceil(math.sqrt(4.0 * n)) + 3)
    scale = float(np.abs(matrix).sum(axis=1).max()) or 1.0
    scaled = matrix / scale
    rows = _start(scaled, rank)
    value, upper = 0.0, math.inf
    best = _Point(rows[:n], rows[n:])
    for accuracy in STAGES:
        rows = minimise_over_rows(
            lambda current: _value_and_gradient(scaled, current),
            rows,
            gradient_tolerance=accuracy / math.sqrt(n),
            max_iterations=max_iterations,
        )
        point = _Point(rows[:n], rows[n:])
        reached = _value(matrix, point)
        if reached > value:
            value, best = reached, point
        upper = min(upper, _dual_bound(matrix, point))
        if upper - value <= 0.5 * gap:
            break
    first, second = _round(matrix, best)
    result = abs(float(matrix[np.ix_(first, second)].sum()))
    return DisjointCut(result, value, upper, first, second, False)


def _start(matrix: np.ndarray, rank: int) -> np.ndarray:
    n = matrix.shape[0]
    broad = start_rows(n, rank, matrix)
    u = 0.8 * broad
    u[:, 0] += 0.6
    both = np.vstack([u, start_rows(n, rank, -matrix)])
    return both / np.linalg.norm(both, axis=1)[:, None]


def _value_and_gradient(matrix: np.ndarray, rows: np.ndarray) -> tuple[float, np.ndarray]:
    """Minus the objective at unit rows (2n, r), and its gradient there."""
    n = matrix.shape[0]
    point = _Point(rows[:n], rows[n:])
    z, rho = point.z, point.rho
    y = rho[:, None] * point.h
    image = matrix @ np.hstack([z, y])
    width = z.shape[1]
    mz, my = image[:, :width], image[:, width:]
    value = 0.25 * float((mz * z).sum() - (my * y).sum())
    gradient = np.empty_like(rows)
    gradient[:n] = -0.25 * mz  # d z = d u / 2
    slope = -0.5 * (my * point.h).sum(axis=1)  # derivative in rho
    gradient[:n, 0] -= slope / (4.0 * np.maximum(rho, 1e-12))
    gradient[n:] = 0.5 * rho[:, None] * my
    return -value, gradient


def _value(matrix: np.ndarray, point: _Point) -> float:
    """A proven lower bound on the relaxation's value: the objective at a point, less its rounding error."""
    n, width = point.u.shape
    z, y = point.z, point.rho[:, None] * point.h
    raw = 0.25 * float(((matrix @ z) * z).sum() - ((matrix @ y) * y).sum())
    # |rows| <= 1: every product is at most |M_ij|; the rows meet their constraints to (width + 10) u
    error = 4.0 * (2 * n + 4 * width + 40) * UNIT * float(np.abs(matrix).sum())
    return raw - error if math.isfinite(raw) else 0.0


def _dual_bound(matrix: np.ndarray, point: _Point) -> float:
    """A proven upper bound on the relaxation from multipliers read off a point; infinite if there are
    none."""
    n = matrix.shape[0]
    h, rho = point.h, point.rho
    my = matrix @ (rho[:, None] * h)
    nu = -(my * h).sum(axis=1) / (4.0 * np.maximum(rho, 1e-9))
    if not np.isfinite(nu).all():
        return math.inf
    # where y_i has vanished its multiplier is free: what its row needs to stay positive semidefinite
    nu = np.where(rho < 1e-4, np.maximum(nu, 0.25 * np.abs(matrix).sum(axis=1)), nu)
    excess_y = max(0.0, -least_eigenvalue_bound(matrix / 4.0 + np.diag(nu)))
    gram = np.zeros((n + 1, n + 1))
    gram[1:, 1:] = matrix / 16.0
    gram[0, 1:] = gram[1:, 0] = matrix.sum(axis=1) / 16.0 + nu / 4.0
    rows = np.vstack([np.eye(1, point.u.shape[1]), point.u])
    dual = ((gram @ rows) * rows).sum(axis=1)
    excess_x = max(0.0, -least_eigenvalue_bound(np.diag(dual) - gram))
    constant = float(matrix.sum()) / 16.0 + float(nu.sum()) / 2.0
    bound = constant + float(dual.sum()) + (n + 1) * excess_x + n * excess_y
    size = float(np.abs(matrix).sum()) + float(np.abs(nu).sum()) + float(np.abs(dual).sum())
    bound += 4.0 * (n + 10) * UNIT * size
    return bound if math.isfinite(bound) else math.inf


def _round(matrix: np.ndarray, point: _Point) -> tuple[np.ndarray, np.ndarray]:
    """Disjoint sets with a large cut: sides by hyperplanes through y, membership by z, then one vertex at a
    time."""
    n, width = point.u.shape
    side = np.where((point.rho[:, None] * point.h) @ scattered(width, 24) >= 0.0, 1.0, -1.0)
    best, sets = -math.inf, (np.zeros(0, dtype=int), np.zeros(0, dtype=int))
    inside = point.rho**2
    for column in range(side.shape[1]):
        for threshold in (0.3, 0.6):
            labels = _ascend(matrix, np.where(inside >= threshold, side[:, column], 0.0))
            first, second = np.flatnonzero(labels > 0), np.flatnonzero(labels < 0)
            value = float(matrix[np.ix_(first, second)].sum())
            if value > best:
                best, sets = value, (first, second)
    return sets


def _ascend(matrix: np.ndarray, labels: np.ndarray, sweeps: int = 30) -> np.ndarray:
    """Best responses of whole sides in turn: labels in {-1, 0, 1}; the cut never decreases."""
    value = -math.inf
    for _ in range(sweeps):
        for sign in (1.0, -1.0):
            # given the other side, a vertex outside it belongs here iff its sum to it is positive
            gains = matrix @ (labels == -sign)
            labels = np.where(labels == -sign, labels, np.where(gains > 0.0, sign, 0.0))
        current = float((labels > 0) @ matrix @ (labels < 0))
        if current <= value:
            break
        value = current
    return labels
