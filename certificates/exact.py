"""Exact arithmetic for proofs: dictionaries from monomials to rationals, rewriting rules, squares of Gram
matrices.

A monomial is the ascending tuple of its variable ids with repetitions, () being 1.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, floor, prod
from operator import mul
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpq_poly

import certificates.kernel as kernel
from sosdp.algebra.monomials import padded
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_name

Monomial = tuple[int, ...]
Terms = dict[Monomial, Any]  # coefficients are flint.fmpq
Square = tuple[Fraction, list[Fraction]]  # weight, and the vector that is squared
_BITS = 46  # binary places of a factor


def rational(value: Any) -> fmpq:
    """A flint rational from an integer, a Fraction, or a float read as its shortest decimal."""
    return value if isinstance(value, fmpq) else fmpq(*exact_number(value).as_integer_ratio())


def fraction(value: fmpq) -> Fraction:
    """The same rational as a Python Fraction."""
    return Fraction(int(value.p), int(value.q))


def monomials_of(monos: np.ndarray) -> list[Monomial]:
    """Monomial rows (m, w), 0 for padding, as tuples."""
    return [tuple(filter(None, row)) for row in np.asarray(monos).tolist()]


def terms_of(polynomial: Polynomial) -> Terms:
    """The terms of a polynomial; floats are the binary numbers that they are."""
    exact = polynomial.as_exact()
    return {row: rational(c) for row, c in zip(monomials_of(exact.monos), exact.coefs.tolist(), strict=True)}


def polynomial_of(terms: Terms) -> Polynomial:
    """The exact polynomial with these terms."""
    return Polynomial.from_arrays(padded(list(terms)), [*map(fraction, terms.values())])


def powers_of(variable: int, p: fmpq_poly) -> Terms:
    """The terms of a polynomial in one variable."""
    return {(variable,) * k: c for k, c in enumerate(p.coeffs()) if c}


def in_order(polynomial: Polynomial) -> list[tuple[Monomial, Fraction]]:
    """The terms of an exact polynomial as they are written: by degree, the highest first."""
    pairs = zip(monomials_of(polynomial.monos), map(Fraction, polynomial.coefs.tolist()), strict=True)
    return sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0]))


def to_kernel(polynomial: Polynomial, name: Callable[[int], str] = variable_name) -> kernel.Polynomial:
    """The polynomial in the kernel's form; NotProven for names that the kernel does not have."""
    terms = terms_of(polynomial).items()
    return kernel.polynomial({tuple(map(name, row)): fraction(c) for row, c in terms})


def from_kernel(p: kernel.Polynomial, identifier: Callable[[str], int]) -> Polynomial:
    """The same back, with the ids of names."""
    rows = [tuple(sorted(map(identifier, m))) for m, _ in p.pairs]
    return Polynomial.from_arrays(padded(rows), [Fraction(c, p.den) for _, c in p.pairs])


def times(left: Monomial, right: Monomial) -> Monomial:
    """The product of two monomials."""
    return tuple(sorted(left + right)) if left and right else left or right


def add_to(total: Terms, terms: Terms, factor: Any = 1) -> None:
    """total += factor * terms, in place; zeros are removed."""
    for row, value in terms.items():
        if new := total.get(row, 0) + factor * value:
            total[row] = new
        else:
            total.pop(row, None)


def multiply(left: Terms, right: Terms) -> Terms:
    """The product of two polynomials."""
    out: Terms = {}
    for b, q in right.items():
        for a, p in left.items():
            row = times(a, b)
            out[row] = out.get(row, 0) + p * q
    return {row: value for row, value in out.items() if value}


def value_at(terms: Terms, point: Mapping[int, Any]) -> Any:
    """The value of a polynomial at a point (variables by id) of rationals, a fmpq, or of balls, an arb."""
    values = {v: c if isinstance(c, arb) else rational(c) for v, c in point.items()}
    return sum((prod((values[v] for v in row), start=c) for row, c in terms.items()), fmpq(0))


class Rules:
    """Rewriting by the equalities that have one or two terms, exactly, with the cofactors it costs.

    The larger monomial (by degree, then lexicographically) is replaced by a multiple of the smaller one, so
    rewriting ends.  Every step subtracts a multiple of an equality: nothing is assumed about the rules.
    """

    def __init__(self, equalities: Iterable[Terms]) -> None:
        self._by_first: dict[int, list[tuple[Monomial, int, Terms]]] = {}
        self.find, self.normal = cache(self._find), cache(self._normal)
        for index, terms in enumerate(equalities):
            lead = max(terms, key=lambda row: (len(row), row), default=())
            if lead and len(terms) <= 2:
                self._by_first.setdefault(lead[0], []).append((lead, index, terms))
        for rules in self._by_first.values():
            rules.sort(key=lambda rule: len(rule[0]))

    def _find(self, row: Monomial) -> tuple[Monomial, Monomial, int, Terms] | None:
        """The quotient by the lead of a rule that divides the monomial, that lead, and the equality."""
        rules = (rule for v in dict.fromkeys(row) for rule in self._by_first.get(v, ()))
        pairs = ((_divide(row, rule[0]), rule) for rule in rules)
        return next(((rest, *rule) for rest, rule in pairs if rest is not None), None)

    def _normal(self, row: Monomial) -> tuple[fmpq, Monomial]:
        """(c, m) with row = c m modulo the rules and no rule dividing m; c = 0 when the monomial vanishes."""
        rest = self.divide({row: fmpq(1)}, {})
        return next(((c, m) for m, c in rest.items()), (fmpq(0), row))

    def divide(self, terms: Terms, cofactors: dict[int, Terms]) -> Terms:
        """Remainder of a polynomial that no rule divides; terms = sum_j cofactor_j h_j + remainder.

        The cofactors are added to those already in `cofactors`.
        """
        remainder, pending = Terms(), dict(terms)
        while pending:
            row, value = pending.popitem()
            hit = self.find(row)
            if hit is None:
                add_to(remainder, {row: value})
                continue
            rest, lead, index, equality = hit
            share = value / equality[lead]
            add_to(cofactors.setdefault(index, {}), {rest: share})
            tail = {times(rest, other): c for other, c in equality.items() if other != lead}
            add_to(pending, tail, -share)
        return remainder


def _divide(row: Monomial, by: Monomial) -> Monomial | None:
    """The quotient of two monomials, None when it is not a monomial."""
    rest = list(row)
    for variable in by:
        if variable not in rest:
            return None
        rest.remove(variable)
    return tuple(rest)


def squares_of(gram: Sequence[Sequence[Any]]) -> list[Square]:
    """Weights > 0 and vectors with sum of weight * v v^T the matrix; NotProven when there are none.

    A definite matrix is M M^T + R with short dyadic numbers in M and R diagonally dominant, so that numbers
    stay short; other matrices get an exact LDL^T.
    """
    matrix = kernel.semidefinite([[Fraction(v) for v in row] for row in gram])
    return _dominant(matrix) or exact_squares(matrix)


def _dominant(matrix: list[list[Fraction]]) -> list[Square]:
    """The squares of M M^T + R, in units that bring the diagonal near 1; [] where that way does not apply."""
    side = len(matrix)
    if side < 3 or any(matrix[i][i] <= 0 for i in range(side)):
        return []
    sizes = [row[i].numerator.bit_length() - row[i].denominator.bit_length() for i, row in enumerate(matrix)]
    unit = [Fraction(2) ** (size // 2) for size in sizes]
    rest = [[v / (u * w) for v, w in zip(row, unit)] for row, u in zip(matrix, unit)]
    if any(abs(v) > 4 for row in rest for v in row):
        return []
    try:
        factor = np.linalg.cholesky(np.array(rest, dtype=float) - side * 2.0 ** (6 - _BITS) * np.eye(side))
    except np.linalg.LinAlgError:
        return []
    whole = [[round(v) for v in row] for row in (factor * 2.0**_BITS).tolist()]
    result = [(Fraction(1, 1 << 2 * _BITS), [Fraction(row[k]) for row in whole]) for k in range(side)]
    for i, j in product(range(side), repeat=2):
        rest[i][j] -= Fraction(sum(map(mul, whole[i], whole[j])), 1 << 2 * _BITS)
    for i, row in enumerate(rest):  # diagonally dominant: sums and differences of coordinates
        ends = [(abs(v), {i: 1, j: 1 if v > 0 else -1}) for j, v in enumerate(row[:i])]
        ends.append((2 * row[i] - sum(map(abs, row)), {i: 1}))
        result += [(w, [Fraction(at.get(k, 0)) for k in range(side)]) for w, at in ends if w]
    if any(w < 0 for w, _ in result):
        return []
    return [(w, [a * u for a, u in zip(v, unit, strict=True)]) for w, v in result]


def exact_squares(matrix: Sequence[Sequence[Fraction]]) -> list[Square]:
    """The same by an exact LDL^T: the squares that a person would find, of numbers that may grow long."""
    rest = [list(row) for row in matrix]
    out: list[Square] = []
    for k in range(len(rest)):
        pivot = rest[k][k]
        if pivot < 0 or (pivot == 0 and any(rest[k][k:])):
            raise kernel.NotProven("a Gram matrix is not positive semidefinite")
        if pivot == 0:
            continue
        column = [Fraction(0)] * k + [v / pivot for v in rest[k][k:]]
        out.append((pivot, column))
        for i in range(k, len(rest)):
            if column[i]:
                step = pivot * column[i]
                rest[i] = [v - step * c for v, c in zip(rest[i], column, strict=True)]
    return out


def short_decimal(low: float | Fraction, high: float | Fraction) -> Fraction:
    """The largest multiple in [low, high], low < high, of the largest power of ten that has one there."""
    bottom, top = Fraction(low), Fraction(high)
    if not bottom < top:
        raise ValueError(f"empty interval [{low}, {high}]")
    for power in range(309, -380, -1):
        unit = Fraction(10) ** power
        if top // unit * unit >= bottom:
            return top // unit * unit
    raise ValueError(f"no short decimal between {low} and {high}")


def simplest_fraction(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator in [low, high], by continued fractions; ValueError for low > high."""
    if low > high:
        raise ValueError(f"no fraction was asked for between {low} and {high}")
    whole = ceil(low)
    if whole <= high:
        return Fraction(0 if low <= 0 <= high else whole)
    below = floor(low)
    return below + 1 / simplest_fraction(1 / (high - below), 1 / (low - below))


def nice_fraction(value: float, radius: float) -> Fraction | None:
    """The simplest fraction within the radius of a value, where so short a one is there by chance for fewer
    than one value in a hundred; else None."""
    low, high = Fraction(value) - Fraction(radius), Fraction(value) + Fraction(radius)
    result = simplest_fraction(low, high)
    return result if 200 * result.denominator**2 * Fraction(radius) <= 1 else None


def decimal(value: Fraction, places: int) -> str:
    """A rational in decimals, rounded."""
    whole = round(value * 10**places)
    digits = str(abs(whole)).rjust(places + 1, "0")
    return f"{'-' if whole < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def exact_number(value: Any) -> Fraction:
    """A bound as users write it: int, Fraction, text, or a float as its shortest decimal; ValueError."""
    if isinstance(value, bool):
        raise ValueError("a bound must be a number")
    try:
        number = Fraction(repr(float(value))) if isinstance(value, (float, np.floating)) else Fraction(value)
        float(number)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise ValueError(f"a bound must be a finite number, not {reprlib.repr(value)}") from None
    return number


def below_one(values: Iterable[Any]) -> int:
    """How many binary places the largest of some numbers is below 1, negative where it is above."""
    largest = max(map(abs, values), default=0) or 1
    return int(largest.denominator).bit_length() - int(largest.numerator).bit_length()


def binary(value: Any, bits: int) -> Fraction:
    """A number rounded to so many binary places."""
    return Fraction(round(Fraction(value) * (1 << bits)), 1 << bits)
