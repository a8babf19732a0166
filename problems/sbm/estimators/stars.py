"""Edge-disjoint stars, a baseline: every edge is counted at one public end only, in every round and the vote.

Statement and proof: docs/proofs/sbm_stars.md
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sosdp.estimator.field import Field, budget, part, positive
from sosdp.privacy import randomness as noise
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness.bits import RandomBits, open_bits

from ..edges import CanonicalEdges
from ..labelling import canonical_signs
from ..rounds import LEAST_SCALE, halves, part_of, public_key, public_words, signs_with_coin, start
from ..rounds_planning import plan_rounds
from .base import WeightedRecovery, release_value


class StarsRecovery(WeightedRecovery):
    """epsilon-edge-private recovery of two communities by edge-disjoint stars: a baseline; always answers.

    The hash of a pair puts it into one round and gives it to one of its ends, so a count moves by 1 in one
    entry and the noise is half of that of `RoundsRecovery`'s split plan; but half of the signal is gone too:
    the same signal to noise ratio, and more sampling noise (docs/proofs/sbm_stars.md). O(edges) time.
    """

    epsilon: float = Field(budget, "budget of one fit; pure differential privacy")
    gamma: float = Field(part, "contrast and mean degree, to choose the number of rounds")
    average_degree: float = Field(positive, "contrast and mean degree, to choose the number of rounds")

    def _expected(self, n: int, average_degree: float | None = None, gamma: float | None = None) -> float:
        """Half of the signal and half of the noise of rounds that split the pairs."""
        d, contrast = self._model(average_degree, gamma)
        return plan_rounds(n, d / 2, contrast, 2 * float(self.epsilon), 0.0, kind="split").error

    _as_edges = True

    def public_rounds(self, n: int) -> int:
        """Number of rounds before the vote, 1 to 8, by the growth of the overlap: from public numbers."""
        degree = float(self.average_degree) / self._unit
        best = 1
        for rounds in range(1, 9):
            share = degree / 2 / (2 * rounds)  # the rounds share half of the pairs
            growth = 0.8 * float(self.gamma) * share / np.sqrt(share + 2 / float(self.epsilon) ** 2)
            if growth**rounds < np.sqrt(n) and growth > 1.2:
                best = rounds + 1
        return min(best, 8)

    def _release(self, data: CanonicalEdges) -> Release:
        key = public_key(self.insecure_seed)
        bits, rounds = open_bits(self.insecure_seed), self.public_rounds(data.n)
        labels = star_rounds(data, rounds, float(self.epsilon), key, bits)
        terms = self._terms(data, "sbm.stars", public=self._public(n=data.n, rounds=rounds, key=key))
        return terms.seal(release_value(canonical_signs(labels), data, "stars"), terms.guarantee(), bits)


def star_parts(edges: CanonicalEdges, rounds: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    """Round of each edge (the last is the vote, half of the pairs), and whether its first end counts it."""
    ends = np.array([round((k + 1) * (1 << 63) / rounds) for k in range(rounds)], dtype=np.uint64)
    part = part_of(edges.first, edges.second, edges.n, key, ends)
    at_first = (
        part_of(edges.first, edges.second, edges.n, key ^ (1 << 32), np.array([1 << 63], np.uint64)) == 0
    )
    return part, at_first


def star_counts(
    edges: CanonicalEdges, z: np.ndarray, at_first: np.ndarray, at_second: np.ndarray
) -> np.ndarray:
    """Sum of z over the neighbours, each edge at one end: masks of the edges counted at either end; int64."""
    weights = np.ones(len(edges.first)) if edges.weights is None else edges.weights
    signs = z.astype(np.float64)
    out = np.zeros(edges.n)
    out += np.bincount(edges.first[at_first], (weights * signs[edges.second])[at_first], edges.n)
    out += np.bincount(edges.second[at_second], (weights * signs[edges.first])[at_second], edges.n)
    return out.astype(np.int64)


def star_scale(epsilon: float) -> Fraction:
    """Scale of the Laplace noise: an edge moves one count by 1, in one round."""
    return max(1 / Fraction(epsilon), LEAST_SCALE)


def star_rounds(edges: CanonicalEdges, rounds: int, epsilon: float, key: int, bits: RandomBits) -> np.ndarray:
    """Labels (n,) of +-1 by stars, rounds and a vote."""
    n, grid = edges.n, Fraction(1, edges.unit)
    part, at_first = star_parts(edges, rounds, key)
    z = start(n, key)
    for number in range(rounds + 1):
        here = part == number
        counts = star_counts(edges, z, here & at_first, here & ~at_first)
        seen = noise.add(counts, noise.laplace(n, star_scale(epsilon), grid, source=bits))
        if number == rounds:
            return signs_with_coin(seen, key)
        z = halves(seen, public_words(n, key, number + 1))
    raise AssertionError("the last round returns")
