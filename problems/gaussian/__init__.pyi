"""The public names of ``problems.gaussian``, which load when they are first used, and where they are."""

from .estimators.gaussian import PrivateCovariance as PrivateCovariance
from .estimators.gaussian import PrivateGaussian as PrivateGaussian
from .estimators.gaussian import PrivatePCA as PrivatePCA
from .estimators.mean import PrivateMean as PrivateMean
from .estimators.not_private import FilteredMean as FilteredMean
from .estimators.not_private import RobustMean as RobustMean
from .estimators.regression import PrivateLinearRegression as PrivateLinearRegression
from .model import PackingProblem as PackingProblem
from .planning import NotOffered as NotOffered
from .planning import Plan as Plan
from .planning import TooFewRecords as TooFewRecords
from .program import PackingScore as PackingScore
from .program import packing_score as packing_score
from .published.localised_lift import LocalisedLiftScore as LocalisedLiftScore
from .published.program import LiteralSoSScore as LiteralSoSScore
from .sampler import DyadicBoxes as DyadicBoxes
