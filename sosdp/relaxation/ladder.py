"""The one list of steps: what is tried on a statement, in this order, while the answer is doubtful.

A step is a file of ``steps/`` with one function of the state. What a step finds is judged (``judge``);
the best candidate is the answer, with the best proven bound of all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..conic.clock import OutOfTime, limited
from ..conic.program import ProblemTooLarge, SolverUnavailable
from .attained import attained, feasible_point, has_point, is_turned, may_be_empty, shows_points
from .candidate import Candidate, Ran, State
from .certify.multipliers import prove
from .certify.proof import decomposed
from .certify.without_optimum import falling, with_coefficients, without_optimum
from .judge import (
    ENOUGH,
    SATISFIED,
    compared_at_points,
    has_distant_moments,
    own_misfit,
    shortfall,
    tolerance,
    unresolved,
    variation_of,
    violation,
)
from .statement import FEASIBLE, MEASURES, PROGRAM, PROOF, Statement
from .steps import Step
from .steps.centre import centred
from .steps.centre import when as may_centre
from .steps.exact import MOMENTS, decision, has_moments, is_decidable, is_soon_decided
from .steps.first import first
from .steps.one_variable import is_in_one_variable, least_value
from .steps.other_form import other_form
from .steps.other_method import other_method
from .steps.small import small
from .steps.together import first_of_each

STEPS = (
    Step(
        "one variable",
        is_in_one_variable,
        least_value,
        "the real critical points of a polynomial, isolated in balls (Arb)",
        "wells of degree 40 without a set: named 84",
    ),
    Step(
        "centre",
        may_centre,
        centred,
        "a relaxation does not change under x = c + u; the digits of a solver do",
        "a polynomial that varies little beside its terms, in a box of 1e9: unit 4",
    ),
    Step(
        "other form",
        lambda s: s.best.raw.solver == "clarabel",
        other_form,
        "Gram and moment form of one program end early on different data",
        "sets of one point: nearly 1, nearly 3",
    ),
    Step(
        "other method",
        lambda s: len(s.statement.demands) == 1,
        other_method,
        "values at points, or an interior point",
        "a block of side 66 at which Newton's method fails: dense rosenbrock",
    ),
    Step(
        "small",
        lambda s: s.deadline == math.inf,
        small,
        "CVXOPT and SDPA on programs that take a moment",
        "equations with coefficients of 1e34, an objective of 26 digits: finite 19, planted 1",
    ),
    Step(
        "exact",
        lambda s: is_decidable(s.best.built, FEASIBLE),  # measures: of every candidate
        lambda s: decision(s, s.best),
        "what touches a cone in floats may be decided by faces in exact arithmetic (``conic.strategies``)",
        "two lines that are parallel, moments on a face: file refute_matching_K5_d2",
    ),
)
FIRST = "first"
_EXACTLY = "certificates.extract(result).exact() may prove it all the same"
_LARGE = 1000  # moments of a program that is not solved again
_CLOSE = 1e-4  # for less than so much of the value


def run(state: State) -> Candidate:
    """Every step that applies, until the answer is not doubtful or the time is over; the best candidate with
    the best proven bound of all. ``state.ran`` says what was done."""
    with limited(lambda: state.deadline - time.perf_counter()):
        if not state.candidates:  # else it goes on
            _begun(state, first)
        return _climbed(state)


def _begun(state: State, what: Callable[[State], Candidate]) -> None:
    state.judging, state.running, state.at = _judged, run, state.started
    _take(state, FIRST, what)


def _climbed(state: State) -> Candidate:
    own = state.options.solver in ("auto", "borrowed") and state.solve is None
    answer = _joined(state)
    for step in STEPS if own else ():
        if not answer.doubtful or _digits_are_left(answer):
            break
        if step.name in state.without or state.late or not step.when(state):
            continue
        _take(state, step.name, step.what)
        answer = _joined(state)
    return answer


def begin_together(states: list[State]) -> None:
    """The first step of statements that have all in common but the coefficients of one polynomial, with what
    is the same for all done once; ``run`` goes on from there, to the answers that it has of each alone."""
    lead, *others = states
    with limited(lambda: lead.deadline - time.perf_counter()):
        _begun(lead, first)
    alike = lead.statement
    if lead.candidates[0].built.given is not alike or alike.demands[0].shared is None:
        return
    for state in others:
        state.statement = alike.with_target(state.statement.demands[0].parts[0])
    solved = first_of_each(others, lead.candidates[0].built)
    for state, known in zip(others, solved, strict=True):
        if known is not None:
            _begun(state, lambda s, known=known: s.judged(FIRST, *known))  # type: ignore[misc]


def _digits_are_left(answer: Candidate) -> bool:
    """Whether a large program's two ends agree but for last digits, which no other step found: networks of 89
    and more buses, where two more steps took two thirds of the time. With a point that attains the value only
    digits of the proof are missing, and another form finds them (a chain of 200 variables)."""
    large = answer.built.program.identity.columns.shape[0] > _LARGE and math.isinf(answer.above)
    return (
        large and answer.violated <= 10 * SATISFIED and answer.width(answer.value + answer.missed) <= _CLOSE
    )


def _take(state: State, name: str, what: Callable[[State], Candidate | None]) -> None:
    """Run a step, and note what it did."""
    began, place = time.perf_counter(), len(state.ran)
    try:
        result = what(state)
    except (SolverUnavailable, ProblemTooLarge, OutOfTime, OverflowError, np.linalg.LinAlgError):
        if not state.candidates:
            raise
        return
    if result is None:
        return
    state.candidates.append(result)
    proven = None if result.proven is None else state.statement.sign * float(result.proven)
    took = time.perf_counter() - began
    state.ran.insert(place, Ran(name, result.raw.solver, took, result.status, proven))  # before what it asked


def _judged(state: State, candidate: Candidate) -> Candidate:
    built, raw = candidate.built, candidate.raw
    if built.statement.kind == PROOF:
        return decomposed(candidate)
    if built.statement.kind == FEASIBLE and raw.has_values:
        return _feasible(state, candidate)
    if not raw.has_values:
        candidate = without_optimum(state, candidate)
    if not candidate.settled and is_decidable(built, MEASURES):
        candidate = decision(state, candidate)
    if candidate.settled or not raw.has_values:
        return candidate
    theorem, inner = None, None
    if state.options.certify_bound:
        theorem, inner = prove(state, built, raw, candidate.measured)
    endless = falling(state, candidate) if theorem is None or theorem.value is None else None
    if endless is not None:
        return endless
    value = float(built.statement.constant) + built.program.value(raw.unknowns) * built.unit
    enough = tolerance(built, value)
    known = candidate.measured
    missed = (shortfall(built.program, raw) if known is None else known.missed) * built.unit
    violated = violation(built, raw) if known is None else known.violated
    if theorem is None or theorem.value is None:
        # nothing is proven: every identity must be right in its own size
        missed = max(missed, own_misfit(built, raw) * enough / ENOUGH)
        if missed <= enough:
            missed = max(missed, unresolved(built, raw) * enough)
    elif compared_at_points(built, raw, state.options.tolerance):
        missed, violated = abs(value - float(theorem.value)), 0.0
    candidate = replace(
        candidate, value=value, theorem=theorem, inner=inner, missed=missed, violated=violated
    )
    if built.statement.kind == PROGRAM and not any(built.statement.prices):
        candidate = replace(candidate, above=value)  # any coefficients are the best
    answer = closed(candidate)
    if theorem is not None and (answer.doubtful or theorem.value is None):
        above, point = attained(built, raw, theorem)
        answer = closed(replace(candidate, above=above, point=point))
    return _nonempty(state, answer)


def _nonempty(state: State, candidate: Candidate) -> Candidate:
    """The candidate; where it is an optimum on a set of which no point is proven, what is known of the set: a
    set that is empty by next to nothing has all that an optimum has."""
    built = candidate.built
    if candidate.status == "optimal" and built.statement.kind == PROGRAM and candidate.proven is None:
        candidate = with_coefficients(state, candidate)
    wanted, looked = _unshown(state, candidate) if candidate.status == "optimal" else (None, False)
    if wanted is None:
        return candidate
    shown = state.ask("emptiness", wanted)
    if shown.status == "infeasible" and built.statement.kind != PROGRAM:
        return shown
    if shown.status == "infeasible" and candidate.proven is not None:
        text = "the set is empty, and coefficients are proven: multiples of what refutes it improve on them"
        return replace(candidate, status="unbounded", reason=text, value=math.inf, settled=True)
    return (
        candidate
        if shown.status == "optimal" or not looked
        else closed(replace(candidate, doubt=shown.reason))
    )


def _unshown(state: State, candidate: Candidate) -> tuple[Statement | None, bool]:
    """Whether a set is empty, or there are no measures, as a question (None: points are proven, or it would
    take long), and whether there is no optimum without an answer."""
    built, statement = candidate.built, state.statement
    if statement.kind == MEASURES and not statement.single:
        return (statement.emptiness if is_soon_decided(built) else None), True
    demand = built.statement.demands[0]
    if not (statement.single and statement.demands[0].constrained) or demand.has_origin:
        return None, False
    looked = shows_points(built) and not is_turned(built, candidate.raw)
    open_yet = (looked or may_be_empty(built)) and not has_point(built, candidate.raw)
    return (statement.emptiness if open_yet else None), looked


def closed(candidate: Candidate) -> Candidate:
    """The candidate with the status that its bracket allows."""
    if candidate.proven is not None and candidate.above < candidate.proven:  # then the point is infeasible
        candidate = replace(candidate, above=math.inf, point=None)
    built, raw, proven = candidate.built, candidate.raw, candidate.proven
    lowest = min(candidate.above, built.at_origin)  # of the values that are attained
    value = min(candidate.value, lowest)
    # a point below the value contradicts it
    candidate = replace(candidate, missed=max(candidate.missed, candidate.value - value))
    # a value that the proof contradicts is no size
    best = candidate.above if math.isfinite(candidate.above) else value
    enough = tolerance(
        built, value if proven is None else max(value, float(proven)), variation_of(built, raw, best)
    )
    lower, sign = value - candidate.missed if proven is None else float(proven), built.statement.sign
    if proven is not None and lowest - lower <= enough and not candidate.doubt:
        return replace(candidate, status="optimal", value=min(lowest, max(value, lower)), reason="")
    if candidate.doubt:
        text = (
            f"{sign * value:.9g} would be the value; whether the set has a point is open: {candidate.doubt}"
        )
        return replace(candidate, status="inaccurate", reason=text, value=max(value, lower))
    by_moments = (
        (raw.status == "optimal" or proven is not None)
        and candidate.missed <= enough
        and candidate.violated <= 10 * SATISFIED
        and abs(value - lower) <= enough
    )
    if by_moments and not has_distant_moments(built, raw):
        why = ""
        if proven is None and candidate.theorem is not None:
            agree = f"moments and multipliers that agree to {max(candidate.missed, 1e-16):.1g}"
            why = f"{candidate.theorem.reason}; the value rests on {agree}; {_EXACTLY}"
        elif proven is None:
            why = "not asked for (certify_bound=False)"
        return replace(candidate, status="optimal", value=max(value, lower), reason=why)
    known = "" if candidate.theorem is None else f" ({candidate.theorem.reason})"
    ends = [sign * end for end in (lower, value, candidate.above)]
    texts = [f"{end:.9g}" for end in ends]
    if len({*texts}) < len({*ends}):
        texts = list(map(repr, ends))
    said = [
        f"nothing is proven{known}" if proven is None else f"{texts[0]} is proven",
        f"the solver's value is {texts[1]}",
        *([f"a point has the value {texts[2]}"] if math.isfinite(candidate.above) else []),
        f"moments miss a constraint by {candidate.violated:.1g} and the value by {candidate.missed:.1g}",
    ]
    message = f" ({raw.message})" if raw.status != "optimal" else ""
    return replace(candidate, status="inaccurate", reason="; ".join(said) + message, value=value)


def _feasible(state: State, candidate: Candidate) -> Candidate:
    """A refutation, or a point that satisfies everything; of moments that only nearly do, more is asked."""
    built, raw = candidate.built, candidate.raw
    if raw.unknowns[0] > ENOUGH:
        return without_optimum(state, candidate)
    if has_point(built, raw):
        point, text = feasible_point(built, raw), "a point satisfies every constraint, checked exactly"
        return replace(candidate, status="optimal", reason=text, point=point, missed=0.0, violated=0.0)
    if not shows_points(built) and has_moments(built, raw):
        return replace(candidate, status="optimal", reason=MOMENTS, missed=0.0, violated=0.0)
    missed = violation(built, raw)
    text = f"neither refuted nor satisfied: moments miss a constraint by {missed:.1g}; no point is proven"
    return replace(candidate, reason=text, missed=missed, violated=missed)


def _joined(state: State) -> Candidate:
    """The best candidate, with the best proven bound and the best point of all of them."""
    best = state.best
    alone = len(state.candidates) == 1 or state.statement.kind in (FEASIBLE, PROOF)
    if best.settled or alone or not best.raw.has_values:
        return best
    theorems = [c.theorem for c in state.candidates if c.proven is not None and c.theorem is not None]
    top = max(theorems, key=lambda t: t.value or 0, default=None)
    if top is not None and (best.proven is None or (top.value or 0) > best.proven):
        best = replace(best, other=top)
    least = -math.inf if best.proven is None else best.proven
    points = [c for c in state.candidates if least <= c.above < best.above]
    if points:
        lowest = min(points, key=lambda c: c.above)
        best = replace(best, above=lowest.above, point=lowest.point)
    joined = closed(best)
    return joined if joined.status == best.status else _nonempty(state, joined)
