"""Private learning of Markov random fields: parameters, structure, parities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sosdp.lazy import lazily

if TYPE_CHECKING:
    from .estimators.correlation_graph import CorrelationGraph
    from .estimators.frank_wolfe import FrankWolfeIsing
    from .estimators.frank_wolfe_pairwise import FrankWolfePairwise
    from .estimators.gradient import GradientIsing
    from .estimators.moments import MomentsIsing
    from .estimators.sparse_logistic import PrivateSparseLogistic
    from .estimators.t_wise import FrankWolfeTWise
    from .estimators.tree import ChowLiuTree
    from .estimators.voted_structure import VotedStructure
    from .model import (
        Ising,
        Pairwise,
        TWise,
        alphabet_grid,
        cycle,
        diamond,
        from_edges,
        grid,
        matching,
        random_t_wise,
        random_tree,
    )
    from .planning import Forecast, recommend

__all__ = [
    "ChowLiuTree",
    "CorrelationGraph",
    "Forecast",
    "FrankWolfeIsing",
    "FrankWolfePairwise",
    "FrankWolfeTWise",
    "GradientIsing",
    "Ising",
    "MomentsIsing",
    "Pairwise",
    "PrivateSparseLogistic",
    "TWise",
    "VotedStructure",
    "alphabet_grid",
    "cycle",
    "diamond",
    "from_edges",
    "grid",
    "matching",
    "random_t_wise",
    "random_tree",
    "recommend",
]

_HOMES = {
    "estimators.correlation_graph": ["CorrelationGraph"],
    "estimators.frank_wolfe": ["FrankWolfeIsing"],
    "estimators.frank_wolfe_pairwise": ["FrankWolfePairwise"],
    "estimators.gradient": ["GradientIsing"],
    "estimators.moments": ["MomentsIsing"],
    "estimators.sparse_logistic": ["PrivateSparseLogistic"],
    "estimators.t_wise": ["FrankWolfeTWise"],
    "estimators.tree": ["ChowLiuTree"],
    "estimators.voted_structure": ["VotedStructure"],
    "model": [
        "Ising",
        "Pairwise",
        "TWise",
        "alphabet_grid",
        "cycle",
        "diamond",
        "from_edges",
        "grid",
        "matching",
        "random_t_wise",
        "random_tree",
    ],
    "planning": ["Forecast", "recommend"],
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
