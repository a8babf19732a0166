"""Whether a claim is about a given problem file."""

from __future__ import annotations

from typing import Any

from certificates.checker.against_measures import compare_measures
from certificates.checker.problems import (
    Expressions,
    Polynomial,
    constraints_in,
    constraints_of,
    looks_like_terms,
    problem_number,
    renamed,
)
from certificates.checker.reading import PROBLEM_FORMAT, Invalid, Meter, Terms, Unreadable, brief
from certificates.checker.stated import Stated, variables_of


def compare(claim: Stated, names: list[str], problem: Any, meter: Meter) -> None:
    """Raise Invalid unless the claim is about the problem: same constraints, objective and question."""
    if not isinstance(problem, dict) or problem.get("format") != PROBLEM_FORMAT:
        found = brief(problem.get("format")) if isinstance(problem, dict) else "no object"
        raise Unreadable(f"problem: expected an object with format {PROBLEM_FORMAT!r}, got {found}")
    if "measures" in problem:
        return compare_measures(claim, names, problem, meter)
    variables = variables_of(problem.get("variables"))
    if bool(problem.get("unknowns")) != (claim.kind == "program"):
        raise Invalid("the claim is not about that problem: one has unknown coefficients, the other has none")
    if any(claim.expected) or claim.squares:
        raise Invalid("the claim is about expectations, which a problem file cannot ask for")
    program = claim.kind == "program"
    reader = Expressions(variables + (variables_of(problem["unknowns"]) if program else []), meter)
    senses = [key for key in ("minimize", "maximize", "feasible", "sos") if problem.get(key) is not None]
    if program and senses[-1:] == ["sos"]:
        senses = ["sos"]
    if len(senses) != 1:
        raise Unreadable("problem: needs exactly one of minimize, maximize, feasible, sos")

    there = constraints_in(problem, reader)
    question = problem[senses[0]]
    if senses[0] == "sos":
        # A list is several polynomials, unless it is the list of terms of one.
        one = isinstance(question, str) or looks_like_terms(question)
        wanted = [reader.read(p) for p in ([question] if one else question)]
    else:
        wanted = [] if senses[0] == "feasible" else [reader.read(question)]

    def named(terms: Terms) -> Polynomial:
        return renamed(terms, names, reader)

    here = constraints_of(
        [named(p) for p in claim.equalities],
        [named(p) for p in claim.inequalities],
        [[[named(p) for p in row] for row in rows] for rows in claim.matrices],
    )
    if here.plain - there.plain:
        raise Invalid(
            "the claim is not about that problem: it assumes a constraint the problem does not have"
        )
    if there.plain - here.plain and not program:
        raise Invalid(
            "the claim is not about that problem: the problem has a constraint the claim leaves out"
        )
    some = program and set(here.matrices) <= set(there.matrices)
    if not some and sorted(there.matrices) != sorted(here.matrices):
        raise Invalid("the claim is not about that problem: the matrix inequalities differ")
    if claim.kind == "infeasible":
        return  # a statement about the constraints alone, whatever the problem asks of them
    if program:
        asked = [key for key in ("minimize", "maximize") if problem.get(key) is not None]
        unknown = {names[v] for v in claim.unknowns}
        same = unknown <= set(problem["unknowns"]) and [named(p) for p in claim.stated] == wanted
        if asked:
            objective = reader.read(problem[asked[0]])
            same = same and asked == [claim.sense] and named(claim.objective) == objective
        if not same:
            raise Invalid("the claim is not about that problem: the polynomials or the objective differ")
        return
    if claim.kind == "no_certificate" and senses[0] == "sos" and wanted == [named(claim.objective)]:
        _same_certificates(claim, problem)
        return  # the answer to the same question is no
    answer = {"minimize": "lower_bound", "maximize": "upper_bound", "sos": "sos"}.get(senses[0])
    if claim.kind != answer:
        raise Invalid(
            f"the claim is not about that problem: a {claim.kind} for a problem that asks {senses[0]}"
        )
    shown = claim.targets if claim.kind == "sos" else [claim.objective]
    if [named(p) for p in shown] != wanted:
        raise Invalid("the claim is not about that problem: the polynomial differs")


def _same_certificates(claim: Stated, problem: dict) -> None:
    """Raise Invalid unless every certificate that the problem asks for is one that the claim excludes."""
    constrained = bool(claim.equalities or claim.inequalities or claim.matrices)
    if not constrained:
        return  # squares of polynomials end at half the degree, whatever degree was asked for
    if problem.get("products", "putinar") != "putinar":
        raise Invalid(
            "the claim is not about that problem: the problem allows products of constraints, and the claim "
            "excludes certificates without them only"
        )
    asked = problem.get("degree")
    if asked is not None and problem_number(asked) > claim.degree:
        raise Invalid(
            f"the claim is not about that problem: the problem asks for degree {problem_number(asked)}, the "
            f"claim is about degree {claim.degree}"
        )
