"""Robust and private mean, covariance and Gaussian learning by packing scores."""

from .boxes import DyadicBoxes
from .covariance import RobustPrivateCovariance
from .learner import PrivateGaussian
from .mean import RobustPrivateMean
from .packing import Bracket
from .plan import Plan, plan
from .scores import PackingProblem, PackingScore, packing_score

__all__ = [
    "Bracket",
    "DyadicBoxes",
    "PackingProblem",
    "PackingScore",
    "Plan",
    "PrivateGaussian",
    "RobustPrivateCovariance",
    "RobustPrivateMean",
    "packing_score",
    "plan",
]
