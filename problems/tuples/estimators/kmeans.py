"""`PrivateKMeans`: k-means on easy instances, private for every single record.

Proof: docs/proofs/tuples_clustering.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sosdp.estimator.field import SEED, Field
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.tuple_averages import WIDE, RadiusGrid

from ..clustering import Clusterer, clusterer_of, release_kmeans
from ..planning import TuplePlan, tuple_plan
from .base import TupleEstimator, declined


class PrivateKMeans(TupleEstimator):
    """Centres and weights of k well separated clusters of any shape and scale, anywhere.

    Disjoint blocks of records are clustered by any code; if nearly all blocks find the same k centres up to a
    small radius, which is learnt privately, their mean is released and improved by one noisy Lloyd step on
    all records. Otherwise nothing is released, which spends the budget too. No bound on the data, their scale
    or their separation is asked for; what is asked for is many records and clusters far apart (`plan`).

    Attributes after fit, all publishable:
        released_, cluster_centers_ (k, d) or None, in random order, weights_ (k,) or None.
        radius_: the radius within which the blocks agreed. plan_, advice_, guarantee_, release_.

    Source: Cohen, Kaplan, Mansour, Stemmer and Tsfadia 2021, in the form of docs/proofs/tuples_clustering.md.
    """

    n_clusters: int = Field(None, "k", default=3)
    epsilon: float = Field(None, "whole budget", default=1.0)
    delta: float = Field(None, "whole budget", default=1e-6)
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
        "public facts that may be known: within-cluster standard deviation, which narrows "
        "the radii, and least distance of clusters in units of it, for the plan",
        default=None,
        kw_only=True,
    )
    separation: float | None = Field(
        None,
        "public facts that may be known: within-cluster standard deviation, which narrows "
        "the radii, and least distance of clusters in units of it, for the plan",
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

    def plan(self, n: int, d: int) -> TuplePlan:
        """What `fit` would do with n records of d coordinates; spends nothing.

        Raises:
            ValueError: parameters out of range.
        """
        return tuple_plan(
            n,
            d,
            self.n_clusters,
            self.epsilon,
            self.delta,
            least_weight=self.least_weight,
            sigma=self.sigma,
            separation=self.separation,
            tuples=self.tuples,
            grid=self.grid,
        )

    def _check_parameters(self) -> None:
        clusterer_of(self.clusterer, self.n_clusters)
        self.plan(1, 1)

    def _release(self, data: npt.NDArray[np.float64]) -> Release:
        self.plan_ = self.plan(*data.shape)
        if not self.plan_.feasible:
            return declined(self.plan_)
        clusterer = clusterer_of(self.clusterer, self.n_clusters)
        return release_kmeans(data, self.plan_, clusterer, insecure_seed=self.insecure_seed)
