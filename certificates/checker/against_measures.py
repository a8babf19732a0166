"""Whether a claim is a bound for a problem file about measures, by weak duality.

Minimise sum_k mu_k(f_k) over measures mu_k on K_k with sum_k mu_k(a_ik) = b_i (or >= b_i, or <= b_i).
Numbers y_i (>= 0 for >=, <= 0 for <=) for which f_k - sum_i y_i a_ik is a sum of squares on every K_k bound
the value from below by sum_i y_i b_i. For a maximum all signs of the polynomials are turned. With all f_k = 0
and sum_i y_i b_i >= 1 there are no such measures. The claim is about the program whose unknowns are
the y_i, named sosdp_multiplier_0, sosdp_multiplier_1, ...: first the stated masses, then `subject_to`; for <=
the constraint is -a_i >= -b_i and y_i >= 0.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from certificates.checker.problems import (
    Constraints,
    Expressions,
    Polynomial,
    constraints_in,
    constraints_of,
    problem_number,
    renamed,
)
from certificates.checker.reading import Invalid, Meter, Unreadable, brief, list_of
from certificates.checker.stated import Stated, variables_of

UNKNOWN = "sosdp_multiplier_"
_OTHER = "the claim is not about that problem: "


def compare_measures(claim: Stated, names: list[str], problem: dict, meter: Meter) -> None:
    """Raise Invalid unless the claim bounds the value of the problem, or refutes it, by weak duality."""
    if claim.kind != "program":
        raise Invalid(f"{_OTHER}a {claim.kind} for a problem about measures")
    measures = problem["measures"]
    if not isinstance(measures, dict):
        raise Unreadable(f"problem: measures: expected an object, got {brief(measures)}")
    senses = [key for key in ("minimize", "maximize", "feasible") if problem.get(key) is not None]
    if len(senses) != 1 or problem.get("sos") is not None:
        raise Unreadable("problem: needs exactly one of minimize, maximize, feasible")
    variables = variables_of(problem.get("variables"))
    listed = list_of(problem.get("subject_to") or [], "problem: subject_to")
    masses = [m for m, about in measures.items() if _object(about).get("mass") is not None]
    unknowns = [f"{UNKNOWN}{i}" for i in range(len(masses) + len(listed))]
    if set(unknowns) & {*variables}:
        raise Invalid(f"{_OTHER}a variable has the name of a multiplier")
    read = Expressions(variables + unknowns, meter)
    given = Expressions(variables, meter)  # of the problem, which knows no multipliers
    integrals, right, at_least = _constraints(measures, masses, listed, given)

    goal: Polynomial = {}
    for i, b in enumerate(right):
        goal = read.add(goal, {((read.index[unknowns[i]], 1),): b} if b else {})
    refuted = senses[0] == "feasible" or bool(goal and not claim.objective)
    sign = -1 if senses[0] == "maximize" and not refuted else 1
    objective = {} if refuted else _integral(problem[senses[0]], measures, given)

    stated = [renamed(p, names, read) for p in claim.stated]
    if {names[v] for v in claim.unknowns} - {*unknowns}:
        raise Invalid(f"{_OTHER}it has other unknowns")

    def proven(wanted: Polynomial, support: Constraints) -> bool:
        """Whether the claim shows that a polynomial is not negative on a set."""
        return any(p == wanted and _within(claim, k, support, names, read) for k, p in enumerate(stated))

    everywhere = Constraints(set(), [])
    for i in at_least:
        if not proven({((read.index[unknowns[i]], 1),): Fraction(sign)}, everywhere):
            raise Invalid(f"{_OTHER}it leaves the sign of {unknowns[i]} open")
    for name, about in measures.items():
        wanted = dict(objective.get(name, {}))
        for unknown, parts in zip(unknowns, integrals, strict=True):
            y: Polynomial = {((read.index[unknown], 1),): Fraction(-1)}
            wanted = read.add(wanted, read.multiply(dict(parts.get(name, {})), y))
        wanted = {m: sign * v for m, v in wanted.items()}
        if not proven(wanted, constraints_in(about, given)):
            raise Invalid(f"{_OTHER}it has no such polynomial on the support of {brief(name)}")
    if refuted:
        if not proven(read.add(dict(goal), {(): Fraction(-1)}), everywhere):
            raise Invalid(f"{_OTHER}it proves nothing of the right sides")
        return
    if renamed(claim.objective, names, read) != goal or (claim.sense == "maximize") != (sign == 1):
        raise Invalid(f"{_OTHER}the objective differs")


def _object(value: Any) -> dict:
    if not isinstance(value, dict):
        raise Unreadable(f"problem: measures: expected an object, got {brief(value)}")
    return value


def _integral(value: Any, measures: dict, read: Expressions) -> dict[str, Polynomial]:
    """What is integrated against each measure."""
    if not isinstance(value, dict) or not value.keys() <= measures.keys():
        raise Unreadable("problem: expected what is integrated against each measure")
    return {name: read.read(p) for name, p in value.items()}


def _constraints(
    measures: dict, masses: list[str], listed: list, read: Expressions
) -> tuple[list[dict[str, Polynomial]], list[Fraction], list[int]]:
    """What every constraint integrates, its right side, and which are inequalities, all written with >=."""
    integrals: list[dict[str, Polynomial]] = [{name: {(): Fraction(1)}} for name in masses]
    right = [problem_number(measures[name]["mass"]) for name in masses]
    at_least = []
    for item in listed:
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[1], str):
            raise Unreadable('problem: a constraint on integrals is [{"mu": "x"}, "== 1"]')
        relation, number = item[1].strip()[:2], problem_number(item[1].strip()[2:])
        if relation not in ("<=", ">=", "=="):
            raise Unreadable(f"problem: {brief(item[1])} is no relation and number")
        parts = _integral(item[0], measures, read)
        if relation != "==":
            at_least.append(len(integrals))
        if relation == "<=":
            parts = {name: {m: -v for m, v in p.items()} for name, p in parts.items()}
            number = -number
        integrals.append(parts)
        right.append(number)
    return integrals, right, at_least


def _within(claim: Stated, target: int, support: Constraints, names: list[str], read: Expressions) -> bool:
    """Whether a polynomial of the claim uses constraints of the support only."""
    assert claim.allowed is not None
    equalities, inequalities, matrices = claim.allowed[target]
    used = constraints_of(
        [renamed(claim.equalities[i], names, read) for i in equalities],
        [renamed(claim.inequalities[i], names, read) for i in inequalities],
        [[[renamed(p, names, read) for p in row] for row in claim.matrices[i]] for i in matrices],
    )
    return used.plain <= support.plain and set(used.matrices) <= set(support.matrices)
