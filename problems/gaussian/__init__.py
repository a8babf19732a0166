"""Robust and private means, covariances and whole Gaussians of raw tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sosdp.lazy import lazily

if TYPE_CHECKING:
    from .estimators.components import PrivatePCA
    from .estimators.covariance import PrivateCovariance
    from .estimators.gaussian import PrivateGaussian
    from .estimators.mean import PrivateMean
    from .estimators.not_private import FilteredMean, RobustMean
    from .estimators.regression import PrivateLinearRegression
    from .model import PackingProblem
    from .planning import NotOffered, Plan, TooFewRecords
    from .program import PackingScore, packing_score
    from .published.localised_lift import LocalisedLiftScore
    from .published.program import LiteralSoSScore
    from .sampler import DyadicBoxes

__all__ = [
    "DyadicBoxes",
    "FilteredMean",
    "LiteralSoSScore",
    "LocalisedLiftScore",
    "NotOffered",
    "PackingProblem",
    "PackingScore",
    "Plan",
    "PrivateCovariance",
    "PrivateGaussian",
    "PrivateLinearRegression",
    "PrivateMean",
    "PrivatePCA",
    "RobustMean",
    "TooFewRecords",
    "packing_score",
]

_HOMES = {
    "estimators.components": ["PrivatePCA"],
    "estimators.covariance": ["PrivateCovariance"],
    "estimators.gaussian": ["PrivateGaussian"],
    "estimators.mean": ["PrivateMean"],
    "estimators.regression": ["PrivateLinearRegression"],
    "estimators.not_private": ["FilteredMean", "RobustMean"],
    "model": ["PackingProblem"],
    "planning": ["NotOffered", "Plan", "TooFewRecords"],
    "program": ["PackingScore", "packing_score"],
    "published.localised_lift": ["LocalisedLiftScore"],
    "published.program": ["LiteralSoSScore"],
    "sampler": ["DyadicBoxes"],
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
