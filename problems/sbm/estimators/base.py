"""What the estimators of communities share: how a graph is read, and how a release becomes labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

from sosdp.estimator.base import ReleasingEstimator
from sosdp.estimator.field import Field, Fitted, budget, optional, part, positive, privacy_delta
from sosdp.estimator.planner import Forecasts
from sosdp.privacy.calibrate import check_positive

from ..edges import canonical_edges
from ..forecasts import Method, checked_model, forecasts
from ..graph_input import canonical_graph

ADJACENCY = "one edge"
"""Neighbours of an unweighted graph."""

WEIGHT_ADJACENCY = "one edge (replace)"
"""Neighbours of a weighted graph: the weight of one pair, within its public bound, is replaced by another."""


CERTIFICATE = "sbm.certificate"
REFUSED = (
    "the certificate refuses, at every usual budget, where moving one vertex to the other side changes "
    "little: one vertex without edges is enough. RandomizedResponseRecovery, and RoundsRecovery with a "
    "public average_degree and gamma, always answer; vertices publicly known to have no edges may be left out"
)


class RecoveryEstimator(ReleasingEstimator):
    """Base of the estimators: `fit(graph)` runs one mechanism and keeps only what it released.

    Labels are in the order of `nodes_`, which is sorted, not in that of `list(graph)`: networkx has the nodes
    in the order in which edges brought them, which is private. `labels_by_node()` gives the pairs.

    graph: a networkx Graph, an `EdgeList`, a data frame with the columns source and target (and weight; see
    `problems.sbm.graph_input`), a scipy sparse matrix or a dense (n, n) array. What `fit` raises for it is
    GraphInputError (a ValueError) or TypeError, where it is not a simple undirected graph with at least two
    vertices; nothing else about the graph ever raises or warns.

    Attributes after fit, all of them publishable (of the baselines without privacy: none is):
        labels_: (n,) int64 array of +-1 in the order of `nodes_`, first label +1; None if nothing was
        released. released_: whether there are labels.
        nodes_: tuple of the graph's nodes, sorted; for matrix input 0..n-1. labels_by_node(): {node: label}.
        guarantee_, release_: see `ReleasingEstimator`. advice_: what to try where nothing was released.

    Neighbouring graphs differ in one edge; where a public `weight_bound` is given, in the weight of one pair.
    The vertex set is public: when a networkx graph is built from an edge list, add every vertex with
    `add_nodes_from` first, or vertices without edges are missing, which shows.
    """

    _forecasts = Forecasts(
        "share of wrong labels; a refusal counts as one half",
        "estimate_parameters: mean degree and contrast of the graph",
        useful=0.4,
        grows=False,
    )
    # the method of its forecast
    _forecast: ClassVar[Method | None] = None

    labels_: np.ndarray | None = Fitted(make=lambda labels: np.array(labels, dtype=np.int64))
    nodes_: tuple[Hashable, ...] = Fitted(None)

    def _expected(self, n: int, average_degree: float | None = None, gamma: float | None = None) -> float:
        """By the block model; its parameters are needed where the estimator has none."""
        d, contrast = self._model(average_degree, gamma)
        delta = float(getattr(self, "delta", 0.0))
        made = forecasts(*checked_model(n, d, contrast), float(self.epsilon), delta)  # type: ignore[attr-defined]
        return made[self._forecast]().error if self._forecast in made else 0.5

    def _model(self, average_degree: float | None, gamma: float | None) -> tuple[float, float]:
        """Mean degree (in units of the weights) and contrast; ValueError where one of them is missing."""
        d, contrast = (
            given if own is None else own
            for own, given in (
                (getattr(self, "average_degree", None), average_degree),
                (getattr(self, "gamma", None), gamma),
            )
        )
        if d is None or contrast is None:
            raise ValueError("a forecast needs average_degree and gamma, public or guessed")
        return float(d) / self._unit, float(contrast)

    def _read(self, X: Any) -> Any:
        graph = self._canonical(X, self._bound())
        self.nodes_ = tuple(graph.nodes)
        return graph

    # whether `_release` takes a list of edges; a matrix otherwise
    _as_edges: ClassVar[bool] = False

    def _canonical(self, X: Any, bound: float | None) -> Any:
        """The form of the graph that `_release` takes, with `n` and `nodes`."""
        return canonical_edges(X, bound) if self._as_edges else canonical_graph(X, bound)

    def _bound(self) -> float | None:
        bound = getattr(self, "weight_bound", None)
        return None if bound is None else check_positive(bound, "weight_bound")

    def __repr__(self) -> str:
        order = "" if vars(self).get("labels_") is None else "  # labels_ follow nodes_: see labels_by_node()"
        return super().__repr__() + order

    @property
    def advice_(self) -> str:
        """What to try where the certificate refused; "" otherwise. No part of the release, whose public facts
        do not depend on the answer."""
        return REFUSED if self.labels_ is None and self.release_.mechanism == CERTIFICATE else ""

    def labels_by_node(self) -> dict[Hashable, int] | None:
        """The released label of every vertex by its name, None if nothing was released."""
        labels = self.labels_
        return None if labels is None else dict(zip(self.nodes_, labels.tolist(), strict=True))

    def fit_predict(self, graph: Any, y: Any = None) -> np.ndarray | None:
        """`fit(graph).labels_`."""
        return self.fit(graph, y).labels_

    @property
    def _adjacency(self) -> str:  # type: ignore[override]
        return ADJACENCY if self._bound() is None else WEIGHT_ADJACENCY

    @property
    def _unit(self) -> float:
        """What one in the canonical matrix stands for; densities and degrees are divided by it."""
        return self._bound() or 1.0

    def _public(self, **facts: Any) -> dict[str, Any]:
        """Public facts for the release, with the bound of the weights where there is one."""
        return facts if self._bound() is None else {**facts, "weight_bound": self._unit}


class WeightedRecovery(RecoveryEstimator):
    """Base of those that take weighted graphs too."""

    weight_bound: float | None = Field(
        optional(positive),
        "public bound of the weights of a weighted graph; densities and degrees are in their units",
        default=None,
        kw_only=True,
    )


class ModelledRecovery(WeightedRecovery):
    """Base of those that plan with the block model.

    For k communities an edge inside has probability (1 + (k-1) gamma) d / n, across (1 - gamma) d / n.
    """

    epsilon: float = Field(budget, "budget of one fit")
    delta: float = Field(privacy_delta, "budget of one fit")
    gamma: float = Field(part, "contrast of the block model, edge probabilities (1 +- gamma) d / n")
    average_degree: float = Field(positive, "d, its mean degree")


def release_value(labels: Sequence[int] | np.ndarray | None, graph: Any, method: str) -> dict[str, Any]:
    """The published value: labels (or None), the nodes they belong to, the method, and whether it released;
    of the graph only its public vertices are read.
    """
    plain = (int, float, str, bool)
    nodes = [node.item() if isinstance(node, np.generic) else node for node in graph.nodes]
    return {
        "labels": None if labels is None else np.asarray(labels, dtype=np.int64).tolist(),
        "nodes": [node if isinstance(node, plain) else str(node) for node in nodes],
        "method": method,
        "released": labels is not None,
    }
