"""Robust and private mean, covariance and Gaussian learning by packing scores."""

from .boxes import DyadicBoxes
from .covariance import RobustPrivateCovariance
from .learner import PrivateGaussian
from .literal import LiteralSoSScore
from .localised import LocalisedLiftScore
from .mean import RobustPrivateMean
from .packing import Bracket
from .plan import Plan, plan
from .problem import PackingProblem
from .robust import FilteredMean, RobustMean
from .scores import PackingScore, packing_score

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
