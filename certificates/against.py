"""Whether a certificate is about a given problem: the kernel states both, and the statements are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import certificates.kernel as kernel
from certificates.checker.reading import PROBLEM_FORMAT, Invalid, Unreadable, brief
from certificates.into_kernel import values_of
from certificates.kernel import Goal

_OTHER = "the claim is not about that problem: "
_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)


def compare(certificate: Mapping[str, Any], here: Goal, problem: Any) -> None:
    """Raise Invalid unless the claim of a certificate, stated as `here` and checked, answers the problem: the
    same question, polynomials and hypotheses (up to factors and order); Unreadable for what is no problem."""
    if not isinstance(problem, dict) or problem.get("format") != PROBLEM_FORMAT:
        found = brief(problem.get("format")) if isinstance(problem, dict) else "no object"
        raise Unreadable(f"problem: expected an object with format {PROBLEM_FORMAT!r}, got {found}")
    claim, values = certificate["claim"], values_of(certificate)
    kind = claim["kind"]
    try:
        unknowns = problem.get("unknowns", [])
        there = kernel.state(problem, {n: values.get(n, 0) for n in unknowns})
    except _ERRORS as error:
        raise Unreadable(f"problem: {error}") from None
    if "measures" in problem:
        try:
            kernel.replay(problem, certificate)
        except _ERRORS as error:
            raise Invalid(f"{_OTHER}{error}") from None
        names = there.about.removeprefix("measures ").split(", ")
        for _, p, mine in here.parts:
            on = [{(f"on {name}", h) for h in mine} for name in names]
            if any(m for m, _ in p.pairs) and not any(hs <= there.parts[0][2] for hs in on):
                raise Invalid(f"{_OTHER}it assumes another support")
        return
    if bool(unknowns) != (kind == "program"):
        raise Invalid(f"{_OTHER}one has unknown coefficients, the other has none")
    if kind == "no_certificate":
        _same_certificates(here, claim, problem)
    if {h for _, _, h in here.parts} != {h for _, _, h in there.parts} and kind != "program":
        raise Invalid(f"{_OTHER}the constraints differ")
    if kind == "infeasible":
        return  # a statement about the constraints alone, whatever the problem asks of them
    if here.question != there.question:
        raise Invalid(f"{_OTHER}a {kind} for a problem that asks {there.question}")
    same = here.about == there.about and [p[:2] for p in here.parts] == [p[:2] for p in there.parts]
    used = all(mine <= given for (_, _, mine), (_, _, given) in zip(here.parts, there.parts, strict=False))
    if not same or not used or (there.so and here.so != there.so):
        raise Invalid(f"{_OTHER}the polynomials or the objective differ, or it assumes another constraint")


def _same_certificates(here: Goal, claim: Mapping[str, Any], problem: Mapping[str, Any]) -> None:
    """Raise Invalid unless every certificate that the problem asks for is one that the claim excludes."""
    if not here.parts[0][2]:
        return  # squares of polynomials end at half the degree, whatever degree was asked for
    if problem.get("products", "putinar") != "putinar":
        raise Invalid(f"{_OTHER}it allows products of constraints, which the claim does not exclude")
    asked = problem.get("degree")
    if asked is None or kernel.number(asked) > claim["degree"]:
        wanted = "names no degree" if asked is None else f"asks for degree {asked}"
        raise Invalid(f"{_OTHER}the problem {wanted}, the claim is about degree {claim['degree']}")
