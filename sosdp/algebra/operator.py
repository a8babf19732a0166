"""Polynomials in noncommuting operators, and the constraints that comparisons build.

The letters of a process are in one register, `LETTERS`: a family (`letters`) adds its own with their
relations, which never change. Coefficients are exact complex numbers; a float is the binary number that it
is.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.algebra.coefficients import as_number
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.words import IMAGINARY, ONE, Number, Terms, Words, times

LETTERS = Words()
MIXED = (
    "operators and commuting variables are not mixed: state the variables as operators of a party of "
    "their own"
)


def as_complex_number(value: Any) -> Number | None:
    """A number of any kind as an exact complex one; None for anything else."""
    if isinstance(value, Polynomial):
        if not value.is_constant:
            raise ValueError(f"{MIXED} ({value!r})")
        value = value.constant
    if isinstance(value, complex | np.complexfloating):
        parts = as_number(float(value.real)), as_number(float(value.imag))
        return Fraction(parts[0] or 0), Fraction(parts[1] or 0)
    number = as_number(value)
    return None if number is None else (Fraction(number), Fraction(0))


class OperatorPolynomial:
    """An immutable polynomial in noncommuting operators, in normal form.

    ``p.adjoint`` (also ``p.H``), ``p.is_hermitian``, ``p.degree``; +, -, * with numbers (complex ones too)
    and operators, / by numbers, ** and comparisons: ``p >= 0`` for a Hermitian p, ``p == q`` for any.
    ``terms``: exact coefficients by word, a tuple of letter numbers.
    """

    __slots__ = ("terms",)
    __array_ufunc__ = None
    terms: Terms

    def __init__(self, terms: Terms):
        object.__setattr__(self, "terms", terms)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("polynomials in operators do not change")

    @staticmethod
    def _of(other: Any) -> OperatorPolynomial | None:
        if isinstance(other, OperatorPolynomial):
            return other
        c = as_complex_number(other)
        return None if c is None else OperatorPolynomial({(): c} if c[0] or c[1] else {})

    def __add__(self, other: Any) -> Any:
        q = self._of(other)
        if q is None:
            return NotImplemented
        out = dict(self.terms)
        for word, c in q.terms.items():
            old = out.get(word)
            out[word] = c if old is None else (old[0] + c[0], old[1] + c[1])
        return OperatorPolynomial({w: c for w, c in out.items() if c[0] or c[1]})

    __radd__ = __add__

    def __neg__(self) -> OperatorPolynomial:
        return OperatorPolynomial({w: (-c[0], -c[1]) for w, c in self.terms.items()})

    def __sub__(self, other: Any) -> Any:
        q = self._of(other)
        return NotImplemented if q is None else self + -q

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, OperatorPolynomial):
            return OperatorPolynomial(LETTERS.product(self.terms, other.terms))
        c = as_complex_number(other)
        if c is None:
            return NotImplemented
        return OperatorPolynomial({w: times(c, d) for w, d in self.terms.items()} if c[0] or c[1] else {})

    __rmul__ = __mul__  # only numbers come from the left

    def __truediv__(self, other: Any) -> Any:
        c = as_number(other)
        return NotImplemented if c is None else self * (1 / Fraction(c))

    def __pow__(self, power: int) -> OperatorPolynomial:
        if isinstance(power, bool) or not isinstance(power, int) or power < 0:
            raise ValueError(f"a power must be a non-negative integer, not {power!r}")
        out = OperatorPolynomial({(): ONE})
        for _ in range(power):
            out = out * self
        return out

    @property
    def adjoint(self) -> OperatorPolynomial:
        """The adjoint."""
        return OperatorPolynomial(LETTERS.star_of(self.terms))

    H = adjoint

    @property
    def is_hermitian(self) -> bool:
        """Whether it equals its adjoint by the relations of its letters."""
        return self.terms == self.adjoint.terms

    @property
    def degree(self) -> int:
        """The length of its longest word."""
        return max((len(w) for w in self.terms), default=0)

    def __ge__(self, other: Any) -> Any:
        return self._compared("inequality", self - other)

    def __le__(self, other: Any) -> Any:
        return self._compared("inequality", -(self - other))

    def __eq__(self, other: Any) -> Any:
        return self._compared("equality", self - other)

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    @staticmethod
    def _compared(kind: str, difference: Any) -> Any:
        return difference if difference is NotImplemented else OperatorConstraint(kind, difference)

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __repr__(self) -> str:
        return LETTERS.text(self.terms)

    def __reduce__(self) -> tuple:
        raise TypeError("polynomials in operators belong to their process: letters are numbered in it")


IMAGINARY_UNIT = OperatorPolynomial({(): IMAGINARY})


class SingleOperator(OperatorPolynomial):
    """One operator that unpacks like a list of one: ``x = sd.operators("x")`` and ``(x,) = ...`` both
    work."""

    __slots__ = ()

    def __iter__(self) -> Iterator[OperatorPolynomial]:
        yield self


class OperatorConstraint:
    """``polynomial >= 0`` (as an operator), ``polynomial == 0``, or with the kind ``relation`` an equation
    that is used by multiplication. The truth value of an equality: whether both sides were the same."""

    __slots__ = ("kind", "polynomial", "taken")

    def __init__(self, kind: str, polynomial: OperatorPolynomial):
        self.kind, self.polynomial, self.taken = kind, polynomial, False

    def __bool__(self) -> bool:
        if self.kind != "equality":
            raise TypeError("an inequality between operators has no truth value; write them one by one")
        self.taken = True
        return not self.polynomial.terms

    def __repr__(self) -> str:
        return f"{self.polynomial!r} {'>=' if self.kind == 'inequality' else '=='} 0"


def relation(left: Any, right: Any = 0) -> OperatorConstraint:
    """The relation ``left == right`` between operators of one party, for the list of constraints: products
    are rewritten with it and with its adjoint, so that it costs nothing and gives the best bounds.

    Raises TypeError unless one side is a polynomial in operators.
    """
    difference = left - right
    if not isinstance(difference, OperatorPolynomial):
        raise TypeError(f"a relation is between operators, not {type(difference).__name__}")
    return OperatorConstraint("relation", difference)
