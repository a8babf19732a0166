"""Private means of well separated spherical clusters, by sums of squares in blocks."""

from .aggregate import aggregate_guarantee, release_mixture
from .blocks import SumOfSquaresBlocks, kmeans_blocks, mixture_blocks
from .estimator import PrivateGaussianMixture
from .kernel import KernelSolution, kernel_program, membership
from .model import SampledMixture, SphericalMixture, centre_error, cluster_matrix
from .planning import AggregatePlan, aggregate_plan, required_n

__all__ = [
    "AggregatePlan",
    "KernelSolution",
    "PrivateGaussianMixture",
    "SampledMixture",
    "SphericalMixture",
    "SumOfSquaresBlocks",
    "aggregate_guarantee",
    "aggregate_plan",
    "centre_error",
    "cluster_matrix",
    "kernel_program",
    "kmeans_blocks",
    "membership",
    "mixture_blocks",
    "release_mixture",
    "required_n",
]
