"""The method that public facts recommend, chosen for the user: `method="auto"`.

Statement and proof: docs/proofs/sbm_auto.md
"""

from __future__ import annotations

from typing import Any

from sosdp.estimator.field import (
    Field,
    Fitted,
    budget,
    choice,
    optional,
    positive,
    privacy_delta_or_zero,
)
from sosdp.privacy.guarantee.release import Release

from ..edges import CanonicalEdges, canonical_edges
from ..planning import LARGEST_DENSE, Goal, chosen_method, make_estimator, recommend
from .base import RecoveryEstimator, WeightedRecovery
from .rounds import RoundsRecovery


class AutoRecovery(WeightedRecovery):
    """Edge-private recovery of two communities by whatever method should do best for these public facts.

    The choice depends on the number of vertices and these parameters alone, so it costs no budget. Extra
    attribute after fit: chosen_, the name of its class. Source: docs/proofs/sbm_auto.md.
    """

    epsilon: float = Field(budget, "budget of one fit. delta = 0: purely private methods only")
    delta: float = Field(
        privacy_delta_or_zero,
        "budget of one fit. delta = 0: purely private methods only",
        default=0.0,
    )
    gamma: float | None = Field(
        optional(positive),
        "contrast and mean degree of the block model. With both, the method with the best "
        "forecast of `planning.recommend` is taken. Without: the certificate (delta > 0) or "
        "edge flips, which need neither, up to `planning.LARGEST_DENSE` vertices; larger "
        "graphs need both",
        default=None,
        kw_only=True,
    )
    average_degree: float | None = Field(
        optional(positive),
        "contrast and mean degree of the block model. With both, the method with the best "
        "forecast of `planning.recommend` is taken. Without: the certificate (delta > 0) or "
        "edge flips, which need neither, up to `planning.LARGEST_DENSE` vertices; larger "
        "graphs need both",
        default=None,
        kw_only=True,
    )
    goal: Goal = Field(
        choice("error", "exact"),
        '"error" (fewest wrong labels, a refusal counts as one half) or "exact"',
        default="error",
        kw_only=True,
    )

    chosen_: str = Fitted()

    def _canonical(self, X: Any, bound: float | None) -> CanonicalEdges:
        return canonical_edges(X, bound)

    def choose(self, n: int) -> RecoveryEstimator:
        """The estimator that a fit on n vertices runs; ValueError where public facts are missing for that."""
        options: dict[str, Any] = {"insecure_seed": self.insecure_seed}
        weighted = self.weight_bound is not None
        if weighted:
            options["weight_bound"] = self.weight_bound
        known: dict[str, float] = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        if self.average_degree is not None:
            known["average_degree"] = float(self.average_degree)
        if self.gamma is None or self.average_degree is None:
            if n > LARGEST_DENSE:
                raise ValueError(
                    f"{n} vertices are too many for the methods that need no model: give the public "
                    "average_degree and gamma"
                )
            if weighted and self.delta == 0:
                raise ValueError("weighted graphs need delta > 0, or the public average_degree and gamma")
            method = "certificate" if 0 < self.delta <= 0.5 else "edge flips"
        else:
            known["gamma"] = float(self.gamma)
            advice = recommend(
                n,
                known["average_degree"] / self._unit,
                known["gamma"],
                known["epsilon"],
                known["delta"],
                goal=self.goal,
            )
            method = chosen_method(advice, weighted)
        return make_estimator(method, known, options)

    def _release(self, data: CanonicalEdges) -> Release:
        chosen = self.choose(data.n)
        chosen._check_parameters()
        self.chosen_ = type(chosen).__name__
        return chosen._release(data if isinstance(chosen, RoundsRecovery) else data.graph())
