"""The public names of ``problems.gaussian``, which load when they are first used, and where they are."""

from sosdp.laboratory.packing_problem import PackingProblem as PackingProblem
from sosdp.laboratory.packing_sampler import DyadicBoxes as DyadicBoxes
from sosdp.laboratory.packing_score import PackingScore as PackingScore
from sosdp.laboratory.packing_score import packing_score as packing_score

from .estimators.gaussian import PrivateCovariance as PrivateCovariance
from .estimators.gaussian import PrivateGaussian as PrivateGaussian
from .estimators.gaussian import PrivatePCA as PrivatePCA
from .estimators.mean import PrivateMean as PrivateMean
from .estimators.not_private import FilteredMean as FilteredMean
from .estimators.not_private import RobustMean as RobustMean
from .estimators.regression import PrivateLinearRegression as PrivateLinearRegression
from .estimators.regression import PrivateLogisticRegression as PrivateLogisticRegression
from .estimators.regression import PrivatePoissonRegression as PrivatePoissonRegression
from .planning import NotOffered as NotOffered
from .planning import Plan as Plan
from .planning import TooFewRecords as TooFewRecords
from .published.localised_lift import LocalisedLiftScore as LocalisedLiftScore
from .published.program import LiteralSoSScore as LiteralSoSScore
