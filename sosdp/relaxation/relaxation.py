"""The moment / sum-of-squares relaxation of a polynomial program, solved and certified."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Unpack

import numpy as np

from ..algebra.coefficients import Number
from ..algebra.polynomial import Polynomial, coerce
from ..conic.formats.files import write_program
from ..conic.program import ConicProgram
from ..model.expectation import (
    Expectation,
    ExpectationConstraint,
    QuadraticExpectation,
    expectation,
    flatten_constraints,
)
from ..model.options import BuildOptions, Options, SolveOptions, Solves, names, read_options, spelled_out
from ..model.system import System, as_system
from ..progress import shown
from ..reduction.bounds import VariableBounds, deduce_bounds
from ..reduction.groebner import with_groebner
from ..reduction.redundant import with_redundant
from .answers import Question, answered
from .assemble.assemble import assemble
from .assemble.identity import ONE, GramProgram, Identity
from .assemble.plan import Plan, by_default, plan
from .assemble.scaling import find_scaling
from .ladder import State, run
from .low_rank.answer import low_rank_answer
from .many import Bounds, Numbers, in_numbers
from .pseudoexpectation import PseudoExpectation
from .solve.forms import moment_form
from .solve.from_solution import nearby
from .solve.to_cvxpy import CvxpyMoments, cvxpy_moments
from .statement import BOUND, FEASIBLE, Demand, Statement
from .threshold import Threshold, bisect

ZERO = Polynomial.from_arrays(np.zeros((0, 1), dtype=np.int32), np.zeros(0))
_LESS = -1 * ONE  # the part of a bound
_TOGETHER = 256  # programs whose first steps are taken together


class Relaxation:
    """Degree-t relaxation of a constraint system: all pseudo-expectations of degree ``degree`` that satisfy
    it.

    Parameters
    ----------
    system
        The constraints, as ``sosdp.minimize`` takes them; every one is enforced as ``satisfies``:
        E[p^2 g] >= 0 for all p that fit, E[q h] = 0.
    degree
        Degree t of the pseudo-expectations; an even one is twice the order in Lasserre's hierarchy. With an
        odd one, products of squares and constraints of odd degree reach it (Putinar's form on an interval).
    redundant
        ``ball`` or ``box``: add such constraints, deduced from the system, to it (see ``sosdp.reduction``).
    products, sparsity, symmetry, prune, quotient, term_steps, symmetries, cone
        See ``sosdp.model.options.Options``. Every reduction keeps the bound, except cliques that are asked
        for (``sparsity='correlative'``) from degree 4 on, chordal term sparsity, and term sparsity stopped
        after ``term_steps``: ``hierarchy`` of the answer says so. With ``'auto'`` degree t means the full
        relaxation: cliques are used at degree 2, where they are exact, where a point attains their bound, and
        where one block over all variables would not end. ``sizes`` reports what was
        done. ``cone='sdsos'`` or ``'dsos'`` replaces positive semidefinite Gram matrices by scaled diagonally
        or diagonally dominant ones: weaker bounds, linear or second-order cone programs.

    Raises ValueError for a degree that is not positive or too small. Source: Lasserre 2001, Parrilo 2003;
    forms and reductions as argued in the modules ``forms``, ``blocks`` and ``reduction``.
    """

    @spelled_out("build")
    def __init__(self, system: Any, degree: int, **options: Unpack[BuildOptions]) -> None:
        self.options = read_options("Relaxation", {**options}, ["build"], more=("system", "degree"))
        self.system = with_redundant(as_system(system), self.options.redundant)
        if self.options.quotient == "groebner":
            self.system = with_groebner(self.system, degree)
        self.degree = degree

    def __repr__(self) -> str:
        return f"Relaxation(degree={self.degree}, {self.options}, {self.system!r})"

    @cached_property
    def bounds(self) -> VariableBounds:
        """A-priori bounds on the variables deduced from the system."""
        return deduce_bounds(self.system.equalities, self.system.inequalities, self.system.matrices)

    def E(self, p: Any) -> Any:
        """The expectation of a polynomial (or array of them) as an affine functional of the
        pseudo-expectation.

        Combine with +, -, numbers and squares into objectives, and with >=, <=, == and ``.psd()`` into
        constraints that hold *in expectation*. ValueError for a degree above that of the relaxation.
        """
        for q in np.asarray(p, dtype=object).reshape(-1):
            if isinstance(q, Polynomial) and q.degree > self.degree:
                raise ValueError(
                    f"E of a polynomial of degree {q.degree} is not defined in a relaxation of degree "
                    f"{self.degree}; raise the degree"
                )
        return expectation(p)

    @spelled_out("solve")
    def minimize(
        self,
        objective: Any,
        subject_to: Any = None,
        *,
        near: PseudoExpectation | None = None,
        **solver_options: Unpack[SolveOptions],
    ) -> PseudoExpectation:
        """Least value of a polynomial, an expectation or a convex quadratic function of expectations.

        ``subject_to``: constraints in expectation (lists and arrays of them), besides the system, which is
        satisfied. Solver options as in ``sosdp.minimize``. ``certified_bound`` is then a bound over all
        probability distributions on the set that meet the constraints in expectation.

        ``near``: the result of a minimisation of the same structure whose numbers differ little; then
        ``newton_cg`` begins there, which saves most of the time of a sweep, and from scratch only where that
        does not lead to a solution. The value depends on it within its tolerance; what is proven does not
        rest on it. ValueError for a result of another structure, and with equations that are no rewriting
        rules.
        """
        return self._bound(objective, "minimize", subject_to, near=near, **solver_options)

    @spelled_out("solve")
    @shown("relaxation")
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
    def minimize_many(self, objectives: Sequence[Any], **solver_options: Unpack[SolveOptions]) -> Bounds:
        """Least values of many polynomials, each as ``minimize`` finds it: arrays ``bounds``,
        ``certified_bounds`` and ``status``, and ``result[k]`` for one of them with its moments.

        What small programs of one structure have in common is made once, whatever door asks, and an answer
        does not depend on it: these are the bounds of single calls.
        """
        wanted = [p if isinstance(p, Polynomial) else Polynomial(p) for p in objectives]
        options = read_options("Relaxation.minimize_many", {**solver_options}, ["solve"])
        # a time limit and a report of stages are about one after the other
        most = _TOGETHER if options.time_limit is None and options.callback is None else 1
        single: list[Numbers] = []
        for k in range(0, len(wanted), most):
            started, some = time.perf_counter(), wanted[k : k + most]
            single += in_numbers([self._question(p, "minimize", None, options, started) for p in some])
        return Bounds.of(single, wanted, partial(self.minimize, **solver_options))

    @spelled_out("solve")
    def maximize(
        self, objective: Any, subject_to: Any = None, **solver_options: Unpack[SolveOptions]
    ) -> PseudoExpectation:
        """Largest value of a polynomial or expectation; see ``minimize``."""
        if isinstance(objective, QuadraticExpectation):
            raise ValueError(
                "a sum of squares of expectations is convex: it can be minimised, not maximised; to bound it "
                "from above maximise E(p**2), which is at least E(p)**2"
            )
        return self._bound(objective, "maximize", subject_to, **solver_options)

    @spelled_out("solve")
    def feasible(self, subject_to: Any = None, **solver_options: Unpack[SolveOptions]) -> PseudoExpectation:
        """A pseudo-expectation that satisfies the system, or a refutation (status ``infeasible``)."""
        return self._bound(None, "feasible", subject_to, **solver_options)

    def to_conic(self, objective: Any = None, *, sense: str = "minimize") -> ConicProgram:
        """The moment relaxation as a conic program in the moments, to solve, bound or write elsewhere.

        Its optimal value is that of the relaxation for ``minimize``, minus it for ``maximize``; without an
        objective 0, or infeasible. Unscaled, and with every reduction that this relaxation has. ValueError
        for another sense and for squares of expectations.
        """
        if sense not in ("minimize", "maximize", "feasible"):
            raise ValueError(f"sense must be minimize, maximize or feasible, got {sense!r}")
        if isinstance(objective, QuadraticExpectation):
            raise ValueError("a squared expectation is no linear objective: use to_cvxpy")
        if isinstance(objective, Expectation):
            objective = objective.polynomial
        statement = ZERO if objective is None else Polynomial(objective)
        identity, _ = self.assemble(-statement if sense == "maximize" else statement)
        form = moment_form(GramProgram(identity, np.ones(1), np.array([np.inf])))
        return replace(form.conic, constant=float(identity.target @ form.fixed))

    def export(
        self, path: str | os.PathLike[str], objective: Any = None, *, sense: str = "minimize", name: str = ""
    ) -> None:
        """Write ``to_conic(objective)`` to a ``.dat-s`` (SDPA sparse) or ``.cbf`` file.

        ``name``: for the comment in the file's first line. ValueError for another ending, OSError.
        """
        what = {"minimize": "minimum", "maximize": "minus the maximum", "feasible": "0, or infeasible"}
        program = self.to_conic(objective, sense=sense)
        wanted = "feasible" if objective is None else sense
        write_program(program, os.fspath(path), comment=f"{name or 'sosdp'} ({what[wanted]})")

    def to_cvxpy(self, including: Any = ()) -> CvxpyMoments:
        """The moments as cvxpy expressions, for any convex objective and constraint that cvxpy knows.

        ``moments.E(p)`` is a cvxpy expression and ``moments.constraints`` what every problem needs:
        ``cp.Problem(cp.Maximize(cp.entr(moments.E(x))), moments.constraints)``. No reduction that depends on
        the objective is used (no symmetry, pruning or automatic sparsity), and nothing of what cvxpy finds is
        certified. ``including``: polynomials whose variables the system does not mention. ValueError for a
        cone other than ``sos``.
        """
        if self.options.cone != "sos":
            raise ValueError("cvxpy gets the whole moment cone: build the relaxation with cone='sos'")
        extra = np.asarray(including, dtype=object).reshape(-1)
        data = [p if isinstance(p, Polynomial) else Polynomial(p) for p in extra]
        sparsity = "correlative" if self.options.sparsity.startswith("correlative") else "dense"
        options = replace(self.options, sparsity=sparsity, symmetry="none", symmetries=None, prune=False)
        layout = plan(self.system, self.degree, [ZERO, *data], options)
        identity = assemble(layout.blocks, layout.equalities, ZERO, [-1.0 * ONE], layout.quotient, layout.ids)
        return cvxpy_moments(self.degree, identity, find_scaling(identity, self.bounds))

    def bisect(
        self,
        parameter: Polynomial,
        low: float,
        high: float,
        *,
        tolerance: float = 1e-3,
        solver: str | Solves = "auto",
        time_limit: float | None = None,
        certify_bound: bool = True,
        verbose: bool = False,
    ) -> Threshold:
        """Least value of ``parameter`` in [low, high] at which the relaxation is feasible, by bisection.

        The parameter is a variable of the system that is no unknown but a number to be chosen; feasibility
        must be monotone in it (larger is easier). See ``sosdp.relaxation.threshold.bisect``. ValueError for a
        parameter that does not occur.
        """
        options: SolveOptions = {
            "solver": solver,
            "time_limit": time_limit,
            "certify_bound": certify_bound,
            "verbose": verbose,
        }
        ids = coerce(parameter).variable_ids
        if ids.size != 1 or ids[0] not in self.system.variable_ids:
            raise ValueError(f"the parameter {parameter} is no variable of the system")
        building: Any = {name: getattr(self.options, name) for name in names("build")} | {"redundant": None}

        def at(value: float) -> PseudoExpectation:
            fixed = self.system.subs({coerce(parameter): value})
            return Relaxation(fixed, self.degree, **building).feasible(**options)

        return bisect(at, low, high, tolerance)

    def assemble(
        self,
        objective: Polynomial,
        squared: Sequence[Polynomial] = (),
        subject_to: Sequence[ExpectationConstraint] = (),
    ) -> tuple[Identity, Plan]:
        """The assembled identity ``objective - gamma + sum_k u_k squared_k = ...`` (no solver is called)."""
        identity, layout = self._demand(objective, squared, subject_to).assembled
        assert layout is not None
        return identity, layout

    def _demand(
        self,
        objective: Polynomial,
        squared: Sequence[Polynomial] = (),
        subject_to: Sequence[ExpectationConstraint] = (),
    ) -> Demand:
        return Demand(
            (objective, _LESS, *squared),
            self.system,
            self.degree,
            self.options,
            price=Fraction(1),
            in_expectation=tuple(subject_to),
        )

    @shown("relaxation")
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
    def _bound(
        self,
        objective: Any,
        sense: str,
        subject_to: Any = None,
        near: PseudoExpectation | None = None,
        without: Collection[str] = (),
        **solver_options: Unpack[SolveOptions],
    ) -> PseudoExpectation:
        """State the question, run the ladder, read the answer; ``without``: names of steps that are left
        out."""
        started = time.perf_counter()
        more = ("subject_to", "near") if sense == "minimize" else ("subject_to",)
        options = read_options(f"Relaxation.{sense}", {**solver_options}, ["solve"], more=more)
        state, wanted = self._question(objective, sense, subject_to, options, started)
        state.without = without
        if near is not None:
            limits: Any = {k: v for k, v in options.solving().items() if k != "solver"}
            state.solve = lambda built: nearby(built.program, built.scalings[0], near, **limits)
        quick = None if state.solve is not None else low_rank_answer(state, wanted)
        return quick or answered(state, run(state), wanted)

    def _question(
        self, objective: Any, sense: str, subject_to: Any, options: Options, started: float
    ) -> tuple[State, Question]:
        """The question, and the state in which it is stated."""
        options.report("build", started)
        constraints = flatten_constraints(subject_to)
        if isinstance(objective, Expectation):
            objective = objective.polynomial
        squares: tuple[tuple[Number, Polynomial], ...] = ()
        linear = objective
        if isinstance(objective, QuadraticExpectation):
            linear, squares = objective.linear, tuple((w, p) for w, p in objective.squares if w > 0)
        target = ZERO if sense == "feasible" else coerce(linear)
        target = -target if sense == "maximize" else target
        demand = self._demand(target, [p for _, p in squares], constraints)
        # w E[p]^2 = max over u of u E[p] - u^2 / (4 w)
        statement = Statement(
            FEASIBLE if sense == "feasible" else BOUND,
            (demand,),
            (Fraction(1), *(Fraction(0) for _ in squares)),
            (np.inf,) * (1 + len(squares)),
            sign=-1 if sense == "maximize" else 1,
            curves=(Fraction(0), *(1 / (4 * Fraction(w)) for w, _ in squares)) if squares else (),
        )
        cone = self.options.cone
        wanted = Question(sense, objective, self.system, self.degree, tuple(constraints), cone)
        return State(statement, options, started), wanted


def relaxation_for(
    system: System, objective: Polynomial | None, degree: int | None, **options: Unpack[BuildOptions]
) -> Relaxation:
    """The relaxation of the given degree, or of the least degree at which the program can be stated."""
    if degree is None:
        data = [] if objective is None else [objective]
        products: Any
        degree, products = by_default(options.get("products", "auto"), system, data)
        options["products"] = products
    return Relaxation(system, degree, **options)
