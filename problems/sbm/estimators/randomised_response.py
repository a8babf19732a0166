"""Edge randomised response: flip every pair with a fixed probability, publish the noisy graph, cluster that.

The simplest private baseline: pure epsilon-DP, even in the local model, and everything after the flipping
is free post-processing. Statement and proof: docs/proofs/sbm_randomized_response.md
"""

from __future__ import annotations

import numpy as np

from sosdp.privacy.calibrate import check_epsilon, check_positive
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.edge_noise import flip_edges, flip_rule
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.seal import seal

from ..graph_input import CanonicalGraph
from ..labelling import canonical_signs, leading_eigenvector, majority_polish
from .base import ADJACENCY, RecoveryEstimator, release_value, silenced


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
