"""Private votes: on labels that are known, and on rough ones (Algorithms 5.12, 5.13 and 5.19).

The edges are split between the steps or not. Statement and proof: docs/proofs/sbm_voting.md
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import sosdp.privacy.randomness as noise
from sosdp.estimator.field import Field, Fitted, budget, choice, optional, share
from sosdp.privacy.calibrate import check_delta
from sosdp.privacy.guarantee.composition import random_split, split
from sosdp.privacy.guarantee.guarantee import compose
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.terms import Terms

from ..forecasts import checked_model, vote_error
from ..graph_input import WEIGHT_UNITS, CanonicalGraph
from ..labelling import canonical_signs
from .base import ModelledRecovery, RecoveryEstimator, WeightedRecovery, release_value
from .exponential import ExponentialRecovery, check_size
from .output_perturbation import Projected, ProjectionRecovery

ROUGH = ("projection", "exponential")
WORD = 1 << 64


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

    def _expected(
        self, n: int, average_degree: float | None = None, gamma: float | None = None, wrong: float = 0.1
    ) -> float:
        """wrong: the share of wrong ones among the given labels."""
        return vote_error(*checked_model(n, *self._model(average_degree, gamma)), wrong, float(self.epsilon))

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


def split_edges(
    graph: CanonicalGraph, threshold: int, insecure_seed: int | None = None
) -> tuple[CanonicalGraph, CanonicalGraph]:
    """The graph cut in two: every edge goes to the first part with probability threshold / 2^64."""
    upper = sp.coo_array(sp.triu(graph.adjacency, k=1))
    first = noise.coin_flips(upper.nnz, threshold, insecure_seed=insecure_seed)
    parts = []
    for chosen in (first, ~first):
        half = sp.csr_array(
            (upper.data[chosen], (upper.coords[0][chosen], upper.coords[1][chosen])), shape=upper.shape
        )
        whole = sp.csr_array(half + half.T)
        whole.sort_indices()
        parts.append(CanonicalGraph(whole, graph.nodes))
    return parts[0], parts[1]


class VotingRecovery(ModelledRecovery):
    """(epsilon, delta)-edge-private recovery by rough labels and a private vote on them; always answers.

    Extra attribute after fit: rough_labels_, the labels before the vote (released as well). Exact recovery
    needs gamma d well above log(1/delta) / epsilon^2 + log(n) / epsilon; `CertificateRecovery` needs less.
    Cost: that of the rough step. Source: arXiv 2301.04822; docs/proofs/sbm_voting.md.
    """

    delta: float = Field(None, 'budget of one fit. delta is used by the rough step "projection" only')
    rough: str = Field(
        choice(*ROUGH),
        '"projection" (Algorithm 5.12) or "exponential" (Algorithm 5.19: pure epsilon, n <= 40)',
        default="projection",
        kw_only=True,
    )
    split: float | None = Field(
        optional(share),
        "the share of the edges that the rough step sees, in (0, 1); every edge is seen by "
        "one step only and both may spend the whole epsilon (the paper: 1/2). None: both "
        "steps see all edges and share epsilon; usually better",
        default=None,
        kw_only=True,
    )
    rough_share: float = Field(
        share,
        "without a split, the share of epsilon that the rough step spends",
        default=0.75,
        kw_only=True,
    )
    calibration: str = Field(
        None,
        '"tight" or "paper", as for `ProjectionRecovery`',
        default="tight",
        kw_only=True,
    )
    tolerance: float = Field(
        None,
        "certified solver error, as a fraction of the sensitivity",
        default=1e-3,
        kw_only=True,
    )

    rough_labels_: np.ndarray = Fitted()

    _forecast = "voting"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.rough == "projection":
            self.delta = check_delta(self.delta)
        elif self.delta != 0:
            raise ValueError(
                'the exponential mechanism is purely private: give delta = 0, or rough="projection"'
            )
        elif self.weight_bound is not None:
            raise ValueError('the exponential mechanism takes unweighted graphs; use rough="projection"')
        self._steps()[0]._check_parameters()

    def _threshold(self) -> int | None:
        """Numerator over 2^64 of the share of the edges that the rough step sees; None without a split."""
        if self.split is None:
            return None
        return min(max(round(Fraction(self.split) * WORD), 1), WORD - 1)

    def _steps(self) -> tuple[RecoveryEstimator, float]:
        """The rough step and the epsilon of the vote."""
        epsilon, threshold = float(self.epsilon), self._threshold()
        degree, delta, vote = float(self.average_degree), self.delta, epsilon
        if threshold is None:
            share = Fraction(float(self.rough_share))
            rough_epsilon, vote = split(epsilon, (share, 1 - share))
        else:
            share = Fraction(threshold, WORD)
            rough_epsilon, degree = epsilon, degree * float(share)
            if self.calibration == "tight" and self.rough == "projection":
                # An edge reaches the rough step with probability `share`, which may spend delta / share.
                delta = min(
                    math.nextafter(float(Fraction(float(delta)) / share), 0.0), 0.5 + 0.5 * float(delta)
                )
        seed = None if self.insecure_seed is None else 3 * self.insecure_seed + 1
        if self.rough == "exponential":
            return ExponentialRecovery(rough_epsilon, degree, insecure_seed=seed), vote
        rough = ProjectionRecovery(
            rough_epsilon,
            delta,
            self.gamma,
            degree,
            calibration=self.calibration,
            tolerance=self.tolerance,
            balanced=True,
            weight_bound=self.weight_bound,
            insecure_seed=seed,
        )
        return rough, vote

    def _release(self, graph: CanonicalGraph) -> Release:
        if self.rough == "exponential":
            check_size(graph.n)
        return self._publish(graph, *self._prepare(graph))

    def _prepare(self, graph: CanonicalGraph) -> tuple[CanonicalGraph, CanonicalGraph, Projected | None]:
        """What the rough step and the vote see, and the projection where there is one: private."""
        threshold, seed = self._threshold(), self.insecure_seed
        seen = (graph, graph)
        if threshold is not None:
            seen = split_edges(graph, threshold, None if seed is None else 3 * seed)
        rough = self._steps()[0]
        return (*seen, rough._project(seen[0]) if isinstance(rough, ProjectionRecovery) else None)

    def _publish(
        self,
        graph: CanonicalGraph,
        seen_by_rough: CanonicalGraph,
        seen_by_vote: CanonicalGraph,
        projection: Projected | None,
    ) -> Release:
        rough, vote_epsilon = self._steps()
        threshold, seed = self._threshold(), self.insecure_seed
        if isinstance(rough, ProjectionRecovery) and projection is not None:
            first = rough._publish(seen_by_rough, projection)
        else:
            first = rough._release(seen_by_rough)
        self.rough_labels_ = np.array(first.value["labels"], dtype=np.int64)
        terms = self._terms(graph, "sbm.vote", epsilon=vote_epsilon, delta=None)
        second = noisy_vote(
            replace(terms, insecure_seed=None if seed is None else 3 * seed + 2),
            seen_by_vote,
            self.rough_labels_,
            units=1 if self.weight_bound is None else WEIGHT_UNITS,
        )
        if threshold is None:
            guarantee = compose((first.guarantee, second.guarantee), mechanism="sbm.voting")
        else:
            guarantee = random_split(
                first.guarantee.everywhere(),
                second.guarantee,
                Fraction(threshold, WORD),
                mechanism="sbm.voting",
            )
        return Release(
            release_value(second.value["labels"], graph, f"{self.rough} and vote"),
            guarantee,
            public={**first.public, **second.public, "average_degree": float(self.average_degree)},
            private_diagnostics=first.private_diagnostics,
        )
