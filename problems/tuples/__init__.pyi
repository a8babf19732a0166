"""The public names of ``problems.tuples``, which load when they are first used, and where they are."""

from .choice import Recommendation as Recommendation
from .choice import recommend as recommend
from .clustering import release_kmeans as release_kmeans
from .clustering import release_mixture_fit as release_mixture_fit
from .estimators.clusters import PrivateGaussianMixtureFit as PrivateGaussianMixtureFit
from .estimators.clusters import PrivateKMeans as PrivateKMeans
from .planning import TuplePlan as TuplePlan
from .planning import tuple_plan as tuple_plan
