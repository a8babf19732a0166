"""The short way: from a polynomial and a system to a certified answer in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack, overload

import numpy as np

from ..algebra.build import quadratic_form
from ..algebra.chebyshev import ChebyshevPolynomial
from ..algebra.complex import ComplexPolynomial
from ..algebra.constraint import PSD, Equality, Inequality
from ..algebra.operator import OperatorPolynomial
from ..algebra.polynomial import Polynomial, coerce
from ..model.option_names import check_options
from ..model.options import (
    AllOptions,
    ComplexOptions,
    DoorOptions,
    OperatorOptions,
    names,
    read_options,
    spelled_out,
)
from ..model.problem import Problem
from ..model.system import System, as_system
from .chebyshev import ChebyshevBound, minimize_chebyshev
from .complex import ComplexExpectation, minimize_complex
from .operators.answer import OperatorExpectation
from .operators.minimize import minimize_operators
from .operators.statement import flat, is_about
from .prove import prove_sum_of_squares
from .pseudoexpectation import PseudoExpectation
from .relaxation import Relaxation, relaxation_for

IN_CHEBYSHEV = (
    "coefficients of polynomials of this degree say little about their values: on an interval, state it in "
    "Chebyshev coefficients (sd.chebyshev(x, k), x in [-1, 1])"
)
_TALL = 20  # degree in one variable beyond which monomials are too ill-conditioned for doubles

Constraints = System | Inequality | Equality | PSD | Sequence["System | Inequality | Equality | PSD"] | None
"""What a system is made of: a System, one constraint, or a list of them."""


def _split(function: str, options: dict[str, Any], *more: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the relaxation and of the solver; ``more`` are names that this function takes besides."""
    checked = {name: value for name, value in options.items() if name not in more}
    read_options(function, checked, ["solve", "build"], more=more)
    building = {name: options.pop(name) for name in names("build") if name in options}
    return building, options


def _of_file(
    problem: Problem, sense: str, system: Any, degree: int | None, options: dict[str, Any]
) -> tuple[Any, System, int | None, dict[str, Any]]:
    """Objective, system, degree and options of a problem, under those that were given."""
    if problem.sense != sense:
        raise ValueError(f"the problem {problem.name!r} says {problem.sense}, not {sense}: problem.solve()")
    if system is not None:
        raise ValueError("a problem brings its system: state another one in the problem, with replace()")
    if problem.moments is not None or problem.operators is not None:
        what = "measures" if problem.operators is None else "operators"
        raise ValueError(f"the problem {problem.name!r} is about {what}: problem.solve()")
    building, solving = problem.engine_options()
    if problem.chebyshev is not None and building.get("products") in ("auto", "putinar"):
        del building["products"]
    objective = problem.objective if problem.chebyshev is None else problem.chebyshev
    chosen = problem.degree if degree is None else degree
    return objective, problem.system, chosen, {**building, **solving, **options}


def relaxation_of(problem: Problem) -> Relaxation:
    """The relaxation that minimize, maximize or feasible builds for a problem; ValueError for other kinds."""
    if problem.sense == "sos" or problem.chebyshev is not None or problem.moments is not None:
        raise ValueError("only problems in monomials that minimise, maximise or ask feasibility have one")
    building, _ = problem.engine_options()
    return relaxation_for(problem.system, problem.objective, problem.degree, **building)


def _in_chebyshev(
    objective: ChebyshevPolynomial,
    system: System | None,
    degree: int | None,
    sense: str,
    options: dict[str, Any],
) -> ChebyshevBound:
    check_options(sense, options, ("system", "degree", "solver", "tolerance", "time_limit", "verbose"))
    chosen = dict(options)
    if chosen.pop("solver", "auto") not in ("auto", "sos_cone"):
        raise ValueError("polynomials in Chebyshev coefficients are solved by solver='sos_cone' only")
    return minimize_chebyshev(objective, as_system(system), degree, sense=sense, **chosen)


@overload
def minimize(
    objective: ChebyshevPolynomial,
    system: Constraints = None,
    degree: int | None = None,
    **options: Unpack[AllOptions],
) -> ChebyshevBound:
    """In Chebyshev coefficients."""


@overload
def minimize(
    objective: ComplexPolynomial,
    system: Any = None,
    degree: int | None = None,
    **options: Unpack[ComplexOptions],
) -> ComplexExpectation:
    """In complex variables."""


@overload
def minimize(
    objective: OperatorPolynomial,
    system: Any = None,
    degree: int | None = None,
    **options: Unpack[OperatorOptions],
) -> OperatorExpectation:
    """In operators."""


@overload
def minimize(
    objective: Polynomial | float,
    system: Constraints = None,
    degree: int | None = None,
    **options: Unpack[AllOptions],
) -> PseudoExpectation:
    """In monomials."""


@overload
def minimize(
    objective: Problem, system: None = None, degree: int | None = None, **options: Unpack[AllOptions]
) -> PseudoExpectation:
    """Of a problem file."""


@spelled_out("build", "solve")
def minimize(
    objective: Any, system: Any = None, degree: int | None = None, **options: Unpack[DoorOptions]
) -> PseudoExpectation | ChebyshevBound | ComplexExpectation | OperatorExpectation:
    """Lower bound on the minimum of a polynomial over a system, with the pseudo-expectation that attains it.

    Parameters
    ----------
    objective
        The polynomial; with one in Chebyshev coefficients (``sd.chebyshev``) the system must be the box
        [-1, 1]^n, and the answer is a ``ChebyshevBound``; one in complex variables (``sd.complex_variables``)
        takes a list of constraints and ``basis="auto"``, ``"holomorphic"`` or ``"real"``, see
        ``relaxation.complex``; one in operators (``sd.projectors``, ``sd.paulis``, ...) a list of constraints
        and the options below.
        Or a problem that ``load_problem`` read: it brings its system, degree and options, and what is given
        here goes before them.
    system
        Constraints (a System, one constraint, or None for all of R^n).
    degree
        Degree of the pseudo-expectation, even or odd; by default the least even one at which the program can
        be stated, with ``(x - a)*(b - x) >= 0`` for constraints ``x >= a`` and ``x <= b`` (``products``)
        where the objective has this degree.
    solver, tolerance, time_limit, certify_bound, verbose
        ``"auto"`` (by sizes), ``"sos_cone"``, ``"low_rank"`` (our own), ``"clarabel"``, ``"scs"``; the
        solver's tolerance (1e-8); its time limit in seconds; False to skip the certified bound; True to print
        the solver's log.
    products, sparsity, symmetry, prune, quotient, term_steps, symmetries, redundant, cone, basis
        How the relaxation is built, see ``Relaxation``.
    level, trace, sparsity, symmetry, basis, complete
        Of operators: words by level (``2``, ``"1+AB"``: terms name parties), or a list of them (``basis``);
        True for tracial states; ``"term"``, ``"correlative"``, ``"correlative+term"``; a list of permutations
        ``{operator: image}`` that change nothing; True to complete relations. See docs/operators.md.

    Raises ValueError for a degree that is too small, SolverUnavailable, ProblemTooLarge. Never for
    what a solver does: read ``status``, ``bound`` and ``certified_bound``.
    """
    return _bound("minimize", objective, system, degree, {**options})


@overload
def maximize(
    objective: ChebyshevPolynomial,
    system: Constraints = None,
    degree: int | None = None,
    **options: Unpack[AllOptions],
) -> ChebyshevBound:
    """In Chebyshev coefficients."""


@overload
def maximize(
    objective: ComplexPolynomial,
    system: Any = None,
    degree: int | None = None,
    **options: Unpack[ComplexOptions],
) -> ComplexExpectation:
    """In complex variables."""


@overload
def maximize(
    objective: OperatorPolynomial,
    system: Any = None,
    degree: int | None = None,
    **options: Unpack[OperatorOptions],
) -> OperatorExpectation:
    """In operators."""


@overload
def maximize(
    objective: Polynomial | float,
    system: Constraints = None,
    degree: int | None = None,
    **options: Unpack[AllOptions],
) -> PseudoExpectation:
    """In monomials."""


@overload
def maximize(
    objective: Problem, system: None = None, degree: int | None = None, **options: Unpack[AllOptions]
) -> PseudoExpectation:
    """Of a problem file."""


@spelled_out("build", "solve")
def maximize(
    objective: Any, system: Any = None, degree: int | None = None, **options: Unpack[DoorOptions]
) -> PseudoExpectation | ChebyshevBound | ComplexExpectation | OperatorExpectation:
    """Upper bound on the maximum of a polynomial over a system; parameters as in ``minimize``."""
    return _bound("maximize", objective, system, degree, {**options})


def _bound(
    sense: str, objective: Any, system: Any, degree: int | None, given: dict[str, Any]
) -> PseudoExpectation | ChebyshevBound | ComplexExpectation | OperatorExpectation:
    """``minimize`` or ``maximize``, by what kind of thing the objective and the constraints are about."""
    if isinstance(objective, Problem):
        objective, system, degree, given = _of_file(objective, sense, system, degree, given)
    constraints = () if isinstance(system, System) else flat(system)
    system = system if isinstance(system, System) else constraints  # what can be read once is read here
    if is_about(OperatorPolynomial, objective, constraints):
        return minimize_operators(objective, system, sense, given, degree)
    if isinstance(objective, ChebyshevPolynomial):
        return _in_chebyshev(objective, system, degree, sense, given)
    if is_about(ComplexPolynomial, objective, constraints):
        return minimize_complex(objective, system, degree, sense=sense, **given)
    building, solving = _split(sense, given, "system", "degree", "subject_to")
    objective = coerce(objective)
    relaxation = relaxation_for(as_system(system), objective, degree, **building)
    result = (relaxation.maximize if sense == "maximize" else relaxation.minimize)(objective, **solving)
    return _advised(result, objective)


def _advised(pseudo_expectation: PseudoExpectation, objective: Polynomial) -> PseudoExpectation:
    """The answer; where another basis may do better, its reason ends with that."""
    tall = objective.degree > _TALL and len(objective.variables) == 1
    if not (tall and pseudo_expectation.status in ("inaccurate", "failed")):
        return pseudo_expectation
    reason = f"{pseudo_expectation.reason}; {IN_CHEBYSHEV}" if pseudo_expectation.reason else IN_CHEBYSHEV
    return replace(pseudo_expectation, reason=reason)


@spelled_out("build", "solve")
def feasible(
    system: Constraints | Problem, degree: int | None = None, **options: Unpack[AllOptions]
) -> PseudoExpectation:
    """A pseudo-expectation that satisfies the system, or a proven refutation (status ``infeasible``)."""
    given: dict[str, Any] = {**options}
    if isinstance(system, Problem):
        _, system, degree, given = _of_file(system, "feasible", None, degree, given)
    building, solving = _split("feasible", given, "degree", "subject_to")
    return relaxation_for(as_system(system), None, degree, **building).feasible(**solving)


@spelled_out("build", "solve")
def prove_sos(
    p: Any,
    system: Constraints = None,
    degree: int | None = None,
    *,
    zeros: Any = "auto",
    exactly: Callable[[PseudoExpectation], PseudoExpectation] | None = None,
    **options: Unpack[AllOptions],
) -> PseudoExpectation:
    """Is the polynomial a sum of squares (modulo the system, as in Putinar's theorem)?

    Status ``proved`` (a decomposition exists, checked rigorously), ``refuted`` (a pseudo-expectation with
    E[p] < 0 shows that none of this degree exists), ``unknown`` (too close to the boundary to tell in
    floating point; ``sosdp.prove_sos`` then looks for an exact certificate). A symmetric matrix M of
    polynomials stands for ``y'My``, and ``degree`` is then that of the matrix. Parameters as in ``minimize``,
    and

    zeros
        Points where ``p`` is claimed to vanish, shape (k, variables of p in the order of
        ``result.variables``), rational. They are checked exactly (ValueError), and nothing else depends on
        them: the faces that zeros leave are found without.
    exactly
        What proves answers that the first solver leaves open (``sosdp.prove_sos`` gives it).
    """
    building, solving = _split("prove_sos", {**options}, "system", "degree", "zeros")
    entries = np.asarray(p, dtype=object) if isinstance(p, (list, tuple, np.ndarray)) else None
    if entries is not None and entries.ndim:
        p = quadratic_form(entries, "y_", as_system(system).variables)
        degree = None if degree is None else degree + 2
    p = coerce(p)
    relaxation = relaxation_for(as_system(system), p, degree, **building)
    return prove_sum_of_squares(relaxation, p, zeros, exactly, **solving)
