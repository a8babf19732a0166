"""Moment and sum-of-squares relaxations, in the order of the data flow.

``build`` (from a system to the assembled identity) -> ``solve`` (a conic solver's raw answer) -> ``certify``
(what is proven of it) -> ``pseudoexpectation``.  The public names load when they are first used.
"""

from sosdp.lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
