"""Answers without an optimum, each with its proof: a set is empty, or an objective falls without end."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...conic.breakdown import OTHER_UNITS
from ..assemble.diagonal_dominance import least_eigenvalues
from ..candidate import Candidate, State
from ..change import Change, build
from ..judge import proven
from ..statement import BOUND, FEASIBLE, PROGRAM
from .leading_form import falls_without_end
from .multipliers import refute
from .rays import patience, provably_unbounded, unproven, verdict
from .stated import Stated, as_stated

_REFUTATION = (
    "an identity -1 = sum of squares, multipliers and constraints, checked in floats with all rounding "
    "bounded; certificates.extract(result).exact() looks for one in rational numbers"
)
_LONGEST = 60  # powers of two: how far along a ray multipliers are looked for
_CHECKS = 1e-6  # violation of a ray, relative to the ray, up to which it counts


def without_optimum(state: State, found: Candidate) -> Candidate:
    """What a ray, or an answer without values, shows: an empty set, an objective without end, or nothing."""
    statement, raw = found.built.statement, found.raw
    endless = falling(found)
    if endless is not None:
        return endless
    failed = replace(found, status="failed", reason=f"the solver gave up ({raw.message})")
    if statement.kind == PROGRAM:
        return failed if raw.status == "failed" else _of_program(state, found)
    if raw.status == "infeasible" or statement.kind == FEASIBLE and raw.has_values:
        refuted = _refuted(found)
        # variables of the objective alone may hide the proof: ask for emptiness without them
        return refuted if refuted.settled else _empty(state) or refuted
    # on an empty set both sides of the program fail: the emptiness is what the user needs to know
    return _empty(state) or (failed if raw.status == "failed" else _unbounded(state, found))


def falling(found: Candidate) -> Candidate | None:
    """The answer where nothing limits an objective that falls without end, which is proven exactly."""
    statement, demand = found.built.statement, found.built.statement.demands[0]
    if statement.kind == PROGRAM or statement.mass is None or len(demand.system):
        return None
    if not falls_without_end(demand.parts[0]):
        return None
    return replace(found, status="unbounded", reason=_no_bound(found), value=-np.inf, settled=True)


def _refuted(found: Candidate) -> Candidate:
    theorem = refute(found.built, found.raw)
    if theorem is None:
        return replace(found, status="failed", reason="the solver's ray does not check")
    if theorem.value is not None and theorem.value > 0:
        about = replace(found, built=found.built.without_target(), theorem=theorem)
        return replace(about, status="infeasible", reason=_REFUTATION, settled=True)
    told = theorem.reason or "the refutation found could not be proven"
    # what is tried next is tried on the statement: of a bound, these multipliers say nothing
    near = replace(theorem, value=None) if found.built.statement.kind == FEASIBLE else None
    return replace(found, status="inaccurate", reason=told, theorem=near)


def _empty(state: State) -> Candidate | None:
    """A refutation of the set alone, where there is one."""
    asked = state.statement.emptiness
    shown = None if asked is None else state.ask("emptiness", asked)
    return shown if shown is not None and shown.status == "infeasible" else None


def _unbounded(state: State, found: Candidate) -> Candidate:
    """No certificate with any finite bound: the solver's ray must be a direction of the moments that checks,
    and a direction must be proven."""
    program, y = found.built.program, found.raw.moments
    identity = program.identity
    descent = -float(identity.target @ y)
    if not np.isfinite(y).all() or not descent > 0:
        return replace(found, status="failed", reason="the solver's ray does not decrease the objective")
    y = y / descent
    along = identity.unknown @ y
    # a direction has E[1] = 0: moments of points are none, however low the objective is at them
    along = np.where(np.isfinite(program.upper), np.minimum(along, 0.0), along)
    missed = [*np.abs(along), *np.abs(identity.free @ y), *(-v for v in least_eigenvalues(identity, y))]
    claim = "the solver claims that no bound exists"
    # relative to the ray itself: against a coefficient of 1e12 a ray of size 1e-12 is no ray
    if max(missed, default=0.0) > _CHECKS * float(np.abs(y).max()):
        return replace(
            found, status="inaccurate", reason=f"{claim}, but its ray does not check; {OTHER_UNITS}"
        )
    left = patience(found.raw, state.deadline)
    stated = _as_asked(state, found)
    if not (stated.exact and left > 0 and provably_unbounded(stated.program, left)):
        return replace(found, status="inaccurate", reason=f"{claim}; {unproven(left, not stated.exact)}")
    return replace(found, status="unbounded", reason=_no_bound(found), value=-np.inf, settled=True)


def _of_program(state: State, found: Candidate) -> Candidate:
    """No optimum of a program: no coefficients at all, or some that are improved without end."""
    left = patience(found.raw, state.deadline)
    if found.raw.status == "infeasible" and left > 0:
        # multipliers that improve on nothing, added to coefficients that are proven
        ray = refute(found.built, found.raw)
        improves = ray is not None and ray.value is not None and ray.value > 0
        if improves and _has_coefficients(state) or _far_out(state):
            told = "a direction of the unknowns improves the objective without end, proven"
            return replace(found, status="unbounded", reason=told, value=np.inf, settled=True)
    stated = _as_asked(state, found)
    status, reason = verdict(found.built.program, found.raw, stated, left)
    settled = status in ("infeasible", "unbounded")
    return replace(found, status=status, reason=reason, settled=settled)


def _has_coefficients(state: State) -> bool:
    """Whether some coefficients are proven."""
    asked = state.statement
    none = (Fraction(0),) * len(asked.prices)
    return state.ask("any coefficients", replace(asked, prices=none, constant=Fraction(0))).proven is not None


def _far_out(state: State) -> bool:
    """Whether a bound is proven of any size: by a large multiple of what refutes the set, in which the
    objective is absorbed."""
    asked = state.statement.emptiness if state.statement.single else None
    shown = None if asked is None else state.ask("emptiness", asked)
    if shown is None or shown.status != "infeasible" or shown.theorem is None:
        return False
    whole = tuple(replace(d, reduced=False) for d in state.statement.demands)
    built = build(replace(state.statement, demands=whole), shown.built.change)
    ray, (old,), (new,) = shown.theorem, shown.built.scalings, built.scalings
    gram, free = old.gram_of(ray.gram) * new.gram * new.value, old.free_of(ray.free) * new.free * new.value
    unknowns = np.array([float(u) for u in ray.given]) / built.slopes
    lengths = 2.0 ** np.arange(0, _LONGEST, 10)
    return any(proven(built, t * gram, t * free, t * unknowns).value is not None for t in lengths)


def _as_asked(state: State, found: Candidate) -> Stated:
    """The program of the statement in the variables that were given, with the entries that were stated."""
    built = found.built
    if not built.change.trivial:
        built = build(state.statement, Change.none(state.statement))
    return as_stated(built.program, *built.statement.coefficients, parts=built.pieces)


def _no_bound(found: Candidate) -> str:
    statement = found.built.statement
    cone = statement.demands[0].options.cone
    certificate = "sum-of-squares certificate" if cone == "sos" else f"certificate with cone={cone!r}"
    if statement.kind != BOUND:
        return (
            f"no {certificate} of this degree exists for any bound; try a higher degree, "
            "bound the supports, or bound the masses"
        )
    return f"no {certificate} of this degree exists for any bound; {statement.demands[0].cure}"
