"""Robust and private mean, covariance and Gaussian learning by packing scores."""

from sosdp.structured.packing import Bracket

from .estimators.covariance import RobustPrivateCovariance
from .estimators.gaussian import PrivateGaussian
from .estimators.mean import RobustPrivateMean
from .estimators.not_private import FilteredMean, RobustMean
from .model import PackingProblem
from .planning import Plan, plan
from .program import PackingScore, packing_score
from .published.localised_lift import LocalisedLiftScore
from .published.program import LiteralSoSScore
from .sampler import DyadicBoxes

__all__ = [
    "Bracket",
    "DyadicBoxes",
    "FilteredMean",
    "LiteralSoSScore",
    "LocalisedLiftScore",
    "PackingProblem",
    "PackingScore",
    "Plan",
    "PrivateGaussian",
    "RobustMean",
    "RobustPrivateCovariance",
    "RobustPrivateMean",
    "packing_score",
    "plan",
]
