"""Answers without an optimum, each with its proof: a set is empty, or an objective is unbounded below."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...algebra.polynomial import Polynomial
from ...algebra.variables import variable_name
from ..assemble.identity import unanswered
from ..candidate import Candidate, State, patience
from ..statement import BOUND, FEASIBLE, PROGRAM
from ..steps.exact import EMPTY, has_coefficients, improvable, unbounded, without_coefficients
from .leading_form import descends_without_bound
from .multipliers import refute

_REFUTATION = (
    "an identity -1 = sum of squares, multipliers and constraints, checked in floats with all rounding "
    "bounded; certificates.extract(result).exact() looks for one in rational numbers"
)
_IMPOSSIBLE = (
    "a functional separates every choice of coefficients from the constraints at this degree, proven exactly"
)
_NONE = "no coefficients satisfy the constraints at this degree, proven in exact arithmetic"
_NAMED = 5  # variables that a reason names


def without_optimum(state: State, candidate: Candidate) -> Candidate:
    """What a ray, or an answer without values, shows: an empty set, an objective without end, or nothing."""
    statement, raw = candidate.built.statement, candidate.raw
    endless = falling(state, candidate)
    if endless is not None:
        return endless
    failed = replace(
        candidate,
        status="failed",
        reason=f"{'time_limit is over' if state.late else 'the solver gave up'} ({raw.message})",
    )
    if statement.kind == PROGRAM:
        return failed if raw.status == "failed" else _of_program(state, candidate)
    if raw.status == "infeasible" or statement.kind == FEASIBLE and raw.has_values:
        refuted = _refuted(state, candidate)
        # variables of the objective alone may hide the proof: ask for emptiness without them
        return refuted if refuted.settled else _empty(state) or refuted
    # on an empty set both sides of the program fail: the emptiness is what the user needs to know
    return _empty(state) or (failed if raw.status == "failed" else _unbounded(state, candidate))


def falling(state: State, candidate: Candidate) -> Candidate | None:
    """The answer where nothing limits an objective that is unbounded below, which is proven exactly: of
    variables that no constraint has, beside a set that has a point."""
    statement, demand = candidate.built.statement, candidate.built.statement.demands[0]
    if statement.kind == PROGRAM or statement.mass is None or demand.in_expectation or demand.halves:
        return None
    p, limited = demand.parts[0], np.append(demand.system.variable_ids, 0)
    if demand.constrained:
        others = ~np.isin(p.monos, limited).all(axis=1)
        p = Polynomial.from_arrays(p.monos[others], p.coefs[others])
        if np.isin(p.variable_ids, limited).any():
            return None
    if not descends_without_bound(p):
        return None
    wanted = state.statement.emptiness
    if demand.constrained and (wanted is None or state.ask("emptiness", wanted).status != "optimal"):
        return None
    names = ", ".join(variable_name(v) for v in p.variable_ids.tolist()[:_NAMED])
    text = f"nothing limits {names}, in which the objective is unbounded below"
    # moments are no point: a set without one may have them
    text += ", beside moments of this degree of all else" if demand.constrained else ""
    return replace(_without_bound(candidate), reason=text)


def _refuted(state: State, candidate: Candidate) -> Candidate:
    theorem = refute(state, candidate.built, candidate.raw)
    if theorem is None:
        return replace(candidate, status="failed", reason="the solver's ray does not check")
    if theorem.value is not None and theorem.value > 0:
        about = replace(candidate, built=candidate.built.without_target(), theorem=theorem)
        return replace(about, status="infeasible", reason=_REFUTATION, settled=True)
    text = theorem.reason or "the refutation found could not be proven"
    # what is tried next is tried on the statement: of a bound, these multipliers say nothing
    near = replace(theorem, value=None) if candidate.built.statement.kind == FEASIBLE else None
    return replace(candidate, status="inaccurate", reason=text, theorem=near)


def _empty(state: State) -> Candidate | None:
    """A refutation of the set alone, where there is one."""
    wanted = state.statement.emptiness
    shown = None if wanted is None else state.ask("emptiness", wanted)
    return shown if shown is not None and shown.status == "infeasible" else None


def _unbounded(state: State, candidate: Candidate) -> Candidate:
    """No certificate with any finite bound: moments, and a direction of them, must be proven."""
    shown, text = unbounded(state, candidate)
    if shown is None:
        return replace(candidate, status="infeasible", reason=EMPTY, settled=True)
    if not shown:
        return replace(candidate, reason=f"the solver claims that no bound exists; {text}")
    return _without_bound(candidate)


def _of_program(state: State, candidate: Candidate) -> Candidate:
    """No optimum of a program: no coefficients at all, or some that are improved without end."""
    if candidate.raw.status == "infeasible" and patience(candidate.raw, state.deadline) > 0:
        # multipliers that improve on nothing, added to coefficients that are proven: also of numbers that
        # floats only round, on a set that bounds what they are off by
        ray = refute(state, candidate.built, candidate.raw)
        improves = ray is not None and ray.value is not None and ray.value > 0
        if improves and _has_coefficients(state) or improvable(state, candidate):
            text = "a direction of the unknowns improves the objective without end, proven"
            return replace(candidate, status="unbounded", reason=text, value=np.inf, settled=True)
    shown, text = without_coefficients(state, candidate)
    if shown:
        return replace(candidate, status="infeasible", reason=_IMPOSSIBLE, settled=True)
    none = candidate.raw.status == "unbounded"
    claim = "no coefficients exist at this degree" if none else "there is no optimum"
    return replace(candidate, reason=f"the solver claims that {claim}; {text}")


def with_coefficients(state: State, candidate: Candidate) -> Candidate:
    """An optimum that nothing proves; where no coefficients exist, no optimum: those that miss an identity by
    next to nothing have all that an optimum has."""
    if has_coefficients(state, candidate) is not False:
        return candidate
    none = unanswered(candidate.built.program.identity, "infeasible", "", candidate.raw.solver)
    return replace(candidate, raw=none, status="infeasible", reason=_NONE, settled=True)


def _has_coefficients(state: State) -> bool:
    """Whether some coefficients are proven."""
    wanted = state.statement
    none = (Fraction(0),) * len(wanted.prices)
    return (
        state.ask("any coefficients", replace(wanted, prices=none, constant=Fraction(0))).proven is not None
    )


def _without_bound(candidate: Candidate) -> Candidate:
    statement = candidate.built.statement
    cone = statement.demands[0].options.cone
    certificate = "sum-of-squares certificate" if cone == "sos" else f"certificate with cone={cone!r}"
    cure = statement.demands[0].cure
    if statement.kind != BOUND:
        cure = "try a higher degree, bound the supports, or bound the masses"
    reason = (
        f"at this degree the relaxation is unbounded, which the problem need not be: no {certificate} of its "
        f"kind exists for any bound; {cure}"
    )
    return replace(candidate, status="unbounded", reason=reason, value=-np.inf, settled=True)
