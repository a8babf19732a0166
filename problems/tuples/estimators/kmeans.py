"""`PrivateKMeans`: k-means on easy instances, private for every single record.

Proof: docs/proofs/tuples_clustering.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sosdp.estimator.field import Field
from sosdp.privacy.guarantee.release import Release

from ..clustering import Clusterer, release_kmeans
from .base import TupleEstimator


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

    @property
    def _budgeted(self) -> tuple[int, float, float]:
        return self.n_clusters, self.epsilon, self.delta

    def _through(self, data: npt.NDArray[np.float64], clusterer: Clusterer) -> Release:
        return release_kmeans(data, self.plan_, clusterer, insecure_seed=self.insecure_seed)
