"""Answers without an optimum, each with its proof: the set is empty, or the objective falls without end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...algebra.polynomial import Polynomial
from ...conic.breakdown import OTHER_UNITS
from ..build.diagonal_dominance import least_eigenvalues
from ..build.identity import GramProgram
from ..pseudoexpectation import PseudoExpectation
from ..solve.solve import centre
from .bound import certify
from .leading_form import falls_without_end
from .misfit import violation
from .rays import patience, provably_unbounded, unproven
from .solved import ENOUGH, Solved
from .stated import as_stated

_REFUTATION = (
    "an identity -1 = sum of squares, multipliers and constraints, checked in floats with all rounding "
    "bounded; certificates.extract(result).exact() writes it in rational numbers"
)
_CHECKS = 1e-6  # violation of a ray, relative to the ray, up to which it counts


def feasibility(solved: Solved) -> PseudoExpectation:
    """The answer to a feasibility problem: moments that violate nothing, or a refutation."""
    gamma, raw = float(solved.raw.unknowns[0]), solved.raw
    if not gamma <= 0.5:
        return _refutation(solved, raw.gram / gamma, raw.free / gamma)
    # gamma = 0 up to accuracy: a pseudo-expectation exists unless a refutation is merely hard to see
    missed = violation(solved.program, raw)
    if gamma <= ENOUGH and raw.status == "optimal" and missed <= ENOUGH:
        reason = f"moments that violate nothing by more than {missed:.1g}"
        return solved.result("optimal", np.nan, None, reason)
    reason = f"the moments found violate a constraint by {missed:.1g}"
    return solved.result("inaccurate", np.nan, None, reason)


def refuted(solved: Solved) -> PseudoExpectation:
    """The answer where the solver's ray says that there is no pseudo-expectation."""
    gamma = float(solved.raw.unknowns[0])
    if not gamma > 0:
        return empty(solved) or solved.result("failed", np.nan, None, "the solver's ray does not check")
    found = _refutation(solved, solved.raw.gram / gamma, solved.raw.free / gamma)
    if found.status == "infeasible":
        return found
    # variables of the objective alone may hide the proof: ask for emptiness without them
    return empty(solved) or found


def _refutation(solved: Solved, gram: np.ndarray, free: np.ndarray) -> PseudoExpectation:
    """-1 = sum of the multipliers, approximately: accepted when it is proven, or provable by centring."""
    whole = solved.program.identity
    nothing = np.zeros_like(whole.target)
    errors = whole.errors
    if errors is not None:
        errors = replace(errors, target=nothing, unknown=errors.unknown[:1])
    identity = replace(whole, target=nothing, unknown=whole.unknown[:1], errors=errors)
    program = GramProgram(identity, np.ones(1), np.ones(1))
    bounds = solved.scaling.bounds
    checked = certify(identity, gram, free, np.ones(1), bounds)
    label, reason = "infeasible", _REFUTATION
    if not checked.loss < 1:
        inside = centre(program, np.ones(1))
        if inside is not None:
            checked = certify(identity, inside[0].gram, inside[0].free, np.ones(1), bounds)
        if not checked.loss < 1:
            label, reason = "inaccurate", checked.reason or "the refutation found could not be proven"
    raw = replace(solved.raw, gram=checked.gram, free=checked.free, unknowns=np.ones(1))
    # it is about no objective
    scaling = replace(solved.scaling, value=1.0, unknown=None, size=1.0)
    about = replace(solved, raw=raw, program=program, scaling=scaling)
    return about.result(label, np.nan, None, reason, checked)


def empty(solved: Solved) -> PseudoExpectation | None:
    """A refutation of the system alone, where there is one."""
    question = solved.question
    if question.sense == "feasible" or (len(question.system) == 0 and not question.subject_to):
        return None
    answer = question.is_empty()
    if answer.status != "infeasible":
        return None
    return replace(answer, sense=question.sense, objective=question.objective)


def falling(solved: Solved) -> PseudoExpectation | None:
    """The answer where nothing limits an objective that falls without end, which is proven exactly."""
    question = solved.question
    p = question.objective
    if question.subject_to or len(question.system) or not isinstance(p, Polynomial):
        return None
    if not falls_without_end(-p if question.sense == "maximize" else p):
        return None
    return solved.result("unbounded", -np.inf, None, _no_bound(question.cone))


def unbounded(solved: Solved) -> PseudoExpectation:
    """No certificate with any finite bound: the solver's ray must be a pseudo-moment direction that checks,
    and a direction must be proven."""
    program, y = solved.program, solved.raw.moments
    identity = program.identity
    descent = float(identity.target @ y)
    if not descent < 0:
        return solved.result("failed", np.nan, None, "the solver's ray does not decrease the objective")
    y = y / -descent
    residual = max([0.0, *(-least for least in least_eigenvalues(identity, y))])
    if identity.free.shape[0]:
        residual = max(residual, float(np.abs(identity.free @ y).max()))
    # a direction has E[1] = 0: moments of points are none, however low the objective is at them
    residual = max([residual, *np.abs((identity.unknown @ y)[~np.isfinite(program.upper)])])
    claim = "the solver claims that no bound exists"
    # relative to the ray itself: against a coefficient of 1e12 a ray of size 1e-12 is no ray
    if residual > _CHECKS * float(np.abs(y).max()):
        reason = f"{claim}, but its ray does not check; {OTHER_UNITS}"
        return solved.result("inaccurate", np.nan, None, reason)
    left = patience(solved.raw, solved.deadline)
    stated = as_stated(program, *solved.question.coefficients(identity.unknown.shape[0]))
    if stated is None or not (left > 0 and provably_unbounded(stated, left)):
        return solved.result("inaccurate", np.nan, None, f"{claim}; {unproven(left, stated is None)}")
    return solved.result("unbounded", -np.inf, None, _no_bound(solved.question.cone))


def _no_bound(cone: str) -> str:
    certificate = "sum-of-squares certificate" if cone == "sos" else f"certificate with cone={cone!r}"
    return (
        f"no {certificate} of this degree exists for any bound; "
        "try a higher degree, or bound the set by a ball or by products such as (x - a)*(b - x) >= 0"
    )
