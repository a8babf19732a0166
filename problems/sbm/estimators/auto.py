"""The method that public facts recommend, chosen for the user: `method="auto"`.

Statement and proof: docs/proofs/sbm_auto.md, of the number of edges docs/proofs/sbm_parameters.md
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sosdp.estimator.field import (
    Field,
    Fitted,
    budget,
    choice,
    optional,
    part,
    positive,
    privacy_delta_or_zero,
)
from sosdp.estimator.planner import Outlook
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness import exact
from sosdp.privacy.terms import Terms

from ..edges import CanonicalEdges
from ..forecasts import Forecast
from ..planning import LARGEST_DENSE, MAKERS, Goal, make_estimator, recommend
from ..rounds_planning import plan_rounds
from ..theory import certificate_offered
from .base import ADJACENCY, RecoveryEstimator, WeightedRecovery, release_value
from .rounds import RoundsRecovery

LEARNT_FROM = 3_000
"""Graphs of more vertices, of which no model is public, are done by rounds whose model is learnt."""

DEGREE_SHARE = Fraction(1, 50)
"""Part of epsilon for the number of edges, where the mean degree is not public."""

CONTRASTS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1)
ENOUGH = 0.05
"""A contrast at which so many labels are expected to be wrong can be planned for."""


class AutoRecovery(WeightedRecovery):
    """Edge-private recovery of two communities by whatever method should do best for these public facts.

    The choice depends on the number of vertices and these parameters alone, so it costs no budget. With
    delta > 0 and no model it is the certificate wherever some graph of this size could have one, which
    declines on most graphs of some tens of vertices; with delta = 0 edges are flipped there. `outlook` says
    which, given a degree and a contrast. Extra attribute after fit: chosen_, the name of its class.
    Source: docs/proofs/sbm_auto.md.
    """

    epsilon: float = Field(budget, "budget of one fit. delta = 0: purely private methods only")
    delta: float = Field(
        privacy_delta_or_zero,
        "budget of one fit. delta = 0: purely private methods only",
        default=0.0,
    )
    gamma: float | None = Field(
        optional(part),
        "contrast and mean degree of the block model. With both, the method with the best "
        "forecast of `planning.recommend` is taken. Without: the certificate (delta > 0, and n "
        "large enough that some graph is answered) or edge flips, which need neither, up to "
        "`LEARNT_FROM` vertices; beyond, the degree is learnt from a fiftieth of the budget, and "
        "rounds are planned for the least contrast that can be seen at this degree (weighted graphs "
        "need both)",
        default=None,
        kw_only=True,
    )
    average_degree: float | None = Field(
        optional(positive),
        "contrast and mean degree of the block model. With both, the method with the best "
        "forecast of `planning.recommend` is taken. Without: the certificate (delta > 0, and n "
        "large enough that some graph is answered) or edge flips, which need neither, up to "
        "`LEARNT_FROM` vertices; beyond, the degree is learnt from a fiftieth of the budget, and "
        "rounds are planned for the least contrast that can be seen at this degree (weighted graphs "
        "need both)",
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

    _as_edges = True

    def outlook(self, n: int, *sizes: Any, **facts: Any) -> Outlook:
        """As of every estimator. What would work now is the method of the best forecast, if it is useful."""
        result = super().outlook(n, *sizes, **facts)
        best = self._best(n, *self._model(*sizes, **facts))
        if best.error >= self._forecasts.useful:
            return result
        name = MAKERS[best.method].__name__
        return replace(result, simpler=f"{name}, expected share of wrong labels {best.error:.2g}")

    def _best(self, n: int, average_degree: float, gamma: float) -> Forecast:
        """Of the methods for such graphs where the model is public."""
        spent = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        weighted = self.weight_bound is not None
        return recommend(n, average_degree, gamma, **spent, goal=self.goal, weighted=weighted).best

    def _expected(self, n: int, average_degree: float | None = None, gamma: float | None = None) -> float:
        d, contrast = self._model(average_degree, gamma)
        if self.learns(n):
            rest, delta = float(self.epsilon) * float(1 - DEGREE_SHARE), float(self.delta)
            learnt = least_contrast(n, d, rest, delta)
            return (
                0.5 if learnt is None or learnt > contrast else plan_rounds(n, d, learnt, rest, delta).error
            )
        return self.choose(n)._expected(n, d * self._unit, contrast)

    def choose(self, n: int) -> RecoveryEstimator:
        """The estimator that a fit on n vertices runs; ValueError where public facts are missing for that."""
        weighted = self.weight_bound is not None
        seed = {"insecure_seed": self.insecure_seed}
        spent = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        known: dict[str, Any] = spent | {"weight_bound": self.weight_bound}
        if self.average_degree is not None:
            known["average_degree"] = float(self.average_degree)
        if self.gamma is None or self.average_degree is None:
            if n > LARGEST_DENSE:
                raise ValueError(
                    f"{n} vertices are too many for the methods that need no model: a fit learns the degree, "
                    "or give the public average_degree and gamma (of weighted graphs both)"
                )
            if weighted and self.delta == 0:
                raise ValueError("weighted graphs need delta > 0, or the public average_degree and gamma")
            certified = weighted or certificate_offered(
                n, **spent, tau=known.get("average_degree", n / 2) / n
            )
            return make_estimator("certificate" if certified else "edge flips", known, seed)
        known["gamma"] = float(self.gamma)
        return make_estimator(self._best(n, *self._model(None, None)).method, known, seed)

    def learns(self, n: int) -> bool:
        """Whether a fit on n vertices spends a part of the budget on the model."""
        unknown = self.gamma is None or self.average_degree is None
        return unknown and self.weight_bound is None and n > LEARNT_FROM

    def _degree(self, data: CanonicalEdges, epsilon: float) -> Release:
        """The mean degree from a noisy number of edges, which one edge changes by 1."""
        terms = Terms(
            epsilon=epsilon,
            adjacency=ADJACENCY,
            assumptions=data.assumptions,
            mechanism="sbm.edge_count",
            insecure_seed=self.insecure_seed,
        )
        bits, law = terms.bits(), Law("discrete laplace", (1 / Fraction(epsilon), 1))
        noisy = len(data.first) + exact.discrete_laplace(law.numbers[0], bits)
        edges = min(max(noisy, 1), data.n * (data.n - 1) // 2)
        return terms.seal(2 * edges / data.n, terms.guarantee(), bits, evidence=proven_by("sbm_auto", law))

    def _learnt(self, data: CanonicalEdges) -> Release:
        """Rounds with a degree that is learnt, planned for the least contrast that it lets one see.

        Whatever is learnt, the guarantee is the whole budget: which parts were spent depends on the data.
        """
        rest, degree = float(self.epsilon), self.average_degree
        if degree is None:
            first, rest = split(float(self.epsilon), (DEGREE_SHARE, 1 - DEGREE_SHARE))
            degree = self._degree(data, first).value
        gamma = self.gamma
        if gamma is None:
            gamma = least_contrast(data.n, float(degree), rest, float(self.delta))
        facts: dict[str, Any] = {"average_degree": float(degree), "gamma": gamma}
        terms = self._terms(data, "sbm.auto")
        bits = terms.bits()
        if gamma is None:
            self.chosen_ = "nothing"
            return terms.seal(release_value(None, data, "auto"), terms.guarantee(), bits, public=facts)
        chosen = RoundsRecovery(
            rest, float(self.delta), gamma, float(degree), insecure_seed=self.insecure_seed
        )
        self.chosen_ = type(chosen).__name__
        labels = chosen._release(data)
        return terms.seal(labels.value, terms.guarantee(), bits, public=labels.public | facts)

    def _release(self, data: CanonicalEdges) -> Release:
        if self.learns(data.n):
            return self._learnt(data)
        chosen = self.choose(data.n)
        chosen._check_parameters()
        self.chosen_ = type(chosen).__name__
        return chosen._release(data if isinstance(chosen, RoundsRecovery) else data.graph())


def least_contrast(n: int, average_degree: float, epsilon: float, delta: float) -> float | None:
    """The least contrast of a list at which rounds are forecast to find most labels; None without one.

    A plan for a small contrast serves a larger one too: it has more rounds than that would need.
    """
    result = None
    for gamma in CONTRASTS:
        if plan_rounds(n, average_degree, gamma, epsilon, delta).error > ENOUGH:
            break
        result = gamma
    return result
