"""Edge randomised response: flip every pair with a fixed probability, publish the noisy graph, cluster that.

The simplest private baseline: pure epsilon-DP, even in the local model, and everything after the flipping is
free post-processing. On large graphs only the pairs that are flipped are ever touched. Statement and proof:
docs/proofs/sbm_randomized_response.md
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sosdp.estimator.field import Field, Fitted, budget, optional, positive, whole
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.edge_noise import SkipRule, flip_edges, flip_rule, flipped_positions, skip_rule
from sosdp.privacy.randomness.bits import RandomBits, open_bits

from ..edges import CanonicalEdges, pair_at, position_of
from ..graph_input import CanonicalGraph, EdgeList
from ..labelling import canonical_signs, leading_eigenvector, majority_polish
from ..program import tilted_adjacency
from .base import RecoveryEstimator, release_value

MOST_FLIPS = 1 << 27
"""Most flips of a sparse graph to expect (public): 16 bytes each, several times over."""


class FlipsRecovery(RecoveryEstimator):
    """Base: a graph with every pair flipped independently is released; labels are post-processing of it."""

    epsilon: float = Field(
        budget,
        "budget of one fit; pure differential privacy (delta = 0), even in the local model",
    )
    average_degree: float | None = Field(
        optional(positive),
        "public d, to centre the noisy graph; by default its own density, which is private already",
        default=None,
        kw_only=True,
    )
    rounds: int = Field(
        whole(0),
        "at most this many rounds of majority voting after the spectral step (free post- processing)",
        default=30,
        kw_only=True,
    )

    _mechanism: ClassVar[str]
    _method: ClassVar[str]
    _forecast = "edge flips"

    def _density(self, n: int) -> float | None:
        """The public density d / n, if it was given."""
        return None if self.average_degree is None else float(self.average_degree) / n

    def _labels(self, centred: Any) -> np.ndarray:
        """Signs of the leading eigenvector of the centred noisy graph, then rounds of voting."""
        labels = canonical_signs(leading_eigenvector(centred))
        return majority_polish(centred, labels, int(self.rounds)) if self.rounds else labels

    def _sealed(self, labels: np.ndarray, graph: Any, flip_probability: float, bits: RandomBits) -> Release:
        """The release of labels that were read off a graph flipped with that probability."""
        terms = self._terms(graph, self._mechanism)
        facts = {"n": len(graph.nodes), "flip_probability": flip_probability}
        return terms.seal(release_value(labels, graph, self._method), terms.guarantee(), bits, public=facts)


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
        labels = self._labels(debiased(noisy, q, self._density(graph.n)))
        return self._sealed(labels, graph, q, bits)


def flip_sparse(edges: CanonicalEdges, rule: SkipRule, bits: RandomBits) -> CanonicalEdges:
    """The graph with every pair flipped independently; time and memory linear in edges and flips."""
    flips = flipped_positions(edges.n * (edges.n - 1) // 2, rule, bits)
    here = position_of(edges.first, edges.second)
    first, second = pair_at(np.setxor1d(here, flips, assume_unique=True))
    order = np.lexsort((second, first))
    return CanonicalEdges(first[order].astype(np.int32), second[order].astype(np.int32), None, edges.nodes)


class SparseFlipsRecovery(FlipsRecovery):
    """epsilon-edge-private recovery from a randomly flipped graph, for large epsilon and n; always answers.

    Parameters: see `FlipsRecovery`; epsilon is at least 1/8. The law of the noisy graph is that of
    `RandomizedResponseRecovery`, but flipped pairs are found by geometric skips: O(edges + flips) time and
    memory, with n^2 / (2 (1 + e^epsilon)) flips, which may be `MOST_FLIPS`. Extra attribute after fit:
    noisy_graph_, the released graph as an `EdgeList`.
    """

    noisy_graph_: EdgeList = Fitted()
    _mechanism = "sbm.sparse_flips"
    _method = "sparse randomised response"

    _as_edges = True

    def _release(self, data: CanonicalEdges) -> Release:
        n, rule = data.n, skip_rule(self.epsilon)
        q, pairs = rule.probability, n * (n - 1) // 2
        if pairs * q > MOST_FLIPS:
            raise ValueError(
                f"epsilon = {self.epsilon} flips {pairs * q:.2g} pairs of {n} vertices, "
                f"more than {MOST_FLIPS}; RoundsRecovery takes such graphs"
            )
        bits = open_bits(self.insecure_seed)
        noisy = flip_sparse(data, rule, bits)
        # From here on everything is post-processing of the noisy graph.
        self.noisy_graph_ = EdgeList(n, np.column_stack([noisy.first, noisy.second]))
        density = self._density(n)
        centre = len(noisy.first) / pairs if density is None else q + (1 - 2 * q) * density
        labels = self._labels(tilted_adjacency(noisy.adjacency(), centre))
        return self._sealed(labels, data, q, bits)
