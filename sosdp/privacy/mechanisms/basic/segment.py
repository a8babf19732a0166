"""Averages of sets whose size is private: a segment that holds nearly all values, then a clipped mean.

For one record added or removed. These are the averages of the published route of k-tuple clustering, where
the sets are the clusters that private centres cut out; with a public range and few coordinates
`bounded_average` is simpler and better. These functions draw numbers and seal nothing: what they promise is
in their docstrings.

Proof: docs/proofs/tuples_published.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.mechanisms.basic.quantile import Grid, Run, draw, runs
from sosdp.privacy.mechanisms.propose_test_release.acceptance import tail_margin
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits

FINE = 1 << 20
"""Steps into which a grid step is cut for the mean."""


def window_size(size: int, epsilon: float, beta: float) -> int:
    """w = (8 / epsilon) log(2 |G| / beta): values at each end that a segment may leave out."""
    return math.ceil(8.0 / epsilon * math.log(2.0 * size / beta))


def inner_levels(window: Sequence[int], size: int) -> list[Run]:
    """Losses |window|/2 - min(#{x <= theta}, #{x >= theta}) of the grid points, up to a constant."""
    most = len(window)
    return runs(window, size, lambda below, above: most - min(most - above, most - below))


def windows(indices: Sequence[int], width: int) -> tuple[Sequence[int], Sequence[int]]:
    """The `width` smallest and largest of the sorted indices, or the halves if there are fewer."""
    taken = min(width, len(indices) // 2)
    return indices[:taken], indices[len(indices) - taken :]


def bounding_segment(
    indices: Sequence[int], points: Grid, epsilon: float, beta: float, bits: RandomBits
) -> tuple[int, int]:
    """Grid numbers [low, high] between which all but about 2 w of the values lie: epsilon-DP.

    Each end is an interior point of one window (epsilon / 2 each); adding or removing one value changes one
    element of each window.

    Args:
        indices: sorted grid numbers of the values (any number of them, also none).
        points: the public grid.
        epsilon, beta: budget, and failure probability that the windows are made for.
    """
    width = window_size(points.size, epsilon, beta)
    # the counts of a window move by at most 1, so does their minimum; a common offset of losses cancels
    rate = Fraction(epsilon) / 2 / 2
    ends = [draw(inner_levels(window, points.size), rate, bits) for window in windows(indices, width)]
    return max(min(ends) - 1, 0), min(max(ends) + 1, points.size - 1)


def average_of_private_size(
    indices: Sequence[int],
    segment: tuple[int, int],
    points: Grid,
    *,
    epsilon: float,
    delta: float,
    bits: RandomBits,
) -> float:
    """Mean of the values clipped to a released segment: (epsilon, delta)-DP for one added or removed value.

    Half of epsilon gives a lower bound of the number of values, right except with probability delta / 2; the
    noise of the mean is (width / bound) times that of sensitivity 1 at (epsilon / 2, delta / 2). The mean of
    no value is the midpoint.
    """
    low, high = segment
    size = float(Fraction(2) / Fraction(epsilon))
    lower = len(indices) + exact.discrete_laplace(Fraction(size), bits) - tail_margin(size, delta / 2.0)
    rho = Fraction(calibrate.zcdp_rho(epsilon / 2.0, delta / 2.0))
    middle = Fraction(low + high, 2)
    bound = max(lower, 1)
    # the mean of N values moves by at most width / N, and rounding it by one fine step
    moved = Fraction((high - low) * FINE, bound) + 1
    noise = exact.discrete_gaussian(moved**2 / (2 * rho), bits)
    if lower < 1:
        return float(points.low + points.step * middle)
    clipped = [min(max(index, low), high) for index in indices]
    mean = Fraction(sum(clipped), len(clipped)) if clipped else middle
    fine = math.floor(mean * FINE + Fraction(1, 2)) + noise
    return float(points.low + points.step * Fraction(fine, FINE))


def average_in_space(
    values: npt.NDArray[np.float64],
    points: Grid,
    *,
    epsilon: float,
    delta: float,
    beta: float,
    bits: RandomBits,
) -> npt.NDArray[np.float64]:
    """Mean of an (N, d) set with private N, coordinate by coordinate: (epsilon, delta)-DP.

    Advanced composition as published: each of the d coordinates at epsilon / (2 sqrt(2 d log(2 / delta))) and
    delta / (2 d), half of it for the segment.

    Raises:
        ValueError: epsilon above 1, for which these constants are not proven.
    """
    if epsilon > 1.0:
        raise ValueError(f"advanced composition with these constants needs epsilon <= 1, got {epsilon}")
    d = values.shape[1]
    each = epsilon / (2.0 * math.sqrt(2.0 * d * math.log(2.0 / delta)))
    result = np.zeros(d)
    for j in range(d):
        indices = points.counts(values[:, j])
        segment = bounding_segment(indices, points, each / 2.0, beta / d, bits)
        result[j] = average_of_private_size(
            indices, segment, points, epsilon=each / 2.0, delta=delta / (2.0 * d), bits=bits
        )
    return result
