"""`PrivateGaussianMixture`: scikit-learn's contract around the three modes.

Proof: docs/proofs/gmm_aggregate.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.estimator.centres import CentresEstimator
from sosdp.estimator.field import Field, Fitted, choice
from sosdp.estimator.planner import Forecasts
from sosdp.privacy.guarantee.release import Release

from ..aggregate import release_mixture
from ..blocks import BlockSolver, check_solver
from ..planning import AggregatePlan, aggregate_plan, expected_error, fewest_records
from ..theory import direct_verdict, paper_verdict

MODES = ("aggregate", "direct", "paper")


class PrivateGaussianMixture(CentresEstimator):
    """Means and weights of k well separated spherical clusters, private for every single record.

    No bound on the centres is needed. What is needed as public knowledge: the number of clusters, the
    within-cluster standard deviation (or a grid of candidates), and how far apart the means are in units of
    it. Where blocks of records do not agree, nothing is released: a refusal, which spends the budget too.
    Where public facts alone say that they will not agree, the data are not touched and nothing is spent.

    Attributes after fit, all publishable:
        released_: whether there are centres. means_: (k, d) or None, in random order. weights_: (k,) or None.
        sigma_: the scale at which blocks agreed, or None.
        plan_: the `AggregatePlan`, with the forecast of passing, of errors and of time.
        advice_: what to try where nothing was released, from public facts alone; "" where there are means.
        guarantee_, release_.

    Source: Algorithm 6.5 of the private mixture paper in the form of docs/proofs/gmm_aggregate.md.
    """

    n_components: int = Field(None, "k", default=3)
    epsilon: float = Field(None, "whole budget", default=1.0)
    delta: float = Field(None, "whole budget", default=1e-6)
    separation: float = Field(None, "least distance of two means in units of sigma", default=10.0)
    sigma: float | Sequence[float] = Field(
        None,
        "within-cluster standard deviation (of the widest cluster), or a sequence of candidates",
        default=1.0,
        kw_only=True,
    )
    least_weight: float | None = Field(
        None,
        "public promise: no cluster holds a smaller share of the records; None for 1 / (2 k)",
        default=None,
        kw_only=True,
    )
    elongation: float = Field(
        None,
        "public promise: clusters are at most this many sigmas long (standard deviation) "
        "along one axis of their own, and at most one sigma across",
        default=1.0,
        kw_only=True,
    )
    solver: str | BlockSolver = Field(
        None,
        '"auto" (by trial on made-up blocks), "sos", "kmeans", "mixture", or a function '
        "from (m, d) records, in units of sigma, to k points",
        default="auto",
        kw_only=True,
    )
    block_size: int | None = Field(
        None,
        "fixed by hand (public!) instead of by the plan; radius in units of sigma",
        default=None,
        kw_only=True,
    )
    radius: float | None = Field(
        None,
        "fixed by hand (public!) instead of by the plan; radius in units of sigma",
        default=None,
        kw_only=True,
    )
    force: bool = Field(
        None,
        "run a plan that is expected to decline (one whose test can never pass is not run)",
        default=False,
        kw_only=True,
    )
    mode: str = Field(
        choice(*MODES),
        '"aggregate"; or "paper" and "direct", the published algorithm with its own and '
        "with free constants, which decline by public numbers at every size there is "
        "(`plan_.advice` says why)",
        default="aggregate",
        kw_only=True,
    )

    means_: npt.NDArray[np.float64] | None = Fitted("centers", np.array)
    sigma_: float | None = Fitted()
    plan_: AggregatePlan = Fitted()

    _forecasts = Forecasts(
        "largest distance of a centre, in sigmas",
        "PrivateGaussian: mean and covariance of all records together",
    )

    def _expected(self, n: int, d: int = 1) -> float:
        if self.mode != "aggregate":
            return math.inf
        facts = n, d, self.n_components, self.separation, self.epsilon, self.delta
        return expected_error(*facts, **self._promises())

    def _promises(self) -> dict[str, Any]:
        """What is promised of the clusters."""
        sigma = self.sigma if isinstance(self.sigma, int | float) else tuple(self.sigma)
        return {"sigma": sigma, "least_weight": self.least_weight, "elongation": self.elongation}

    @property
    def _centres(self) -> npt.NDArray[np.float64] | None:
        return self.means_

    def plan(self, n: int, d: int) -> AggregatePlan:
        """What `fit` would do with n records of d coordinates; spends nothing.

        Raises:
            ValueError: parameters out of range.
        """
        return self._plan(n, d, tried=self.mode == "aggregate")  # the published modes decline by a formula

    def _plan(self, n: int, d: int, *, tried: bool) -> AggregatePlan:
        plan = aggregate_plan(
            n,
            d,
            self.n_components,
            self.separation,
            self.epsilon,
            self.delta,
            **self._promises(),
            solver=self.solver,
            block_size=self.block_size,
            radius=self.radius,
            tried=tried,
        )
        if self.mode == "aggregate":
            return plan
        verdict = (
            paper_verdict(plan.n, plan.clusters)
            if self.mode == "paper"
            else direct_verdict(plan.n, plan.clusters, plan.epsilon, plan.delta)
        )
        return replace(plan, advice=verdict.reason)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_solver(self.solver)

    def _release(self, data: npt.NDArray[np.float64]) -> Release:
        fewest = fewest_records(self.n_components, self.epsilon, self.delta, np.size(self.sigma))
        open_ = self.mode == "aggregate" and self.block_size is None and not self.force
        if open_ and len(data) < fewest:  # no block is made up to see that
            advice = f"at least {fewest} records are needed; outlook(n, d=...) says how many are enough"
            self.plan_ = replace(self._plan(*data.shape, tried=False), advice=advice)
        else:
            self.plan_ = self.plan(*data.shape)
        runs = self.plan_.feasible or self.force
        if self.mode == "aggregate" and runs and self.plan_.can_pass:
            given = self.solver if callable(self.solver) else None
            return release_mixture(data, self.plan_, solver=given, insecure_seed=self.insecure_seed)
        return self._declined(self.plan_, "gmm", "sigma")
