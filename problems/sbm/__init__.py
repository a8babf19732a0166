"""Private recovery of two communities in the stochastic block model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sosdp.lazy import lazily

if TYPE_CHECKING:
    from .clustering import partition_error
    from .datasets import LabelledGraph, digits_graph, karate_club, mouse_connectome
    from .estimators.auto import AutoRecovery
    from .estimators.certificate import CertificateRecovery
    from .estimators.communities import CommunitiesRecovery
    from .estimators.exponential import ExponentialRecovery
    from .estimators.majority_vote import MajorityVoteRecovery
    from .estimators.not_private import LinearProgramRecovery, SpectralRecovery
    from .estimators.output_perturbation import ProjectionRecovery
    from .estimators.randomised_response import RandomizedResponseRecovery
    from .estimators.rounds import RoundsRecovery
    from .estimators.sparse_flips import SparseFlipsRecovery
    from .estimators.stars import StarsRecovery
    from .estimators.vote import VotingRecovery
    from .graph_input import EdgeList, GraphInputError, canonical_graph
    from .labelled_files import labelled_graph, read_gml
    from .labelling import error_rate
    from .model import PlantedPartition, SampledEdges, SampledGraph, StochasticBlockModel
    from .parameters import ModelParameters, estimate_parameters
    from .planning import Forecast, Recommendation, achieved_epsilon, recommend, vote_error
    from .rounds import GaussianRounds, SplitRounds
    from .rounds_planning import PlannedRounds, forecast_rounds, plan_rounds
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
    "AutoRecovery",
    "CertificateRecovery",
    "CommunitiesRecovery",
    "EdgeList",
    "ExponentialRecovery",
    "Forecast",
    "GaussianRounds",
    "GraphInputError",
    "LabelledGraph",
    "LinearProgramRecovery",
    "MajorityVoteRecovery",
    "ModelParameters",
    "PlannedRounds",
    "PlantedPartition",
    "ProjectionRecovery",
    "RandomizedResponseRecovery",
    "Recommendation",
    "RoundsRecovery",
    "SampledEdges",
    "SampledGraph",
    "SparseFlipsRecovery",
    "SpectralRecovery",
    "SplitRounds",
    "StarsRecovery",
    "StochasticBlockModel",
    "VotingRecovery",
    "achieved_epsilon",
    "canonical_graph",
    "digits_graph",
    "error_rate",
    "estimate_parameters",
    "exact_recovery_possible",
    "forecast_rounds",
    "karate_club",
    "labelled_graph",
    "lower_bound_epsilon",
    "mouse_connectome",
    "partition_error",
    "plan_rounds",
    "predict_error",
    "projection_threshold",
    "randomised_response_threshold",
    "read_gml",
    "recommend",
    "release_probability",
    "required_slack",
    "vote_error",
    "weak_recovery_possible",
]

_HOMES = {
    "clustering": ["partition_error"],
    "datasets": ["LabelledGraph", "digits_graph", "karate_club", "mouse_connectome"],
    "estimators.auto": ["AutoRecovery"],
    "estimators.certificate": ["CertificateRecovery"],
    "estimators.communities": ["CommunitiesRecovery"],
    "estimators.exponential": ["ExponentialRecovery"],
    "estimators.majority_vote": ["MajorityVoteRecovery"],
    "estimators.not_private": ["LinearProgramRecovery", "SpectralRecovery"],
    "estimators.output_perturbation": ["ProjectionRecovery"],
    "estimators.randomised_response": ["RandomizedResponseRecovery"],
    "estimators.rounds": ["RoundsRecovery"],
    "estimators.sparse_flips": ["SparseFlipsRecovery"],
    "estimators.stars": ["StarsRecovery"],
    "estimators.vote": ["VotingRecovery"],
    "graph_input": ["EdgeList", "GraphInputError", "canonical_graph"],
    "labelled_files": ["labelled_graph", "read_gml"],
    "labelling": ["error_rate"],
    "model": ["PlantedPartition", "SampledEdges", "SampledGraph", "StochasticBlockModel"],
    "parameters": ["ModelParameters", "estimate_parameters"],
    "planning": ["Forecast", "Recommendation", "achieved_epsilon", "recommend", "vote_error"],
    "rounds": ["GaussianRounds", "SplitRounds"],
    "rounds_planning": ["PlannedRounds", "forecast_rounds", "plan_rounds"],
    "theory": [
        "exact_recovery_possible",
        "lower_bound_epsilon",
        "predict_error",
        "projection_threshold",
        "randomised_response_threshold",
        "release_probability",
        "required_slack",
        "weak_recovery_possible",
    ],
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
