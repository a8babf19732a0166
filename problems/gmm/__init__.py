"""Private means of well separated spherical clusters, by sums of squares in blocks."""

from sosdp.structured.clustering import KernelSolution, kernel_program, membership

from .aggregate import aggregate_guarantee, release_mixture
from .blocks import SumOfSquaresBlocks, kmeans_blocks, mixture_blocks
from .estimators.mixture import PrivateGaussianMixture
from .model import SampledMixture, SphericalMixture, centre_error, cluster_matrix
from .planning import AggregatePlan, aggregate_plan, required_n
from .program import ClusteringProgram, ClusteringSolution, literal_program, pairwise_program
from .published import ModeVerdict, direct_verdict, paper_verdict
from .theory import DirectBounds

__all__ = [
    "AggregatePlan",
    "ClusteringProgram",
    "ClusteringSolution",
    "DirectBounds",
    "KernelSolution",
    "ModeVerdict",
    "PrivateGaussianMixture",
    "SampledMixture",
    "SphericalMixture",
    "SumOfSquaresBlocks",
    "aggregate_guarantee",
    "aggregate_plan",
    "centre_error",
    "cluster_matrix",
    "direct_verdict",
    "kernel_program",
    "kmeans_blocks",
    "literal_program",
    "membership",
    "mixture_blocks",
    "pairwise_program",
    "paper_verdict",
    "release_mixture",
    "required_n",
]
