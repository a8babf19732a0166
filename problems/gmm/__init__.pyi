"""The public names of ``problems.gmm``, which load when they are first used, and where they are."""

from sosdp.structured.clustering import KernelSolution as KernelSolution
from sosdp.structured.clustering import kernel_program as kernel_program
from sosdp.structured.clustering import membership as membership

from .aggregate import aggregate_guarantee as aggregate_guarantee
from .aggregate import release_mixture as release_mixture
from .blocks import SumOfSquaresBlocks as SumOfSquaresBlocks
from .blocks import kmeans_blocks as kmeans_blocks
from .blocks import mixture_blocks as mixture_blocks
from .estimators.mixture import PrivateGaussianMixture as PrivateGaussianMixture
from .model import SampledMixture as SampledMixture
from .model import SphericalMixture as SphericalMixture
from .model import centre_error as centre_error
from .model import cluster_matrix as cluster_matrix
from .planning import AggregatePlan as AggregatePlan
from .planning import aggregate_plan as aggregate_plan
from .planning import required_n as required_n
from .program import ClusteringProgram as ClusteringProgram
from .program import ClusteringSolution as ClusteringSolution
from .program import literal_program as literal_program
from .program import pairwise_program as pairwise_program
from .theory import DirectBounds as DirectBounds
from .theory import ModeVerdict as ModeVerdict
from .theory import direct_verdict as direct_verdict
from .theory import paper_verdict as paper_verdict
