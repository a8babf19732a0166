"""Polynomials that are unbounded below: their leading form is negative in a direction, checked exactly.

Where nothing limits the variables, a solver in floats may see a minimum of 10^8 x^2 - x^4 near 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ...algebra.polynomial import Polynomial
from ..descent import terms_of

_MOST_TERMS, _MOST_VARIABLES = 20_000, 300
_BITS = 20  # of the entries of a direction

Term = tuple[tuple[int, ...], Fraction]


def descends_without_bound(p: Polynomial) -> bool:
    """Whether a direction was found in which the polynomial goes to minus infinity: leading forms of odd
    degree always have one; otherwise axes, pairs of them, and for quadratics the least eigenvalue are looked
    at."""
    degree = p.degree
    if degree < 1 or len(p.coefs) > _MOST_TERMS:
        return False
    form = [(ids, Fraction(c)) for ids, c in terms_of(p).items() if len(ids) == degree]
    return degree % 2 == 1 or any(
        sum(c * math.prod(at.get(i, 0) for i in ids) for ids, c in terms) < 0
        for terms, at in _directions(form, degree)
    )


def _directions(form: list[Term], degree: int) -> Iterator[tuple[list[Term], dict[int, Fraction]]]:
    """Directions, each with the terms that do not vanish there. Lost without pairs: ``x**2 + y**2 - c*x*y``
    with c above 2 by 1e-9, and such forms in units of 1e-6."""
    supports: dict[frozenset[int], list[Term]] = defaultdict(list)
    for ids, coef in form:
        supports[frozenset(ids)].append((ids, coef))
    alone = {next(iter(s)): terms for s, terms in supports.items() if len(s) == 1}
    size: dict[int, Fraction] = defaultdict(lambda: Fraction(1))
    for i, terms in alone.items():
        yield terms, {i: Fraction(1)}
        # where the term of x_i alone is about one
        (_, coef), *_ = terms
        size[i] = Fraction(2) ** round(
            (coef.denominator.bit_length() - abs(coef.numerator).bit_length()) / degree
        )
    for pair in [s for s in supports if len(s) == 2]:
        i, j = sorted(pair)
        terms = [*alone.get(i, []), *alone.get(j, []), *supports[pair]]
        for sign in (1, -1):
            yield terms, {i: size[i], j: sign * size[j]}
    every = sorted({i for term, _ in form for i in term})
    if degree == 2 and 1 < len(every) <= _MOST_VARIABLES:
        place = {i: k for k, i in enumerate(every)}
        matrix = np.zeros((len(every), len(every)))
        for (i, j), coef in form:
            value = float(coef * size[i] * size[j])
            matrix[place[i], place[j]] += value / 2
            matrix[place[j], place[i]] += value / 2
        if np.isfinite(matrix).all():
            lowest = np.linalg.eigh(matrix)[1][:, 0]
            yield (
                form,
                {i: Fraction(round(v * 2**_BITS)) * size[i] for i, v in zip(every, lowest, strict=True)},
            )
