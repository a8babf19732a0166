"""What the estimators share: scikit-learn's contract, and how a release becomes attributes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sosdp.estimator.not_fitted import FitFirst
from sosdp.privacy.calibrate import check_positive
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.silence import no_warnings

from ..graph_input import CanonicalGraph, canonical_graph

ADJACENCY = "one edge"
"""Neighbours of an unweighted graph."""

WEIGHT_ADJACENCY = "one edge (replace)"
"""Neighbours of a weighted graph: the weight of one pair, within its public bound, is replaced by another."""

# What a numerical routine may throw at bad luck; anything else is a bug and should be seen. How much memory
# it takes depends on which solver the graph asks for, so running out of it must not be seen either.
NUMERICAL_FAILURES = (ArithmeticError, ValueError, RuntimeError, MemoryError, np.linalg.LinAlgError)


@contextmanager
def silenced() -> Iterator[None]:
    """No warning leaves this block: inside it the private graph is being computed on."""
    with no_warnings():
        yield


class RecoveryEstimator(FitFirst, BaseEstimator):
    """Base of the estimators: `fit(graph)` runs one mechanism and keeps only what it released.

    Attributes after fit, all of them publishable (of the baselines without privacy: none is):
        labels_: (n,) int64 array of +-1 in the order of `nodes_`, first label +1; None if nothing was
        released. released_: whether there are labels.
        nodes_: tuple of the graph's nodes, sorted; for matrix input 0..n-1.
        guarantee_: the `Guarantee`; a function of the parameters and n only.
        release_: the `Release` (JSON form: `release_.to_dict()`), with private diagnostics kept apart.

    Neighbouring graphs differ in one edge; where a public `weight_bound` is given, in the weight of one pair.
    The vertex set is public: when a networkx graph is built from an edge list, add every vertex with
    `add_nodes_from` first, or vertices without edges are missing, which shows.
    """

    labels_: np.ndarray | None
    released_: bool
    nodes_: tuple[Hashable, ...]
    guarantee_: Guarantee
    release_: Release

    weight_bound: float | None = None

    def fit(self, graph: Any, y: Any = None) -> RecoveryEstimator:
        """Run the mechanism once on a networkx Graph, an `EdgeList`, a scipy sparse matrix or a dense (n, n)
        array.

        y is ignored (scikit-learn's signature). Every call spends the whole budget again. Raises ValueError
        for parameters out of range, GraphInputError (a ValueError) or TypeError if the input is not a
        simple undirected graph with at least two vertices; nothing else about the graph ever raises or warns.
        """
        if self.weight_bound is not None:
            check_positive(self.weight_bound, "weight_bound")
        self._check_parameters()
        canonical = canonical_graph(graph, None if self.weight_bound is None else float(self.weight_bound))
        release = self._release(canonical)
        self.release_ = release
        self.guarantee_ = release.guarantee
        self.nodes_ = canonical.nodes
        labels = release.value["labels"]
        self.labels_ = None if labels is None else np.array(labels, dtype=np.int64)
        self.released_ = labels is not None
        return self

    def fit_predict(self, graph: Any, y: Any = None) -> np.ndarray | None:
        """`fit(graph).labels_`."""
        return self.fit(graph, y).labels_

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ValueError for constructor parameters out of range."""

    @abstractmethod
    def _release(self, graph: CanonicalGraph) -> Release:
        """The mechanism; the value is made by `release_value`."""

    @property
    def _adjacency(self) -> str:
        return ADJACENCY if self.weight_bound is None else WEIGHT_ADJACENCY

    @property
    def _unit(self) -> float:
        """What one in the canonical matrix stands for; densities and degrees are divided by it."""
        return 1.0 if self.weight_bound is None else float(self.weight_bound)

    def _public(self, **facts: Any) -> dict[str, Any]:
        """Public facts for the release, with the bound of the weights where there is one."""
        return facts if self.weight_bound is None else {**facts, "weight_bound": self._unit}


def release_value(
    labels: Sequence[int] | np.ndarray | None, graph: CanonicalGraph, method: str
) -> dict[str, Any]:
    """The published value: labels (or None), the nodes they belong to, the method, and whether it
    released.
    """
    plain = (int, float, str, bool)
    nodes = [node.item() if isinstance(node, np.generic) else node for node in graph.nodes]
    return {
        "labels": None if labels is None else [int(label) for label in labels],
        "nodes": [node if isinstance(node, plain) else str(node) for node in nodes],
        "method": method,
        "released": labels is not None,
    }
