"""The method that public facts recommend, chosen for the user: `method="auto"`.

Statement and proof: docs/proofs/sbm_auto.md
"""

from __future__ import annotations

from typing import Any

from sosdp.privacy.calibrate import check_delta, check_epsilon, check_positive
from sosdp.privacy.guarantee.release import Release

from ..edges import CanonicalEdges, canonical_edges
from ..planning import LARGEST_DENSE, Goal, chosen_method, make_estimator, recommend
from .base import RecoveryEstimator
from .rounds import RoundsRecovery


class AutoRecovery(RecoveryEstimator):
    """Edge-private recovery of two communities by whatever method should do best for these public facts.

    Parameters (all public):
        epsilon, delta: budget of one fit. delta = 0: purely private methods only.
        gamma, average_degree: contrast and mean degree of the block model. With both, the method with the
            best forecast of `planning.recommend` is taken. Without: the certificate (delta > 0) or edge
            flips, which need neither, up to `planning.LARGEST_DENSE` vertices; larger graphs need both.
        goal: "error" (fewest wrong labels, a refusal counts as one half) or "exact".
        weight_bound: public bound of the weights of a weighted graph, in whose units average_degree is.
        insecure_seed: for tests and figures only; voids the guarantee.

    The choice depends on the number of vertices and these parameters alone, so it costs no budget. Extra
    attribute after fit: chosen_, the name of its class. Source: docs/proofs/sbm_auto.md.
    """

    chosen_: str

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        *,
        gamma: float | None = None,
        average_degree: float | None = None,
        goal: Goal = "error",
        weight_bound: float | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.gamma = gamma
        self.average_degree = average_degree
        self.goal = goal
        self.weight_bound = weight_bound
        self.insecure_seed = insecure_seed

    def _canonical(self, X: Any, bound: float | None) -> CanonicalEdges:
        return canonical_edges(X, bound)

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        if self.delta != 0:
            check_delta(self.delta)
        for name in ("gamma", "average_degree"):
            if getattr(self, name) is not None:
                check_positive(getattr(self, name), name)
        if self.goal not in ("error", "exact"):
            raise ValueError(f'goal must be "error" or "exact", got {self.goal!r}')

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
