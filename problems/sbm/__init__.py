"""Private recovery of two communities in the stochastic block model."""

from .certificate_recovery import CertificateRecovery
from .datasets import LabelledGraph, digits_graph, karate_club
from .graph_input import GraphInputError, canonical_graph
from .labelling import error_rate
from .model import SampledGraph, StochasticBlockModel
from .projection_recovery import ProjectionRecovery
from .randomised_response import RandomizedResponseRecovery
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
    "GraphInputError",
    "LabelledGraph",
    "ProjectionRecovery",
    "RandomizedResponseRecovery",
    "SampledGraph",
    "StochasticBlockModel",
    "canonical_graph",
    "digits_graph",
    "error_rate",
    "exact_recovery_possible",
    "karate_club",
    "lower_bound_epsilon",
    "predict_error",
    "projection_threshold",
    "randomised_response_threshold",
    "release_probability",
    "required_slack",
    "weak_recovery_possible",
]
