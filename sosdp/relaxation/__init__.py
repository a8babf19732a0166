"""Moment and sum-of-squares relaxations, in the order of the data flow.

``build`` (from a system to the assembled identity) -> ``solve`` (a conic solver's raw answer) -> ``certify``
(what is proven of it) -> ``pseudoexpectation``.  The public names load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "PseudoExpectation": "pseudoexpectation",
    "Relaxation": "relaxation",
    "SosProgram": "sos_program",
    "SosSolution": "sos_program",
}

__all__ = ["PseudoExpectation", "Relaxation", "SosProgram", "SosSolution"]

if TYPE_CHECKING:
    from .pseudoexpectation import PseudoExpectation
    from .relaxation import Relaxation
    from .sos_program import SosProgram, SosSolution


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
