"""Private cut queries and synthetic graphs: iterative database constructions (Gupta, Roth and Ullman
2012)."""

from problems.sbm.graph_input import EdgeList

from .estimators.cut_release import CutRelease
from .estimators.offline_release import OfflineRelease
from .estimators.query_release import QueryRelease
from .planning import Recommendation, recommend
from .private_graph import PrivateGraph
from .queries import Answer, CutQuery, LinearQuery, Query, RankOneQuery
from .synthetic import SyntheticGraph

__all__ = [
    "Answer",
    "CutQuery",
    "CutRelease",
    "EdgeList",
    "LinearQuery",
    "OfflineRelease",
    "PrivateGraph",
    "Query",
    "QueryRelease",
    "RankOneQuery",
    "Recommendation",
    "SyntheticGraph",
    "recommend",
]
