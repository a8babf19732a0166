"""Private learning of Markov random fields: parameters, structure, parities."""

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
