"""Every vertex is told its own community; what all the others are told says little about its edges.

Statement and proof: docs/proofs/sbm_vertex.md
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from sosdp.estimator.field import Field, Fitted, optional, whole
from sosdp.estimator.not_fitted import check_fitted
from sosdp.privacy.arguments import integer
from sosdp.privacy.guarantee.condition import Condition
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness.bits import open_bits

from ..graph_input import CanonicalGraph
from ..rounds import public_key
from ..vertex import VertexPlan, plan_vertex, vertex_rounds
from .base import ModelledRecovery, release_value

ADJACENCY = "all edges of one vertex, as seen by all others"


class VertexRecovery(ModelledRecovery):
    """Two communities under joint differential privacy: every vertex learns its own label, and no other.

    `label_of(v)` is the message for v. What all vertices but v are told together, and whoever pools it, is
    (epsilon, delta)-private for *all* edges of v at once. What v itself is told depends on its edges without
    such a bound, so `labels_` stays None and nothing of the labels is in `release_`: publishing the whole
    labelling is covered by no statement here. For dense graphs: the noise is about 2 m sqrt(D T) for D
    neighbours, T rounds and the multiplier m of (epsilon, delta). `plan(n)` forecasts the share of wrong
    labels from public numbers, and where it is near chance `fit` raises ValueError and spends nothing. Extra
    attribute after fit: plan_.
    Cost: O(rounds * edges). Source: our proof, docs/proofs/sbm_vertex.md.
    """

    _without = ("weight_bound",)

    max_degree: int | None = Field(
        optional(whole(1)),
        "public D: a vertex counts for at most so many neighbours, whatever its edges are. The guarantee is "
        "then conditional on all the others having fewer than D. None: n - 1, without a condition",
        default=None,
        kw_only=True,
    )

    plan_: VertexPlan = Fitted()

    _adjacency: ClassVar[str] = ADJACENCY  # type: ignore[misc]

    def _expected(self, n: int, average_degree: float | None = None, gamma: float | None = None) -> float:
        return self.plan(n).wrong_share

    def plan(self, n: int) -> VertexPlan:
        """The plan of a fit on n vertices, with the share of wrong labels to expect; nothing is spent."""
        given = float(self.epsilon), float(self.delta)
        degree = float(self.average_degree)
        return plan_vertex(integer(n, "n"), given, float(self.gamma), degree, self.max_degree)

    def _release(self, graph: CanonicalGraph) -> Release:
        key = public_key(self.insecure_seed)
        plan = self.plan(graph.n)
        if plan.wrong_share > self._forecasts.useful:
            raise ValueError(
                f"about {plan.wrong_share:.0%} of the labels would be wrong, which is near chance: raise "
                "epsilon, or give max_degree (nothing was spent)"
            )
        self.plan_, bits = plan, open_bits(self.insecure_seed)
        labels = vertex_rounds(graph.adjacency, plan, key, bits)
        bounded = Condition(
            f"condition: every vertex but the protected one has fewer than {plan.degree} other neighbours"
        )
        terms = self._terms(graph, "sbm.vertex", *(() if plan.degree == graph.n - 1 else (bounded,)))
        value = {**release_value(None, graph, "vertex"), "released": True}
        public = {name: getattr(plan, name) for name in ("n", "rounds", "degree", "mean", "memory")}
        return terms.seal(
            value, terms.guarantee(), bits, public={**public, "key": key}, private={"labels": labels}
        )

    def label_of(self, node: Hashable) -> int:
        """The message for one vertex: +1 or -1. For that vertex alone.

        Raises:
            NotFittedError: `fit` was not called. KeyError: no vertex of this name. RuntimeError: the labels
                were dropped when the estimator was copied or stored.
        """
        check_fitted(self, "release_")
        labels = self.release_.private_diagnostics.get("labels")
        if labels is None:
            raise RuntimeError("only the estimator that was fitted has the labels: they are not published")
        place = {name: position for position, name in enumerate(self.nodes_)}
        if node not in place:
            raise KeyError(f"the graph has no vertex {node!r}")
        return int(labels[place[node]])
