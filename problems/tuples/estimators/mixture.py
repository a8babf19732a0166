"""`PrivateGaussianMixtureFit`: weights, means and covariances of well separated Gaussians.

Proof: docs/proofs/tuples_clustering.md
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
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

    means_: npt.NDArray[np.float64] | None
    covariances_: npt.NDArray[np.float64] | None

    def __init__(
        self,
        n_components: int = 3,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        clusterer: str | Clusterer = "kmeans",
        least_weight: float | None = None,
        sigma: float | None = None,
        separation: float | None = None,
        tuples: int | None = None,
        grid: RadiusGrid = WIDE,
        insecure_seed: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.clusterer = clusterer
        self.least_weight = least_weight
        self.sigma = sigma
        self.separation = separation
        self.tuples = tuples
        self.grid = grid
        self.insecure_seed = insecure_seed

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
