"""Edge randomised response on large graphs, a baseline: only the pairs that are flipped are ever touched.

Statement and proof: docs/proofs/sbm_randomized_response.md
"""

from __future__ import annotations

import numpy as np

from sosdp.privacy.calibrate import check_epsilon, check_positive
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.edge_noise import SkipRule, flipped_positions, skip_rule
from sosdp.privacy.randomness.bits import RandomBits, open_bits
from sosdp.privacy.seal import seal

from ..edges import CanonicalEdges, canonical_edges, pair_at, position_of
from ..graph_input import EdgeList
from ..labelling import canonical_signs, leading_eigenvector, majority_polish
from ..program import tilted_adjacency
from .base import ADJACENCY, RecoveryEstimator, release_value, silenced

MOST_FLIPS = 1 << 27
"""Most flips to expect (public): 16 bytes each, several times over."""


def flip_sparse(edges: CanonicalEdges, rule: SkipRule, bits: RandomBits) -> CanonicalEdges:
    """The graph with every pair flipped independently; time and memory linear in edges and flips."""
    flips = flipped_positions(edges.n * (edges.n - 1) // 2, rule, bits)
    here = position_of(edges.first, edges.second)
    first, second = pair_at(np.setxor1d(here, flips, assume_unique=True))
    order = np.lexsort((second, first))
    return CanonicalEdges(first[order].astype(np.int32), second[order].astype(np.int32), None, edges.nodes)


class SparseFlipsRecovery(RecoveryEstimator):
    """epsilon-edge-private recovery from a randomly flipped graph, for large epsilon and n; always answers.

    Parameters (all public):
        epsilon: budget of one fit, at least 1/8; pure differential privacy, even in the local model.
        average_degree: public d, to centre the noisy graph; by default its own density.
        rounds: at most this many rounds of majority voting after the spectral step (free post-processing).
        insecure_seed: for tests and figures only; voids the guarantee.

    The law of the noisy graph is that of `RandomizedResponseRecovery`, but flipped pairs are found by
    geometric skips: O(edges + flips) time and memory, with n^2 / (2 (1 + e^epsilon)) flips, which may be
    `MOST_FLIPS`. Extra attribute after fit: noisy_graph_, the released graph as an `EdgeList`.
    """

    noisy_graph_: EdgeList

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

    def _canonical(self, X: object, bound: float | None) -> CanonicalEdges:
        return canonical_edges(X, bound)

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        if self.average_degree is not None:
            check_positive(self.average_degree, "average_degree")
        if isinstance(self.rounds, bool) or int(self.rounds) != self.rounds or self.rounds < 0:
            raise ValueError(f"rounds must be an integer >= 0, got {self.rounds!r}")

    def _release(self, data: CanonicalEdges) -> Release:
        n, rule = data.n, skip_rule(self.epsilon)
        pairs = n * (n - 1) // 2
        if pairs * rule.probability > MOST_FLIPS:
            raise ValueError(
                f"epsilon = {self.epsilon} flips {pairs * rule.probability:.2g} pairs of {n} vertices, "
                f"more than {MOST_FLIPS}; RoundsRecovery takes such graphs"
            )
        bits = open_bits(self.insecure_seed)
        noisy = flip_sparse(data, rule, bits)
        # From here on everything is post-processing of the noisy graph.
        self.noisy_graph_ = EdgeList(n, np.column_stack([noisy.first, noisy.second]))
        q = rule.probability
        if self.average_degree is None:
            centre = len(noisy.first) / pairs
        else:
            centre = q + (1 - 2 * q) * float(self.average_degree) / n
        with silenced():
            matrix = tilted_adjacency(noisy.adjacency(), centre)
            labels = canonical_signs(leading_eigenvector(matrix))
            if self.rounds:
                labels = majority_polish(matrix, labels, int(self.rounds))
        promise = Guarantee(
            epsilon=float(self.epsilon),
            delta=0.0,
            adjacency=ADJACENCY,
            assumptions=("the vertex set is public",),
            mechanism="sbm.sparse_flips",
        )
        facts = {"n": n, "flip_probability": q}
        return seal(release_value(labels, data, "sparse randomised response"), promise, bits, public=facts)
