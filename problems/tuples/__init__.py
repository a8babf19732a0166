"""Private clustering of easy instances through k-tuples of centres."""

from .clustering import release_kmeans, release_mixture_fit
from .estimators.clusters import PrivateGaussianMixtureFit, PrivateKMeans
from .planning import TuplePlan, tuple_plan
from .recommend import Recommendation, recommend

__all__ = [
    "PrivateGaussianMixtureFit",
    "PrivateKMeans",
    "Recommendation",
    "TuplePlan",
    "recommend",
    "release_kmeans",
    "release_mixture_fit",
    "tuple_plan",
]
