"""What type checkers see of ``sosdp.problems``, which is the package ``problems``."""

from . import cuts as cuts
from . import gaussian as gaussian
from . import gmm as gmm
from . import mrf as mrf
from . import sbm as sbm
from . import tuples as tuples
