"""The degree-2 clustering program without its eigenvalue constraint: a kernel with n + d(d+1)/2 parameters.

    minimise |W - c J|_F^2   over symmetric W with 0 <= W <= 1, W 1 <= s, Y' L_W Y <= (n^2/k) B I  (Loewner),

L_W = Diag(W 1) - W. With multipliers a >= 0 of the rows and Lambda >= 0 (psd) of the covariance,

    W_ij = clip(c - (a_i + a_j)/4 - (y_i - y_j)' Lambda (y_i - y_j)/4, 0, 1),

a truncated quadratic kernel in a metric that the data choose. The dual is concave and piecewise quadratic;
every (a, Lambda) is a bound. It is climbed by a primal-dual interior method in which the n multipliers are
eliminated first. Derivation: docs/proofs/gmm_program.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg as sl

from sosdp.conic.svec import roots, smat, svec, triangle

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """A feasible matrix of the program with a lower bound on the optimal value.

    Attributes:
        matrix: (n, n) feasible W, the kernel scaled down until its constraints hold.
        value: |W - c J|_F^2.
        lower_bound: the dual value, at most the minimum (up to float64 rounding of its sums).
        row_multipliers: (n,) a >= 0.
        metric: (d, d) Lambda, in the units of the points.
        iterations: Newton steps taken.
    """

    matrix: Array
    value: float
    lower_bound: float
    row_multipliers: Array
    metric: Array
    iterations: int

    @property
    def gap(self) -> float:
        """value - lower_bound; the exact minimiser is within sqrt(gap) in Frobenius norm."""
        return self.value - self.lower_bound


def kernel_program(
    points: npt.ArrayLike,
    clusters: int,
    *,
    budget: float = 1.4,
    cap: float | None = None,
    weight: float = 1.0,
    tolerance: float = 1e-4,
    iterations: int = 80,
) -> KernelSolution:
    """Solve the kernel form.

    Args:
        points: (n, d) finite, in units of the within-cluster standard deviation.
        clusters: k.
        budget: B, the variance a cluster may have in any direction.
        cap: s, what a row of W may sum to; n / k by default.
        weight: c >= 1/2, how much a full matrix is wanted.
        tolerance: stop when gap <= tolerance * n.
        iterations: cap on Newton steps (never on seconds); the gap says how far it got.

    Raises:
        ValueError: arguments out of range, or points that are not finite or all equal.

    Cost: a Cholesky factorisation of size n and O(n^2 d^2) a step, 15 to 35 steps; memory 5 n^2 floats.
    """
    scaled = _Scaled.of(points, clusters, budget, cap, weight)
    state = _climb(scaled, tolerance, iterations)
    state.matrix *= state.theta
    return KernelSolution(
        state.matrix,
        state.primal,
        state.dual,
        state.a,
        state.metric / scaled.unit**2,
        state.steps,
    )


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The program with points about their median, of unit median norm."""

    points: Array
    unit: float
    clusters: int
    cap: float
    trace_weight: float
    weight: float

    @classmethod
    def of(
        cls, points: npt.ArrayLike, clusters: int, budget: float, cap: float | None, weight: float
    ) -> _Scaled:
        raw = np.array(points, dtype=np.float64)
        if raw.ndim != 2 or raw.size == 0 or not np.isfinite(raw).all():
            raise ValueError("points must be a finite (n, d) array")
        if clusters < 1 or budget <= 0.0 or weight < 0.5:
            raise ValueError(
                f"need clusters >= 1, budget > 0, weight >= 1/2, got {clusters}, {budget}, {weight}"
            )
        n = len(raw)
        # medians, so that a few points at 1e6 neither move the origin nor set the unit
        raw -= np.median(raw, axis=0)
        norms = np.linalg.norm(raw, axis=1)
        unit = float(np.median(norms)) or float(norms.mean())
        if not 0.0 < unit < np.inf:
            raise ValueError("the points are all equal (nothing to separate), or too large for float64")
        rows = n / clusters if cap is None else float(cap)
        if not rows > 0.0:
            raise ValueError(f"cap must be > 0, got {cap}")
        return cls(raw / unit, unit, clusters, rows, n**2 / clusters * budget / unit**2, float(weight))


class _State:
    """Dual point (a, Lambda) with everything computed from its kernel."""

    def __init__(self, program: _Scaled, a: Array, metric: Array) -> None:
        y, c, n = program.points, program.weight, len(program.points)
        self.a, self.metric, self.steps = a, metric, 0
        image = y @ metric
        own = a / 4.0 + np.einsum("ij,ij->i", image, y) / 4.0
        raw = image @ y.T
        raw *= 0.5
        raw -= own[:, None]
        raw -= own[None, :]
        raw += c
        self.raw = raw
        self.matrix = np.clip(raw, 0.0, 1.0)
        self.rows = self.matrix.sum(axis=1)
        self.covariance = _spread(y, self.matrix)
        squares = float(np.vdot(self.matrix, self.matrix))
        total = float(self.rows.sum())
        constant = c**2 * n**2
        self.dual = (
            constant
            + squares
            - 2.0 * float(np.vdot(self.matrix, raw))
            - program.cap * float(a.sum())
            - program.trace_weight * float(np.trace(metric))
        )
        top = max(float(self.rows.max()), 1e-300)
        spread = max(float(np.linalg.eigvalsh(self.covariance)[-1]), 1e-300)
        self.theta = min(1.0, program.cap / top, program.trace_weight / spread)
        self.primal = self.theta**2 * squares - 2.0 * c * self.theta * total + constant

    def merit(self, barrier: float, share: float) -> float:
        """Dual value plus the two logarithmic barriers; -inf outside."""
        sign, logdet = np.linalg.slogdet(self.metric)
        if sign <= 0 or not (self.a > 0.0).all():
            return -np.inf
        return self.dual + barrier * (float(np.log(self.a).sum()) + share * float(logdet))


class _Symmetric:
    """Orthonormal coordinates of symmetric (d, d) matrices."""

    def __init__(self, d: int) -> None:
        self.d, self.scale = d, roots(d)
        self.row, self.column = triangle(d)
        self.basis = smat(np.eye(self.row.size), d)

    def squares(self, left: Array, right: Array) -> Array:
        """Coordinates of x y' + y x' for the rows of two (n, d) arrays, (n, p)."""
        mixed = left[:, self.row] * right[:, self.column] + left[:, self.column] * right[:, self.row]
        return mixed * self.scale


def _climb(program: _Scaled, tolerance: float, iterations: int) -> _State:
    y = program.points
    n, d = y.shape
    coordinates = _Symmetric(d)
    squares = coordinates.squares(y, y) / 2.0
    share = n / d
    state = _State(program, np.full(n, program.weight), 0.5 * np.eye(d))
    barrier = 0.2 * program.cap * program.weight
    slack = barrier / state.a
    spare = share * barrier * np.linalg.inv(state.metric)
    best = state
    for step in range(1, iterations + 1):
        direction = _newton(program, state, slack, spare, barrier, share, coordinates, squares)
        if direction is None:
            break
        da, dmetric, slope = direction
        inverse = np.linalg.inv(state.metric)
        dslack = barrier / state.a - slack - slack / state.a * da
        turned = spare @ dmetric @ inverse
        dspare = share * barrier * inverse - spare - (turned + turned.T) / 2.0
        most = 0.97 * min(_room(state.a, da), _psd_room(state.metric, dmetric))
        length = min(1.0, most)
        before = state.merit(barrier, share)
        allowance = 1e-13 * abs(before)
        for _ in range(12):
            moved = _State(program, state.a + length * da, state.metric + length * dmetric)
            if moved.merit(barrier, share) >= before + 1e-4 * length * slope - allowance:
                break
            length *= 0.4
        state = moved
        state.steps = step
        if state.primal - state.dual < best.primal - best.dual:
            best = state
        if best.primal - best.dual <= tolerance * n:
            break
        back = min(1.0, 0.97 * min(_room(slack, dslack), _psd_room(spare, dspare)))
        slack, spare = slack + back * dslack, spare + back * dspare
        if length < 0.2:  # too close to the boundary for this barrier: back towards the central path
            barrier *= 10.0
            slack, spare = barrier / state.a, share * barrier * np.linalg.inv(state.metric)
            continue
        barrier *= 0.12 if length > 0.85 else 0.4 if length > 0.5 else 1.0
        # the pairs stay within two orders of magnitude of the path they should follow
        slack = np.clip(slack, barrier / state.a / 100.0, barrier / state.a * 100.0)
    return best


def _spread(y: Array, matrix: Array) -> Array:
    """Y' L_W Y; the diagonal of W drops out, and is left out, as far points would cancel badly."""
    own = np.einsum("ii->i", matrix)
    kept = own.copy()
    own[:] = 0.0
    result = (y * matrix.sum(axis=1)[:, None]).T @ y - y.T @ (matrix @ y)
    own[:] = kept
    return (result + result.T) / 2.0


def _newton(
    program: _Scaled,
    state: _State,
    slack: Array,
    spare: Array,
    barrier: float,
    share: float,
    coordinates: _Symmetric,
    squares: Array,
) -> tuple[Array, Array, float] | None:
    """Ascent direction (da, dLambda) of the barrier problem and its slope; None if a factor breaks down."""
    y = program.points
    inside = ((state.raw > 0.0) & (state.raw < 1.0)).astype(np.float64)
    own = np.einsum("ii->i", inside)
    loops = own.copy()
    own[:] = 0.0  # a point has no difference with itself; its own multiplier counts below
    degree = inside.sum(axis=1)
    linear, square = inside @ y, inside @ squares
    mixed = coordinates.squares(y, linear)
    cross = degree[:, None] * squares + square - mixed
    corner = 2.0 * squares.T @ cross - 2.0 * mixed.T @ squares + _fourth(y, square, coordinates)
    corner = (corner + corner.T) / 16.0
    cross /= 4.0
    inside *= 0.25
    own[:] = degree / 4.0 + loops / 2.0 + slack / state.a
    inverse = np.linalg.inv(state.metric)
    bent = spare @ coordinates.basis @ inverse
    corner = corner + svec((bent + bent.transpose(0, 2, 1)) / 2.0)
    right = state.rows - program.cap + barrier / state.a
    below = svec(state.covariance - program.trace_weight * np.eye(coordinates.d) + share * barrier * inverse)
    try:
        factor = sl.cho_factor(inside, lower=True, overwrite_a=True, check_finite=False)
        solved = sl.cho_solve(factor, np.column_stack([cross, right]), check_finite=False)
        reduced = corner - cross.T @ solved[:, :-1]
        shift = 1e-13 * float(np.trace(reduced)) / len(reduced)
        small = sl.cho_factor((reduced + reduced.T) / 2.0 + shift * np.eye(len(reduced)), check_finite=True)
        moved = sl.cho_solve(small, below - cross.T @ solved[:, -1], check_finite=True)
    except (np.linalg.LinAlgError, ValueError):
        return None
    da = solved[:, -1] - solved[:, :-1] @ moved
    return da, smat(moved, coordinates.d), float(right @ da + below @ moved)


def _fourth(y: Array, square: Array, coordinates: _Symmetric) -> Array:
    """sum_ij M_ij psi_ij psi_ij', psi_ij the coordinates of y_i y_j' + y_j y_i'; (p, p)."""
    d = coordinates.d
    sums = smat(square, d)
    outer = (y[:, :, None] * y[:, None, :]).reshape(len(y), d * d)
    table = (outer.T @ sums.reshape(len(y), d * d)).reshape(d, d, d, d)
    a, b = coordinates.row[:, None], coordinates.column[:, None]
    c, e = coordinates.row[None, :], coordinates.column[None, :]
    result = table[a, c, b, e] + table[a, e, b, c] + table[b, c, a, e] + table[b, e, a, c]
    return result * np.outer(coordinates.scale, coordinates.scale)


def _room(values: Array, change: Array) -> float:
    """Largest step that keeps positive numbers nonnegative."""
    falling = change < 0.0
    return float(np.min(values[falling] / -change[falling])) if falling.any() else np.inf


def _psd_room(matrix: Array, change: Array) -> float:
    """Largest step that keeps a positive definite matrix positive semidefinite."""
    try:
        least = float(sl.eigh(change, matrix, eigvals_only=True, check_finite=False)[0])
    except (np.linalg.LinAlgError, ValueError):
        return 0.0
    return 1.0 / -least if least < 0.0 else np.inf


def membership(
    points: npt.ArrayLike, matrix: npt.ArrayLike, clusters: int, *, budget: float, cap: float
) -> dict[str, Any]:
    """By how much a matrix misses each constraint of the degree-2 program (0 or less: it does not).

    Keys: box, rows, rows_diagonal (sum_j W_ij <= s W_ii), psd, diagonal (W_ij <= W_ii), covariance.
    """
    y, w = np.asarray(points, dtype=np.float64), np.array(matrix, dtype=np.float64)
    n = len(y)
    rows = w.sum(axis=1)
    spread = _spread(y - np.median(y, axis=0), w)
    return {
        "box": float(max(-w.min(), w.max() - 1.0)),
        "rows": float(rows.max() - cap),
        "rows_diagonal": float(np.max(rows - cap * np.diag(w))),
        "psd": -float(np.linalg.eigvalsh(w)[0]),
        "diagonal": float(np.max(w - np.diag(w)[:, None])),
        "covariance": float(np.linalg.eigvalsh(spread)[-1] - n**2 / clusters * budget),
    }
