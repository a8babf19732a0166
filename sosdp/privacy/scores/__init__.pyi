"""The public names of ``sosdp.privacy.scores``, which load when they are first used, and where they are."""

from .depth import RegressionDepth as RegressionDepth
from .depth import TukeyDepth as TukeyDepth
from .lifted import BracketScore as BracketScore
from .location import coordinate_max as coordinate_max
from .location import directional as directional
from .location import integer_directions as integer_directions
from .location import l_statistic as l_statistic
from .location import mean_weights as mean_weights
from .location import median_weights as median_weights
from .location import quantile_weights as quantile_weights
from .location import trimmed_weights as trimmed_weights
