"""Laws of counts of edges at a vertex of the block model: differences of binomials."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def binomial(trials: float, chance: float) -> np.ndarray:
    """The law of a binomial as probabilities of 0, 1, ...; far tails (9 deviations and more) as 0."""
    from scipy.stats import binom

    count = round(trials)
    if count <= 0 or chance <= 0:
        return np.ones(1)
    mean = count * min(chance, 1.0)
    spread = 9.5 * math.sqrt(mean) + 40
    low, high = max(0, math.floor(mean - spread)), min(count, math.ceil(mean + spread))
    law = np.zeros(high + 1)
    law[low:] = binom.pmf(np.arange(low, high + 1), count, min(chance, 1.0))
    return law


def difference_law(
    plus: Sequence[tuple[float, float]], minus: Sequence[tuple[float, float]]
) -> tuple[np.ndarray, int]:
    """Law of the sum of the binomials `plus` less those of `minus`: probabilities from the value -offset on.

    Each binomial is (trials, chance). Probabilities below 1e-18 are left out.
    """
    from scipy.signal import fftconvolve

    sides = []
    for side in (plus, minus):
        law = np.ones(1)
        for trials, chance in side:
            law = fftconvolve(law, binomial(trials, chance))
        sides.append(law)
    difference = np.maximum(fftconvolve(sides[0], sides[1][::-1]), 0.0)
    difference[difference < 1e-18] = 0.0
    return difference / difference.sum(), len(sides[1]) - 1


def count_law(n: int, average_degree: float, gamma: float, theta: float) -> tuple[np.ndarray, int]:
    """Law of x_v (A z)_v, z wrong at a share theta of either side; see `difference_law`.

    The pair of a vertex with itself is counted as a pair: for large n.
    """
    half = n / 2
    p_in, p_out = (1 + gamma) * average_degree / n, (1 - gamma) * average_degree / n
    return difference_law(
        [(half * (1 - theta), p_in), (half * theta, p_out)],
        [(half * theta, p_in), (half * (1 - theta), p_out)],
    )


def group_law(
    n: int, average_degree: float, gamma: float, communities: int, theta: float
) -> tuple[np.ndarray, int]:
    """Law of (edges into the own group) - (edges into one other group) for k communities.

    p_in = (1 + (k-1) gamma) d / n, p_out = (1 - gamma) d / n; a share theta of every group belongs elsewhere,
    evenly. See `difference_law`.
    """
    k = communities
    size = n / k
    p_in, p_out = (1 + (k - 1) * gamma) * average_degree / n, (1 - gamma) * average_degree / n
    stray = theta / (k - 1)
    return difference_law(
        [(size * (1 - theta), p_in), (size * theta, p_out)],
        [(size * stray, p_in), (size * (1 - stray), p_out)],
    )
