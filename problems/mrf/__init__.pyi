"""The public names of ``problems.mrf``, which load when they are first used, and where they are."""

from .estimators.correlation_graph import CorrelationGraph as CorrelationGraph
from .estimators.frank_wolfe import FrankWolfeIsing as FrankWolfeIsing
from .estimators.frank_wolfe_pairwise import FrankWolfePairwise as FrankWolfePairwise
from .estimators.gradient import GradientIsing as GradientIsing
from .estimators.moments import MomentsIsing as MomentsIsing
from .estimators.sparse_logistic import PrivateSparseLogistic as PrivateSparseLogistic
from .estimators.t_wise import FrankWolfeTWise as FrankWolfeTWise
from .estimators.tree import ChowLiuTree as ChowLiuTree
from .estimators.voted_structure import VotedStructure as VotedStructure
from .model import Ising as Ising
from .model import Pairwise as Pairwise
from .model import TWise as TWise
from .model import alphabet_grid as alphabet_grid
from .model import cycle as cycle
from .model import diamond as diamond
from .model import from_edges as from_edges
from .model import grid as grid
from .model import matching as matching
from .model import random_t_wise as random_t_wise
from .model import random_tree as random_tree
from .planning import Forecast as Forecast
from .planning import recommend as recommend
