"""The solution of a program over several measures: its value, and the pseudo-moments of each measure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..algebra.polynomial import Polynomial, variable
from ..model.measures import Integral, IntegralConstraint, Measure
from .assemble.diagonal_dominance import sizes_of
from .assemble.identity import GramProgram
from .assemble.scaling import find_scaling
from .atomic_measure import AtomicMeasure
from .back import given_dual, given_moments
from .candidate import Candidate
from .pseudoexpectation import Centre, DualData, PseudoExpectation, Result
from .statement import Demand


@dataclass(frozen=True, eq=False, repr=False)
class MeasureSolution(Result):
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

    multipliers: np.ndarray
    laws: list[PseudoExpectation] = field(repr=False)
    program: Any = field(default=None, repr=False)
    objective: Integral | None = field(default=None, repr=False)

    def law(self, measure: Measure) -> PseudoExpectation:
        """The pseudo-moments of one measure over its mass: ``law(mu).atoms()``, ``.moment_matrix()``."""
        for known, law in zip(self.program.measures, self.laws, strict=True):
            if known is measure:
                return law
        raise ValueError(f"{measure.name} is no measure of this program")

    def __repr__(self) -> str:
        said = self._bounds if self.sense != "feasible" else self.reason
        if self.status not in ("optimal", "inaccurate"):
            said = self.reason
        masses = (
            []
            if self.status != "optimal"
            else [f"{m.name} of mass {self.mass(m):.6g}" for m in self.measures]
        )
        more = [", ".join([*masses[:6], *(["..."] if len(masses) > 6 else [])])] if masses else []
        return f"MeasureSolution({'; '.join([f'{self.status}: {said}' if said else self.status, *more])})"

    def _facts(self) -> dict[str, object]:
        listed = self.measures[:20] if self.status == "optimal" else []
        return {
            **{f"mass of {m.name}": f"{self.mass(m):.9g}" for m in listed},
            "size": f"degree {self.sizes.get('degree')}, {self.sizes.get('constraints')} constraints",
        }

    @property
    def measures(self) -> list[Measure]:
        """The measures of the program, in the order in which they were made."""
        return list(self.program.measures)

    def atomic_measure(self, measure: Measure, rank: int | None = None) -> AtomicMeasure:
        """A measure as points with weights that add up to its mass; ValueError, saying why, where none is
        read off."""
        return self.law(measure).atomic_measure(rank).scaled(self.mass(measure))

    def multiplier(self, constraint: IntegralConstraint) -> float:
        """The optimum's rate of change with the right side of a constraint that the program was given, the
        same object or one that says the same.

        ValueError for a constraint of another program.
        """
        for known, y in zip(self.program.constraints, self.multipliers.tolist(), strict=True):
            if known.states(constraint):
                return float(y)
        raise ValueError(f"{constraint!r} is not a constraint of this program")

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
        assert self.objective is not None
        p = self.objective.of(measure).as_float()
        for y, constraint in zip(self.multipliers.tolist(), self.program.constraints, strict=True):
            p = p - constraint.body.of(measure) * y
        return p


def laws_of(program: Any, best: Candidate, degree: int, known: bool) -> list[PseudoExpectation]:
    """The pseudo-moments of every measure, as a pseudo-expectation of its own."""
    built, raw, result = best.built, best.raw, []
    duals = given_dual(built, raw.gram, raw.free, raw.unknowns)
    values = built.moments_of(raw.moments)

    def law(demand: Demand, dual: DualData, moments: np.ndarray | None) -> PseudoExpectation:
        piece, layout = demand.assembled
        return PseudoExpectation(
            status=best.status,
            sense="feasible",
            objective=None,
            system=demand.system,
            degree=degree,
            bound=np.nan,
            certified_bound=None,
            reason="",
            solver=raw.solver,
            solver_message=raw.message,
            iterations=raw.iterations,
            sizes={} if layout is None else sizes_of(piece, degree, program.options.cone, layout.report),
            times={},
            identity=piece,
            moments=moments,
            dual=dual,
            program=GramProgram(piece, np.zeros(piece.unknown.shape[0]), np.zeros(0)),
            scaling=find_scaling(piece, demand.bounds),
            cone=program.options.cone,
        )

    for k, dual in enumerate(duals):
        origin, given = built.change.origins[k], built.given.demands[k]
        moved = law(built.statement.demands[k], dual, values[k] if known else None)
        if not any(origin.values()):
            result.append(moved)
            continue
        moments = None
        if known:  # masses are not one: a pseudo-expectation divides by them
            mass = float(values[k][moved.identity.constant_column()])
            moments = given_moments(given.identity.columns, moved._moment_values, origin) * (
                mass if mass > 0 else 1.0
            )
        shift = tuple((variable(v), c) for v, c in origin.items() if c)
        result.append(replace(law(given, dual, moments), centre=Centre(moved, shift)))
    return result
