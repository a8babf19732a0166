"""Several measures in one program: generalised moment problems, with both sides and a certified bound."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, Unpack

import numpy as np

from ..algebra.build import own_variables, polynomial
from ..algebra.coefficients import Number, to_float
from ..algebra.polynomial import Polynomial
from ..model.measures import Integral, IntegralConstraint, Measure
from ..model.options import BuildOptions, Options, SolveOptions, read_options, spelled_out
from ..model.system import System, as_system
from ..progress import shown
from ..reduction.groebner import with_groebner
from .answers import bounds_of
from .assemble.plan import by_default
from .candidate import Candidate
from .certify.measures import masses
from .ladder import State, run
from .measure_solution import MeasureSolution, laws_of
from .sos_program import SosProgram
from .statement import FEASIBLE, MEASURES, Demand, Statement

_EMPTY = (
    "no measures meet the constraints: of all measures with mass 1 for which they hold up to a common "
    "factor, that factor is at most 0, by a certified bound"
)


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
        if "degree" in options:
            raise TypeError("a MeasureProgram has no degree of its own: give it to minimize or maximize")
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
        result = Measure(name or f"mu{len(self.measures)}", flat, support)
        self.measures.append(result)
        if mass is not None:
            self.require(result.mass == mass)
        return result

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
        unknown a constraint (none for one that was required before), one sum of squares a measure.

        ``certificates.extract(solution).exact()`` proves it exactly, for the ``solution`` of ``minimize``.
        """
        sign = _sign(sense)
        distinct: dict[Any, tuple[Polynomial, IntegralConstraint]] = {}
        for u, c in zip(own_variables("multiplier_", len(self.constraints)), self.constraints, strict=True):
            distinct.setdefault((c.kind, c.body.constant, frozenset(c.body.parts)), (u, c))
        program = SosProgram([u for u, _ in distinct.values()])
        degree, program.options = self._degree(objective, degree)
        value = polynomial(objective.constant)
        for u, constraint in distinct.values():
            value = value - u * constraint.body.constant
            if constraint.kind == "inequality":
                program.require(u * sign)
        for measure in self.measures:
            p = objective.of(measure)
            for u, constraint in distinct.values():
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

    def _degree(self, objective: Integral, given: int | None) -> tuple[int, Options]:
        """The degree and how programs are built at it; by default the largest that a measure has."""
        if given is not None:
            return given, self.options
        bodies = [objective, *(c.body for c in self.constraints)]
        known = self.options.products
        degree, products = max(by_default(known, m.support, [b.of(m) for b in bodies]) for m in self.measures)
        return degree, replace(self.options, products=products)

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
        wanted, building = self._degree(objective, degree)
        state = State(self._statement(signed, sense, wanted, building), options, started)
        best = run(state)
        if best.status in ("failed", "inaccurate") and not state.late:
            refuted = self._refuted(wanted, building, state.options)
            if refuted is not None:
                best = replace(best, status="infeasible", reason=_EMPTY, settled=True)
        built, raw = best.built, best.raw
        turned = np.array([c.kind == "inequality" for c in self.constraints], dtype=bool)
        slopes = raw.unknowns * built.slopes
        known = raw.has_values and best.status in ("optimal", "inaccurate")
        bound, proven = bounds_of(state, best) if sense != "feasible" else (np.nan, None)
        return MeasureSolution(
            status=best.status,
            sense=sense,
            bound=bound,
            certified_bound=proven,
            reason=best.reason,
            multipliers=np.where(turned, -1.0, 1.0) * slopes * _sign(sense),
            laws=laws_of(self, best, wanted, known),
            solver=raw.solver,
            sizes={
                "moments": sum(int(p.columns.shape[0]) for p in built.pieces),
                "blocks": sorted((n for p in built.pieces for n in p.solved_sides), reverse=True),
                "constraints": len(self.constraints),
                "degree": int(wanted),
                "hierarchy": built.statement.hierarchy,
            },
            times=state.times,
            steps=tuple(state.ran),
            program=self,
            objective=objective,
        )

    def _statement(self, signed: Integral, sense: str, degree: int, building: Options) -> Statement:
        """The program as it was given."""
        wanted = self._in_unknowns(
            [signed.of(m) for m in self.measures], self._rows(), degree, building, signed.constant
        )
        wanted = replace(wanted, sign=_sign(sense))
        return replace(wanted, kind=FEASIBLE) if sense == "feasible" and wanted.single else wanted

    def _rows(self) -> list[Row]:
        """The constraints."""
        return [
            Row([c.body.of(m) for m in self.measures], -c.body.constant, c.kind == "inequality")
            for c in self.constraints
        ]

    def _in_unknowns(
        self,
        objective: list[Polynomial],
        rows: list[Row],
        degree: int,
        building: Options,
        constant: Number = 0,
    ) -> Statement:
        """One demand a measure, one unknown a constraint. An inequality has a multiplier >= 0, which is
        minus an unknown with the limit 0."""
        for row in rows:
            to_float(row.right)
        caps = masses([r.parts for r in rows], [r.right for r in rows], [r.at_least for r in rows])
        demands = []
        for k, (measure, cap) in enumerate(
            zip(self.measures, caps or [None] * len(self.measures), strict=True)
        ):
            unknowns = [r.parts[k] if r.at_least else -r.parts[k] for r in rows]
            support = measure.support
            if building.quotient == "groebner":
                support = with_groebner(support, degree)
            demands.append(Demand((objective[k], *unknowns), support, degree, building, price=cap))
        prices = [Fraction(-r.right if r.at_least else r.right) for r in rows]
        upper = tuple(0.0 if r.at_least else np.inf for r in rows)
        return Statement(MEASURES, tuple(demands), tuple(prices), upper, Fraction(constant))

    def _refuted(self, degree: int, building: Options, options: Options) -> Candidate | None:
        """A proof that no measures meet the constraints, by a program that always has a bound; or None.

        Let mu_k meet them and let constraint j say sum_k mu_k(a_jk) = b_j, not 0. Then the total mass m is
        positive, and nu_k = mu_k / m have total mass 1, t = sum_k nu_k(a_jk) / b_j = 1 / m > 0, and
        sum_k nu_k(a_ik) = b_i t (or >=) for the others. A certified bound t <= 0 refutes that, and nothing
        has to be known of masses.
        """
        rows = self._rows()
        level = max((r for r in rows if not r.at_least), key=lambda r: abs(Fraction(r.right)), default=None)
        if level is None or not level.right:
            return None
        ratio = [p * (1 / Fraction(level.right)) for p in level.parts]
        others = [
            Row([p - q * r.right for p, q in zip(r.parts, ratio, strict=True)], 0, r.at_least)
            for r in rows
            if r is not level
        ]
        whole = Row([polynomial(1)] * len(self.measures), 1, False)
        best = run(State(self._in_unknowns([-q for q in ratio], [*others, whole], degree, building), options))
        return best if best.proven is not None and best.proven >= 0 else None


class Row(NamedTuple):
    """A constraint on integrals: ``sum_k mu_k(parts[k])`` is ``right``, or at least it."""

    parts: list[Polynomial]
    right: Number
    at_least: bool


def _sign(sense: str) -> int:
    return -1 if sense == "maximize" else 1
