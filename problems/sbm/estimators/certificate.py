"""Exact private recovery: publish the certified bisection when no few edges could change it.

Statement and proof: docs/proofs/sbm_certificate.md
"""

from __future__ import annotations

from sosdp.privacy.calibrate import check_delta, check_epsilon, check_positive
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.stability import release_if_stable

from ..certificate import CertifiedBisection, certified_bisection
from ..graph_input import CanonicalGraph
from ..program import DEFAULT_TAU, DEFAULT_TAU0, chosen_decision, gap_error_bound, slack_error_bound
from .base import NUMERICAL_FAILURES, RecoveryEstimator, release_value, silenced


class CertificateRecovery(RecoveryEstimator):
    """(epsilon, delta)-edge-private exact recovery of two communities, or an explicit refusal.

    Parameters (all public):
        epsilon, delta: budget of one fit; epsilon > 0, 0 < delta <= 1/2.
        tau: edge density to compare with; privacy holds for every value. Default: average_degree / n if that
            is given, else 1/2, which serves every graph of density below one half with communities of nearly
            equal size (each unit of imbalance |sum x| costs up to tau of dual slack; for equal sizes a larger
            tau never hurts).
        average_degree: public d; sets tau = d / n. Give it for sparse graphs with unequal communities.
        tau0: a labelling of dual slack below 2 tau0 counts as none; costs 2 tau0 of slack, saves solver work.
        decision: "coin" (the largest private probability of release), "noise" (a noisy threshold) or "auto":
            the coin for epsilon in [.001, .7], where it needs less slack (11 less at epsilon = .25).
        weight_bound: public bound w of the weights of a weighted graph; tau and average_degree are then in
            the units of the weights.
        insecure_seed: for tests and figures only; voids the guarantee.

    The labelling x is released when the smallest eigenvalue lambda of its dual slack matrix (orthogonal to
    x), with noise, is large enough: lambda of about 2.5 + 34 / epsilon at delta = 1e-6 (see
    `theory.required_slack`). A released labelling is exactly the certified optimum of the graph; `labels_`
    is None otherwise, and the budget is spent either way. The running time depends on the graph. Cost:
    O(n^3), below a second at n = 1000 when there is something to release. Attributes: see
    `RecoveryEstimator`. Source: our proof, docs/proofs/sbm_certificate.md.
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        tau: float | None = None,
        *,
        average_degree: float | None = None,
        tau0: float = DEFAULT_TAU0,
        decision: str = "auto",
        weight_bound: float | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.tau = tau
        self.average_degree = average_degree
        self.tau0 = tau0
        self.decision = decision
        self.weight_bound = weight_bound
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        if check_delta(self.delta) > 0.5:
            raise ValueError(f"delta must be at most 1/2 for this mechanism, got {self.delta}")
        if self.tau is not None and self.average_degree is not None:
            raise ValueError(
                "give tau or average_degree, not both: average_degree means tau = average_degree / n"
            )
        if self.tau is not None:
            check_positive(abs(float(self.tau)), "tau", zero=True)
        if self.average_degree is not None:
            check_positive(self.average_degree, "average_degree")
        check_positive(self.tau0, "tau0")
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

    def _errors(self, n: int) -> tuple[float, float, float]:
        """tau, tau0 and the public error bound of the slack; raises ValueError if tau0 is too small for n."""
        tau, tau0 = self.public_tau(n), float(self.tau0)
        error = slack_error_bound(n, tau)
        least = max(error, gap_error_bound(n, tau))
        if tau0 < least:
            raise ValueError(
                f"tau0 = {tau0} is below the numerical error bound {least:.3g} for n = {n}, "
                f"tau = {tau}; use a larger tau0"
            )
        return tau, tau0, error

    def _search(self, graph: CanonicalGraph) -> tuple[CertifiedBisection, str | None]:
        """The certified bisection, or none and why the search broke off: private."""
        tau, tau0, _ = self._errors(graph.n)
        with silenced():
            try:
                return certified_bisection(graph.adjacency, tau, tau0), None
            except NUMERICAL_FAILURES as problem:
                return CertifiedBisection(None, None, False), repr(problem)

    def _publish(self, graph: CanonicalGraph, found: CertifiedBisection, failure: str | None) -> Release:
        tau, tau0, error = self._errors(graph.n)
        release = release_if_stable(
            None if found.labels is None else found.labels.tolist(),
            found.statistic,
            epsilon=self.epsilon,
            delta=self.delta,
            adjacency=self._adjacency,
            error=error,
            shift=tau0,
            resolved=found.resolved,
            # in exact arithmetic the last resort always resolves; in float64 that is evidence, not proof
            search_complete=False,
            decision=chosen_decision(self.decision, float(self.epsilon)),
            assumptions=(
                "the vertex set is public",
                "why the condition is expected to hold: the last resort of the search, dual path following, "
                "ends within a proven number of steps in exact arithmetic; in float64 no graph is known on "
                "which it does not",
            ),
            mechanism="sbm.certificate",
            public=self._public(n=graph.n, tau=tau, tau0=tau0),
            insecure_seed=self.insecure_seed,
        )
        if failure is not None:
            release.private_diagnostics["failure"] = failure
        return release.postprocess(release_value(release.value, graph, "certificate"))
