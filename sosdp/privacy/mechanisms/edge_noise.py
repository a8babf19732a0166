"""Every pair of a graph perturbed on its own: randomised response for simple graphs, discrete Laplace noise
for
weighted ones. Purely private, even in the local model.

Proofs: docs/proofs/sbm_randomized_response.md (flips), docs/proofs/cuts_synthetic_graph.md (weights)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

import sosdp.privacy.randomness as noise
from sosdp.privacy.arguments import integer
from sosdp.privacy.calibrate import ball, check_epsilon, decide, least
from sosdp.privacy.randomness.bits import RandomBits

WORD_BITS = 64

LEAST_SPARSE = 0.125
"""Least epsilon of `skip_rule`."""

SKIPS = 1 << 16
"""Skips at a time: with them, sums of skips below 2^45 stay below 2^63."""


@dataclass(frozen=True)
class FlipRule:
    """Flip a pair iff a uniform 64-bit word is below `threshold`: probability exactly threshold / 2^64.

    The probability is 1 / (1 + e^epsilon) rounded up, so the loss log((1 - q) / q) is at most epsilon.
    """

    threshold: int

    @property
    def probability(self) -> Fraction:
        """The exact probability of a flip."""
        return Fraction(self.threshold, 2**WORD_BITS)


def flip_rule(epsilon: float) -> FlipRule:
    """The smallest multiple of 2^-64 proven to be at least 1 / (1 + e^epsilon), by ball arithmetic.

    Raises ValueError if epsilon is not a finite number > 0.
    """
    epsilon = check_epsilon(epsilon)
    odds = math.exp(min(epsilon, 700.0))
    guess = math.floor(2.0**WORD_BITS / (1 + odds) * (1 - 1e-12))
    low, high = max(0, guess), max(1, math.ceil((guess + 1) * (1 + 1e-11)) + 1)

    def enough(threshold: int) -> bool:
        # q >= 1 / (1 + e^eps)  <=>  q (1 + e^eps) - 1 >= 0; an undecided comparison counts as "no".
        share = Fraction(threshold, 2**WORD_BITS)
        return decide(lambda: ball(share) * (1 + ball(epsilon).exp()) - 1) is True

    return FlipRule(least(enough, low, high))


def flip_edges(adjacency: sp.csr_array, rule: FlipRule, bits: RandomBits | None = None) -> np.ndarray:
    """The noisy adjacency matrix, dense uint8 (n, n): every pair flipped independently with the rule's
    probability.

    Randomness: 64 bits a pair, of the operating system where no source is given. O(n^2).
    """
    n = adjacency.shape[0]
    noisy = adjacency.toarray().astype(np.uint8)
    flips = noise.coin_flips(n * (n - 1) // 2, rule.threshold, source=bits)
    start = 0
    for row in range(n - 1):
        stop = start + n - 1 - row
        noisy[row, row + 1 :] ^= flips[start:stop]
        noisy[row + 1 :, row] = noisy[row, row + 1 :]
        start = stop
    return noisy


@dataclass(frozen=True)
class SkipRule:
    """Pairs flipped with probability q = 1 - exp(-1 / units), found by skipping over those that stay.

    How many stay before the next flip is geometric, P(j) = q (1 - q)^j, the law of a discrete Laplace number
    of this scale folded onto j >= 0. q is at least 1 / (1 + e^epsilon), so the loss is at most epsilon.
    """

    units: float

    @property
    def probability(self) -> float:
        """q, rounded."""
        return -math.expm1(-1.0 / self.units)


def skip_rule(epsilon: float) -> SkipRule:
    """The largest float64 `units` with 1 / units proven to be at least log(1 + e^-epsilon).

    Raises ValueError for epsilon below 1/8, where nearly half of all pairs are flipped.
    """
    epsilon = check_epsilon(epsilon)
    if epsilon < LEAST_SPARSE:
        raise ValueError(
            f"sparse flips need epsilon >= {LEAST_SPARSE}, got {epsilon}: flip every pair by itself"
        )

    def enough(units: float) -> bool:
        return decide(lambda: 1 / ball(units) - (1 + (-ball(epsilon)).exp()).log()) is True

    units = noise.LARGEST_UNITS
    if not enough(units):
        units = 1 / math.log1p(math.exp(-epsilon)) * (1 + 1e-14)
        while not enough(units):
            units = math.nextafter(units, 0.0)
    return SkipRule(units)


def flipped_positions(count: int, rule: SkipRule, bits: RandomBits | None = None) -> np.ndarray:
    """Positions in 0..count-1, ascending, each there independently with the rule's probability, exactly.

    count: at most 2^45. Time and memory proportional to the number of positions. Source:
    docs/proofs/sbm_randomized_response.md.
    """
    count = integer(count, "count", 0)
    if count > 1 << 45:
        raise ValueError(f"count must be between 0 and 2^45, got {count}")
    pieces, last = [np.empty(0, dtype=np.int64)], -1
    while last < count:
        wanted = (count - last) * rule.probability
        size = min(SKIPS, int(wanted + 4 * math.sqrt(wanted) + 16))
        drawn = noise.laplace(size, rule.units, 1, source=bits)
        stay = np.minimum(np.where(drawn >= 0, drawn, -drawn - 1), count)  # beyond the end: no matter how far
        places = last + np.cumsum(stay + 1)
        pieces.append(places[places < count])
        last = int(places[-1])
    return np.concatenate(pieces)


def noisy_weights(
    adjacency: sp.csr_array, epsilon: float, unit: int, bits: RandomBits | None = None
) -> np.ndarray:
    """Integer weights plus independent discrete Laplace noise of scale unit / epsilon, symmetric (n, n)
    int64.

    adjacency: integer weights; unit: what the weight of one pair can move by. epsilon-DP for one pair (for
    a simple
    graph, unit = 1: one edge). Exact samplers; O(n^2). Source: docs/proofs/cuts_synthetic_graph.md.

    Raises:
        ValueError: epsilon or unit out of range.
    """
    n = adjacency.shape[0]
    scale = integer(unit, "unit") / Fraction(check_epsilon(epsilon))
    drawn = noise.laplace(n * (n - 1) // 2, scale, 1, source=bits)
    noisy = adjacency.toarray().astype(np.int64)
    start = 0
    for row in range(n - 1):
        stop = start + n - 1 - row
        noisy[row, row + 1 :] = noise.add(noisy[row, row + 1 :], drawn[start:stop])
        noisy[row + 1 :, row] = noisy[row, row + 1 :]
        start = stop
    return noisy
