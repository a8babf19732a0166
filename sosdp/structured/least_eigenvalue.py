"""A bracket of the least eigenvalue of a large sparse matrix, rounding included, from random starts.

A Chebyshev polynomial of the matrix, as large as it can be where an eigenvalue below c would be, is applied
to the starts. How much they grow bounds the least eigenvalue from both sides: from above surely, from below
as far as some start has a component of known size along its eigenvector, which random starts fail to have
with a small known probability. Proof: docs/proofs/sparse_slack.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import flint
import numpy as np

from sosdp.conic.rigorous import UNIT

OUTWARD = 1.0 + 2.0**-20
"""Inflation of computed norms: more than twice n u for every n up to 2^31."""

MOST_PASSES = 64
LARGEST_GROWTH = 2.0**300
EVERY = 8
"""Steps between looks at the growth: it is at most 16-fold a step."""

BITS = 128


@dataclass(frozen=True)
class SymmetricOperator:
    """A symmetric matrix K as a computed product, with proven bounds.

    side: n; apply: (n, r) float64 -> K V as computed; bound: at least the spectral norm of K and twice the
    least eigenvalue; rounding: the computed K v errs by at most rounding * |v|, column by column.
    """

    side: int
    apply: Callable[[np.ndarray], np.ndarray]
    bound: float
    rounding: float


@dataclass(frozen=True, eq=False)
class Starts:
    """Random starts: vectors (n, r), and the component along any fixed unit vector that at least one of them
    has in absolute value, except with a probability that the caller pays for.
    """

    vectors: np.ndarray
    component: float

    @property
    def longest(self) -> float:
        """An upper bound on the lengths of the starts."""
        return float(np.sqrt((self.vectors * self.vectors).sum(axis=0)).max()) * OUTWARD


def drift(operator: SymmetricOperator, steps: int) -> float:
    """rho: after so many steps a computed vector is off by at most rho |v| times what T(K) grows by.

    For every polynomial that `bracket_least_eigenvalue` uses: its slope is at most 4 / bound.
    """
    alpha, slope = 3.0, 4.0 / operator.bound
    reach = alpha + slope * (operator.bound + operator.rounding)
    one_step = (2 * slope * operator.rounding + 8 * UNIT * reach + 2 * UNIT) * OUTWARD
    total = one_step * steps * (steps + 1) * OUTWARD
    return total / (1 - total) * OUTWARD if total < 0.5 else math.inf


def steps_needed(length: float, component: float, gap: float) -> int:
    """Steps of one pass after which psi at the least eigenvalue is known within `gap`, if it is near 1."""
    growth = math.acosh(2.1 * OUTWARD**4 * length / component)
    return math.ceil(growth / math.acosh(1.0 + gap) * OUTWARD) + 1


def provable(operator: SymmetricOperator, length: float, component: float, width: float) -> bool:
    """Whether `bracket_least_eigenvalue` surely ends within `width` for such an operator and such starts."""
    steps = steps_needed(length, component, 2 * width / 7 / (operator.bound * OUTWARD))
    return drift(operator, steps) * length <= component / 2


def bracket_least_eigenvalue(
    operator: SymmetricOperator, starts: Starts, width: float, *, bottom: float = 0.0
) -> tuple[float, float]:
    """(low, high) around the least eigenvalue, high - low <= width, or high <= bottom.

    high is proven for every operator; low if some start has the promised component. Where `provable` holds
    it always ends like this; low is -inf otherwise. Cost: a few hundred products, about sqrt(bound / width)
    times the logarithm of n.
    """
    high = min(operator.bound / 2, *(_rayleigh(operator, column) for column in _proposals(operator, starts)))
    low = -math.inf
    for number in range(MOST_PASSES):
        if high <= bottom or high - low <= width:
            return low, high
        goal = width if number == 0 else width / 7
        result = _one_pass(operator, starts, high, goal)
        low, high = max(low, result[0]), min(high, result[1])
    return (low, high) if high - low <= width else (-math.inf, high)


def _proposals(operator: SymmetricOperator, starts: Starts) -> list[np.ndarray]:
    """Vectors near the bottom eigenvector, by Lanczos: only proposals."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    n = operator.side
    first = starts.vectors[:, 0]
    if n < 20:
        return [first]
    product = LinearOperator(
        (n, n), matvec=lambda v: operator.apply(v.reshape(-1, 1)).ravel(), dtype=np.float64
    )
    try:
        _, vectors = eigsh(product, k=1, which="SA", v0=first, tol=1e-3, maxiter=40, ncv=30)
    except (ArpackError, ValueError):
        return [first]
    return [first, vectors[:, 0]] if np.all(np.isfinite(vectors)) else [first]


def _rayleigh(operator: SymmetricOperator, vector: np.ndarray) -> float:
    """A proven upper bound on the least eigenvalue: the quotient of any vector, its rounding included."""
    square = float(vector @ vector)
    if not (square > 1e-200 and math.isfinite(square)):
        return operator.bound
    image = operator.apply(vector.reshape(-1, 1)).ravel()
    value = float(vector @ image)
    terms = len(vector) * UNIT * OUTWARD
    error = operator.rounding + 4 * terms * (operator.bound + operator.rounding)
    return value / square + error * OUTWARD + abs(value / square) * 8 * terms


def _one_pass(operator: SymmetricOperator, starts: Starts, c: float, goal: float) -> tuple[float, float]:
    """The bracket that one filter gives: T_k of psi(K), psi(l) = alpha - slope l, 1 at c and >= -1 on K."""
    distant = operator.bound * (1 + 2.0**-30)
    alpha, slope = (distant + c) / (distant - c), 2 / (distant - c)
    length = starts.longest
    steps = steps_needed(length, starts.component, slope * goal)
    before, now = starts.vectors, alpha * starts.vectors - slope * operator.apply(starts.vectors)
    done = 1
    while done < steps:
        if done % EVERY == 0 and float(np.abs(now).max()) > LARGEST_GROWTH:
            break
        before, now = now, 2 * (alpha * now - slope * operator.apply(now)) - before
        done += 1
    rho = drift(operator, done)
    if not (np.all(np.isfinite(now)) and rho * length <= starts.component / 2):
        return -math.inf, math.inf
    lengths = np.sqrt((now * now).sum(axis=0))
    first = np.sqrt((starts.vectors * starts.vectors).sum(axis=0))
    most = float(lengths.max()) / (starts.component - rho * length) * OUTWARD**2
    least = float((lengths / first).max()) / (OUTWARD**2 * (1 + rho))
    low, _ = _where(alpha, slope, done, max(most, 1.0))
    return low, (_where(alpha, slope, done, least)[1] if least > 1 else math.inf)


def _where(alpha: float, slope: float, steps: int, growth: float) -> tuple[float, float]:
    """An interval for the l with T_steps(alpha - slope l) = growth >= 1, in ball arithmetic."""
    with flint.ctx.workprec(BITS):
        peak = (flint.arb(growth).acosh() / steps).cosh()
        value = (flint.arb(alpha) - peak) / flint.arb(slope)
        return math.nextafter(float(value.lower()), -math.inf), math.nextafter(float(value.upper()), math.inf)
