"""sosdp: certified sum-of-squares relaxations, turned into differentially private estimators.

The public names load when they are first used, so that ``import sosdp`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

_HOME = {
    "variables": "algebra",
    "polynomial": "algebra",
    "monomials": "algebra.build",
    "Polynomial": "algebra",
    "PolynomialArray": "algebra",
    "Inequality": "algebra",
    "Equality": "algebra",
    "PSD": "algebra",
    "System": "system",
    "interchange": "reduction.permutation",
    "Relaxation": "relaxation",
    "sum_squares": "expectation",
    "for_all": "expectation",
    "SosProgram": "sosprogram",
    "SosSolution": "sosprogram",
    "PseudoExpectation": "pseudoexpectation",
    "minimize": "solve",
    "maximize": "solve",
    "feasible": "solve",
    "prove_sos": "solve",
    "load_problem": "problemfile",
    "Problem": "problemfile",
    "ProblemFileError": "problemfile",
    "ConicProgram": "conic.program",
    "ConicSolution": "conic.program",
    "solve_conic": "conic.choose",
    "ProblemTooLarge": "conic.program",
    "SolverUnavailable": "conic.program",
    "nearest_correlation": "projection",
    "Guarantee": "privacy.guarantee",
    "Release": "privacy.release",
    "ScoreProgram": "score_program",
    "private_estimator": "estimators",
    "MissingFact": "estimators",
}

__all__ = [
    "__version__",
    "ConicProgram",
    "ConicSolution",
    "Equality",
    "Guarantee",
    "Inequality",
    "MissingFact",
    "PSD",
    "Polynomial",
    "PolynomialArray",
    "Problem",
    "ProblemFileError",
    "ProblemTooLarge",
    "PseudoExpectation",
    "Relaxation",
    "Release",
    "ScoreProgram",
    "SolverUnavailable",
    "SosProgram",
    "SosSolution",
    "System",
    "feasible",
    "for_all",
    "interchange",
    "load_problem",
    "maximize",
    "minimize",
    "monomials",
    "nearest_correlation",
    "polynomial",
    "private_estimator",
    "prove_sos",
    "solve_conic",
    "sum_squares",
    "variables",
]

if TYPE_CHECKING:
    from .algebra import (
        PSD,
        Equality,
        Inequality,
        Polynomial,
        PolynomialArray,
        polynomial,
        variables,
    )
    from .algebra.build import monomials
    from .conic.choose import solve_conic
    from .conic.program import ConicProgram, ConicSolution, ProblemTooLarge, SolverUnavailable
    from .estimators import MissingFact, private_estimator
    from .expectation import for_all, sum_squares
    from .privacy.guarantee import Guarantee
    from .privacy.release import Release
    from .problemfile import Problem, ProblemFileError, load_problem
    from .projection import nearest_correlation
    from .pseudoexpectation import PseudoExpectation
    from .reduction.permutation import interchange
    from .relaxation import Relaxation
    from .score_program import ScoreProgram
    from .solve import feasible, maximize, minimize, prove_sos
    from .sosprogram import SosProgram, SosSolution
    from .system import System


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'sosdp' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOME))
