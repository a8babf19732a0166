"""How much Euclidean-ball noise fits beside zCDP in one (epsilon, delta): a proven bound, not a conversion.

The noise has density proportional to exp(-rate |x| / Delta) in R^d, where neighbours are at most Delta apart.
Its loss never exceeds the rate and is of the order rate / sqrt(d): up to d = 50 less noise than a Gaussian.

Proof: docs/proofs/ball_noise.md, 2 and 3
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import betainc, gammainc, gammaincc, gammaincinv

from sosdp.privacy.calibrate import check_delta, check_epsilon, narrowed

RADII = 240  # cells of the noise's length
LOSSES = 1000  # steps of the loss from -rate to rate
COSINES = 1 << 16
FLOATS = 1.0 + 1e-6  # relative error of all floating-point sums and special functions, generously
ORDERS = np.geomspace(1.0, 4000.0, 160)
LARGEST_DIMENSION = 256
LARGEST_EPSILON = 50.0  # beyond it exponentials of losses leave floating point, and nothing is protected


@lru_cache(maxsize=256)
def largest_rate(epsilon: float, delta: float, before: Fraction, dimension: int) -> float:
    """A rate (within 1e-4 of the largest provable) so that noise after `before`-zCDP is (epsilon, delta)-DP.

    The questions before may be adaptive. 0.0 where no rate above epsilon / 1000 is proven, and for epsilon
    above 50.

    Raises:
        ValueError: epsilon, delta or the dimension (1 to 256) out of range.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if not 1 <= dimension <= LARGEST_DIMENSION:
        raise ValueError(f"the dimension must lie in 1..{LARGEST_DIMENSION}, got {dimension}")
    low = epsilon / 1000.0
    if epsilon > LARGEST_EPSILON or not proven(low, epsilon, delta, before, dimension):
        return 0.0
    high = 2.0 * low
    while proven(high, epsilon, delta, before, dimension):
        low, high = high, 2.0 * high
    return narrowed(lambda rate: not proven(rate, epsilon, delta, before, dimension), low, high, 1e-4)[0]


def proven(rate: float, epsilon: float, delta: float, before: Fraction, dimension: int) -> bool:
    """Whether noise of this rate after `before`-zCDP is proven (epsilon, delta)-DP."""
    return total_delta(rate, epsilon, float(before), dimension) <= delta


def total_delta(rate: float, epsilon: float, before: float, dimension: int) -> float:
    """Bound on delta: the least over b > 0 of e^(b (b+1) rho) sup over x of delta(x) e^(-b (epsilon - x))."""
    ends, deltas = hockey_sticks(rate, dimension)
    # on a step delta(x) is at most its value at the lower end, the exponential that at the upper end; below
    # the first end delta(x) is at most 1, from the last on it is 0
    with np.errstate(divide="ignore"):
        logs = np.log(np.concatenate([[1.0], deltas]))
    orders = ORDERS / min(1.0, epsilon)
    worst = np.max(logs[:, None] - np.outer(epsilon - ends, orders), axis=0)
    least = float(np.min(worst + orders * (orders + 1.0) * before))
    return min(1.0, math.exp(min(0.0, least)) * FLOATS)


def hockey_sticks(rate: float, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends (LOSSES + 1,) from -rate to rate, and upper bounds of delta(x) at all but the last of them.

    delta(x) = E[(1 - e^(x - L))_+] of the loss L between two centres at distance Delta.
    """
    ends = np.linspace(-rate, rate, LOSSES + 1)
    ends[0], ends[-1] = -rate, rate
    tails = _tails(rate, dimension, ends[:-1])
    pieces = tails * np.exp(-ends[:-1]) * -np.expm1(-np.diff(ends))  # no cancellation at small rates
    sums = np.cumsum(pieces[::-1])[::-1]
    return ends, np.minimum(1.0, sums * np.exp(ends[:-1]) * FLOATS)


def _tails(rate: float, dimension: int, losses: np.ndarray) -> np.ndarray:
    """Upper bounds of P(L >= loss): lengths are rounded down, cosines up, and L falls with both."""
    lengths, masses = _lengths(dimension)
    r = lengths[:, None] / rate  # in units of Delta
    y = losses / rate
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = (1.0 - 2.0 * r * y - y * y) / (2.0 * r)
    cosines = np.where(r > 0.0, cosines, 1.0)  # at length 0 the loss is the rate
    places = np.clip(np.ceil((cosines + 1.0) * (COSINES / 2) + 1e-6), -1, COSINES).astype(np.int64)
    return np.minimum(1.0, (masses @ _cosine_table(dimension)[places + 1]) * FLOATS)


@lru_cache(maxsize=16)
def _lengths(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Lower ends of cells of a Gamma(d) length, and their masses, which add up to at least 1."""
    deep = np.geomspace(1e-18, 1e-3, RADII // 4)
    shares = np.concatenate([deep, np.linspace(1e-3, 0.999, RADII // 2 + 2)[1:-1], 1.0 - deep[::-1]])
    inner = np.unique(np.concatenate([[0.0], gammaincinv(dimension, np.minimum(shares, 1.0 - 1e-15))]))
    below, above = gammainc(dimension, inner), gammaincc(dimension, inner)
    masses = np.where(below[:-1] < 0.5, np.diff(below), -np.diff(above))
    return inner, np.concatenate([np.maximum(masses, 0.0) + 1e-18, above[-1:] + 1e-18])


@lru_cache(maxsize=16)
def _cosine_table(dimension: int) -> np.ndarray:
    """P(cos <= -1 + 2 k / COSINES) at place k + 1 for k = -1..COSINES, the cosine of a uniform direction."""
    halves = np.arange(COSINES + 1) / COSINES
    if dimension == 1:
        inside = np.where(halves < 1.0, 0.5, 1.0)
    else:
        inside = betainc((dimension - 1) / 2.0, (dimension - 1) / 2.0, halves)
    return np.concatenate([[0.0], inside])
