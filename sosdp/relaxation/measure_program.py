"""Several measures in one program: generalised moment problems, with both sides and a certified bound."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from ..algebra.build import polynomial, variables
from ..algebra.coefficients import Number
from ..algebra.polynomial import Polynomial
from ..model.measures import Integral, IntegralConstraint, Measure
from ..model.options import BuildOptions, SolveOptions, read_options, spelled_out
from ..model.system import System, as_system
from ..progress import shown
from ..reduction.bounds import deduce_bounds
from ..reduction.groebner import with_groebner
from .build.assemble import assemble
from .build.diagonal_dominance import least_eigenvalues, with_cone
from .build.identity import GramProgram, Identity, RawSolution
from .build.measure_units import Units, find_units, in_units
from .build.plan import least_degree, plan
from .build.scaling import Scaling, find_scaling, scale
from .certify.measures import Piece, all_proven, masses, proven_value
from .certify.misfit import misfit, priced_misfit, shortfall
from .certify.mixture import proven_mixture
from .certify.rays import patience, provably_unbounded, unproven
from .pseudoexpectation import PseudoExpectation, dual_data
from .solve.solve import solve_program
from .sos_program import SosProgram, stack

_AGREE = 1e-6
_ENOUGH = 1e-5
_FLOOR = 0.1  # of the size of the data: what a value near zero is compared with


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
        right = np.array([float(b) for b in prices])
        units = find_units(scaled, right, ~np.array(turned, dtype=bool))
        pieces = [replace(p, identity=in_units(p.identity, k, units)) for k, p in enumerate(pieces)]
        program = GramProgram(stack([p.identity for p in pieces]), right * units.rows, upper)
        built = time.perf_counter()
        options.report("solve", started)
        raw = solve_program(program, **options.solving())
        solved = time.perf_counter()
        options.report("certify", started)
        deadline = np.inf if options.time_limit is None else started + options.time_limit
        judge = _Judge(program, raw, pieces, prices, signed.constant, sense, units, deadline)
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
            laws=_laws(self, whole, scalings, units, raw, wanted, status, known),
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


@dataclass(frozen=True, eq=False)
class _Judge:
    """What a solver's answer is worth, for the minimisation form."""

    program: GramProgram
    raw: RawSolution
    pieces: list[Piece]
    prices: Sequence[Number]
    constant: Number
    sense: str
    units: Units
    deadline: float = np.inf  # of time.perf_counter

    def answer(self, certify_bound: bool) -> tuple[str, float | None, str]:
        """Status, certified bound of the minimisation form, and what is to be said about them."""
        raw = self.raw
        if raw.status == "infeasible":
            return self._refuted()
        if raw.status == "unbounded":
            return self._unbounded()
        if raw.status == "failed":
            return "failed", None, f"the solver gave up ({raw.message})"
        gain = self.program.value(raw.unknowns) / self.units.value
        value = float(self.constant) + gain
        # what the problem's own data make of size one, and the value itself without a given constant
        size = max(_FLOOR * self.units.size, abs(gain))
        rounding = 2 * math.ulp(value)
        best, reason = (None, "not asked for (certify_bound=False)")
        if certify_bound:
            best, reason = self._proven(_AGREE * size + rounding, value)
        near = best is not None and value - best <= _ENOUGH * size + rounding
        short = shortfall(self.program, raw)
        missed = max(short, misfit(self.program, raw))
        if best is None:
            missed = max(missed, priced_misfit(self.program, raw))
        allowed = _ENOUGH * max(self.units.size, abs(gain)) * self.units.value
        label = "optimal" if near or best is None and missed <= allowed else "inaccurate"
        if raw.status == "inaccurate" and (not near or short > allowed):
            label = "inaccurate"
        if label == "inaccurate":
            told = f"moments and multipliers agree to {missed:.1g} only ({raw.message})"
            if best is not None and not near:
                shown = -best if self.sense == "maximize" else best
                told = f"the bound that is proven ({shown:.6g}) is not near the value"
            reason = f"{told}; {reason}" if reason else told
        elif best is None and certify_bound:
            reason += f"; the value rests on moments and multipliers that agree to {max(missed, 1e-16):.1g}"
        return label, best, "" if near and label == "optimal" else reason

    def _limited(self, unknowns: np.ndarray) -> np.ndarray:
        return np.minimum(unknowns, self.program.upper)

    def _proven(self, allowed: float, value: float) -> tuple[float | None, str]:
        raw, about = self.raw, (self.prices, self.constant, self.units)
        unknowns = self._limited(raw.unknowns)
        best, reason = proven_value(self.pieces, raw.gram, raw.free, unknowns, *about)
        if best is not None and value - best <= allowed:
            return best, ""
        mixed, _ = proven_mixture(
            self.program, raw, lambda gram, free, point: all_proven(self.pieces, gram, free, point)
        )
        if mixed is not None:
            other, _ = proven_value(self.pieces, *mixed, *about)
            if other is not None and (best is None or other > best):
                best, reason = other, ""
        return best, reason

    def _refuted(self) -> tuple[str, float | None, str]:
        """No measures meet the constraints: a combination of the constraints that is negative says so."""
        raw, identity = self.raw, self.program.identity
        gain = self.program.value(raw.unknowns)
        if not gain > 0:
            return "failed", None, "the solver's ray does not check"
        bare = [replace(p, identity=_without_target(p.identity)) for p in self.pieces]
        gram, free = raw.gram / gain, raw.free / gain
        unknowns = self._limited(raw.unknowns / gain)
        proven, reason = proven_value(bare, gram, free, unknowns, self.prices, 0, self.units)
        if proven is None or not proven > 0:
            program = GramProgram(_without_target(identity), self.program.objective, self.program.upper)
            near = replace(raw, gram=gram, free=free, unknowns=unknowns)
            mixed, _ = proven_mixture(program, near, lambda g, f, u: self._negative(bare, g, f, u))
            if mixed is None:
                return "inaccurate", None, reason or "the refutation found could not be proven"
        return "infeasible", None, ""

    def _negative(self, bare: list[Piece], gram: np.ndarray, free: np.ndarray, point: np.ndarray) -> bool:
        proven, _ = proven_value(bare, gram, free, point, self.prices, 0, self.units)
        return proven is not None and proven > 0

    def _unbounded(self) -> tuple[str, float | None, str]:
        """No multipliers at all: the moments must be a direction of descent that checks."""
        identity, y = self.program.identity, self.raw.moments
        descent = -float(identity.target @ y)
        if not np.isfinite(y).all() or not descent > 0:
            return "failed", None, "the solver's ray does not decrease the objective"
        y = y / descent
        along = identity.unknown @ y
        along = np.where(np.isfinite(self.program.upper), np.minimum(along, 0.0), along)
        missed = [*np.abs(along), *np.abs(identity.free @ y), *(-v for v in least_eigenvalues(identity, y))]
        # relative to the ray itself: against a coefficient of 1e12 a ray of size 1e-12 is no ray
        if max(missed, default=0.0) > _AGREE * float(np.abs(y).max()):
            return "inaccurate", None, "the solver claims that no bound exists, but its ray does not check"
        left = patience(self.raw, self.deadline)
        if not (left > 0 and provably_unbounded(self.program, left)):
            return "inaccurate", None, f"the solver claims that no bound exists; {unproven(left)}"
        return (
            "unbounded",
            None,
            (
                "no sum-of-squares certificate of this degree exists for any bound; try a higher degree, "
                "bound the supports, or bound the masses"
            ),
        )


def _without_target(identity: Identity) -> Identity:
    nothing = np.zeros_like(identity.target)
    errors = None if identity.errors is None else replace(identity.errors, target=nothing)
    return replace(identity, target=nothing, errors=errors)


def _laws(
    program: MeasureProgram,
    pieces: list[Identity],
    scalings: list[Scaling],
    units: Units,
    raw: RawSolution,
    degree: int,
    status: str,
    known: bool,
) -> list[PseudoExpectation]:
    """The pseudo-moments of every measure, as a pseudo-expectation of its own."""
    found, row, free, column = [], 0, 0, 0
    sizes = units.masses.tolist()
    for measure, piece, scaling, mass in zip(program.measures, pieces, scalings, sizes, strict=True):
        r, f, c = piece.gram.shape[0], piece.free.shape[0], piece.columns.shape[0]
        moments = raw.moments[column : column + c] * scaling.column * mass if known else None
        size = units.value * mass  # of the identity as solved
        gram = raw.gram[row : row + r] / scaling.gram / size
        found.append(
            PseudoExpectation(
                status=status,
                sense="feasible",
                objective=None,
                system=measure.support,
                degree=degree,
                bound=np.nan,
                certified_bound=None,
                reason="",
                solver=raw.solver,
                solver_message=raw.message,
                iterations=raw.iterations,
                sizes={},
                times={},
                identity=piece,
                moments=moments,
                dual=dual_data(piece, gram, raw.free[free : free + f] / scaling.free / size, 0.0),
                program=GramProgram(piece, np.zeros(piece.unknown.shape[0]), np.zeros(0)),
                scaling=scaling,
                cone=program.options.cone,
            )
        )
        row, free, column = row + r, free + f, column + c
    return found


@dataclass(frozen=True, eq=False)
class MeasureSolution:
    """Solution of a ``MeasureProgram``.

    Attributes
    ----------
    status
        ``optimal``; ``infeasible`` (proven: no measures meet the constraints); ``unbounded`` (no bound of
        this degree); ``inaccurate``; ``failed``.
    bound, certified_bound
        The solver's value, and a bound that is proven for all measures that meet the constraints: from below
        for a minimum, from above for a maximum; None, with a ``reason``, where nothing rigorous can be said.
    multipliers
        One number a constraint, in the order of ``require``: the optimum's rate of change with the right
        side, and the coefficients of the dual polynomials (``slack``).
    """

    status: str
    sense: str
    bound: float
    certified_bound: float | None
    reason: str
    multipliers: np.ndarray
    laws: list[PseudoExpectation] = field(repr=False)
    solver: str = ""
    sizes: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    program: MeasureProgram | None = field(default=None, repr=False)
    objective: Integral | None = field(default=None, repr=False)

    @property
    def bound_kind(self) -> str:
        """``lower`` for a minimum, ``upper`` for a maximum."""
        return "upper" if self.sense == "maximize" else "lower"

    def law(self, measure: Measure) -> PseudoExpectation:
        """The pseudo-moments of one measure over its mass: ``law(mu).atoms()``, ``.moment_matrix()``."""
        assert self.program is not None
        for known, law in zip(self.program.measures, self.laws, strict=True):
            if known is measure:
                return law
        raise ValueError(f"{measure.name} is no measure of this program")

    def mass(self, measure: Measure) -> float:
        """The mass of a measure."""
        law = self.law(measure)
        if law.moments is None:
            raise ValueError(f"there are no moments to read: the status is {self.status!r}")
        return float(law.moments[law.identity.constant_column()])

    def __call__(self, integral: Integral) -> float:
        """The value of a sum of integrals at the pseudo-moments."""
        total = float(integral.constant)
        for measure, p in integral.parts:
            law, mass = self.law(measure), self.mass(measure)
            # a law without mass is not divided by it
            total += law(p) * (mass if mass > 0 else 1.0)
        return total

    def slack(self, measure: Measure) -> Polynomial:
        """The dual polynomial of a measure, with float coefficients: what is integrated in the objective less
        the multipliers times what is integrated in the constraints; it is non-negative on the support for a
        minimum, non-positive for a maximum (to the solver's accuracy)."""
        assert self.program is not None and self.objective is not None
        p = self.objective.of(measure).as_float()
        for y, constraint in zip(self.multipliers.tolist(), self.program.constraints, strict=True):
            p = p - constraint.body.of(measure) * y
        return p
