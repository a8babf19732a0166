"""A second opinion on certificates: the same arguments in plain fractions, without the checker's code."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

Poly = dict[tuple[int, ...], Fraction]  # from the sorted variables of a monomial, with repetition


def monomial(value: list) -> tuple[int, ...]:
    return tuple(v for v, power in value for _ in range(power))


def poly(value: list) -> Poly:
    return {monomial(m): Fraction(c) for c, m in value}


def add(total: Poly, other: Poly, factor: Any = 1) -> None:
    for m, c in other.items():
        total[m] = total.get(m, Fraction(0)) + factor * c


def times(left: Poly, right: Poly) -> Poly:
    out: Poly = {}
    for a, p in left.items():
        for b, q in right.items():
            m = tuple(sorted(a + b))
            out[m] = out.get(m, Fraction(0)) + p * q
    return out


def semidefinite(matrix: list[list[Fraction]]) -> bool:
    """By LDL^T over the fractions."""
    rows = [list(r) for r in matrix]
    for k in range(len(rows)):
        pivot = rows[k][k]
        if pivot < 0 or pivot == 0 and any(rows[k][k:]):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / pivot
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return True


def value(p: Poly, point: list[Fraction]) -> Fraction:
    total = Fraction(0)
    for m, c in p.items():
        for v in m:
            c = c * point[v]
        total += c
    return total


def with_values(p: Poly, values: dict[int, Fraction]) -> Poly:
    out: Poly = {}
    for m, c in p.items():
        for v in m:
            c = c * values.get(v, 1)
        add(out, {tuple(v for v in m if v not in values): c})
    return out


def proves(content: dict) -> bool:
    """Whether a certificate that the checker can read proves its claim."""
    claim = content["claim"]
    kind = claim["kind"]
    if kind == "no_certificate":
        return separates(claim, poly(content["functional"]), len(content["variables"]))
    outer = claim.get("in_expectation", {})
    lists = {
        "equality": claim.get("equalities", []),
        "inequality": claim.get("inequalities", []),
        "product": claim.get("inequalities", []),
        "psd": claim.get("psd", []),
        "expectation_equality": outer.get("equalities", []),
        "expectation": outer.get("inequalities", []),
        "expectation_psd": outer.get("psd", []),
        "square": [p for _, p in claim.get("squares", [])],
    }
    squares = [(Fraction(w), poly(p)) for w, p in claim.get("squares", [])]
    if any(w <= 0 for w, _ in squares):
        return False
    if kind == "infeasible":
        targets: list[Poly] = [{(): Fraction(-1)}]
    elif kind == "program":
        values = dict(zip(claim["unknowns"], map(Fraction, claim["values"]), strict=True))
        targets = [with_values(poly(p), values) for p in claim["objectives"]]
        if with_values(poly(claim["objective"]), values).get((), Fraction(0)) != Fraction(claim["bound"]):
            return False
    elif kind == "sos":
        targets = [poly(p) for p in claim.get("objectives", [claim.get("objective")])]
    else:
        sign = 1 if kind == "lower_bound" else -1
        target: Poly = {}
        add(target, poly(claim["objective"]), sign)
        add(target, {(): Fraction(claim["bound"])}, -sign)
        targets = [target]
    used = Counter(b["index"][0] for b in content["multipliers"] if b["kind"] == "square")
    if any(count > 1 for count in used.values()):
        return False
    for block in content["multipliers"]:
        index, of = block.get("index", []), block.get("target", 0)
        if "gram" not in block:
            p = poly(block["polynomial"])
            if block["kind"] == "square":
                u, w = p.get((), Fraction(0)), squares[index[0]][0]
                add(targets[of], {(): u * u / (4 * w)}, -1)
                add(targets[of], squares[index[0]][1], u)
            else:
                add(targets[of], times(p, poly(lists[block["kind"]][index[0]])), -1)
            continue
        gram = [[Fraction(v) for v in row] for row in block["gram"]]
        if not semidefinite(gram):
            return False
        basis = [monomial(m) for m in block["basis"]]
        if block["kind"].startswith("expectation") and any(basis):
            return False
        factor: Poly = {(): Fraction(1)}
        matrix = lists[block["kind"]][index[0]] if "entry" in block else None
        for k in index if matrix is None else ():
            factor = times(factor, poly(lists[block["kind"]][k]))
        for i, a in enumerate(basis):
            for j, b in enumerate(basis):
                if gram[i][j]:
                    by = factor if matrix is None else poly(matrix[block["entry"][i]][block["entry"][j]])
                    add(targets[of], times({tuple(sorted(a + b)): gram[i][j]}, by), -1)
    if any(c for t in targets for c in t.values()):
        return False
    if "root" in claim:
        return exists(claim["root"], claim, content["multipliers"])
    if "attained_at" in claim:
        point = [Fraction(v) for v in claim["attained_at"]]
        reached = value(poly(claim["objective"]), point) + sum(w * value(p, point) ** 2 for w, p in squares)
        if reached != Fraction(claim["bound"]):
            return False
        if any(value(poly(p), point) != 0 for p in lists["equality"]):
            return False
        if any(value(poly(p), point) < 0 for p in lists["inequality"]):
            return False
        return all(semidefinite([[value(poly(p), point) for p in r] for r in m]) for m in lists["psd"])
    return True


def exists(root: list, claim: dict, blocks: list[dict]) -> bool:
    """Whether what multipliers use of a variable is met by a number between two, and no more is said."""
    k, low, high = root[0], Fraction(root[1]), Fraction(root[2])
    lists = {"equality": "equalities", "inequality": "inequalities", "product": "inequalities"}
    used = [
        (b["kind"] == "equality", claim[lists[b["kind"]]][i])
        for b in blocks
        if b["kind"] != "sos"
        for i in b["index"]
    ]
    about = [(zero, poly(p)) for zero, p in used if any(k in m for m in poly(p))]
    if any(k in m for m in poly(claim["objective"])) or any({*m} - {k} for _, p in about for m in p):
        return False
    ends = [sum(c * end ** len(m) for m, c in p.items()) for zero, p in about if zero for end in (low, high)]
    signs = [ends[i] * ends[i + 1] <= 0 for i in range(0, len(ends), 2)]
    roots = [{m: c / p[max(p)] for m, c in p.items()} for zero, p in about if zero]
    lines = [p for zero, p in about if not zero]  # a - low or high - a, up to factors
    inside = [
        max(map(len, p)) == 1 and {-p.get((), Fraction(0)) / p[(k,)]} <= {low if p[(k,)] > 0 else high}
        for p in lines
    ]
    return low <= high and all(signs) and all(p == roots[0] for p in roots) and all(inside)


def separates(claim: dict, functional: Poly, variables: int) -> bool:
    """Whether a functional is nonnegative on all certificates and negative on the polynomial."""
    p = poly(claim["objective"])
    constrained = any(claim.get(key) for key in ("equalities", "inequalities", "psd"))
    top = claim["degree"]

    def apply(q: Poly) -> Fraction:
        return sum((c * functional.get(tuple(sorted(m)), Fraction(0)) for m, c in q.items()), Fraction(0))

    def up_to(degree: int) -> list[tuple[int, ...]]:
        return [m for d in range(degree + 1) for m in combinations_with_replacement(range(variables), d)]

    def localized(q: Poly) -> bool:
        low = (top - max(map(len, q), default=0)) // 2
        basis = up_to(low)
        return semidefinite(
            [[apply(times({tuple(sorted(a + b)): Fraction(1)}, q)) for b in basis] for a in basis]
        )

    if not apply(p) < 0 or max(map(len, p), default=0) > top:
        return False
    if not constrained:
        basis = up_to(max(map(len, p)) // 2)
        while True:
            pairs = {tuple(sorted(a + b)) for i, a in enumerate(basis) for b in basis[:i]}
            kept = [b for b in basis if tuple(sorted(b + b)) in pairs | set(p)]
            if len(kept) == len(basis):
                break
            basis = kept
        return semidefinite([[apply({tuple(sorted(a + b)): Fraction(1)}) for b in basis] for a in basis])
    if claim.get("psd") or not localized({(): Fraction(1)}):
        return False
    if not all(localized(poly(g)) for g in claim.get("inequalities", [])):
        return False
    return all(
        apply(times({m: Fraction(1)}, poly(h))) == 0
        for h in claim.get("equalities", [])
        for m in up_to(top - max(map(len, poly(h)), default=0))
    )
