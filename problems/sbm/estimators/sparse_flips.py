"""Edge randomised response on large graphs, a baseline: only the pairs that are flipped are ever touched.

Statement and proof: docs/proofs/sbm_randomized_response.md
"""

from __future__ import annotations

import numpy as np

from sosdp.estimator.field import Fitted
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.edge_noise import SkipRule, flipped_positions, skip_rule
from sosdp.privacy.randomness.bits import RandomBits, open_bits

from ..edges import CanonicalEdges, canonical_edges, pair_at, position_of
from ..graph_input import EdgeList
from ..program import tilted_adjacency
from .base import silenced
from .flips import FlipsRecovery

MOST_FLIPS = 1 << 27
"""Most flips to expect (public): 16 bytes each, several times over."""


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

    def _canonical(self, X: object, bound: float | None) -> CanonicalEdges:
        return canonical_edges(X, bound)

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
        with silenced():
            labels = self._labels(tilted_adjacency(noisy.adjacency(), centre))
        return self._sealed(labels, data, q, bits)
