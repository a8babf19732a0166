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
    "chebyshev": "algebra.chebyshev",
    "ChebyshevPolynomial": "algebra.chebyshev",
    "ChebyshevBound": "relaxation.chebyshev",
    "coefficient": "algebra.calculus",
    "integrate": "algebra.calculus",
    "Polynomial": "algebra",
    "PolynomialArray": "algebra",
    "Inequality": "algebra",
    "Equality": "algebra",
    "PSD": "algebra",
    "System": "model.system",
    "interchange": "reduction.permutation",
    "Relaxation": "relaxation.relaxation",
    "sum_squares": "model.expectation",
    "for_all": "model.expectation",
    "SosProgram": "relaxation.sos_program",
    "SosSolution": "relaxation.sos_program",
    "PseudoExpectation": "relaxation.pseudoexpectation",
    "minimize": "relaxation.minimize",
    "maximize": "relaxation.minimize",
    "feasible": "relaxation.minimize",
    "prove_sos": "prove",
    "load_problem": "model.problem_file",
    "Problem": "model.problem_file",
    "ProblemFileError": "model.problem_file",
    "ConicProgram": "conic.program",
    "ConicSolution": "conic.program",
    "solve_conic": "conic.choose",
    "read_program": "conic.formats.files",
    "write_program": "conic.formats.files",
    "ProblemTooLarge": "conic.program",
    "SolverUnavailable": "conic.program",
    "nearest_correlation": "structured",
    "Guarantee": "privacy.guarantee.guarantee",
    "Release": "privacy.guarantee.release",
    "ScoreProgram": "estimator.score_program",
    "private_estimator": "estimator.private_estimator",
    "MissingFact": "estimator.private_estimator",
}

__all__ = [
    "__version__",
    "ChebyshevBound",
    "ChebyshevPolynomial",
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
    "chebyshev",
    "coefficient",
    "feasible",
    "for_all",
    "integrate",
    "interchange",
    "load_problem",
    "maximize",
    "minimize",
    "monomials",
    "nearest_correlation",
    "polynomial",
    "private_estimator",
    "prove_sos",
    "read_program",
    "solve_conic",
    "sum_squares",
    "variables",
    "write_program",
]

if TYPE_CHECKING:
    from .algebra import PSD, Equality, Inequality, Polynomial, PolynomialArray, polynomial, variables
    from .algebra.build import monomials
    from .algebra.calculus import coefficient, integrate
    from .algebra.chebyshev import ChebyshevPolynomial, chebyshev
    from .conic.choose import solve_conic
    from .conic.formats.files import read_program, write_program
    from .conic.program import ConicProgram, ConicSolution, ProblemTooLarge, SolverUnavailable
    from .estimator.private_estimator import MissingFact, private_estimator
    from .estimator.score_program import ScoreProgram
    from .model.expectation import for_all, sum_squares
    from .model.problem_file import Problem, ProblemFileError, load_problem
    from .model.system import System
    from .privacy.guarantee.guarantee import Guarantee
    from .privacy.guarantee.release import Release
    from .reduction.permutation import interchange
    from .relaxation.chebyshev import ChebyshevBound
    from .relaxation.minimize import feasible, maximize, minimize
    from .relaxation.pseudoexpectation import PseudoExpectation
    from .relaxation.relaxation import Relaxation
    from .relaxation.sos_program import SosProgram, SosSolution
    from .structured import nearest_correlation

    prove_sos: Any  # from a module that stands above certificates, which import this one


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'sosdp' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOME))
