"""Whether the claim of a certificate is about a given problem: the kernel states both, and the statements are
compared.  Nothing here has to be trusted for what is proven: the kernel says that."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

import certificates.kernel as kernel
from certificates.kernel import Goal, Malformed, NotProven, Polynomial, need

PROBLEM_FORMAT = "sosdp-problem/1"
_OTHER = "the claim is not about that problem: "


def compare(certificate: kernel.Certificate, here: Goal, problem: Any) -> None:
    """Raise NotProven unless the claim of a certificate, stated as `here` and checked, answers the problem:
    the same question, polynomials and hypotheses (up to factors and order); Malformed for what is no
    problem."""
    claim, kind = certificate.claim, certificate.claim["kind"]
    try:
        kernel.shaped(kernel.shaped(problem, dict, "it").get("format"), {PROBLEM_FORMAT}, "format")
        unknowns = kernel.shaped(problem.get("unknowns", []), [str], "unknowns")
        there = kernel.state(problem, {n: claim["unknowns"].get(n, 0) for n in unknowns})
    except NotProven as error:
        raise Malformed(f"problem: {error}") from None
    if "measures" in problem:
        _compare_measures(certificate, here, there)
        return
    need(bool(unknowns) == (kind == "program"), f"{_OTHER}one has unknown coefficients, the other has none")
    given = [h for _, _, h in there.parts]
    if kind == "no_certificate":
        _same_certificates(here, claim, problem)
        products, most = problem.get("products", "auto"), len(here.parts[0][2])
        given = [_with_products(h, products, claim["degree"], most) for h in given]
    need(kind == "program" or {h for _, _, h in here.parts} == {*given}, f"{_OTHER}the constraints differ")
    if kind == "infeasible":
        return  # a statement about the constraints alone, whatever the problem asks of them
    need(here.question == there.question, f"{_OTHER}a {kind} for a problem that asks {there.question}")
    same = here.about == there.about and [p[:2] for p in here.parts] == [p[:2] for p in there.parts]
    used = all(mine <= h for (_, _, mine), h in zip(here.parts, given, strict=False))
    pinned = "unique" not in claim or {*certificate.names} == {*problem["variables"]}
    need(
        same and used and pinned and there.so in ("", here.so),
        f"{_OTHER}the polynomials or the objective differ, or it assumes another constraint, or says of "
        "other variables that there is one point",
    )


def _compare_measures(certificate: kernel.Certificate, here: Goal, there: Goal) -> None:
    """The same for measures: besides what the kernel proves, the claim states the dual of the problem,
    whatever the multipliers are."""
    claim = certificate.claim
    try:
        refuted = kernel.replay(there, certificate).bound is None
    except NotProven as error:
        raise NotProven(f"{_OTHER}{error}") from None
    whole = {*claim.get("objectives", [])} - {kernel.ZERO}, claim.get("objective")
    once = {relation: k for k, relation in reversed([*enumerate(there.more)])}
    duals = (_dual(there, refuted, used) for used in (once.values(), range(len(there.more))))
    need(any(whole == dual for dual in duals), f"{_OTHER}the relations differ")
    names = there.about.removeprefix("measures ").split(", ")
    for _, p, mine in here.parts:
        on = [{(f"on {name}", h) for h in mine} for name in names]
        good = p.degree == 0 or any(hs <= there.parts[0][2] for hs in on)
        need(good, f"{_OTHER}it assumes another support")


def _dual(there: Goal, refuted: bool, used: Collection[int]) -> tuple[set[Polynomial], Polynomial]:
    """What a certificate about measures states of a problem, whatever its numbers are: the polynomials that
    are nonnegative (one a measure, the signs of multipliers), and the sum of the right sides.  A relation
    that is stated twice may be `used` once."""
    sign = kernel.polynomial({(): -1 if there.question == "maximize" and not refuted else 1})
    places = range(len(there.more))
    unknowns = [kernel.polynomial({(f"{kernel.MULTIPLIER}{k}",): 1} if k in used else {}) for k in places]
    left = kernel.ZERO if refuted else there.parts[0][1]
    for u, (_, p) in zip(unknowns, there.more, strict=True):
        left -= u * p
    of_measure: dict[str, dict[tuple[str, ...], Fraction]] = {"": {}}
    for m, c in left.terms.items():
        moment = next((n for n in m if "[" in n), "")
        measure, _, inner = moment.partition("[")
        powers = [f.partition("^") for f in inner.removesuffix("]").split() if f != "1"]
        variables = [n for n, _, k in powers for _ in range(int(k or 1))]
        of_measure.setdefault(measure, {})[(*(n for n in m if n != moment), *variables)] = c
    value = kernel.polynomial(of_measure.pop(""))
    statement = {kernel.polynomial(terms) * sign for terms in of_measure.values()}
    statement |= {u * sign for u, (r, _) in zip(unknowns, there.more, strict=True) if r == ">="}
    statement |= {value - kernel.ONE} if refuted else set()
    return statement - {kernel.ZERO}, kernel.ZERO if refuted else value


def _with_products(hypotheses: frozenset, products: str, degree: int, most: int) -> frozenset:
    """The hypotheses and the products of inequalities that a problem asks for, up to a degree: a certificate
    that multiplies constraints is one without products on these.  NotProven for more than `most`."""
    if products == "intervals":
        pairs = _intervals(hypotheses)
        return hypotheses.union(*(_with_products(pair, "schmudgen", degree, most) for pair in pairs))
    facts: dict[frozenset, kernel.Theorem] = {}
    for kind, p in hypotheses if products == "schmudgen" else ():
        one = kernel.assume(">=", p) if kind == ">=" else None
        for fact in [one, *(kernel.product(one, other) for other in facts.values())] if one else []:
            if max(len(m) for m, _ in fact.conclusion.pairs) <= degree:
                facts.setdefault(kernel.assume(">=", fact.conclusion).hypotheses, fact)
        need(len(facts) <= most, f"{_OTHER}it has more products of constraints")
    return hypotheses.union(*facts)


def _intervals(hypotheses: frozenset) -> list[frozenset]:
    """Of every variable with bounds from below and from above the closest of them."""
    ends: dict[tuple[str, bool], frozenset] = {}
    bounds = [
        p for kind, p in hypotheses if kind == ">=" and p.degree == 1 and len(p.terms.keys() - {()}) == 1
    ]
    for p in sorted(bounds, key=lambda p: -p.terms.get((), 0)):  # x - a >= 0 or b - x >= 0, up to factors
        (name,), slope = p.pairs[-1]
        ends[name, slope > 0] = frozenset({(">=", p)})
    return [end | ends[name, False] for (name, low), end in ends.items() if low and (name, False) in ends]


def _same_certificates(here: Goal, claim: Mapping[str, Any], problem: Mapping[str, Any]) -> None:
    """Raise NotProven unless every certificate that the problem asks for is one that the claim excludes."""
    if not here.parts[0][2]:
        return  # squares of polynomials end at half the degree, whatever degree was asked for
    required = problem.get("degree")
    good = required is not None and kernel.number(required) <= claim["degree"]
    wanted = "names no degree" if required is None else f"asks for degree {required}"
    need(good, f"{_OTHER}the problem {wanted}, the claim is about degree {claim['degree']}")
