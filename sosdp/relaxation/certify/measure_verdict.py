"""The status of a program over several measures, and the bound that is proven for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...algebra.coefficients import Number
from ..build.diagonal_dominance import least_eigenvalues
from ..build.identity import GramProgram, Identity, RawSolution
from ..build.measure_units import Units
from .measures import Piece, all_proven, proven_value
from .misfit import misfit, moment_violation, priced_misfit, shortfall
from .mixture import proven_mixture
from .rays import patience, provably_unbounded, unproven
from .stated import as_stated

_AGREE = 1e-6
_ENOUGH = 1e-5
_FLOOR = 0.1  # of the size of the data: what a value near zero is compared with


@dataclass(frozen=True, eq=False)
class MeasureVerdict:
    """What a solver's answer is worth, for the minimisation form."""

    program: GramProgram
    raw: RawSolution
    pieces: list[Piece]
    prices: Sequence[Number]
    constant: Number
    sense: str
    units: Units
    deadline: float = np.inf  # of time.perf_counter
    # all of the objective, and of each constraint (None: not known, and nothing is unbounded)
    coefficients: tuple[list[Number], list[list[Number]]] | None = None

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
        # a proven bound near the value says nothing about better ones: the moments must be some
        if not short <= allowed or moment_violation(self.program, raw) > _ENOUGH:
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
        given, parts = self.coefficients, [p.identity for p in self.pieces]
        stated = None if given is None else as_stated(self.program, *given, parts=parts)
        if stated is None or not (left > 0 and provably_unbounded(stated, left)):
            told = unproven(left, stated is None)
            return "inaccurate", None, f"the solver claims that no bound exists; {told}"
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
