"""Estimators through tuples: what they share, k-means on easy instances, and mixtures of Gaussians.

Proof: docs/proofs/tuples_clustering.md
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.estimator.centres import CentresEstimator
from sosdp.estimator.field import Field, Fitted
from sosdp.estimator.planner import Forecasts
from sosdp.estimator.records import as_numbers, as_records, pairs_of
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.tuple_averages import ALL_RADII, RadiusGrid
from sosdp.privacy.silence import no_warnings

from ..clustering import Clusterer, clusterer_of, release_kmeans, release_mixture_fit
from ..planning import TuplePlan, tuple_plan

UNEQUAL = 100.0
SCALES = (
    "in the columns {} the centres differ by less than a hundredth of what they do in others, so these alone "
    "decided: where columns have different units (years beside dollars) state bounds=, a public pair a column"
)
LIGHT = (
    "a released cluster has next to no records, {:.2g} of them, where none lighter than {:.2g} was promised: "
    "its centre is noise, and the others may be. Expected to be found are clusters about {:.4g} standard "
    "deviations apart or more (plan); nearer ones are with a larger epsilon or more records"
)


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

    bounds: Any = Field(
        None,
        "public: a pair (low, high) for all columns, or one a column, to which entries are clipped; columns "
        "are divided by half of its length, and radius_, sigma, grid and score are in these units; None for "
        "columns of one scale",
        default=None,
        kw_only=True,
    )

    cluster_centers_: npt.NDArray[np.float64] | None = Fitted("centers", np.array)
    radius_: float | None = Fitted()
    plan_: TuplePlan = Fitted()

    # the parameter that is k: scikit-learn's estimators have different names for it
    _count: ClassVar[str]

    _forecasts = Forecasts(
        "largest distance of a centre, in standard deviations of a cluster, of clusters as light as "
        "promised; columns of one scale (divide them by public numbers)",
        "PrivateGaussian: mean and covariance of all records together",
    )

    def _expected(self, n: int, d: int = 1) -> float:
        plan = self.plan(n, d)
        return plan.error if plan.feasible else math.inf

    @abstractmethod
    def _through(self, data: npt.NDArray[np.float64], clusterer: Clusterer) -> Release:
        """The mechanism, where the plan is feasible."""

    @property
    def _centres(self) -> npt.NDArray[np.float64] | None:
        centres = self.cluster_centers_
        return centres if centres is None or self.bounds is None else self._records(centres)

    @property
    def advice_(self) -> str:
        """What to try where nothing was released, or a cluster without records was, and columns that the
        released centres say nothing about without bounds: those of larger numbers decided; "" otherwise."""
        if self.cluster_centers_ is None:
            return super().advice_
        plan = self.plan_
        if self.weights_ is not None and (least := self.weights_.min()) < plan.least_weight / 2:
            return LIGHT.format(least, plan.least_weight, plan.separation)
        if self.bounds is not None:
            return super().advice_
        spread = np.ptp(self.cluster_centers_, axis=0)
        small = np.flatnonzero(spread < spread.max() / UNEQUAL)
        return SCALES.format(", ".join(map(str, small))) if len(small) else ""

    def _units(self, d: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Middles and half lengths of the bounds of d columns, 1 where a column is a public constant."""
        low, high = pairs_of(self.bounds, d).T
        half = high / 2.0 - low / 2.0
        return low + half, np.where(half > 0.0, half, 1.0)

    def _records(self, X: Any) -> npt.NDArray[np.float64]:
        """(n, d) records, in units of the public bounds, if any; what is no number is in the middle."""
        if self.bounds is None:
            return as_records(X)
        rows = as_numbers(X)
        middle, half = self._units(rows.shape[1])
        with no_warnings():
            return as_records(np.clip((rows - middle) / half, -1.0, 1.0))

    def _in_units_of_data(self, release: Release) -> Release:
        """Released centres within the bounds, and released covariances, in the units of the columns."""
        value = dict(release.value)
        if self.bounds is None or value["centers"] is None:
            return release
        middle, half = self._units(len(value["centers"][0]))
        pairs = pairs_of(self.bounds, len(half))
        value["centers"] = np.clip(middle + half * np.array(value["centers"]), *pairs.T).tolist()
        if "covariances" in value:
            value["covariances"] = (np.outer(half, half) * np.array(value["covariances"])).tolist()
        return release.postprocess(value, public={"bounds": pairs.tolist()})

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
            *(getattr(self, name) for name in (self._count, "epsilon", "delta")),
            least_weight=self.least_weight,
            sigma=self.sigma,
            separation=self.separation,
            tuples=self.tuples,
            grid=self.grid,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        clusterer_of(self.clusterer, getattr(self, self._count))
        self.plan(2, 1)

    def _release(self, data: npt.NDArray[np.float64]) -> Release:
        self.plan_ = self.plan(*data.shape)
        if not self.plan_.feasible:
            return self._declined(self.plan_, "tuples", "covariances", "radius")
        clusterer = clusterer_of(self.clusterer, getattr(self, self._count))
        return self._in_units_of_data(self._through(data, clusterer))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the sum of squared distances of the rows of X to the nearest centre. This reveals X.

        Raises
        ------
        NotFittedError, ValueError
            As `predict`.
        """
        return -float(np.sum(np.min(self._distances(X), axis=1) ** 2))


class PrivateKMeans(TupleEstimator):
    """Centres and weights of k well separated clusters of any shape and scale, anywhere.

    Disjoint blocks of records are clustered by any code; if nearly all blocks find the same k centres up to a
    small radius, which is learnt privately, their mean is released and improved by one noisy Lloyd step on
    all records. Otherwise nothing is released, which spends the budget too. No bound on the data, their scale
    or their separation is asked for; what is asked for is many records and clusters far apart (`plan`).
    Distances are Euclidean: columns of different units need public `bounds`, or `PrivateScaler`.

    Attributes after fit, all publishable:
        released_, cluster_centers_ (k, d) or None, in random order, weights_ (k,) or None.
        radius_: the radius within which the blocks agreed. plan_, advice_, guarantee_, release_.

    Source: Cohen, Kaplan, Mansour, Stemmer and Tsfadia 2021, in the form of docs/proofs/tuples_clustering.md.
    """

    n_clusters: int = Field(None, "k", default=3)
    epsilon: float = Field(None, "whole budget", default=1.0)
    delta: float = Field(None, "whole budget", default=1e-6)

    _count = "n_clusters"

    def _through(self, data: npt.NDArray[np.float64], clusterer: Clusterer) -> Release:
        return release_kmeans(data, self.plan_, clusterer, insecure_seed=self.insecure_seed)


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

    _count = "n_components"

    means_: npt.NDArray[np.float64] | None = Fitted("centers", np.array)
    covariances_: npt.NDArray[np.float64] | None = Fitted(make=np.array)

    def plan(self, n: int, d: int) -> TuplePlan:
        """The plan of the first half of n records; spends nothing.

        Raises
        ------
        ValueError
            Parameters out of range.
        """
        made = super().plan(max(n // 2, 1), d)
        # products of records have a third of the last step's noise
        return replace(made, error=made.expected_error(3.0 / calibrate.zcdp_rho(self.epsilon, self.delta)))

    def _through(self, data: npt.NDArray[np.float64], clusterer: Clusterer) -> Release:
        return release_mixture_fit(
            data,
            self.plan_,
            clusterer,
            rho_then=calibrate.zcdp_rho(self.epsilon, self.delta),
            insecure_seed=self.insecure_seed,
        )

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
