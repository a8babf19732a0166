"""Private recovery of two communities in the stochastic block model."""

from .datasets import LabelledGraph, digits_graph, karate_club
from .estimators.certificate import CertificateRecovery
from .estimators.communities import CommunitiesRecovery, partition_error
from .estimators.exponential import ExponentialRecovery
from .estimators.majority_vote import MajorityVoteRecovery
from .estimators.not_private import LinearProgramRecovery, SpectralRecovery
from .estimators.output_perturbation import ProjectionRecovery
from .estimators.randomised_response import RandomizedResponseRecovery
from .estimators.vote import VotingRecovery
from .graph_input import EdgeList, GraphInputError, canonical_graph
from .labelling import error_rate
from .model import PlantedPartition, SampledGraph, StochasticBlockModel
from .parameters import ModelParameters, estimate_parameters
from .planning import Forecast, Recommendation, achieved_epsilon, recommend, vote_error
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
