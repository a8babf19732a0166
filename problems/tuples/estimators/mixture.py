"""`PrivateGaussianMixtureFit`: weights, means and covariances of well separated Gaussians.

Proof: docs/proofs/tuples_clustering.md
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.estimator.field import SEED, Field, Fitted
from sosdp.estimator.records import as_records
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.tuple_averages import WIDE, RadiusGrid

from ..clustering import Clusterer, clusterer_of, release_mixture_fit
from ..planning import TuplePlan, tuple_plan
from .base import TupleEstimator, declined


class PrivateGaussianMixtureFit(TupleEstimator):
    """A whole mixture: one half of the records finds the clusters, the other their moments.

    A record is in one half only, so each half has the whole budget. Arguments as `PrivateKMeans`.

    Attributes after fit, all publishable:
        released_, cluster_centers_ and means_ (k, d), covariances_ (k, d, d), weights_ (k,), or None.
        radius_, plan_, advice_, guarantee_, release_.

    Source: section 6.2 of the notes on Cohen, Kaplan, Mansour, Stemmer and Tsfadia 2021, with the moments of
    all clusters released as one Gaussian vector.
    """

    n_components: int = Field(None, "k", default=3)
    epsilon: float = Field(None, "budget of one fit", default=1.0)
    delta: float = Field(None, "budget of one fit", default=1e-6)
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
        None,
        "number of blocks, fixed by hand (public!) instead of by the plan",
        default=None,
        kw_only=True,
    )
    grid: RadiusGrid = Field(
        None,
        "public radii; all from 2^-20 to 2^20 in the units of the data by default",
        default=WIDE,
        kw_only=True,
    )
    insecure_seed: int | None = Field(None, SEED, default=None, kw_only=True)

    means_: npt.NDArray[np.float64] | None = Fitted()
    covariances_: npt.NDArray[np.float64] | None = Fitted()

    def plan(self, n: int, d: int) -> TuplePlan:
        """The plan of the first half of n records; spends nothing.

        Raises:
            ValueError: parameters out of range.
        """
        return tuple_plan(
            max(n // 2, 1),
            d,
            self.n_components,
            self.epsilon,
            self.delta,
            least_weight=self.least_weight,
            sigma=self.sigma,
            separation=self.separation,
            tuples=self.tuples,
            grid=self.grid,
        )

    def _check_parameters(self) -> None:
        clusterer_of(self.clusterer, self.n_components)
        self.plan(2, 1)

    def _release(self, data: npt.NDArray[np.float64]) -> Release:
        self.plan_ = self.plan(*data.shape)
        if not self.plan_.feasible:
            return declined(self.plan_)
        return release_mixture_fit(
            data,
            self.plan_,
            clusterer_of(self.clusterer, self.n_components),
            rho_then=calibrate.zcdp_rho(self.epsilon, self.delta),
            insecure_seed=self.insecure_seed,
        )

    def _unpack(self, value: Any) -> None:
        super()._unpack(value)
        self.means_ = self.cluster_centers_
        self.covariances_ = None if value["covariances"] is None else np.array(value["covariances"])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows of X under the released mixture. This reveals X.

        Raises:
            NotFittedError, ValueError: as `predict`.
        """
        from scipy.special import logsumexp
        from scipy.stats import multivariate_normal

        self._distances(X)
        assert self.means_ is not None and self.covariances_ is not None and self.weights_ is not None
        rows = as_records(X)
        logs = [
            np.log(max(weight, 1e-300)) + multivariate_normal(mean, covariance).logpdf(rows)
            for weight, mean, covariance in zip(self.weights_, self.means_, self.covariances_, strict=True)
        ]
        return float(np.mean(logsumexp(np.array(logs), axis=0)))
