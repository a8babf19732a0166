"""The packing program behind every score here, solved by an active set and bracketed rigorously.

    s = min sum_i (1 - w_i)   s.t.  0 <= w_i <= 1,  sum_i w_i a_i a_i^T <= B
      = max over P >= 0 of  sum_i min(1, a_i^T P a_i) - <P, B>

Any w gives an upper bound and any P = V V^T a lower one. Both are evaluated after the solver, on all records,
with every rounding error accounted for (docs/proofs/gaussian_scores.md, 2): a solver that fails widens the
bracket and can do no other harm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from sosdp.conic.clarabel import solve_quietly
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.rigorous import UNIT
from sosdp.conic.svec import roots, smat, triangle, units

from . import packing_ellipsoid
from .packing_bound import Limit, as_limit
from .packing_interior_point import interior

COLD = 600  # weights left free at the first attempt, at least
SAMPLE = 20000  # records up to which a problem is solved as it is
_COARSE = 0.3  # width of the brackets of the smaller problems that a large one starts from
GROWTH = 2.5
ROUNDS = 8
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Bracket:
    """``low <= s <= high``, proven; ``weights`` (n,) attain high, ``factor`` V (k, r) attains low."""

    low: float
    high: float
    weights: np.ndarray
    factor: np.ndarray

    @property
    def width(self) -> float:
        """``high - low``."""
        return self.high - self.low


def lower_bound(rows: np.ndarray, bound: np.ndarray | Limit, factor: np.ndarray) -> float:
    """A proven lower bound on s from P = V V^T: float arithmetic, rounded down.

    Args:
        rows: (n, k), the vectors a_i exactly. bound: the right side, its diagonal (k,), (k, k), or a `Limit`.
        factor: V, (k, r).
    """
    value, paid = dual_parts(rows, factor)
    trace, error = as_limit(bound).price(factor)
    low = value - paid - trace - error
    return float(max(0.0, low - 4 * UNIT * (abs(value) + abs(trace) + error)))


def dual_parts(rows: np.ndarray, factor: np.ndarray) -> tuple[float, float]:
    """``sum_i min(1, |V^T a_i|^2)`` in floats and a bound on by how much it is too large."""
    n, k = rows.shape
    inner = rows @ factor
    error = (k + 2) * UNIT * (np.abs(rows) @ np.abs(factor))
    sure = np.maximum(np.abs(inner) - error, 0.0)
    quadratic = (sure**2).sum(axis=1)
    value = float(np.minimum(quadratic, 1.0).sum())
    return value, (n + factor.shape[1] + 8) * UNIT * value


def upper_bound(rows: np.ndarray, bound: np.ndarray | Limit, weights: np.ndarray) -> float:
    """A proven upper bound on s from any weights: they are scaled until the matrix inequality is proven."""
    n = rows.shape[0]
    limit = as_limit(bound)
    w = np.where(limit.usable(rows), np.clip(np.nan_to_num(weights), 0.0, 1.0), 0.0)
    largest = limit.multiple(rows, w)
    if not np.isfinite(largest):
        return float(n)
    total = float(w.sum()) * (1 - (n + 8) * UNIT)
    kept = total / max(1.0, largest)
    return float(min(n, n - kept + 8 * UNIT * n))


def solve(
    rows: np.ndarray,
    bound: np.ndarray | Limit,
    *,
    tolerance: float = 1e-4,
    near: np.ndarray | None = None,
) -> Bracket:
    """The bracket of s, at most ``tolerance`` wide unless every attempt fails.

    Args:
        rows: (n, k) float64, taken exactly. bound: the right side, its diagonal (k,), (k, k), or a `Limit`.
        near: factor V of a nearby problem: only records with a^T P a near 1 are left free (warm start).

    Cost: an interior point (`interior`) in the free weights: all of at most 20000 records, else and with
    ``near`` a fiftieth, at least 600, and more where that was too few; and passes of n k^2 operations.
    """
    n, k = rows.shape
    limit = as_limit(bound)
    scaled = limit.whiten(rows)
    long = 8.0 * (n + k) / tolerance
    best = _trivial(rows, limit, near)
    if near is None and n > SAMPLE:
        # the same problem on every fourth record shows which ones are at the boundary
        part = rows[::4]
        near = solve(part, limit.times(part.shape[0] / n), tolerance=_COARSE).factor
    quadratic = None if near is None else ((rows @ near) ** 2).sum(axis=1)
    count = n if near is None else max(COLD, n // 50, k * k // 2)
    count = n if 4 * count > n else count
    for _ in range(ROUNDS):
        count = min(count, n)
        result = _attempt_light(scaled, quadratic, count, long, tolerance / 4)
        if result is not None:
            weights, dual = result
            before = best.width
            best = _better(best, _bracket(rows, limit, weights, limit.unwhiten(dual)))
            if best.width <= tolerance:
                return best
            quadratic = ((rows @ best.factor) ** 2).sum(axis=1) if best.factor.any() else None
            if count < n and best.width < 0.25 * before:
                continue  # the boundary is known better now: the same number of weights may do
        elif count < n:
            quadratic = None if count > n // 4 else quadratic
        if count == n:
            result = _conic(scaled) if result is not None and best.width > tolerance else None
            if result is not None:  # where our own method stopped short
                best = _better(best, _bracket(rows, limit, result[0], limit.unwhiten(_root(result[1]))))
            break
        count = n if quadratic is None else int(GROWTH * count) + 1
    return best


def certain(rows: np.ndarray, bound: np.ndarray | Limit, bracket: Bracket) -> Bracket:
    """A bracket of the same program, or where it is wider than `packing_ellipsoid.WIDTH` one that is not.

    Within the public limits of docs/proofs/gaussian_scores.md this is a theorem for all records.
    """
    width = float(packing_ellipsoid.WIDTH)
    if bracket.width <= width:
        return bracket
    low, factor = packing_ellipsoid.best_dual(
        rows, as_limit(bound), lambda V: lower_bound(rows, bound, V), bracket.high - width
    )
    low, factor = max((low, factor), (bracket.low, bracket.factor), key=lambda end: end[0])
    return Bracket(low, min(bracket.high, low + width), bracket.weights, factor)


def _trivial(rows: np.ndarray, bound: Limit, near: np.ndarray | None) -> Bracket:
    n, k = rows.shape
    low, factor = (0.0, np.zeros((k, 1))) if near is None else (lower_bound(rows, bound, near), near)
    return Bracket(low, float(n), np.zeros(n), factor)


def _better(first: Bracket, second: Bracket) -> Bracket:
    """The tighter end of each."""
    low = first if first.low >= second.low else second
    high = first if first.high <= second.high else second
    return Bracket(low.low, high.high, high.weights, low.factor)


def _bracket(rows: np.ndarray, bound: Limit, weights: np.ndarray, factor: np.ndarray) -> Bracket:
    factor = _scaled_factor(rows, bound, factor)
    return Bracket(
        lower_bound(rows, bound, factor), upper_bound(rows, bound, weights), np.clip(weights, 0, 1), factor
    )


def _scaled_factor(rows: np.ndarray, bound: Limit, factor: np.ndarray) -> np.ndarray:
    """The best multiple of V: where the q_i below 1 add up to the trace."""
    q = ((rows @ factor) ** 2).sum(axis=1)
    trace = bound.price(factor)[0]
    order = np.argsort(-q)
    counts, sums = np.arange(q.size + 1), np.concatenate([[0.0], np.cumsum(q[order][::-1])])[::-1]
    # with theta = 1 / q of rank j: the first j are at 1, the rest contribute theta * sum
    theta = 1.0 / np.maximum(q[order], _TINY)
    values = counts[1:] + theta * sums[1:] - theta * trace
    j = int(np.argmax(values))
    better = values[j] > max(0.0, float(np.minimum(q, 1.0).sum()) - trace)
    return factor * np.sqrt(theta[j]) if better and np.isfinite(theta[j]) else factor


def _attempt_light(
    scaled: np.ndarray, quadratic: np.ndarray | None, count: int, long: float, gap: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """`_attempt` without the records of |a|^2 > long, which are given up.

    A weight is at most 1 / |a|^2, and a multiple 1 / long of the identity pays for all of these on the dual
    side: together at most (n + k) / long. In the conic program their squares would decide the scale, in which
    everything else would drown: records may be anything.
    """
    n, k = scaled.shape
    with np.errstate(over="ignore"):
        light = np.flatnonzero((scaled**2).sum(axis=1) <= long)
    if light.size == n:
        return _attempt(scaled, quadratic, count, gap)
    weights, dual = np.zeros(n), np.eye(k) / long
    if light.size:
        near = None if quadratic is None else quadratic[light]
        result = _attempt(scaled[light], near, min(count, light.size), gap)
        if result is None:
            return None
        weights[light] = result[0]
        dual += result[1] @ result[1].T
    return weights, _root(dual)


def _root(dual: np.ndarray) -> np.ndarray:
    """V with V V^T the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(dual)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _attempt(
    scaled: np.ndarray, quadratic: np.ndarray | None, count: int, gap: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights (n,) and a dual factor (k, k), or None: ``count`` weights are free, those whose quadratic form
    is nearest to 1; below it a weight is fixed at 1, above at 0."""
    n, k = scaled.shape
    weights = np.ones(n)
    chosen = np.arange(n)
    if quadratic is not None and count < n:
        away = np.abs(np.log(np.maximum(quadratic, 1e-12)))
        chosen = np.argpartition(away, count - 1)[:count]
        weights = np.where(quadratic < 1.0, 1.0, 0.0)
    fixed = weights.copy()
    fixed[chosen] = 0.0
    part = scaled[fixed > 0]
    rest = np.eye(k) - part.T @ part
    try:
        lower = cholesky(rest, lower=True)
        reduced = solve_triangular(lower, scaled[chosen].T, lower=True).T
    except (LinAlgError, ValueError):
        return None
    result = interior(reduced, gap) or _conic(reduced)
    if result is None:
        return None
    weights[chosen] = result[0]
    return weights, solve_triangular(lower, _root(result[1]), lower=True, trans="T")


def _conic(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The same by a conic solver, where our own method broke down: (w, P), or None."""
    count, k = rows.shape
    if not np.isfinite(rows).all():
        return None
    i, j = triangle(k)
    # The unknowns are w |b|^2 where that is longer than 1, so that long records do not decide the scale; for
    # those the bound w <= 1 follows from the matrix inequality and is left out, its multiplier being 0.
    lengths = np.maximum(1.0, (rows**2).sum(axis=1))
    rows = rows / np.sqrt(lengths)[:, None]
    capped = sp.csr_array(sp.eye_array(count))[lengths <= 1.0]
    coefficients = rows[:, i] * rows[:, j] * roots(k)
    A = sp.vstack([-sp.eye_array(count), capped, sp.csr_matrix(coefficients.T)], format="csc")
    bounds = count + capped.shape[0]
    b = np.concatenate([np.zeros(count), np.ones(capped.shape[0]), units([k])])
    answer = solve_quietly(ConicProgram(-1.0 / lengths, A, b, Cones(0, bounds, (k,))))
    if answer is None:
        return None
    return np.clip(answer[0] / lengths, 0.0, 1.0), smat(answer[1][bounds:], k)
