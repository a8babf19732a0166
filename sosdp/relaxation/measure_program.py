"""Several measures in one program: generalised moment problems, with both sides and a certified bound."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from ..algebra.build import polynomial, variables
from ..algebra.coefficients import Number, to_float
from ..algebra.polynomial import Polynomial
from ..model.measures import Integral, IntegralConstraint, Measure
from ..model.options import BuildOptions, SolveOptions, read_options, spelled_out
from ..model.system import System, as_system
from ..progress import shown
from ..reduction.groebner import with_groebner
from .answers import bound, certified
from .assemble.plan import least_degree
from .certify.measures import masses
from .ladder import State, run
from .measure_solution import MeasureSolution, laws_of
from .sos_program import SosProgram
from .statement import FEASIBLE, MEASURES, Demand, Statement


class MeasureProgram:
    """Unknown measures, linear constraints on their moments, a linear objective.

    >>> x = sd.variables("x")
    >>> program = sd.MeasureProgram()
    >>> mu = program.measure([x], on=sd.System(x**2 <= 1), mass=2)
    >>> program.require(mu(x) == 1)
    >>> program.minimize(mu(x**2)).bound       # 1/2: mass 2, mean 1/2

    Every measure has its own variables and support; masses are what the constraints say. The answer bounds
    the value over all tuples of measures. ``options`` are those of ``sosdp.model.options.Options``, for
    every measure.

    Source: Lasserre, Moments, Positive Polynomials and Their Applications (2010), chapters 1, 4 and 10.
    """

    @spelled_out("build", without=["redundant", "symmetry", "symmetries"])
    def __init__(self, **options: Unpack[BuildOptions]) -> None:
        self.options = read_options(
            "MeasureProgram", {**options}, ["build"], without=["redundant", "symmetry", "symmetries"]
        )
        self.measures: list[Measure] = []
        self.constraints: list[IntegralConstraint] = []

    def measure(
        self, variables: Any, on: System | None = None, name: str | None = None, mass: Number | None = None
    ) -> Measure:
        """A new measure on the points of a system, in the given variables; ``mass``: its mass, if known.

        ValueError for a system in other variables.
        """
        listed = [variables] if isinstance(variables, Polynomial) else variables
        flat = tuple(np.asarray(listed, dtype=object).reshape(-1).tolist())
        if not flat or any(not isinstance(v, Polynomial) or not v.is_variable for v in flat):
            raise ValueError("the variables of a measure are variables, for example measure([x, y])")
        support = as_system(on)
        foreign = [v for v in support.variables if v not in flat]
        if foreign:
            raise ValueError(f"{foreign[0]} describes the support but is not a variable of the measure")
        found = Measure(name or f"mu{len(self.measures)}", flat, support)
        self.measures.append(found)
        if mass is not None:
            self.require(found.mass == mass)
        return found

    def require(self, *constraints: Any) -> MeasureProgram:
        """Add constraints between integrals, lists and arrays of them too; returns the program."""
        for entry in constraints:
            if isinstance(entry, IntegralConstraint):
                self._known(entry.body)
                self.constraints.append(entry)
            elif isinstance(entry, Iterable):
                self.require(*entry)
            else:
                raise TypeError(
                    f"require takes constraints on integrals (mu(p) == 1), not {type(entry).__name__}; what "
                    "holds on the support belongs into measure(..., on=system)"
                )
        return self

    @spelled_out("solve")
    def minimize(
        self, objective: Integral, degree: int | None = None, **solver_options: Unpack[SolveOptions]
    ) -> MeasureSolution:
        """Least value of a sum of integrals; a ``MeasureSolution``.

        ``degree``: of the pseudo-moments, by default the least at which the program can be stated.
        """
        return self._solve(objective, "minimize", degree, **solver_options)

    @spelled_out("solve")
    def maximize(
        self, objective: Integral, degree: int | None = None, **solver_options: Unpack[SolveOptions]
    ) -> MeasureSolution:
        """Largest value of a sum of integrals; a ``MeasureSolution``."""
        return self._solve(objective, "maximize", degree, **solver_options)

    @spelled_out("solve")
    def feasible(self, degree: int | None = None, **solver_options: Unpack[SolveOptions]) -> MeasureSolution:
        """Moments that meet every constraint (status ``optimal``), or a proof that there are none."""
        return self._solve(Integral((), 0), "feasible", degree, **solver_options)

    def dual(
        self, objective: Integral, sense: str = "minimize", degree: int | None = None
    ) -> tuple[SosProgram, Polynomial]:
        """The dual as a ``SosProgram`` and the linear objective to maximise (to minimise for a maximum): one
        unknown a constraint, one sum of squares a measure.

        ``certificates.extract(solution).exact()`` proves it exactly, for the ``solution`` of ``minimize``.
        """
        sign = _sign(sense)
        unknowns = variables("sosdp_multiplier_", len(self.constraints))
        program = SosProgram(unknowns) if len(self.constraints) else SosProgram([])
        program.options = self.options
        degree = self._degree(objective) if degree is None else degree
        value = polynomial(objective.constant)
        for u, constraint in zip(unknowns, self.constraints, strict=True):
            value = value - u * constraint.body.constant
            if constraint.kind == "inequality":
                program.require(u * sign)
        for measure in self.measures:
            p = objective.of(measure)
            for u, constraint in zip(unknowns, self.constraints, strict=True):
                p = p - u * constraint.body.of(measure)
            program.require(p * sign, on=measure.support, degree=degree)
        return program, value

    def __str__(self) -> str:
        lines = ["measures"]
        for m in self.measures:
            lines.append(f"  {m.name} in {', '.join(map(str, m.variables))}, on {m.support!r}")
        return "\n".join([*lines, "subject to", *(f"  {c!r}" for c in self.constraints)])

    def __repr__(self) -> str:
        return f"MeasureProgram({len(self.measures)} measures, {len(self.constraints)} constraints)"

    def _known(self, integral: Integral) -> None:
        for measure, _ in integral.parts:
            if not any(measure is known for known in self.measures):
                raise ValueError(f"{measure.name} is a measure of another program")

    def _degree(self, objective: Integral) -> int:
        bodies = [objective, *(c.body for c in self.constraints)]
        return max(least_degree(m.support, [b.of(m) for b in bodies]) for m in self.measures)

    @shown("relaxation")
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
    def _solve(
        self, objective: Integral, sense: str, degree: int | None, **solver_options: Unpack[SolveOptions]
    ) -> MeasureSolution:
        options = read_options(f"MeasureProgram.{sense}", {**solver_options}, ["solve"], more=("degree",))
        if not isinstance(objective, Integral):
            raise TypeError(f"the objective is a sum of integrals (mu(p)), not {type(objective).__name__}")
        if not self.measures:
            raise ValueError("the program has no measure; call measure(variables, on=system) first")
        self._known(objective)
        started = time.perf_counter()
        options.report("build", started)
        signed = objective * _sign(sense)
        to_float(signed.constant)  # refused where no float is near it
        wanted = self._degree(objective) if degree is None else degree
        state = State(self._statement(signed, sense, wanted), options, started)
        best = run(state)
        built, raw = best.built, best.raw
        turned = np.array([c.kind == "inequality" for c in self.constraints], dtype=bool)
        slopes = raw.unknowns * built.slopes
        known = raw.has_values and best.status in ("optimal", "inaccurate")
        return MeasureSolution(
            status=best.status,
            sense=sense,
            bound=bound(state, best) if sense != "feasible" else np.nan,
            certified_bound=certified(state, best) if sense != "feasible" else None,
            reason=best.reason,
            multipliers=np.where(turned, -1.0, 1.0) * slopes * _sign(sense),
            laws=laws_of(self, best, wanted, known),
            solver=raw.solver,
            sizes={
                "moments": sum(int(p.columns.shape[0]) for p in built.pieces),
                "blocks": sorted((n for p in built.pieces for n in p.solved_sides), reverse=True),
                "constraints": len(self.constraints),
                "degree": int(wanted),
            },
            times=state.times,
            steps=tuple(state.ran),
            program=self,
            objective=objective,
        )

    def _statement(self, signed: Integral, sense: str, degree: int) -> Statement:
        """One demand a measure, one unknown a constraint. An inequality has a multiplier >= 0, which is
        minus an unknown with the limit 0."""
        turned = [c.kind == "inequality" for c in self.constraints]
        rows = [[c.body.of(m) for m in self.measures] for c in self.constraints]
        right = [-c.body.constant for c in self.constraints]
        for value in right:
            to_float(value)
        caps = masses(rows, right, turned) or [None] * len(self.measures)
        demands = []
        for k, (measure, cap) in enumerate(zip(self.measures, caps, strict=True)):
            unknowns = [row[k] if t else -row[k] for row, t in zip(rows, turned, strict=True)]
            support = measure.support
            if self.options.quotient == "groebner":
                support = with_groebner(support, degree)
            demands.append(Demand((signed.of(measure), *unknowns), support, degree, self.options, price=cap))
        prices = [Fraction(-b if t else b) for b, t in zip(right, turned, strict=True)]
        upper = tuple(0.0 if t else np.inf for t in turned)
        sign = _sign(sense)
        asked = Statement(MEASURES, tuple(demands), tuple(prices), upper, Fraction(signed.constant), sign)
        return replace(asked, kind=FEASIBLE) if sense == "feasible" and asked.single else asked


def _sign(sense: str) -> int:
    return -1 if sense == "maximize" else 1
