"""`PrivateGaussianMixtureFit`: weights, means and covariances of well separated Gaussians.

Proof: docs/proofs/tuples_clustering.md
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.estimator.centres import array_or_none
from sosdp.estimator.field import Field, Fitted
from sosdp.estimator.records import as_records
from sosdp.privacy.guarantee.release import Release

from ..clustering import Clusterer, release_mixture_fit
from ..planning import TuplePlan
from .base import TupleEstimator


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

    means_: npt.NDArray[np.float64] | None = Fitted()
    covariances_: npt.NDArray[np.float64] | None = Fitted()

    @property
    def _budgeted(self) -> tuple[int, float, float]:
        return self.n_components, self.epsilon, self.delta

    def plan(self, n: int, d: int) -> TuplePlan:
        """The plan of the first half of n records; spends nothing.

        Raises
        ------
        ValueError
            Parameters out of range.
        """
        return super().plan(max(n // 2, 1), d)

    def _through(self, data: npt.NDArray[np.float64], clusterer: Clusterer) -> Release:
        return release_mixture_fit(
            data,
            self.plan_,
            clusterer,
            rho_then=calibrate.zcdp_rho(self.epsilon, self.delta),
            insecure_seed=self.insecure_seed,
        )

    def _unpack(self, value: Any) -> None:
        super()._unpack(value)
        self.means_ = self.cluster_centers_
        self.covariances_ = array_or_none(value["covariances"])

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
