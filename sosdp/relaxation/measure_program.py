"""Several measures in one program: generalised moment problems, with both sides and a certified bound."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from ..algebra.build import polynomial, variables
from ..algebra.coefficients import Number, to_float
from ..algebra.polynomial import Polynomial
from ..model.measures import Integral, IntegralConstraint, Measure
from ..model.options import BuildOptions, SolveOptions, read_options, spelled_out
from ..model.system import System, as_system
from ..progress import shown
from ..reduction.bounds import deduce_bounds
from ..reduction.groebner import with_groebner
from .build.assemble import assemble
from .build.diagonal_dominance import with_cone
from .build.identity import GramProgram, Identity
from .build.measure_units import find_units, in_units
from .build.plan import least_degree, plan
from .build.scaling import find_scaling, scale
from .build.stack import stack
from .certify.measure_verdict import MeasureVerdict
from .certify.measures import Piece, masses
from .measure_solution import MeasureSolution, laws_of
from .solve.solve import solve_program
from .sos_program import SosProgram


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
        wanted = self._degree(objective) if degree is None else degree
        # an inequality has a multiplier >= 0, which is minus an unknown with the limit 0
        turned = [c.kind == "inequality" for c in self.constraints]
        prices = [c.body.constant * (1 if t else -1) for c, t in zip(self.constraints, turned, strict=True)]
        right = np.array([to_float(b) for b in prices])
        to_float(signed.constant)  # refused where no float is near it
        rows = [[c.body.of(m) for m in self.measures] for c in self.constraints]
        caps = masses(rows, [-c.body.constant for c in self.constraints], turned)
        caps = caps or [None] * len(self.measures)  # where there is no constraint at all
        whole, scaled, scalings, pieces = [], [], [], []
        for k, (measure, cap) in enumerate(zip(self.measures, caps, strict=True)):
            unknowns = [row[k] if t else -row[k] for row, t in zip(rows, turned, strict=True)]
            identity, bounds = self._identity(measure, signed.of(measure), unknowns, wanted)
            scaling = find_scaling(identity, bounds)
            whole.append(identity)
            scalings.append(scaling)
            scaled.append(scale(identity, scaling))
            pieces.append(Piece(scaled[-1], scaling.bounds, cap))
        upper = np.where(turned, 0.0, np.inf) if turned else np.zeros(0)
        units = find_units(scaled, right, ~np.array(turned, dtype=bool))
        pieces = [replace(p, identity=in_units(p.identity, k, units)) for k, p in enumerate(pieces)]
        program = GramProgram(stack([p.identity for p in pieces]), right * units.rows, upper)
        built = time.perf_counter()
        options.report("solve", started)
        raw = solve_program(program, **options.solving())
        solved = time.perf_counter()
        options.report("certify", started)
        deadline = np.inf if options.time_limit is None else started + options.time_limit
        stated = [c for m in self.measures for c in signed.of(m).coefs.tolist()]
        about = [
            [b, *(c for p in row for c in p.coefs.tolist())] for b, row in zip(prices, rows, strict=True)
        ]
        judge = MeasureVerdict(
            program, raw, pieces, prices, signed.constant, sense, units, deadline, (stated, about)
        )
        status, certified, reason = judge.answer(options.certify_bound)
        finished = time.perf_counter()
        known = raw.has_values and status in ("optimal", "inaccurate")
        value = float(signed.constant) + program.value(raw.unknowns) / units.value
        bound = _sign(sense) * value if known else np.nan
        if status == "unbounded":
            bound = -_sign(sense) * np.inf
        slopes = raw.unknowns * units.unknowns
        multipliers = np.where(turned, -1.0, 1.0) * slopes * _sign(sense) if turned else slopes
        return MeasureSolution(
            status=status,
            sense=sense,
            bound=bound if sense != "feasible" else np.nan,
            certified_bound=None if certified is None or sense == "feasible" else _sign(sense) * certified,
            reason=reason,
            multipliers=multipliers,
            laws=laws_of(self, whole, scalings, units, raw, wanted, status, known),
            solver=raw.solver,
            sizes={
                "moments": sum(int(p.columns.shape[0]) for p in whole),
                "blocks": sorted((n for p in whole for n in p.solved_sides), reverse=True),
                "constraints": len(self.constraints),
                "degree": int(wanted),
            },
            times={"build": built - started, "solve": solved - built, "certify": finished - solved},
            program=self,
            objective=objective,
        )

    def _identity(
        self, measure: Measure, target: Polynomial, unknowns: list[Polynomial], degree: int
    ) -> tuple[Identity, Any]:
        """``target + sum_i u_i unknowns_i`` as a sum of squares on the support, and bounds on the support."""
        support = measure.support
        if self.options.quotient == "groebner":
            support = with_groebner(support, degree)
        layout = plan(support, degree, [target, *unknowns], self.options)
        found = assemble(layout.blocks, layout.equalities, target, unknowns, layout.quotient, layout.ids)
        bounds = deduce_bounds(support.equalities, support.inequalities, support.matrices)
        return with_cone(found, self.options.cone), bounds


def _sign(sense: str) -> int:
    return -1 if sense == "maximize" else 1
