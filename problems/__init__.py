"""The packages of private estimators, one a problem; documented as ``sosdp.problems``."""

from sosdp.lazy import lazily

PART_OF = "sosdp"  # tells this package from another one of the name

__all__: list[str] = []
__getattr__, __dir__ = lazily(__name__, {}, ("cuts", "gaussian", "gmm", "mrf", "sbm", "tuples"))
