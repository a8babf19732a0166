"""Edge randomised response: flip every pair with a fixed probability, publish the noisy graph, cluster that.

The simplest private baseline: pure epsilon-DP, even in the local model, and everything after the flipping
is free post-processing. Statement and proof: docs/proofs/sbm_randomized_response.md
"""

from __future__ import annotations

import numpy as np

from sosdp.estimator.field import Fitted
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.edge_noise import flip_edges, flip_rule
from sosdp.privacy.randomness.bits import open_bits

from ..graph_input import CanonicalGraph
from .base import silenced
from .flips import FlipsRecovery


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


class RandomizedResponseRecovery(FlipsRecovery):
    """epsilon-edge-private recovery from a randomly flipped graph: the baseline to beat; always answers.

    Parameters: see `FlipsRecovery`; epsilon > 0. Extra attribute after fit: noisy_graph_, the released graph
    as an (n, n) uint8 array. Useful for gamma * d above about sqrt(n) / epsilon
    (`theory.randomised_response_threshold`). Cost: O(n^2) time and memory.
    """

    noisy_graph_: np.ndarray = Fitted()
    _mechanism = "sbm.randomized_response"
    _method = "randomized response"

    def _release(self, graph: CanonicalGraph) -> Release:
        rule = flip_rule(self.epsilon)
        bits = open_bits(self.insecure_seed, keystream=False)
        noisy = flip_edges(graph.adjacency, rule, bits)
        # From here on everything is post-processing of the noisy graph.
        self.noisy_graph_ = noisy
        q = float(rule.probability)
        with silenced():
            labels = self._labels(debiased(noisy, q, self._density(graph.n)))
        return self._sealed(labels, graph, q, bits)
