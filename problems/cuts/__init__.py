"""Private cut queries and synthetic graphs: iterative database constructions (Gupta, Roth and Ullman
2012)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sosdp.lazy import lazily

if TYPE_CHECKING:
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

_HOMES = {
    "estimators.cut_release": ["CutRelease"],
    "estimators.offline_release": ["OfflineRelease"],
    "estimators.query_release": ["QueryRelease"],
    "planning": ["Recommendation", "recommend"],
    "private_graph": ["PrivateGraph"],
    "queries": ["Answer", "CutQuery", "LinearQuery", "Query", "RankOneQuery"],
    "synthetic": ["SyntheticGraph"],
    ".sbm.graph_input": ["EdgeList"],
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
