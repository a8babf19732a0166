"""Private recovery of two communities in the stochastic block model."""

from .baselines import LinearProgramRecovery, SpectralRecovery
from .certificate_recovery import CertificateRecovery
from .communities import CommunitiesRecovery, partition_error
from .datasets import LabelledGraph, digits_graph, karate_club
from .exponential import ExponentialRecovery
from .graph_input import EdgeList, GraphInputError, canonical_graph
from .labelling import error_rate
from .model import PlantedPartition, SampledGraph, StochasticBlockModel
from .parameters import ModelParameters, estimate_parameters
from .projection_recovery import ProjectionRecovery
from .randomised_response import RandomizedResponseRecovery
from .recommend import Forecast, Recommendation, achieved_epsilon, recommend, vote_error
from .theory import (
    exact_recovery_possible,
    lower_bound_epsilon,
    predict_error,
    projection_threshold,
    randomised_response_threshold,
    release_probability,
    required_slack,
    weak_recovery_possible,
)
from .vote_recovery import VotingRecovery
from .voting import MajorityVoteRecovery

__all__ = [
    "CertificateRecovery",
    "CommunitiesRecovery",
    "EdgeList",
    "ExponentialRecovery",
    "Forecast",
    "GraphInputError",
    "LabelledGraph",
    "LinearProgramRecovery",
    "MajorityVoteRecovery",
    "ModelParameters",
    "PlantedPartition",
    "ProjectionRecovery",
    "RandomizedResponseRecovery",
    "Recommendation",
    "SampledGraph",
    "SpectralRecovery",
    "StochasticBlockModel",
    "VotingRecovery",
    "achieved_epsilon",
    "canonical_graph",
    "digits_graph",
    "error_rate",
    "estimate_parameters",
    "exact_recovery_possible",
    "karate_club",
    "lower_bound_epsilon",
    "partition_error",
    "predict_error",
    "projection_threshold",
    "randomised_response_threshold",
    "recommend",
    "release_probability",
    "required_slack",
    "vote_error",
    "weak_recovery_possible",
]
