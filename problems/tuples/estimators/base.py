"""What both estimators share: parameters, plan, score.

Proof: docs/proofs/tuples_clustering.md
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.estimator.centres import CentresEstimator, array_or_none
from sosdp.estimator.field import Field, Fitted
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.tuple_averages import ALL_RADII, RadiusGrid

from ..clustering import Clusterer, clusterer_of
from ..planning import TuplePlan, tuple_plan


class TupleEstimator(CentresEstimator):
    """Base: (n, d) records to k centres through tuples.

    Attributes after fit: cluster_centers_ (k, d) or None, weights_ (k,) or None, radius_ or None, plan_,
    advice_ ("" where there are centres).
    """

    clusterer: str | Clusterer = Field(
        None,
        '"kmeans", "mixture", or a function from the (s, d) records of a block to k points',
        default="kmeans",
        kw_only=True,
    )
    least_weight: float | None = Field(
        None,
        "public promise for the plan: no cluster holds a smaller share; None for 1 / (2 k)",
        default=None,
        kw_only=True,
    )
    sigma: float | None = Field(
        None,
        "public fact that may be known: within-cluster standard deviation, which narrows the radii",
        default=None,
        kw_only=True,
    )
    separation: float | None = Field(
        None,
        "public fact that may be known: least distance of clusters in units of sigma, for the plan",
        default=None,
        kw_only=True,
    )
    tuples: int | None = Field(
        None, "number of blocks, fixed by hand (public!) instead of by the plan", default=None, kw_only=True
    )
    grid: RadiusGrid = Field(
        None,
        "public radii; all from 2^-20 to 2^20 in the units of the data by default",
        default=ALL_RADII,
        kw_only=True,
    )

    cluster_centers_: npt.NDArray[np.float64] | None = Fitted()
    radius_: float | None = Fitted()
    plan_: TuplePlan = Fitted()

    @property
    @abstractmethod
    def _budgeted(self) -> tuple[int, float, float]:
        """k, and epsilon and delta."""

    @abstractmethod
    def _through(self, data: npt.NDArray[np.float64], clusterer: Clusterer) -> Release:
        """The mechanism, where the plan is feasible."""

    @property
    def _centres(self) -> npt.NDArray[np.float64] | None:
        return self.cluster_centers_

    def plan(self, n: int, d: int) -> TuplePlan:
        """What `fit` would do with n records of d coordinates; spends nothing.

        Raises
        ------
        ValueError
            Parameters out of range.
        """
        return tuple_plan(
            n,
            d,
            *self._budgeted,
            least_weight=self.least_weight,
            sigma=self.sigma,
            separation=self.separation,
            tuples=self.tuples,
            grid=self.grid,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        clusterer_of(self.clusterer, self._budgeted[0])
        self.plan(2, 1)

    def _release(self, data: npt.NDArray[np.float64]) -> Release:
        self.plan_ = self.plan(*data.shape)
        if not self.plan_.feasible:
            return self._declined(self.plan_, "tuples", "covariances", "radius")
        return self._through(data, clusterer_of(self.clusterer, self._budgeted[0]))

    def _unpack(self, value: Any) -> None:
        super()._unpack(value)
        self.cluster_centers_ = array_or_none(value["centers"])
        self.radius_ = value["radius"]

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the sum of squared distances of the rows of X to the nearest centre. This reveals X.

        Raises
        ------
        NotFittedError, ValueError
            As `predict`.
        """
        return -float(np.sum(np.min(self._distances(X), axis=1) ** 2))
