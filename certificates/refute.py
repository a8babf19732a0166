"""Claims that no certificate exists, shown by a linear functional: a trust base of its own.

The claim is about certificates of degree t made of: squares of polynomials of degree <= t/2; such squares
times an inequality g, 2 deg b + deg g <= t for every monomial b in them; for a matrix inequality G, a
positive semidefinite Q over pairs of a row e of G and a monomial b with 2 deg b + deg G_ee <= t; and
polynomials times an equality h, of degree at most t - deg h.  No products of inequalities.  A linear
functional that is nonnegative on all of these and negative on a polynomial shows that it has none.  (Reading
and arithmetic are shared with the fast checker; the kernel has no part in this.)
"""

from __future__ import annotations

import math

from certificates.checker.reading import WORK, Invalid, Meter, Terms, common_denominator
from certificates.checker.ring import Packed, Ring, bits_in, largest_of, top_power
from certificates.checker.semidefinite import semidefinite
from certificates.checker.stated import Stated


def degree_of(terms: Terms) -> int:
    """The degree of a polynomial, 0 for zero."""
    return max((sum(p for _, p in m) for m in terms), default=0)


def separates(claim: Stated, functional: Terms, variables: int, meter: Meter) -> None:
    """Raise Invalid unless the functional is negative on the polynomial and nonnegative on all certificates.

    Without constraints the squares range over the monomials that a square may have at all: every monomial b
    of at most half the degree, less those whose square neither occurs in the polynomial nor is a product of
    two others (its coefficients would have to vanish), again and again.
    """
    constrained = bool(claim.equalities or claim.inequalities or claim.psd)
    limit = claim.degree
    if limit < degree_of(claim.objective):
        raise Invalid("claim.degree is less than the degree of the polynomial")
    if not constrained and limit > degree_of(claim.objective):
        raise Invalid("claim.degree is not the degree of the polynomial, where all squares end")
    power = max(2 * limit, top_power([functional]), 1)
    ring = Ring(variables, power + top_power(claim.polynomials()), meter)
    values, common = ring.pack(functional)
    target, target_den = ring.pack(claim.objective)
    if _pairing(target, values, 0, meter) >= 0:
        raise Invalid("the functional is not negative on the polynomial")
    basis = _monomials_up_to(variables, limit // 2, ring)
    if not constrained:
        basis = that_squares_may_have(basis, set(target), meter)
    one: Packed = {0: 1}
    if not _localizing_is_semidefinite([[one]], [basis], values, meter):
        raise Invalid("the functional is negative on a square")
    for k, p in enumerate(claim.inequalities):
        packed = ring.pack(p)[0]
        fitting = _monomials_up_to(variables, (limit - degree_of(p)) // 2, ring)
        if not _localizing_is_semidefinite([[packed]], [fitting], values, meter):
            raise Invalid(f"the functional is negative on a square times inequality {k}")
    for k, matrix in enumerate(claim.psd):
        dens = common_denominator({den for row in matrix for p in row for _, den in p.values()}, meter)
        rows = [
            [{ring.key(m): num * (dens // den) for m, (num, den) in p.items()} for p in row] for row in matrix
        ]
        # row by row: the basis of row e has the monomials b with 2 deg b + deg G_ee <= degree
        tops = [(limit - degree_of(matrix[e][e])) // 2 for e in range(len(rows))]
        bases = [_monomials_up_to(variables, top, ring) for top in tops]
        if not _localizing_is_semidefinite(rows, bases, values, meter):
            raise Invalid(f"the functional is negative on a square times matrix {k}")
    for k, p in enumerate(claim.equalities):
        packed = ring.pack(p)[0]
        for shift in _monomials_up_to(variables, limit - degree_of(p), ring):
            if _pairing(packed, values, shift, meter) != 0:
                raise Invalid(f"the functional does not vanish on a multiple of equality {k}")


def _pairing(polynomial: Packed, values: Packed, shift: int, meter: Meter) -> int:
    """The functional, times its denominator, on a polynomial times a monomial."""
    meter.spend(4 * len(polynomial))
    total = 0
    for key, coefficient in polynomial.items():
        value = values.get(key + shift, 0)
        if value:
            meter.spend(2 + (coefficient.bit_length() >> 6) * (value.bit_length() >> 6))
            total += coefficient * value
    return total


def _monomials_up_to(variables: int, degree: int, ring: Ring) -> list[int]:
    """Keys of all monomials of at most the degree."""
    if degree < 0:
        return []
    count = math.comb(variables + degree, degree) if variables + degree <= 10_000 else WORK * WORK
    ring.meter.spend(count * (40 + ring.cost))
    ring.meter.hold(count, ring.bits)
    found, last = [0], [(0, 0)]
    for _ in range(degree):
        last = [(key + (1 << (v * ring.width)), v) for key, first in last for v in range(first, variables)]
        found.extend(key for key, _ in last)
    return found


def that_squares_may_have(basis: list[int], support: set[int], meter: Meter) -> list[int]:
    """The monomials of a basis that the squares of a sum with this support can contain."""
    while True:
        meter.spend(20 * len(basis) ** 2 + len(basis))
        products = {a + b for i, a in enumerate(basis) for b in basis[:i]}
        kept = [b for b in basis if 2 * b in support or 2 * b in products]
        if len(kept) == len(basis):
            return basis
        basis = kept


def _localizing_is_semidefinite(
    matrix: list[list[Packed]], bases: list[list[int]], values: Packed, meter: Meter
) -> bool:
    """Whether (L(b_i b_j G_ef)) is positive semidefinite, i over (row e, monomial of its basis)."""
    places = [(e, b) for e, basis in enumerate(bases) for b in basis]
    meter.spend(20 * len(places) ** 2)
    meter.hold(len(places) ** 2, bits_in(largest_of(values)))
    rows = [[_pairing(matrix[e][f], values, a + b, meter) for f, b in places] for e, a in places]
    return semidefinite(rows, meter)
