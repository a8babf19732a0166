"""What a solver's answer is worth: every claim of a result is checked here before it is made."""

from __future__ import annotations

import numpy as np

from ...conic.breakdown import OTHER_UNITS
from ..pseudoexpectation import PseudoExpectation
from .misfit import misfit, moment_violation, priced_misfit, shortfall
from .proven_value import certified_value, inside_value
from .second_opinions import SecondOpinions
from .solved import ENOUGH, Solved
from .without_optimum import empty, falling, feasibility, refuted, unbounded


def judged(solved: Solved, second_opinion: bool = False) -> PseudoExpectation:
    """The result of a solver's answer, with the status that could be checked; with ``second_opinion`` other
    solvers are asked where it is doubtful and time is left."""
    status = solved.raw.status
    if status == "infeasible":
        return refuted(solved)
    endless = falling(solved)
    if endless is not None:
        return endless
    if status in ("unbounded", "failed"):
        # on an empty set both sides of the program fail: the emptiness is what the user needs to know
        told = f"the solver gave up ({solved.raw.message})"
        failed = status == "failed"
        return empty(solved) or (solved.result("failed", np.nan, None, told) if failed else unbounded(solved))
    if solved.question.sense == "feasible":
        return feasibility(solved)
    others = SecondOpinions(solved, judged) if second_opinion and not solved.late else None
    elsewhere = others.other_form() if others is not None and status == "inaccurate" else None
    return _with_value(solved, others) if elsewhere is None else elsewhere


def _with_value(solved: Solved, others: SecondOpinions | None) -> PseudoExpectation:
    """The result of an answer that has a value."""
    program, raw, value = solved.program, solved.raw, solved.value
    certified, reason, dual = certified_value(solved, value)
    inside = inside_value(solved, value) if certified is None else None
    if inside is not None:
        certified, reason = inside, ""
    early = raw.status == "inaccurate" and (solved.escaping or not solved.close(certified, value))
    far = certified is not None and not solved.close(certified, value)
    # without a proven bound both sides of the program must agree to the fifth digit, however many blocks
    missed = shortfall(program, raw) / solved.size(value)
    wide = moment_violation(program, raw) > ENOUGH
    if certified is not None and solved.compared_at_points:
        missed, wide = 0.0, False
    if certified is None:
        priced = priced_misfit(program, raw) / solved.size(value)
        missed = max(missed, misfit(program, raw), priced)
    apart = wide or not missed <= (ENOUGH if certified is None else solved.allowed)
    doubtful = early or far or apart
    if others is not None:
        other = others.small() if doubtful else None
        if other is not None and others.weaker(other, certified, value):
            other = None
        other = others.borrowed(certified, value) if other is None else other
        if other is not None:
            return other
    if not doubtful:
        if certified is None and solved.question.options.certify_bound:
            reason += f"; the value rests on moments and multipliers that agree to {max(missed, 1e-16):.1g}"
        return solved.result("optimal", value, certified, reason, dual)
    proven = np.nan if certified is None else solved.stated(certified)
    told = (
        "the relaxation does not bound its moments although the set is bounded: its value is "
        "ill-conditioned; add a redundant ball or box constraint"
        if solved.escaping
        else f"the solver stopped early ({raw.message}); try another solver, or {OTHER_UNITS}"
        if early
        else f"the bound that is proven ({proven:.6g}) is not near the value"
        if far and not apart
        else "moments and multipliers disagree about the value: the relaxation is ill-conditioned"
    )
    other = None if others is None or solved.escaping else others.other_solver()
    if others is not None and other is not None and not others.weaker(other, certified, value):
        return other
    reason = told + (f"; no certified bound: {reason}" if reason else "")
    return solved.result("inaccurate", value, certified, reason, dual)
