"""Private clustering of easy instances through k-tuples of centres."""

from .clustering import release_kmeans, release_mixture_fit
from .estimators.kmeans import PrivateKMeans
from .estimators.mixture import PrivateGaussianMixtureFit
from .planning import TuplePlan, tuple_plan

__all__ = [
    "PrivateGaussianMixtureFit",
    "PrivateKMeans",
    "TuplePlan",
    "release_kmeans",
    "release_mixture_fit",
    "tuple_plan",
]
