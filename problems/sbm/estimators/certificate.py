"""Exact private recovery: publish the certified bisection when no few edges could change it.

Statement and proof: docs/proofs/sbm_certificate.md
"""

from __future__ import annotations

from sosdp.estimator.base import NUMERICAL_FAILURES
from sosdp.estimator.field import Field, budget, choice, finite, optional, positive, within
from sosdp.privacy.guarantee.condition import ARITHMETIC, COMPLETE, Fact
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.stability import release_if_stable

from ..certificate import UNRESOLVED, CertifiedBisection, certified_bisection, public_grid
from ..closed_form import closed_form_bisection
from ..graph_input import CanonicalGraph
from ..ladder import settled_by_ladder
from ..program import DEFAULT_TAU, DEFAULT_TAU0, STATISTIC_ERROR, chosen_decision
from .base import CERTIFICATE, WeightedRecovery, release_value

CERTIFIED_UP_TO = 500
"""Most vertices (public) of a graph that is settled in ball arithmetic where float64 proofs leave it open."""

LARGEST_N = 20_000
"""Most vertices: dense float64 matrices of this side take 3 GB each."""

WHY = Fact(
    "why the condition is expected to hold: every statement is proven in float64 by residuals, and no graph "
    "is known on which a proof is missing"
)


class CertificateRecovery(WeightedRecovery):
    """(epsilon, delta)-edge-private exact recovery of two communities, or an explicit refusal.

    The labelling x is released when r, the least number of (fractional) edges that undo its certificate, is
    large enough with noise: r of about 1.2 + 17 / epsilon at delta = 1e-6, or a dual slack lambda <= 2 r of
    `theory.required_slack`. A released labelling is exactly the certified optimum of the graph; `labels_`
    is None otherwise, and the budget is spent either way. The running time depends on the graph. Cost:
    O(n^3), below a second at n = 1000 when there is something to release. Attributes: see
    `RecoveryEstimator`. Source: our proof, docs/proofs/sbm_certificate.md.
    """

    epsilon: float = Field(budget, "budget of one fit; epsilon > 0, 0 < delta <= 1/2")
    delta: float = Field(within("(0, 0.5]"), "budget of one fit; epsilon > 0, 0 < delta <= 1/2")
    tau: float | None = Field(
        optional(finite),
        "edge density to compare with; privacy holds for every value. Default: "
        "average_degree / n if that is given, else 1/2, which serves every graph of density "
        "below one half with communities of nearly equal size (each unit of imbalance |sum "
        "x| costs up to tau of dual slack; for equal sizes a larger tau never hurts)",
        default=None,
    )
    average_degree: float | None = Field(
        optional(positive),
        "public d; sets tau = d / n. Give it for sparse graphs with unequal communities",
        default=None,
        kw_only=True,
    )
    tau0: float = Field(
        positive,
        "a labelling with r below tau0 counts as none; costs tau0 of r, saves solver work",
        default=DEFAULT_TAU0,
        kw_only=True,
    )
    decision: str = Field(
        None,
        '"coin" (the largest private probability of release), "noise" (a noisy threshold) '
        'or "auto": the coin for epsilon in [.001, .7], where it needs less slack (11 less '
        "at epsilon = .25)",
        default="auto",
        kw_only=True,
    )
    search: str = Field(
        choice("program", "rule"),
        '"program" (the largest statistic; solves a linear program where a guess does not '
        'settle the graph), or "rule": no search, a fixed number of steps, and a smaller '
        "statistic (a seventh to three fifths of r, 0 on sparse graphs), for which more "
        "edges are needed: from mean degree 200 on",
        default="program",
        kw_only=True,
    )

    _forecast = "certificate"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.tau is not None and self.average_degree is not None:
            raise ValueError(
                "give tau or average_degree, not both: average_degree means tau = average_degree / n"
            )
        chosen_decision(self.decision, float(self.epsilon))

    def public_tau(self, n: int) -> float:
        """The tau that a fit on n vertices uses, as a fraction of the weight bound where there is one."""
        if self.tau is not None:
            return float(self.tau) / self._unit
        if self.average_degree is None:
            return DEFAULT_TAU
        return float(self.average_degree) / (n * self._unit)

    def _release(self, graph: CanonicalGraph) -> Release:
        return self._publish(graph, *self._search(graph))

    def _errors(self, n: int) -> tuple[float, float]:
        """tau on its public grid, and tau0; raises ValueError for n or tau0 out of range."""
        if n > LARGEST_N:
            raise ValueError(
                f"the certificate needs dense matrices: at most {LARGEST_N} vertices, got {n}; "
                "RoundsRecovery takes larger graphs"
            )
        tau, tau0 = public_grid(self.public_tau(n), n), float(self.tau0)
        if self.search == "rule":
            return tau, STATISTIC_ERROR  # nothing has to be found above a level: the rule finds all there is
        if tau0 < STATISTIC_ERROR:
            raise ValueError(f"tau0 = {tau0} is below the numerical error bound {STATISTIC_ERROR}")
        return tau, tau0

    def _search(self, graph: CanonicalGraph) -> tuple[CertifiedBisection, str | None]:
        """The certified bisection, or none and why the search broke off: private."""
        tau, tau0 = self._errors(graph.n)
        failure = None
        try:
            if self.search == "rule":
                result = closed_form_bisection(graph.adjacency, tau, STATISTIC_ERROR)
            else:
                result = certified_bisection(graph.adjacency, tau, tau0, STATISTIC_ERROR)
        except NUMERICAL_FAILURES as problem:
            result, failure = UNRESOLVED, repr(problem)
        if not result.resolved and self._complete(graph.n):
            result = settled_by_ladder(graph.adjacency, tau, tau0, STATISTIC_ERROR)
        return result, failure

    def _complete(self, n: int) -> bool:
        """Whether the search ends on every graph of this size: public."""
        return n <= CERTIFIED_UP_TO and self.search == "program"

    def _publish(self, graph: CanonicalGraph, bisection: CertifiedBisection, failure: str | None) -> Release:
        tau, tau0 = self._errors(graph.n)
        release = release_if_stable(
            self._terms(
                graph,
                CERTIFICATE,
                ARITHMETIC,
                COMPLETE if self._complete(graph.n) else WHY,
                public=self._public(n=graph.n, tau=tau, tau0=tau0, search=self.search),
                proof=Fact("docs/proofs/sbm_certificate.md"),
            ),
            None if bisection.labels is None else bisection.labels.tolist(),
            bisection.statistic,
            error=STATISTIC_ERROR,
            shift=tau0,
            resolved=bisection.resolved,
            search_complete=self._complete(graph.n),
            decision=chosen_decision(self.decision, float(self.epsilon)),
        )
        if failure is not None:
            release.private_diagnostics["failure"] = failure
        return release.postprocess(release_value(release.value, graph, "certificate"))
