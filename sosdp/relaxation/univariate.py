"""Polynomials in one variable in exact arithmetic: where they are least, their wells, and moves.

Arb isolates all roots of a derivative in balls, the real ones with an imaginary part that contains 0; the
values of the polynomial on these balls enclose its critical values. A root of both is one where the
polynomial is exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, arb_poly, fmpq, fmpq_poly, fmpz_poly

from ..algebra import monomials as mono
from ..algebra.coefficients import object_array
from ..algebra.polynomial import Polynomial
from ..conic.multiprecision import fraction_of, precision

_DIGITS = 128, 512, 2048  # binary, of the balls
_FINE = Fraction(1, 2**60)  # of the least value: how well it is enclosed


def univariate(p: Polynomial) -> fmpq_poly:
    """A polynomial in one variable by its coefficients, the constant first."""
    exponents = mono.degrees(p.monos)
    coefficients = [fmpq(0)] * (int(exponents.max(initial=0)) + 1)
    for k, c in zip(exponents.tolist(), p.coefs.tolist(), strict=True):
        coefficients[k] = fmpq(*c.as_integer_ratio())
    return fmpq_poly(coefficients)


def moved(p: Polynomial, v: int, origin: Fraction) -> Polynomial:
    """p(origin + u) of a polynomial in the one variable v, which is u afterwards."""
    q = univariate(p)(fmpq_poly([fmpq(*origin.as_integer_ratio()), fmpq(1)]))
    terms = {(v,) * k: Fraction(int(c.p), int(c.q)) for k, c in enumerate(q.coeffs()) if c}
    return Polynomial.from_arrays(mono.padded([*terms]), object_array([*terms.values()]))


def enclosed(q: fmpq_poly, digits: Iterable[int] = _DIGITS) -> tuple[Fraction, Fraction, Fraction]:
    """Two numbers between which the least value of a polynomial that has one is, and a point near where it is
    attained; ``digits``: precisions that are tried until the numbers are near each other."""
    for bits in digits:
        simple, double = _critical(tuple(q.coeffs()), bits)
        with precision(bits):
            critical = [(arb_poly(q)(r), r) for r in simple] + [(arb(0), r) for r in double]
            least = min(fraction_of(value.lower()) for value, _ in critical)
            highest, x = min((fraction_of(value.upper()), fraction_of(r)) for value, r in critical)
        if highest - least <= _FINE * abs(highest):
            break
    return least, highest, x


def wells(q: fmpq_poly) -> list[Fraction]:
    """Points near all local minimisers: between two critical points the derivative has one sign."""
    simple, double = _critical(tuple(q.coeffs()), _DIGITS[0])
    places = sorted({fraction_of(r) for r in (*simple, *double)})
    if not places:
        return []
    between = [(a + b) / 2 for a, b in zip(places[:-1], places[1:], strict=True)]
    slope = q.derivative()
    rises = [slope(fmpq(*c.as_integer_ratio())) > 0 for c in between]
    last, even = q.coeffs()[-1] > 0, q.degree() % 2 == 0
    rises = [last != even, *rises, last]
    return [x for x, before, after in zip(places, rises[:-1], rises[1:], strict=True) if after and not before]


@lru_cache(maxsize=64)
def _critical(coefficients: tuple[fmpq, ...], bits: int) -> tuple[list[arb], list[arb]]:
    """The real roots of a derivative in balls: those where the polynomial is not zero, and those where it
    is."""
    q = fmpq_poly(list(coefficients))
    rest = q.derivative()
    repeated = q.gcd(rest)
    while (shared := rest.gcd(q)).degree():
        rest //= shared
    with precision(bits):
        return real_roots(rest.numer()), real_roots(repeated.numer())


def real_roots(p: fmpz_poly) -> list[arb]:
    """The real roots of a polynomial with whole coefficients, each once, in balls."""
    every: Any = p.complex_roots() if p.degree() > 0 else []  # balls and multiplicities
    return [r.real for r, _ in every if r.imag.contains(0)]
