"""Private majority vote: every vertex asks its neighbours whether it stands on the right side.

Statement and proof: docs/proofs/sbm_voting.md
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import sosdp.privacy.randomness as noise
from sosdp.estimator.field import Field, budget
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.terms import Terms

from ..graph_input import WEIGHT_UNITS, CanonicalGraph
from ..labelling import canonical_signs
from .base import WeightedRecovery, release_value


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


def noisy_vote(terms: Terms, graph: CanonicalGraph, labels: np.ndarray, *, units: int = 1) -> Release:
    """Labels after one private vote on given labels: keep a label iff its vote plus noise is >= 0.

    terms: epsilon, adjacency. labels: (n,) of +-1, public or already released. The released value is made by
    `release_value`. Raises ValueError for an epsilon out of range. O(edges).
    """
    prior = np.asarray(labels, dtype=np.int64)
    counts = votes(graph, prior, units)
    bits = terms.bits()
    drawn = noise.laplace(graph.n, vote_scale(terms.pure, units), 1, source=bits)
    kept = noise.add(counts, drawn) >= 0
    voted = canonical_signs(np.where(kept, prior, -prior))
    return terms.seal(release_value(voted, graph, "vote"), terms.guarantee(), bits, public={"n": graph.n})


class MajorityVoteRecovery(WeightedRecovery):
    """epsilon-edge-private improvement of a labelling that is known already; always answers.

    A vertex keeps its label iff it has, after discrete Laplace noise of scale 2 / epsilon, at least as many
    edges inside its side as across. `theory.vote_error` gives the exact error to expect. Cost: O(edges).
    Attributes: see `RecoveryEstimator`. Source: arXiv 2301.04822, Algorithm 5.13; docs/proofs/sbm_voting.md.
    """

    epsilon: float = Field(budget, "budget of one fit, > 0; pure differential privacy")
    labels: Any = Field(
        None,
        "(n,) of +-1 in the order of the sorted nodes: public knowledge, or released before "
        "under a budget of its own. Never labels computed from this graph without privacy",
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        labels = np.asarray(self.labels)
        if labels.ndim != 1 or labels.dtype.kind not in "iuf" or not np.all((labels == 1) | (labels == -1)):
            raise ValueError("labels must be a vector of +1 and -1, one a vertex")

    def _release(self, graph: CanonicalGraph) -> Release:
        if len(self.labels) != graph.n:
            raise ValueError(f"there are {len(self.labels)} labels for {graph.n} vertices")
        units = 1 if self.weight_bound is None else WEIGHT_UNITS
        return noisy_vote(
            self._terms(graph, "sbm.vote", public=self._public()), graph, np.asarray(self.labels), units=units
        )
