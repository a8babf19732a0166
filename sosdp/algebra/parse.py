"""Reading commuting polynomials from text and term lists: exact, in linear time, with nothing evaluated.

The text form is that of ``grammar``. Decimals are read exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from sosdp.algebra import linear
from sosdp.algebra import monomials as mono
from sosdp.algebra.coefficients import by_squaring, plain
from sosdp.algebra.grammar import Grammar as Grammar
from sosdp.algebra.grammar import ParseError as ParseError
from sosdp.algebra.grammar import bounded, clip, divided, number_power, read_number, read_rational
from sosdp.algebra.polynomial import Polynomial, above
from sosdp.algebra.variables import variable_id

MAX_DEGREE = 1000
MAX_PRODUCTS = 50_000_000  # products of two terms needed to expand what is written in factors
MAX_CELLS = 1 << 26  # terms times degree
_SLOW = 50  # products of numpy in the time of one product of Python's numbers
_TOO_LARGE = "the expanded polynomial is too large; write it out, or build it in Python"

_Value = tuple[int | Fraction, list[int], Polynomial | None]
"""A number, variables and a polynomial that is no constant (None: 1), to be multiplied: a product of many
factors, or a sum of many terms, costs each a bounded number of steps."""


class Reader(Grammar):
    """Reads polynomials over given names, with one budget for all of them.

    ``ids`` maps each allowed name to its id; None allows every identifier.
    """

    def __init__(self, ids: Mapping[str, int] | None = None) -> None:
        self.ids = ids
        self.products = 0

    def polynomial(self, text: str) -> Polynomial:
        """The polynomial written in ``text``."""
        return self._opened(self.value(text))

    def constraint(self, text: str) -> tuple[Polynomial, str]:
        """Left minus right side and the relation (``<=``, ``>=`` or ``==``) of the constraint in ``text``."""
        sides, relation = self.read(text)
        if relation is None:
            raise ParseError("expected a constraint with one of <=, >=, ==")
        return self._opened(sides[0]) - self._opened(sides[1]), relation

    def term_list(self, terms: Any) -> Polynomial:
        """The polynomial written as ``[[coefficient, {name: power, ...}], ...]``."""
        if not isinstance(terms, list | tuple):
            raise ParseError(f"expected a list of terms, found {type(terms).__name__}")
        merged: dict[tuple[int, ...], int | Fraction] = {}
        for k, term in enumerate(terms):
            try:
                coef, ids = self._term(term)
            except ParseError as error:
                raise ParseError(f"term {k}: {error}") from None
            _accumulate(merged, ids, coef)
        return assemble(merged)

    def _term(self, term: Any) -> tuple[int | Fraction, list[int]]:
        if not isinstance(term, list | tuple) or len(term) != 2 or not isinstance(term[1], Mapping):
            raise ParseError('expected [coefficient, {"x": power, ...}]')
        ids: list[int] = []
        for name, power in term[1].items():
            if type(power) is not int or power < 0:
                raise ParseError(f"the power of {clip(str(name))} must be a non-negative integer")
            if power + len(ids) > MAX_DEGREE:
                raise ParseError(f"the degree exceeds {MAX_DEGREE}")
            ids.extend([self._name(name)] * power)
        return read_coefficient(term[0]), ids

    def _name(self, name: Any) -> int:
        if not isinstance(name, str):
            raise ParseError(f"a variable name must be a string, not {type(name).__name__}")
        if self.ids is None:
            try:
                return variable_id(name)
            except ValueError as error:
                raise ParseError(str(error)) from None
        result = self.ids.get(name)
        if result is None:
            raise ParseError(f"unknown variable {clip(name)}")
        return result

    # ------------------------------------------------------------------ text

    def _named(self, name: str, depth: int) -> _Value:
        return 1, [self._name(name)], None

    def _number(self, text: str) -> _Value:
        return read_number(text), [], None

    def _times(self, left: _Value, right: _Value, sign: int = 1) -> _Value:
        (a, ids, p), (b, more, q) = left, right
        _degree_checked(len(ids) + len(more))
        both = q if p is None else p if q is None else self._product(p, q)
        return bounded(a * b * sign), ids + more, both

    def _over(self, left: _Value, right: _Value) -> _Value:
        return divided(left[0], _a_number(right, "a divisor must be a number")), *left[1:]

    def _power(self, base: _Value, exponent: _Value) -> _Value:
        number = _a_number(exponent, "an exponent must be a number")
        coef, ids, p = base
        if type(number) is not int or (number < 0 and (ids or p is not None)):
            raise ParseError("an exponent must be a non-negative integer")
        factor = number_power(coef, number)
        if number <= 0:
            return factor, [], None
        _degree_checked((len(ids) + (0 if p is None else p.degree)) * number)
        result = None if p is None else by_squaring(p, number, self._product)
        return factor, ids * number if ids else ids, result

    def _total(self, values: list[_Value]) -> _Value:
        merged: dict[tuple[int, ...], int | Fraction] = {}
        large = []
        for value in values:
            if value[2] is None:
                _accumulate(merged, value[1], value[0])
            else:
                large.append(self._opened(value))
        p = assemble(merged)
        p = linear.total([p, *large]) if large else p
        return (p.constant, [], None) if p.is_constant else (1, [], p)  # type: ignore[return-value]

    def _opened(self, value: _Value) -> Polynomial:
        """The value as a polynomial, with the factors multiplied in."""
        coef, ids, p = value
        if p is None or coef == 0:
            return assemble({tuple(sorted(ids)): coef})
        if not ids and coef in (1, -1):
            return p if coef == 1 else -p
        return self._product(p, assemble({tuple(sorted(ids)): coef}))

    def _product(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """The product, if the budget allows it and the result is not absurdly large."""
        pairs = left.coefs.size * right.coefs.size
        degree = _degree_checked(left.degree + right.degree)
        if pairs * max(degree, 1) > 64 * MAX_CELLS:
            raise ParseError(_TOO_LARGE)
        self.products += pairs * (1 if left.coefs.dtype == right.coefs.dtype == np.int64 else _SLOW)
        if self.products > MAX_PRODUCTS:
            raise ParseError("expanding the products takes too long; write them out, or build them in Python")
        result = left * right
        if result.monos.size > MAX_CELLS:
            raise ParseError(_TOO_LARGE)
        if result.coefs.dtype == object:
            for c in result.coefs.tolist():
                bounded(c)
        return result


def _a_number(value: _Value, complaint: str) -> int | Fraction:
    """The value as a number, which divisors and exponents must be."""
    coef, ids, p = value
    if coef and (ids or p is not None):
        raise ParseError(complaint)
    return coef


def _degree_checked(degree: int) -> int:
    """The degree, which must not be too large."""
    if degree > MAX_DEGREE:
        raise ParseError(f"the degree exceeds {MAX_DEGREE}")
    return degree


def _accumulate(merged: dict[tuple[int, ...], int | Fraction], ids: list[int], coef: int | Fraction) -> None:
    if len(ids) > 1:
        ids.sort()
    key = tuple(ids)
    present = merged.get(key)
    merged[key] = coef if present is None else bounded(present + coef)


def assemble(merged: Mapping[tuple[int, ...], int | Fraction]) -> Polynomial:
    """The polynomial with the given coefficients of sorted monomials; ParseError if it is absurdly large."""
    counts = np.fromiter(map(len, merged), dtype=np.int64, count=len(merged))
    width = max(int(counts.max(initial=0)), 1)
    if counts.size * width > MAX_CELLS:
        raise ParseError(f"a polynomial with {counts.size} terms and degree {width} is too large")
    monos = np.zeros((counts.size, width), dtype=mono.MONOMIAL)
    filled = np.arange(width) >= (width - counts)[:, None]
    monos[filled] = np.fromiter(chain.from_iterable(merged), dtype=mono.MONOMIAL, count=int(counts.sum()))
    try:
        return Polynomial.from_arrays(monos, list(merged.values()))
    except ValueError as error:  # a collision of keys, in a crafted file
        raise ParseError(str(error)) from None


def read_coefficient(value: Any) -> int | Fraction:
    """The exact value of a coefficient in a term list: a number or a rational string."""
    value = value.item() if isinstance(value, np.floating | np.integer) else value
    kind = type(value)
    if kind in (int, Fraction):
        return bounded(value)
    if kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise ParseError(f"a coefficient must be finite, not {value!r}")
        return plain(Fraction(repr(value)))
    if kind is str:
        return read_rational(value)
    raise ParseError(f"a coefficient must be a number or a rational string, not {kind.__name__}")


def parse(text: str) -> Polynomial:
    """The polynomial written in ``text``; every name in it becomes a variable. ParseError (a ValueError) if
    malformed.
    """
    return Reader().polynomial(text)


above["text"] = parse
