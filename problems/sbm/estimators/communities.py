"""More than two communities: a noisy projection and edge flips, each with k-means on what is released.

Statement and proof: docs/proofs/sbm_communities.md
"""

from __future__ import annotations

import numpy as np

from sosdp.conic.eigenvalues import eigenvectors_between
from sosdp.estimator.base import NUMERICAL_FAILURES
from sosdp.estimator.field import Field, budget, choice, part, whole
from sosdp.privacy.calibrate import check_delta
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.edge_noise import flip_edges, flip_rule
from sosdp.privacy.mechanisms.output_perturbation import ProjectionProgram
from sosdp.privacy.randomness.bits import open_bits
from sosdp.structured import StructuredMatrix

from ..forecasts import checked_model, flips_forecast, forecasts
from ..graph_input import CanonicalGraph
from ..labelling import check_clustering, cluster, renumbered
from ..program import rounding_distance
from .base import RecoveryEstimator, release_value
from .flips import debiased
from .output_perturbation import moved_by_an_edge, projected

MECHANISMS = ("edge flips", "projection")


def partition_program(contrast: float) -> ProjectionProgram:
    """What one edge does to (A - p_out J) / (p_in - p_out): two entries move by 1 / contrast.

    Relative 1e-12 more covers the rounding of the two values that an entry takes.
    """
    return moved_by_an_edge((1 + 1e-12) / contrast)


def leading_eigenvectors(matrix: np.ndarray, count: int) -> np.ndarray:
    """Unit eigenvectors (n, count) of the largest eigenvalues of a dense symmetric matrix; never raises."""
    n = matrix.shape[0]
    try:
        result = eigenvectors_between(matrix, n - count, n - 1)
    except NUMERICAL_FAILURES:
        return np.eye(n, count)
    return result if np.all(np.isfinite(result)) else np.eye(n, count)


def vote(matrix: np.ndarray, labels: np.ndarray, count: int, rounds: int) -> np.ndarray:
    """Move every vertex to the community with the largest mean entry, until nothing changes."""
    current = labels
    for _ in range(rounds):
        members = np.equal.outer(current, np.arange(count)).astype(float)
        sizes = members.sum(axis=0) - members
        mean = np.where(sizes > 0, (matrix @ members) / np.maximum(sizes, 1.0), -np.inf)
        following = mean.argmax(axis=1)
        if np.array_equal(following, current):
            break
        current = following
    return renumbered(current)


class CommunitiesRecovery(RecoveryEstimator):
    """Edge-private recovery of k communities; always answers.

    labels_: (n,) int64 in 0..k-1, in the order of `nodes_`, which is sorted (not that of `list(graph)`, which
    edges may have made; pairs: `labels_by_node()`), numbered in order of first appearance; k-means on the
    leading eigenvectors of the released matrix. Cost: one eigendecomposition for flips, a few for the
    projection. Source: the projection of arXiv 2301.04822, Algorithm 5.4, for the membership matrix of k
    communities; docs/proofs/sbm_communities.md.
    """

    epsilon: float = Field(budget, "budget of one fit, > 0")
    communities: int = Field(whole(2), "k, at least 2 and at most the number of vertices")
    mechanism: str = Field(
        choice(*MECHANISMS),
        '"edge flips" (pure epsilon, the better one up to thousands of vertices) or '
        '"projection" ((epsilon, delta): the centred graph projected onto the correlation '
        "matrices, Gaussian noise)",
        default="edge flips",
        kw_only=True,
    )
    delta: float = Field(
        None,
        'for "projection" only: budget, and the edge probabilities inside and across',
        default=0.0,
        kw_only=True,
    )
    p_in: float | None = Field(
        None,
        'for "projection" only: budget, and the edge probabilities inside and across',
        default=None,
        kw_only=True,
    )
    p_out: float | None = Field(
        None,
        'for "projection" only: budget, and the edge probabilities inside and across',
        default=None,
        kw_only=True,
    )
    rounds: int = Field(
        whole(0),
        'for "edge flips": rounds of voting on the flipped graph afterwards (free post- processing)',
        default=30,
        kw_only=True,
    )
    tolerance: float = Field(
        part,
        'for "projection", as for `ProjectionRecovery`',
        default=1e-3,
        kw_only=True,
    )

    def _expected(self, n: int, average_degree: float | None = None, gamma: float | None = None) -> float:
        """Of edge flips, chance counted as one half; of the projection as if there were two communities."""
        d, contrast = self._model(average_degree, gamma)
        if self.mechanism == "projection":
            made = forecasts(*checked_model(n, d, contrast), float(self.epsilon), float(self.delta))
            return made["projection"]().error
        k = int(self.communities)
        error = flips_forecast(n, d, contrast, float(self.epsilon), k).error
        return error / (2 * (1 - 1 / k))

    def _check_parameters(self) -> None:
        check_clustering()
        super()._check_parameters()
        if self.mechanism == "edge flips":
            if self.delta != 0:
                raise ValueError("edge flips are purely private: give delta = 0")
            return
        self.delta = check_delta(self.delta)
        if self.p_in is None or self.p_out is None or not 0 <= self.p_out < self.p_in <= 1:
            raise ValueError("the projection needs public probabilities 0 <= p_out < p_in <= 1")

    def _release(self, graph: CanonicalGraph) -> Release:
        if self.communities > graph.n:
            raise ValueError(f"there are {graph.n} vertices for {self.communities} communities")
        if self.mechanism == "projection":
            return self._by_projection(graph)
        rule = flip_rule(self.epsilon)
        bits = open_bits(self.insecure_seed, keystream=False)
        noisy = flip_edges(graph.adjacency, rule, bits)
        # From here on everything is post-processing of the noisy graph.
        count = int(self.communities)
        matrix = debiased(noisy, float(rule.probability))
        labels = cluster(leading_eigenvectors(matrix, count - 1), count)
        labels = vote(matrix, labels, count, int(self.rounds))
        terms = self._terms(graph, "sbm.communities.flips", delta=None)
        return terms.seal(
            release_value(labels, graph, "edge flips"),
            terms.guarantee(),
            bits,
            public={"n": graph.n, "communities": count, "flip_probability": float(rule.probability)},
        )

    def _by_projection(self, graph: CanonicalGraph) -> Release:
        n, count = graph.n, int(self.communities)
        p_in, p_out = float(self.p_in or 0.0), float(self.p_out or 0.0)
        contrast = p_in - p_out
        sensitivity = partition_program(contrast).sensitivity("tight")
        eta_max = float(self.tolerance) * sensitivity + rounding_distance(n, 1.0 + 1.0 / contrast)
        projection = projected(
            lambda: StructuredMatrix(graph.adjacency, 1.0 / contrast, -p_out / contrast), n, eta_max
        )
        facts = {"n": n, "communities": count, "p_in": p_in, "p_out": p_out}
        terms = self._terms(graph, "sbm.communities.projection", public=facts)
        release = projection.released(terms, sensitivity, eta_max)
        labels = cluster(leading_eigenvectors(release.value.values(), count), count)
        return release.postprocess(release_value(labels, graph, "projection"))
