"""Claims that no certificate exists, shown by a linear functional: a trust base of its own.

The claim is about certificates of degree t made of: squares of polynomials of degree <= t/2; such squares
times an inequality g, 2 deg b + deg g <= t for every monomial b in them; for a matrix inequality G, a
positive semidefinite Q over pairs of a row e of G and a monomial b with 2 deg b + deg G_ee <= t; and
polynomials times an equality h, of degree at most t - deg h.  No products of inequalities.  A linear
functional that is nonnegative on all of these and negative on a polynomial shows that it has none.  (The
kernel states polynomial and constraints and eliminates; it has no rule for this.)
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from certificates.kernel import LONG, ONE, Certificate, Goal, Polynomial, need, rank, spelled, spend

Monomial = tuple[str, ...]  # sorted names, with repetition: of the kernel
Values = dict[Monomial, int]  # a functional times a positive number


def separates(goal: Goal, certificate: Certificate) -> None:
    """Raise NotProven unless the functional is negative on the polynomial, nonnegative on all certificates.

    Without constraints the squares range over the monomials that a square may have at all: every monomial b
    of at most half the degree, less those whose square neither occurs in the polynomial nor is a product of
    two others (its coefficients would have to vanish), again and again.
    """
    (_, target, hypotheses), names = goal.parts[0], certificate.names
    degree, values = certificate.claim["degree"], dict(certificate.functional.pairs)
    need(degree >= target.degree, "claim.degree is less than the degree of the polynomial")
    ends = hypotheses or degree == target.degree
    need(ends, "claim.degree is not the degree of the polynomial, where all squares end")
    need(_pairing(target, values, ()) < 0, "the functional is not negative on the polynomial")
    basis = _monomials_up_to(names, degree // 2)
    if not hypotheses:
        basis = that_squares_may_have(basis, {m for m, _ in target.pairs})
    good = _localizing_is_semidefinite(((ONE,),), [basis], values)
    need(good, "the functional is negative on a square")
    for kind, body in hypotheses:
        said = spelled((kind, body))
        if kind == "==":
            shifts = _monomials_up_to(names, degree - body.degree)
            good = all(_pairing(body, values, shift) == 0 for shift in shifts)
            need(good, f"the functional does not vanish on a multiple of {said}")
            continue
        rows = body if kind == "psd" else ((body,),)
        # row by row: the basis of row e has the monomials b with 2 deg b + deg G_ee <= degree
        tops = [(degree - rows[e][e].degree) // 2 for e in range(len(rows))]
        bases = [_monomials_up_to(names, top) for top in tops]
        good = _localizing_is_semidefinite(rows, bases, values)
        need(good, f"the functional is negative on a square times the left of {said}")


def _pairing(polynomial: Polynomial, values: Values, shift: Monomial) -> Fraction:
    """The functional, times its denominator, on a polynomial times a monomial."""
    spend((2 + (len(shift) + polynomial.degree >> 2)) * len(polynomial.pairs))
    total = 0
    for monomial, coefficient in polynomial.pairs:
        value = values.get(tuple(sorted(monomial + shift)), 0)
        if value:
            spend((coefficient.bit_length() >> 6) * (value.bit_length() >> 6) >> 2)
            total += coefficient * value
    return Fraction(total, polynomial.den)


def _monomials_up_to(names: list[str], degree: int) -> list[Monomial]:
    """All monomials of at most the degree."""
    if degree < 0:
        return []
    count = math.comb(len(names) + degree, degree) if len(names) + degree <= 10_000 else LONG
    spend(count * (8 + degree))
    ordered = sorted(names)
    return [m for d in range(degree + 1) for m in combinations_with_replacement(ordered, d)]


def that_squares_may_have(basis: list[Any], support: set[Any]) -> list[Any]:
    """The monomials of a basis that the squares of a sum with this support can contain."""
    while True:
        spend(4 * len(basis) ** 2 + len(basis))
        products = {tuple(sorted(a + b)) for i, a in enumerate(basis) for b in basis[:i]}
        kept = [b for b in basis if (twice := tuple(sorted(b + b))) in support or twice in products]
        if len(kept) == len(basis):
            return basis
        basis = kept


def _localizing_is_semidefinite(
    matrix: tuple[tuple[Polynomial, ...], ...], bases: list[list[Monomial]], values: Values
) -> bool:
    """Whether (L(b_i b_j G_ef)) is positive semidefinite, i over (row e, monomial of its basis)."""
    places = [(e, b) for e, basis in enumerate(bases) for b in basis]
    spend(4 * len(places) ** 2)
    rows = [[_pairing(matrix[e][f], values, a + b) for f, b in places] for e, a in places]
    return rank(rows) is not None
