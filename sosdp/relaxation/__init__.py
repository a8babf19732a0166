"""Moment and sum-of-squares relaxations, in the order of the data flow.

``build`` (from a system to the assembled identity) -> ``solve`` (a conic solver's raw answer) -> ``certify``
(what is proven of it) -> ``pseudoexpectation``.  The public names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sosdp.lazy import lazily

_HOMES = {
    "pseudoexpectation": ["PseudoExpectation"],
    "relaxation": ["Relaxation"],
    "sos_program": ["SosProgram"],
    "sos_solution": ["SosSolution"],
}

__all__ = ["PseudoExpectation", "Relaxation", "SosProgram", "SosSolution"]

if TYPE_CHECKING:
    from .pseudoexpectation import PseudoExpectation
    from .relaxation import Relaxation
    from .sos_program import SosProgram
    from .sos_solution import SosSolution


__getattr__, __dir__ = lazily(__name__, _HOMES)
