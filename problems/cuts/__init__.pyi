"""The public names of ``problems.cuts``, which load when they are first used, and where they are."""

from ..sbm.graph_input import EdgeList as EdgeList
from .estimators.cut_release import CutRelease as CutRelease
from .estimators.offline_release import OfflineRelease as OfflineRelease
from .estimators.query_release import QueryRelease as QueryRelease
from .forecasts import offline_budget as offline_budget
from .planning import Recommendation as Recommendation
from .planning import recommend as recommend
from .private_graph import PrivateGraph as PrivateGraph
from .queries import Answer as Answer
from .queries import CutQuery as CutQuery
from .queries import LinearQuery as LinearQuery
from .queries import Query as Query
from .queries import RankOneQuery as RankOneQuery
from .synthetic import SyntheticGraph as SyntheticGraph
