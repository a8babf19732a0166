"""Intervals that hold by the laws of the noise alone, whatever the data are.

Proof: docs/proofs/tables.md, "Intervals"
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

CELLS = 32
"""Into so many parts the possible means are divided at once, and the outermost again."""

ROUNDS = 9
CONTINUOUS = 100
"""Discrete Laplace noise of a larger scale is compared with the continuous law, one step further out."""

Array = npt.NDArray[np.float64]


def margin(scale: Fraction, alpha: float) -> int:
    """The least integer t with P(|L| > t) <= alpha, for discrete Laplace noise L of this scale.

    P(|L| > t) = 2 a^(t + 1) / (1 + a), a = exp(-1 / scale); the float64 computation is rounded outwards.
    """
    rate = 1 / float(scale)
    wanted = (math.log(2 / (1 + math.exp(-rate))) - math.log(alpha)) / rate - 1
    return max(0, math.ceil(wanted * (1 + 1e-12)))


def beyond(scale: float, x: Array) -> Array:
    """P(L > x) for discrete Laplace noise L of this scale, for any real x."""
    steps = np.floor(x)
    a = math.exp(-1 / scale)
    upper = np.exp(-(np.maximum(steps, -1) + 1) / scale) / (1 + a)
    lower = np.exp(np.minimum(steps, 0) / scale) / (1 + a)
    return np.where(steps >= 0, upper, 1 - lower)


def ratio_beyond(scales: tuple[float, float], ratio: Array, x: Array) -> Array:
    """An upper bound of P(|L1 - r' L2| >= x) for all 0 <= r' <= r, elementwise in r and x.

    Args:
        scales: of the two independent discrete Laplace variables.
        ratio: r; x: at least 0.
    """
    first, second = scales
    if second > CONTINUOUS:
        return _continuous(first, ratio * second, np.maximum(x - 1 - ratio, 0.0))
    reach = math.ceil(30 * second) + 1
    k = np.arange(-reach, reach + 1)
    a = math.exp(-1 / second)
    weight = (1 - a) / (1 + a) * np.exp(-np.abs(k) / second)
    shift = ratio[:, None] * k
    both = beyond(first, x[:, None] - 1 + shift) + beyond(first, x[:, None] - 1 - shift)
    return np.asarray(np.minimum(both, 1.0) @ weight + 1e-12)


def _continuous(first: float, second: Array, x: Array) -> Array:
    """P(|X + Y| > x) of two Laplace variables of scales first >= second (or up to rounding)."""
    small = np.minimum(second, first * (1 - 1e-5))
    square = small * small
    separate = first * first * np.exp(-x / first) - square * np.exp(-x / np.maximum(small, 1e-300))
    different = separate / (first * first - square)
    larger = np.maximum(first, second)
    return np.where(second > first * (1 - 1e-5), (1 + x / (2 * larger)) * np.exp(-x / larger), different)


def quotient(
    noisy: tuple[int, int], scales: tuple[Fraction, Fraction], half: int, alpha: float
) -> tuple[float, float]:
    """The quotients S / N in [-half, half] that (S + L1, N + L2) does not reject, as an interval.

    At the true quotient r the difference (S + L1) - r (N + L2) is L1 - r L2, whose law is known; r is
    rejected where a difference of that size has probability below alpha. The interval holds all r that are
    not rejected (and a little more).

    Args:
        noisy: the two noisy integers. scales: of their discrete Laplace noise.
        half: the public bound of the quotient. alpha: probability that the interval misses.
    """
    law = float(scales[0]), float(scales[1])
    total, count = float(noisy[0]), float(noisy[1])

    def kept(edges: Array) -> npt.NDArray[np.bool_]:
        """Whether a part between two edges holds a quotient that may be not rejected."""
        left, right = edges[:-1], edges[1:]
        ends = total - left * count, total - right * count
        nearest = np.where(
            np.sign(ends[0]) == np.sign(ends[1]), np.minimum(np.abs(ends[0]), np.abs(ends[1])), 0.0
        )
        largest = np.maximum(np.abs(left), np.abs(right))
        return ratio_beyond(law, largest, nearest) >= alpha

    low, high = -float(half), float(half)
    return _first(kept, low, high), _first(kept, high, low)


def _first(kept: Callable[[Array], npt.NDArray[np.bool_]], start: float, end: float) -> float:
    """A point with nothing kept between it and the start; the start itself where nothing is kept at all."""
    left, right = start, end
    for _ in range(ROUNDS):
        edges = np.linspace(left, right, CELLS + 1)
        inside = np.flatnonzero(kept(edges))
        if len(inside):
            left, right = float(edges[inside[0]]), float(edges[min(inside[0] + 2, CELLS)])
        elif right == end:
            return start if left == start else left
        else:  # what seemed possible in a wide part is not in narrow ones: go on behind it
            left, right = right, right + np.sign(end - start) * min(abs(right - left), abs(end - right))
    return left
