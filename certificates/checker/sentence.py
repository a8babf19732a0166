"""A claim in words: every variable's condition, every constraint and every number, or no sentence at all."""

from __future__ import annotations

from certificates.checker.reading import Monomial, Number, Terms, show_number
from certificates.checker.stated import Constraints, Stated

LONGEST = 20_000  # characters of a sentence that is printed without being asked for


def show_monomial(monomial: Monomial, names: list[str]) -> str:
    """x*y**2."""
    if not monomial:
        return "1"
    return "*".join(names[v] if p == 1 else f"{names[v]}**{p}" for v, p in monomial)


def show_polynomial(terms: Terms, names: list[str]) -> str:
    """All terms, those of the highest degree first."""
    parts = []
    ordered = sorted(terms.items(), key=lambda item: (-sum(p for _, p in item[0]), item[0]))
    for monomial, (num, den) in ordered:
        if num == 0:
            continue
        size = show_number(abs(num), den)
        body = show_monomial(monomial, names)
        text = size if body == "1" else body if size == "1" else f"{size}*{body}"
        parts.append(f"{'-' if num < 0 else '+'} {text}")
    if not parts:
        return "0"
    text = " ".join(parts)
    return text[2:] if text[0] == "+" else "-" + text[2:]


def sentence(claim: Stated, names: list[str], longest: int = LONGEST) -> str:
    """The claim in words, complete; a claim longer than `longest` characters is not printed in part."""
    text = _full(claim, names)
    if len(text) <= longest:
        return text
    return (
        f"(not printed here, because it is {len(text)} characters long and no part of it may be left out: "
        "--full prints it)"
    )


def _full(claim: Stated, names: list[str]) -> str:
    conditions = _conditions((claim.equalities, claim.inequalities, claim.matrices), names)
    if claim.kind == "no_certificate":
        return _no_certificate(claim, names, conditions)
    if claim.kind == "program":
        return _program(claim, names)
    if any(claim.expected) or claim.squares:
        return _expectations(claim, names, conditions)
    if claim.kind == "infeasible":
        return f"no real point satisfies {conditions or 'the empty system'}"
    if claim.kind == "sos":
        listed = " and ".join(show_polynomial(p, names) for p in claim.targets)
        if conditions:
            return f"{_at(conditions)}: {listed} >= 0, by a sum-of-squares certificate"
        return f"{listed} {'is a sum' if len(claim.targets) == 1 else 'are sums'} of squares of polynomials"
    sign = ">=" if claim.kind == "lower_bound" else "<="
    words = f"{_at(conditions)}: {show_polynomial(claim.objective, names)} {sign} {show_number(*claim.bound)}"
    return words + _point(claim, names)


def _at(conditions: str) -> str:
    return "at every real point" + (f" with {conditions}" if conditions else "")


def _conditions(constraints: Constraints, names: list[str], mean: str = "") -> str:
    """The constraints, or those on expectations when `mean` is "E"."""

    def one(p: Terms) -> str:
        return f"E[{show_polynomial(p, names)}]" if mean else show_polynomial(p, names)

    out = [f"{one(p)} = 0" for p in constraints[0]] + [f"{one(p)} >= 0" for p in constraints[1]]
    for matrix in constraints[2]:
        rows = ", ".join("[" + ", ".join(one(p) for p in row) + "]" for row in matrix)
        out.append(f"the {len(matrix)}x{len(matrix)} matrix [{rows}] is positive semidefinite")
    return "; ".join(out)


def _values(pairs: list[tuple[str, Number]]) -> str:
    return ", ".join(f"{name} = {show_number(*value)}" for name, value in pairs)


def _point(claim: Stated, names: list[str]) -> str:
    if claim.point is None:
        return ""
    where = _values(list(zip(names, claim.point, strict=True)))
    return f", with equality at {where}" + (" and nowhere else" if claim.unique else "")


def _no_certificate(claim: Stated, names: list[str], conditions: str) -> str:
    what = show_polynomial(claim.objective, names)
    if not conditions:
        return f"{what} is not a sum of squares of polynomials"
    rows = ""
    if claim.matrices:
        rows = "; row e of a matrix G meets monomials b with 2 deg b + deg G_ee at most that"
    return (
        f"{what} has no sum-of-squares certificate of degree {claim.degree} (without products of "
        f"constraints{rows}) on the set {conditions}"
    )


def _program(claim: Stated, names: list[str]) -> str:
    values = _values([(names[v], value) for v, value in zip(claim.unknowns, claim.values, strict=True)])
    facts = []
    for k, p in enumerate(claim.stated):
        parts = (claim.equalities, claim.inequalities, claim.matrices)
        if claim.allowed is not None:
            used = claim.allowed[k]
            parts = (
                [claim.equalities[i] for i in sorted(used[0])],
                [claim.inequalities[i] for i in sorted(used[1])],
                [claim.matrices[i] for i in sorted(used[2])],
            )
        conditions = _conditions(parts, names)
        text = show_polynomial(p, names)
        facts.append(f"{_at(conditions)}: {text} >= 0" if conditions else f"{text} is a sum of squares")
    extreme, relation = ("least", "at most") if claim.sense == "minimize" else ("largest", "at least")
    bound = f"{show_polynomial(claim.objective, names)} is {relation} {show_number(*claim.bound)}"
    return (
        f"with {values or 'no coefficients'}: {'; and '.join(facts)}; all by sum-of-squares certificates, "
        f"so the {extreme} value of {bound}"
    )


def _expectations(claim: Stated, names: list[str], conditions: str) -> str:
    demands = _conditions(claim.expected, names, "E")
    where = f" on the set {conditions}" if conditions else ""
    who = f"probability distribution{where}" + (f" with {demands}" if demands else "")
    if claim.kind == "infeasible":
        return f"there is no {who}"
    sign = ">=" if claim.kind == "lower_bound" else "<="
    value = f"E[{show_polynomial(claim.objective, names)}]"
    for (num, den), p in claim.squares:
        weight = "" if num == den else f"{show_number(num, den)}*"
        value += f" + {weight}E[{show_polynomial(p, names)}]^2"
    point = _point(claim, names).replace(", with", "; among single points with", 1)
    return f"for every {who}: {value} {sign} {show_number(*claim.bound)}{point}"
