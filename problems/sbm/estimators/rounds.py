"""Communities of large graphs: noisy sign iteration over all edges, then one private vote; no solver.

Statement and proof: docs/proofs/sbm_rounds.md
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sosdp.estimator.field import (
    Field,
    Fitted,
    choice,
    privacy_delta_or_zero,
    share,
    whole,
    within,
)
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness.bits import RandomBits, open_bits

from ..edges import CanonicalEdges
from ..labelling import canonical_signs, check_clustering, renumbered
from ..rounds import (
    GaussianRounds,
    Plan,
    SplitRounds,
    gaussian_rounds,
    group_rounds,
    least_vote,
    passes,
    public_key,
    split_rounds,
)
from ..rounds_planning import plan_groups, plan_rounds
from ..sparse_slack import ARITHMETIC, SENSITIVITY, SlackTest, plan_slack_test, slack_statistic
from .base import ModelledRecovery, release_value

KINDS = ("auto", "gauss", "split")

SLACK_PART = 64
"""The test of the dual slack gets one part in so many of delta."""


class RoundsRecovery(ModelledRecovery):
    """Edge-private recovery of two or k communities in graphs of up to millions of vertices; always answers.

    A random labelling is improved by noisy counts of its neighbours' labels, round after round; at the end
    every vertex votes once. Needs gamma d above about sqrt(d) + noise (`planning.recommend` forecasts), and
    communities of comparable size: the smaller one of two at least a quarter. labels_: +-1, or 0..k-1 for
    k > 2. Extra attribute after fit: plan_. Cost: O(rounds * edges) time, 24 bytes an edge; 10^6
    vertices with 2.5e7 edges take half a minute. Source: our proof, docs/proofs/sbm_rounds.md.
    """

    delta: float = Field(privacy_delta_or_zero, "budget of one fit; delta = 0: pure")
    communities: int = Field(
        whole(2),
        "k >= 2, and at most the number of vertices",
        default=2,
        kw_only=True,
    )
    plan: str | Plan = Field(
        None,
        '"gauss" (Gaussian rounds, needs delta > 0), "split" (every round its own public '
        'part of the pairs; pure), "auto" (the better forecast), or a `GaussianRounds` or '
        "`SplitRounds` of your own",
        default="auto",
        kw_only=True,
    )
    degrees: str = Field(
        choice("even", "uneven"),
        '"even", or "uneven": balance by noisy degrees, at the price of one round (two '
        "communities, Gaussian plan). For graphs in which some vertices have many times the "
        "degree of others",
        default="even",
        kw_only=True,
    )
    exact_or_nothing: bool | str = Field(
        None,
        'True (or "vote"): withhold the labels unless the least vote of a vertex for its '
        'own side, with noise, shows that no single label should change. "slack": unless '
        "the dual slack shows that they are the best of all labellings (unweighted, delta > "
        "0, a 64th of it; a few hundred products more). Two communities",
        default=False,
        kw_only=True,
    )
    check_share: float = Field(share, "of epsilon, for that", default=0.15, kw_only=True)
    false_pass: float = Field(
        within("(0, 0.5]"),
        'probability with which labels that fail this pass all the same (for "slack", delta / 128 more)',
        default=1e-3,
        kw_only=True,
    )

    _forecast = "rounds"

    def _expected(self, n: int, average_degree: float | None = None, gamma: float | None = None) -> float:
        """Chance counts as one half, whatever the number of communities."""
        if self.communities == 2:
            return super()._expected(n, average_degree, gamma)
        d, contrast = self._model(average_degree, gamma)
        facts = n, d, contrast, int(self.communities), float(self.epsilon), float(self.delta)
        return plan_groups(*facts).error / (2 * (1 - 1 / self.communities))

    plan_: Plan = Fitted()

    _as_edges = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        k = self.communities
        if self.exact_or_nothing not in (False, True, "vote", "slack"):
            raise ValueError(
                f'exact_or_nothing must be False, "vote" or "slack", got {self.exact_or_nothing!r}'
            )
        if self.exact_or_nothing and k > 2:
            raise ValueError("exact_or_nothing is for two communities")
        if self.exact_or_nothing == "slack" and (self.delta == 0 or self.weight_bound is not None):
            raise ValueError('exact_or_nothing="slack" needs delta > 0 and an unweighted graph')
        if isinstance(self.plan, (GaussianRounds, SplitRounds)):
            if isinstance(self.plan, GaussianRounds) and self.delta == 0:
                raise ValueError("a Gaussian plan needs delta > 0")
            if self.degrees == "uneven":
                raise ValueError("a plan of your own says by itself how it balances: leave degrees alone")
        elif self.plan not in KINDS:
            raise ValueError(f"plan must be one of {', '.join(KINDS)} or a plan, got {self.plan!r}")
        if k > 2:
            check_clustering()
            own = self.plan.by_degree if isinstance(self.plan, GaussianRounds) else False
            if isinstance(self.plan, SplitRounds) or self.plan == "split" or self.delta == 0:
                raise ValueError("more than two communities need the Gaussian plan and delta > 0")
            if own or self.degrees == "uneven":
                raise ValueError("balancing by degrees is for two communities")

    def _budgets(self) -> tuple[float, float]:
        """Epsilon of the labels, and of the check afterwards (0 without one)."""
        if not self.exact_or_nothing:
            return float(self.epsilon), 0.0
        share = Fraction(float(self.check_share))
        labels, check = split(float(self.epsilon), (1 - share, share))
        return labels, check

    def _deltas(self) -> tuple[float, float]:
        """delta of the labels, and of the check afterwards (0 but for the dual slack)."""
        if self.exact_or_nothing != "slack":
            return float(self.delta), 0.0
        check = Fraction(1, SLACK_PART)
        labels, check_delta = split(float(self.delta), (1 - check, check))
        return labels, check_delta

    def slack_test(self, n: int) -> SlackTest:
        """The public facts of the test of the dual slack on n vertices; ValueError where it cannot be run."""
        return plan_slack_test(n, float(self.average_degree), self._deltas()[1])

    def _passes(self, graph: CanonicalEdges, labels: np.ndarray, epsilon: float, bits: RandomBits) -> bool:
        beta = float(self.false_pass)
        if self.exact_or_nothing == "slack":
            statistic = slack_statistic(graph, labels, self.slack_test(graph.n), bits)
            return passes(statistic, SENSITIVITY, epsilon, beta, bits)
        return passes(least_vote(graph, labels), graph.unit, epsilon, beta, bits)

    def public_plan(self, n: int) -> Plan:
        """The plan that a fit on n vertices follows: a function of public numbers."""
        if isinstance(self.plan, (GaussianRounds, SplitRounds)):
            return self.plan
        degree, gamma = float(self.average_degree) / self._unit, float(self.gamma)
        epsilon, delta = self._budgets()[0], self._deltas()[0]
        if self.communities > 2:
            return plan_groups(n, degree, gamma, int(self.communities), epsilon, delta).plan
        return plan_rounds(
            n,
            degree,
            gamma,
            epsilon,
            delta,
            kind=self.plan,
            by_degree=self.degrees == "uneven",
        ).plan

    def _release(self, graph: CanonicalEdges) -> Release:
        if graph.n < self.communities:
            raise ValueError(f"there are {graph.n} vertices for {self.communities} communities")
        self.plan_ = plan = self.public_plan(graph.n)
        key, bits = public_key(self.insecure_seed), open_bits(self.insecure_seed)
        (epsilon, check), (delta, check_delta) = self._budgets(), self._deltas()
        slack = self.exact_or_nothing == "slack"
        if slack:
            self.slack_test(graph.n)  # refuses publicly before anything is spent
        if isinstance(plan, SplitRounds):
            labels, delta = canonical_signs(split_rounds(graph, plan, epsilon, key, bits)), 0.0
        else:
            share = Fraction(float(plan.share))
            before, vote = split(epsilon, (share, 1 - share))
            if self.communities == 2:
                labels = canonical_signs(gaussian_rounds(graph, plan, (before, vote), delta, key, bits))
            else:
                count = int(self.communities)
                labels = renumbered(group_rounds(graph, plan, count, (before, vote), delta, key, bits))
        kept: np.ndarray | None = labels
        if self.exact_or_nothing and not self._passes(graph, labels, check, bits):
            kept = None
        promised = (float(self.delta) if delta else check_delta) if slack else delta
        facts = self._public(
            n=graph.n,
            communities=int(self.communities),
            gamma=float(self.gamma),
            average_degree=float(self.average_degree),
            plan={"kind": type(plan).__name__, **vars(plan)},
            key=key,
            exact_or_nothing=self.exact_or_nothing,
        )
        terms = self._terms(
            graph, "sbm.rounds", *((ARITHMETIC,) if slack else ()), delta=promised, public=facts
        )
        return terms.seal(release_value(kept, graph, "rounds"), terms.guarantee(), bits)
