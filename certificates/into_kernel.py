"""A certificate replayed in the kernel without a problem file: its claim becomes the problem.

Nothing here has to be trusted: the kernel states what it proves.  (Squares of Gram matrices, for other forms
of a proof, are found here too.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from operator import mul
from typing import Any

import certificates.kernel as kernel
from certificates.kernel import Answer, NotProven

Square = tuple[Fraction, list[Fraction]]  # weight, and the vector that is squared
_BITS = 46  # binary places of a factor
_SIGN = {"upper_bound": "maximize", "lower_bound": "minimize"}


def replay(content: Mapping[str, Any], problem: Mapping[str, Any] | None = None) -> Answer:
    """The kernel's answer to the claim of a certificate, or to a problem file's object (decimals read as
    fractions); raises NotProven, or another error where the certificate is no certificate.

    Not replayed: that a bound is attained, and claims that there is no certificate (`certificates.refute`).
    """
    return kernel.replay(problem_of(content) if problem is None else problem, content)


def problem_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """The claim of a certificate as a problem: every polynomial a list of [coefficient, {name: power}]."""
    claim, names = content["claim"], content["variables"]
    kind = claim["kind"]
    if kind == "program":
        return _program(claim, names)
    number = claim.get("root", [None])[0]  # that is a number, and what is assumed of it, is no problem's
    kept = {k: [p for p in claim.get(k, ()) if not _about(p, number)] for k in ("equalities", "inequalities")}
    variables = [name for v, name in enumerate(names) if v != number]
    out: dict[str, Any] = {"variables": variables, **_set({**claim, **kept}, names)}
    if kind == "infeasible":
        out["feasible"] = True
    elif kind in ("sos", "no_certificate"):
        out["sos"] = [_terms(p, names) for p in claim.get("objectives", [claim.get("objective")])]
    else:
        out[_SIGN[kind]] = _terms(claim["objective"], names)
    if claim.get("in_expectation"):
        out["in_expectation"] = _set(claim["in_expectation"], names)
    if claim.get("squares"):
        out["squares"] = [[w, _terms(p, names)] for w, p in claim["squares"]]
    return out


def _about(p: list, variable: int | None) -> bool:
    return any(v == variable for _, monomial in p for v, _ in monomial)


def values_of(certificate: kernel.Certificate) -> dict[str, Any]:
    """The values that a certificate gives to unknowns, by name."""
    claim = certificate.claim
    return dict(zip(claim["unknowns"], claim.get("values", []), strict=True))


def _program(claim: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Every polynomial on its own set, and the objective."""
    unknowns = [names[v] for v in claim["unknowns"]]
    sets = claim.get("on", [{}] * len(claim["objectives"]))
    of = [{key: [claim[key][i] for i in uses.get(key, ())] for key in claim if key in _SETS} for uses in sets]
    return {
        "variables": [name for name in names if name not in unknowns],
        "sos": [_terms(p, names) for p in claim["objectives"]],
        "on": [_set(kept, names) for kept in of],
    } | ({"unknowns": unknowns, claim["sense"]: _terms(claim["objective"], names)} if unknowns else {})


_SETS = ("equalities", "inequalities", "psd")


def _set(claim: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    statement = [[_terms(p, names), "== 0"] for p in claim.get("equalities", ())]
    statement += [[_terms(p, names), ">= 0"] for p in claim.get("inequalities", ())]
    psd = [[[_terms(p, names) for p in row] for row in matrix] for matrix in claim.get("psd", ())]
    return {"subject_to": statement, "psd": psd}


def _terms(p: list, names: list[str]) -> list:
    return [[c, {names[v]: power for v, power in monomial}] for c, monomial in p]


def squares_of(gram: Sequence[Sequence[Any]]) -> list[Square]:
    """Weights > 0 and vectors with sum of weight * v v^T the matrix; NotProven when there are none.

    A definite matrix is M M^T + R with short dyadic numbers in M and R diagonally dominant, so that numbers
    stay short; other matrices get an exact LDL^T.
    """
    matrix = [[Fraction(v) for v in row] for row in gram]
    side = len(matrix)
    if any(len(row) != side for row in matrix) or any(
        matrix[i][j] != matrix[j][i] for i in range(side) for j in range(i)
    ):
        raise NotProven("a Gram matrix is not symmetric")
    return _dominant(matrix) or exact_squares(matrix)


def _dominant(matrix: list[list[Fraction]]) -> list[Square]:
    """The squares of M M^T + R, in units that bring the diagonal near 1; [] where that way does not apply."""
    side = len(matrix)
    if side < 3 or any(matrix[i][i] <= 0 for i in range(side)):
        return []
    sizes = [row[i].numerator.bit_length() - row[i].denominator.bit_length() for i, row in enumerate(matrix)]
    unit = [Fraction(2) ** (size // 2) for size in sizes]
    rest = [
        [v / (u * w) for v, w in zip(row, unit, strict=True)] for row, u in zip(matrix, unit, strict=True)
    ]
    if any(abs(v) > 4 for row in rest for v in row):
        return []
    factor = cholesky(
        [[float(v) for v in row[: i + 1]] for i, row in enumerate(rest)], side * 2.0 ** (6 - _BITS)
    )
    if factor is None:
        return []
    whole = [[round(v * 2.0**_BITS) for v in row] + [0] * (side - len(row)) for row in factor]
    result = [(Fraction(1, 1 << 2 * _BITS), [Fraction(row[k]) for row in whole]) for k in range(side)]
    for i, j in product(range(side), repeat=2):
        rest[i][j] -= Fraction(sum(map(mul, whole[i], whole[j])), 1 << 2 * _BITS)
    for i, row in enumerate(
        rest
    ):  # what a diagonally dominant matrix is: sums and differences of coordinates
        ends = [(abs(v), {i: 1, j: 1 if v > 0 else -1}) for j, v in enumerate(row[:i])]
        ends.append((2 * row[i] - sum(map(abs, row)), {i: 1}))
        result += [(w, [Fraction(at.get(k, 0)) for k in range(side)]) for w, at in ends if w]
    if any(w < 0 for w, _ in result):
        return []
    return [(w, [a * u for a, u in zip(v, unit, strict=True)]) for w, v in result]


def cholesky(lower: list[list[float]], shift: float) -> list[list[float]] | None:
    """The lower triangular factor in doubles of a matrix less shift * I; None if a pivot is not positive."""
    factor: list[list[float]] = []
    for i, row in enumerate(lower):
        new: list[float] = []
        for j in range(i):
            new.append((row[j] - sum(map(mul, new, factor[j]))) / factor[j][j])
        pivot = row[i] - shift - sum(map(mul, new, new))
        if not 0.0 < pivot < 8.0:
            return None
        new.append(math.sqrt(pivot))
        factor.append(new)
    return factor


def exact_squares(matrix: Sequence[Sequence[Fraction]]) -> list[Square]:
    """The same by an exact LDL^T: the squares that a person would find, of numbers that may grow long."""
    rest = [list(row) for row in matrix]
    out: list[Square] = []
    for k in range(len(rest)):
        pivot = rest[k][k]
        if pivot < 0 or (pivot == 0 and any(rest[k][k:])):
            raise NotProven("a Gram matrix is not positive semidefinite")
        if pivot == 0:
            continue
        column = [Fraction(0)] * k + [v / pivot for v in rest[k][k:]]
        out.append((pivot, column))
        for i in range(k, len(rest)):
            if column[i]:
                step = pivot * column[i]
                rest[i] = [v - step * c for v, c in zip(rest[i], column, strict=True)]
    return out
