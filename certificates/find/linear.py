"""Linear combinations, exactly: of equalities times monomials, and of inequalities with weights that are not
negative.

Floating point (a vertex of a linear program) says which inequalities are used, if any; the weights are then
solved for over the rationals.  So contradictions of any size are found (x >= 3/10 + 2^-54 and x <= 3/10), and
those that need the equalities' syzygies (x^2 = x and x = 1/2), whose Groebner basis is 1.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np
from flint import fmpq
from scipy.optimize import linprog

from certificates.exact import Terms, multiply, polynomial_of, terms_of
from certificates.find.numbers import reduced
from certificates.find.rounding import NotCertifiable, checked
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof

_CELLS = 400_000  # of the exact linear system


def nonnegative_solution(
    columns: list[list[fmpq]], cost: list[fmpq], wanted: list[fmpq], free: int = 0
) -> list[fmpq] | None:
    """Exact c with sum c_k columns_k = wanted, c_k >= 0 but for the last `free` ones.

    Of least cost in floats (a vertex of the linear program); None without one, or with its support misread.
    """
    table = np.array([[float(v) for v in column] for column in columns]).T.reshape(len(wanted), -1)
    sizes = np.maximum(np.abs(table).max(axis=0, initial=0.0), 1e-300)
    bounds = [(0, None)] * (len(columns) - free) + [(None, None)] * free
    answer = linprog(
        np.array([float(v) for v in cost]) / sizes,
        A_eq=table / sizes,
        b_eq=[float(v) for v in wanted],
        bounds=bounds,
        method="highs-ds",
    )
    if answer.status != 0:
        return None
    support = [k for k, v in enumerate(answer.x) if v > 1e-9 or k >= len(columns) - free]
    result = solved([columns[k] for k in support], wanted)
    if result is None:
        return None
    out = [fmpq(0)] * len(columns)
    for k, value in zip(support, result, strict=True):
        out[k] = value
    return out if all(c >= 0 for c in out[: len(columns) - free]) else None


def solved(columns: list[list[fmpq]], wanted: list[fmpq]) -> list[fmpq] | None:
    """One exact solution c of sum c_k columns_k = wanted, or None."""
    rows = [[column[r] for column in columns] + [value] for r, value in enumerate(wanted)]
    out = [fmpq(0)] * len(columns)
    for pivot, row in reduced(rows):
        if pivot == len(columns):
            return None
        out[pivot] = row[-1]
    return out


def refutation(claim: Claim, degree: int) -> Proof:
    """The proof that the equalities, times polynomials, and the inequalities, times numbers, contradict each
    other; NotCertifiable where none of this degree was found."""
    if claim.kind != "infeasible" or claim.expectations or not (claim.equalities or claim.inequalities):
        raise NotCertifiable("this is about a set that is empty")
    ids = claim.ids
    equalities, inequalities = [*map(terms_of, claim.equalities)], [*map(terms_of, claim.inequalities)]
    top = max([degree, *(p.degree for p in (*claim.equalities, *claim.inequalities))])
    if len(equalities) * math.comb(len(ids) + top, top) ** 2 > _CELLS:
        raise NotCertifiable("too many multiples of equalities")
    places = [
        (j, row)
        for j, p in enumerate(claim.equalities)
        for d in range(top - p.degree + 1)
        for row in combinations_with_replacement(ids, d)
    ]
    parts = [*inequalities, *(multiply({row: fmpq(1)}, equalities[j]) for j, row in places)]
    monomials = sorted({row for p in parts for row in p} | {()}, key=len)  # 1 is the first
    columns = [[p.get(row, fmpq(0)) for row in monomials] for p in parts]
    count = len(inequalities)
    target = [fmpq(-1), *[fmpq(0)] * (len(monomials) - 1)]
    weights = solved(columns[count:], target) if places else None
    if weights is not None:
        weights = [fmpq(0)] * count + weights
    elif count:  # the least constant of combinations whose weights add up to 1
        normed = [[*column[1:], fmpq(int(k < count))] for k, column in enumerate(columns)]
        heights = [column[0] for column in columns]
        result = nonnegative_solution(normed, heights, [*target[1:], fmpq(1)], len(places))
        height = sum((c * h for c, h in zip(result or (), heights, strict=False)), fmpq(0))
        weights = [-c / height for c in result] if result is not None and height < 0 else None
    if weights is None:
        raise NotCertifiable("no linear combination of the constraints is -1")
    made = [
        Multiplier.weighing("inequality", (k,), [()], [[c]]) for k, c in enumerate(weights[:count]) if c != 0
    ]
    cofactors: dict[int, Terms] = {}
    for (j, row), c in zip(places, weights[count:], strict=True):
        if c != 0:
            cofactors.setdefault(j, {})[row] = c
    made += [Multiplier("equality", (j,), polynomial=polynomial_of(p)) for j, p in cofactors.items()]
    return checked(claim, made)
