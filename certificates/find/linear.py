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
from certificates.find.rounding import NotCertifiable, checked
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.conic.exact.corrected import Effects, Equations, in_floats

_CELLS = 400_000  # of the exact linear system


def _nonnegative(effects: list[Effects], cost: list[fmpq], goal: list[fmpq], free: int) -> list[fmpq] | None:
    """Exact c with sum c_k effects_k = goal, c_k >= 0 but for the last `free` ones.

    Of least cost in floats (a vertex of the linear program); None without one, or with its support misread.
    """
    table = in_floats(effects, len(goal)).toarray().T
    sizes = np.maximum(np.abs(table).max(axis=0, initial=0.0), 1e-300)
    last = len(effects) - free
    answer = linprog(
        np.array([float(v) for v in cost]) / sizes,
        A_eq=table / sizes,
        b_eq=[float(v) for v in goal],
        bounds=[(0, None)] * last + [(None, None)] * free,
        method="highs-ds",
    )
    if answer.status != 0:
        return None
    used = [bool(v > 1e-9 or k >= last) for k, v in enumerate(answer.x)]
    result = _solved([effect if u else {} for effect, u in zip(effects, used, strict=True)], goal)
    return result if result is not None and all(c >= 0 for c in result[:last]) else None


def _solved(effects: list[Effects], goal: list[fmpq]) -> list[fmpq] | None:
    """One exact solution c of sum c_k effects_k = goal, or None."""
    return Equations(effects, len(goal)).corrected([fmpq(0)] * len(effects), goal)


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
    numbers = {row: n for n, row in enumerate(sorted({row for p in parts for row in p} | {()}, key=len))}
    effects: list[Effects] = [{numbers[row]: c for row, c in p.items()} for p in parts]
    count = len(inequalities)
    goal = [fmpq(-1), *[fmpq(0)] * (len(numbers) - 1)]  # 1 is the first monomial
    weights = _solved([*[Effects()] * count, *effects[count:]], goal)
    if weights is None and count:  # the least constant of combinations whose weights add up to 1
        normed = [{**effect, 0: fmpq(int(k < count))} for k, effect in enumerate(effects)]
        heights = [effect.get(0, fmpq(0)) for effect in effects]
        result = _nonnegative(normed, heights, [fmpq(1), *goal[1:]], len(places))
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
