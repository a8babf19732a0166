"""Edge randomised response: flip every pair with a fixed probability, publish the noisy graph, cluster that.

The simplest private baseline: pure epsilon-DP, even in the local model, and everything after the flipping
is free post-processing. Statement and proof: docs/proofs/sbm_randomized_response.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

import sosdp.privacy.randomness as noise
from sosdp.privacy.calibrate import ball, check_epsilon, check_positive, decide
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness.bits import RandomBits, open_bits
from sosdp.privacy.seal import seal

from ..graph_input import CanonicalGraph
from ..labelling import canonical_signs, leading_eigenvector, majority_polish
from .base import ADJACENCY, RecoveryEstimator, release_value, silenced

WORD_BITS = 64


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

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return FlipRule(high)


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


def debiased(noisy: np.ndarray, probability: float, density: float | None = None) -> np.ndarray:
    """The noisy graph centred around its expectation q + (1 - 2q) * density, zero diagonal, as float64.

    density: public edge density d / n; by default the density of the noisy graph itself, which is already
    private.
    """
    n = noisy.shape[0]
    if density is None:
        centre = float(noisy.sum()) / (n * (n - 1))
    else:
        centre = probability + (1 - 2 * probability) * density
    matrix = noisy.astype(float)
    matrix -= centre
    np.fill_diagonal(matrix, 0.0)
    return matrix


class RandomizedResponseRecovery(RecoveryEstimator):
    """epsilon-edge-private recovery from a randomly flipped graph: the baseline to beat; always answers.

    Parameters (all public):
        epsilon: budget of one fit, > 0; pure differential privacy (delta = 0), even in the local model.
        average_degree: public d, to centre the noisy graph; by default its own density, which is private
        already. rounds: at most this many rounds of majority voting after the spectral step (free
        post-processing). insecure_seed: for tests and figures only; voids the guarantee.

    Extra attribute after fit: noisy_graph_, the released graph as an (n, n) uint8 array. Useful for gamma *
    d above about sqrt(n) / epsilon (`theory.randomised_response_threshold`). Cost: O(n^2) time and memory.
    """

    noisy_graph_: np.ndarray

    def __init__(
        self,
        epsilon: float,
        *,
        average_degree: float | None = None,
        rounds: int = 30,
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.average_degree = average_degree
        self.rounds = rounds
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        if self.average_degree is not None:
            check_positive(self.average_degree, "average_degree")
        if isinstance(self.rounds, bool) or int(self.rounds) != self.rounds or self.rounds < 0:
            raise ValueError(f"rounds must be an integer >= 0, got {self.rounds!r}")

    def _release(self, graph: CanonicalGraph) -> Release:
        rule = flip_rule(self.epsilon)
        bits = open_bits(self.insecure_seed, keystream=False)
        noisy = flip_edges(graph.adjacency, rule, bits)
        # From here on everything is post-processing of the noisy graph.
        self.noisy_graph_ = noisy
        density = None if self.average_degree is None else float(self.average_degree) / graph.n
        with silenced():
            matrix = debiased(noisy, float(rule.probability), density)
            labels = canonical_signs(leading_eigenvector(matrix))
            if self.rounds:
                labels = majority_polish(matrix, labels, int(self.rounds))
        promise = Guarantee(
            epsilon=float(self.epsilon),
            delta=0.0,
            adjacency=ADJACENCY,
            assumptions=("the vertex set is public",),
            mechanism="sbm.randomized_response",
        )
        return seal(
            release_value(labels, graph, "randomized response"),
            promise,
            bits,
            public={"n": graph.n, "flip_probability": float(rule.probability)},
        )
