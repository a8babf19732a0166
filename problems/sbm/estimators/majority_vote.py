"""Private majority vote: every vertex asks its neighbours whether it stands on the right side.

Statement and proof: docs/proofs/sbm_voting.md
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import sosdp.privacy.randomness as noise
from sosdp.privacy.calibrate import check_epsilon
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.seal import seal

from ..graph_input import WEIGHT_UNITS, CanonicalGraph
from ..labelling import canonical_signs
from .base import RecoveryEstimator, release_value


def vote_scale(epsilon: float, units: int) -> Fraction:
    """Scale of the Laplace noise on a vote counted in `units` per edge: 2 units / epsilon, at least 1/10."""
    return max(2 * units / Fraction(epsilon), Fraction(noise.SMALLEST_UNITS))


def votes(graph: CanonicalGraph, labels: np.ndarray, units: int) -> np.ndarray:
    """Z_v = (edges to vertices with the label of v) - (edges to the others), as (n,) int64 counts of 1/units.

    units: 1 for an unweighted graph, `WEIGHT_UNITS` for a weighted one. One changed pair moves two entries,
    each by at most `units`.
    """
    prior = np.asarray(labels, dtype=np.int64)
    agreement = prior * (graph.adjacency @ prior)
    return np.rint(np.asarray(agreement, dtype=np.float64) * units).astype(np.int64)


def noisy_vote(
    graph: CanonicalGraph,
    labels: np.ndarray,
    epsilon: float,
    *,
    adjacency: str,
    units: int = 1,
    insecure_seed: int | None = None,
) -> Release:
    """Labels after one private vote on given labels: keep a label iff its vote plus noise is >= 0.

    labels: (n,) of +-1, public or already released. epsilon: pure budget. The released value is made by
    `release_value`. Raises ValueError for an epsilon out of range. O(edges).
    """
    prior = np.asarray(labels, dtype=np.int64)
    counts = votes(graph, prior, units)
    bits = open_bits(insecure_seed)
    drawn = noise.laplace(graph.n, vote_scale(epsilon, units), 1, source=bits)
    kept = noise.add(counts, drawn) >= 0
    promise = Guarantee(
        epsilon=float(epsilon),
        delta=0.0,
        adjacency=adjacency,
        assumptions=("the vertex set is public",),
        mechanism="sbm.vote",
    )
    voted = canonical_signs(np.where(kept, prior, -prior))
    return seal(release_value(voted, graph, "vote"), promise, bits, public={"n": graph.n})


class MajorityVoteRecovery(RecoveryEstimator):
    """epsilon-edge-private improvement of a labelling that is known already; always answers.

    Parameters (all public):
        epsilon: budget of one fit, > 0; pure differential privacy.
        labels: (n,) of +-1 in the order of the sorted nodes: public knowledge, or released before under a
            budget of its own. Never labels computed from this graph without privacy.
        weight_bound: public bound of the weights of a weighted graph.
        insecure_seed: for tests and figures only; voids the guarantee.

    A vertex keeps its label iff it has, after discrete Laplace noise of scale 2 / epsilon, at least as many
    edges inside its side as across. `theory.vote_error` gives the exact error to expect. Cost: O(edges).
    Attributes: see `RecoveryEstimator`. Source: arXiv 2301.04822, Algorithm 5.13; docs/proofs/sbm_voting.md.
    """

    def __init__(
        self,
        epsilon: float,
        labels: Any,
        *,
        weight_bound: float | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.labels = labels
        self.weight_bound = weight_bound
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        labels = np.asarray(self.labels)
        if labels.ndim != 1 or labels.dtype.kind not in "iuf" or not np.all((labels == 1) | (labels == -1)):
            raise ValueError("labels must be a vector of +1 and -1, one a vertex")

    def _release(self, graph: CanonicalGraph) -> Release:
        if len(self.labels) != graph.n:
            raise ValueError(f"there are {len(self.labels)} labels for {graph.n} vertices")
        release = noisy_vote(
            graph,
            self.labels,
            self.epsilon,
            adjacency=self._adjacency,
            units=1 if self.weight_bound is None else WEIGHT_UNITS,
            insecure_seed=self.insecure_seed,
        )
        return release.postprocess(release.value, public=self._public())
