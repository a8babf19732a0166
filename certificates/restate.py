"""A proof of the statement as its problem gives it, so that what is written from it states the problem.

A certificate's claim may have the constraints in another order, times positive numbers, and without those
that are not used.  Here objective, constraints and their order come from the problem alone, and multipliers
are divided by those numbers; the checker judges the result as it does every proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from certificates.exact import in_order
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra.polynomial import Polynomial
from sosdp.model.problem import Problem

_ASKS = {"lower_bound": "minimize", "upper_bound": "maximize", "sos": "sos"}
_Places = dict[Polynomial, tuple[int, Fraction]]  # normed -> number in the problem, leading coefficient


class NotRestated(ValueError):
    """The proof is not about the problem, or not of a kind that is restated; the message says why."""


def restated(proof: Proof, problem: Problem) -> Proof:
    """The same proof of the problem's own statement: one polynomial on equalities and inequalities.

    Raises NotRestated where the proof is about something else, or about matrices, distributions or programs.
    """
    claim = proof.claim
    if claim.kind not in (*_ASKS, "infeasible") or len(claim.targets) != 1:
        raise NotRestated(f"a claim of kind {claim.kind!r} is not a single polynomial inequality")
    special = problem.moments or problem.unknowns or problem.chebyshev or problem.system.foralls
    if special or problem.system.matrices or not claim.is_scalar:
        raise NotRestated("only polynomials on equalities and inequalities are restated")
    wanted = problem.sos if problem.sense == "sos" else (problem.objective,)
    if claim.kind == "infeasible":
        objectives: tuple[Polynomial, ...] = ()
    elif _ASKS[claim.kind] != problem.sense or len(wanted) != 1 or wanted[0] is None:
        raise NotRestated(f"a {claim.kind} is no answer to {problem.sense}")
    else:
        objectives = (wanted[0].as_exact(),)
    system = problem.system.as_exact()
    bounds, zeros = _places(system.inequalities, True), _places(system.equalities, False)
    result = Claim(
        claim.kind,
        objectives,
        claim.bound,
        system.equalities,
        system.inequalities,
        point=claim.point,
        unique=claim.unique,
    )
    made = Proof(result, tuple(_moved(m, claim, bounds, zeros) for m in proof.multipliers))
    if not made.verdict:
        raise NotRestated(f"of the problem's polynomials the checker says {made.verdict}")
    return made


def _normed(p: Polynomial, positive: bool) -> tuple[Polynomial, Fraction]:
    """A polynomial divided by its leading coefficient (or the size of it), and that number."""
    lead = next((c for _, c in in_order(p)), Fraction(1))
    lead = abs(lead) if positive else lead
    return p / lead, lead


def _places(polynomials: Iterable[Polynomial], positive: bool) -> _Places:
    out: _Places = {}
    for k, p in enumerate(polynomials):
        normed, lead = _normed(p, positive)
        out.setdefault(normed, (k, lead))
    return out


def _moved(m: Multiplier, claim: Claim, bounds: _Places, zeros: _Places) -> Multiplier:
    """A multiplier of the claim's constraints as one of the problem's."""
    if m.kind == "sos":
        return m
    free = m.kind == "equality"
    statement, places = (claim.equalities, zeros) if free else (claim.inequalities, bounds)
    index, factor = [], Fraction(1)
    for k in m.index:
        normed, lead = _normed(statement[k], not free)
        if normed not in places:
            raise NotRestated(
                f"the problem does not have the constraint {statement[k]} {'==' if free else '>='} 0"
            )
        index.append(places[normed][0])
        factor *= lead / places[normed][1]
    return replace(m.times(factor), index=tuple(index))
