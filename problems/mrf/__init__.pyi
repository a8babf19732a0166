"""The public names of ``problems.mrf``, which load when they are first used, and where they are."""

from .estimators.frank_wolfe import FrankWolfeIsing as FrankWolfeIsing
from .estimators.frank_wolfe import FrankWolfePairwise as FrankWolfePairwise
from .estimators.frank_wolfe import FrankWolfeTWise as FrankWolfeTWise
from .estimators.graphs import ChowLiuTree as ChowLiuTree
from .estimators.graphs import CorrelationGraph as CorrelationGraph
from .estimators.graphs import VotedStructure as VotedStructure
from .estimators.moments import GradientIsing as GradientIsing
from .estimators.moments import MomentsIsing as MomentsIsing
from .estimators.sparse_logistic import PrivateSparseLogistic as PrivateSparseLogistic
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
