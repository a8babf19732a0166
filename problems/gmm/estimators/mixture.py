"""`PrivateGaussianMixture`: scikit-learn's contract around the three modes.

Proof: docs/proofs/gmm_aggregate.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.estimator.base import RecordEstimator
from sosdp.estimator.not_fitted import check_fitted
from sosdp.estimator.records import as_records, check_width
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release

from ..aggregate import release_mixture
from ..blocks import BlockSolver, check_solver
from ..planning import AggregatePlan, aggregate_plan
from ..published import direct_verdict, paper_verdict

MODES = ("aggregate", "direct", "paper")


class PrivateGaussianMixture(RecordEstimator):
    """Means and weights of k well separated spherical clusters, private for every single record.

    No bound on the centres is needed. What is needed as public knowledge: the number of clusters, the
    within-cluster standard deviation (or a grid of candidates), and how far apart the means are in units of
    it. Where blocks of records do not agree, nothing is released: a refusal, which spends the budget too.
    Where public facts alone say that they will not agree, the data are not touched and nothing is spent.

    Args:
        n_components: k.
        epsilon, delta: whole budget.
        separation: least distance of two means in units of sigma.
        sigma: within-cluster standard deviation (of the widest cluster), or a sequence of candidates.
        least_weight: public promise: no cluster holds a smaller share of the records; None for 1 / (2 k).
        elongation: public promise: clusters are at most this many sigmas long (standard deviation) along one
            axis of their own, and at most one sigma across.
        solver: "auto" (by trial on made-up blocks), "sos", "kmeans", "mixture", or a function from (m, d)
            records, in units of sigma, to k points.
        block_size, radius: fixed by hand (public!) instead of by the plan; radius in units of sigma.
        force: run a plan that is expected to decline (one whose test can never pass is not run).
        mode: "aggregate"; or "paper" and "direct", the published algorithm with its own and with free
            constants, which decline by public numbers at every size there is (`plan_.advice` says why).
        insecure_seed: for tests and figures: predictable noise, no guarantee.

    Attributes after fit, all publishable:
        released_: whether there are centres. means_: (k, d) or None, in random order. weights_: (k,) or None.
        sigma_: the scale at which blocks agreed, or None.
        plan_: the `AggregatePlan`, with the forecast of passing, of errors and of time.
        advice_: what to try where nothing was released, from public facts alone; "" where there are means.
        guarantee_, release_.

    Source: Algorithm 6.5 of the private mixture paper in the form of docs/proofs/gmm_aggregate.md.
    """

    means_: npt.NDArray[np.float64] | None
    weights_: npt.NDArray[np.float64] | None
    sigma_: float | None
    advice_: str
    plan_: AggregatePlan

    def __init__(
        self,
        n_components: int = 3,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        separation: float = 10.0,
        *,
        sigma: float | Sequence[float] = 1.0,
        least_weight: float | None = None,
        elongation: float = 1.0,
        solver: str | BlockSolver = "auto",
        block_size: int | None = None,
        radius: float | None = None,
        force: bool = False,
        mode: str = "aggregate",
        insecure_seed: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.separation = separation
        self.sigma = sigma
        self.least_weight = least_weight
        self.elongation = elongation
        self.solver = solver
        self.block_size = block_size
        self.radius = radius
        self.force = force
        self.mode = mode
        self.insecure_seed = insecure_seed

    def plan(self, n: int, d: int) -> AggregatePlan:
        """What `fit` would do with n records of d coordinates; spends nothing.

        Raises:
            ValueError: parameters out of range.
        """
        return aggregate_plan(
            n,
            d,
            self.n_components,
            self.separation,
            self.epsilon,
            self.delta,
            sigma=self.sigma if isinstance(self.sigma, int | float) else tuple(self.sigma),
            least_weight=self.least_weight,
            elongation=self.elongation,
            solver=self.solver,
            block_size=self.block_size,
            radius=self.radius,
        )

    def _check_parameters(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        check_solver(self.solver)

    def _release(self, data: npt.NDArray[np.float64]) -> Release:
        self.plan_ = self.plan(*data.shape)
        if self.mode != "aggregate":
            n = self.plan_.n
            verdict = (
                paper_verdict(n, self.n_components)
                if self.mode == "paper"
                else direct_verdict(n, self.n_components, self.epsilon, self.delta)
            )
            self.plan_ = replace(self.plan_, feasible=False, advice=verdict.reason)
        elif (self.plan_.feasible or self.force) and self.plan_.can_pass:
            given = self.solver if callable(self.solver) else None
            return release_mixture(data, self.plan_, solver=given, insecure_seed=self.insecure_seed)
        return declined(self.plan_)

    def _unpack(self, value: Any) -> None:
        self.means_ = None if value["centers"] is None else np.array(value["centers"])
        self.weights_ = None if value["weights"] is None else np.array(value["weights"])
        self.sigma_ = value["sigma"]
        self.advice_ = str(self.release_.public.get("advice", ""))

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Index of the nearest released mean for each row of X. This reveals whatever the rows of X do.

        Raises:
            NotFittedError: `fit` was not called.
            ValueError: nothing was released, or rows of another size.
        """
        check_fitted(self, "released_")
        if not self.released_:
            raise ValueError("no means were released: there is nothing to predict with (see plan_.advice)")
        assert self.means_ is not None
        rows = as_records(X)
        check_width(rows, self.means_.shape[1], type(self).__name__)
        distances = np.linalg.norm(rows[:, None, :] - self.means_[None, :, :], axis=2)
        return np.argmin(distances, axis=1)


def declined(plan: AggregatePlan) -> Release:
    """The refusal that public facts alone decide: no record is looked at, no budget spent."""
    nothing = {"centers": None, "weights": None, "sigma": None, "released": False}
    guarantee = Guarantee(
        epsilon=0.0,
        delta=0.0,
        adjacency=ONE_RECORD_REPLACED,
        mechanism="gmm (declined by public facts)",
    )
    public = {"n": plan.n, "dimension": plan.dimension, "clusters": plan.clusters, "advice": plan.advice}
    return Release(nothing, guarantee, public=public)
