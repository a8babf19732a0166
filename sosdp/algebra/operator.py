"""Polynomials in words: in noncommuting operators, and what they share with those in complex variables.

The letters of a process are in one register, `LETTERS`: a family (`letters`) adds its own with their
relations, which never change. Coefficients are exact complex numbers; a float is the binary number that it
is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from sosdp.algebra.coefficients import as_number
from sosdp.algebra.combination import Combination
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.words import IMAGINARY, Monoid, Number, Terms, Word, Words, add_to, inverse, times

LETTERS = Words()


def as_complex_number(value: Any) -> Number | None:
    """A number of any kind as an exact complex one; None for anything else."""
    if isinstance(value, Polynomial):
        if not value.is_constant:
            return None
        value = value.constant
    if isinstance(value, complex | np.complexfloating):
        parts = as_number(float(value.real)), as_number(float(value.imag))
        return Fraction(parts[0] or 0), Fraction(parts[1] or 0)
    number = as_number(value)
    return None if number is None else (Fraction(number), Fraction(0))


class WordPolynomial(Combination):
    """A combination of the words of a monoid, in normal form, with exact complex numbers.

    ``p.adjoint`` (also ``p.H``), ``p.is_hermitian``, ``p.degree``, arithmetic with numbers (complex ones
    too), and comparisons: ``p >= 0`` for a Hermitian p, ``p == q`` for any.
    """

    __slots__ = ()
    monoid: ClassVar[Monoid]
    mixed: ClassVar[str]
    """What is wrong with polynomials in letters of another kind."""
    _add_to = staticmethod(add_to)
    _times = staticmethod(times)
    _inverse = staticmethod(inverse)

    @classmethod
    def _of(cls, value: Any) -> Any:
        if isinstance(value, WordPolynomial) and value.monoid is cls.monoid:
            return value
        if isinstance(value, Polynomial | WordPolynomial) and value.degree:
            raise ValueError(f"{cls.mixed} ({value!r})")
        c = as_complex_number(value)
        return None if c is None else cls._made({(): c} if c[0] or c[1] else {})

    @classmethod
    def _product(cls, p: Mapping[Word, Number], q: Mapping[Word, Number]) -> Terms:
        return cls.monoid.product(p, q)

    @property
    def adjoint(self) -> Self:
        """The adjoint."""
        return self._made(self.monoid.star_of(self.terms))

    H = adjoint

    @property
    def is_hermitian(self) -> bool:
        """Whether it equals its adjoint by the relations of its letters."""
        return self.terms == self.adjoint.terms

    @property
    def degree(self) -> int:
        """The length of its longest word."""
        return max((len(w) for w in self.terms), default=0)

    @staticmethod
    def _constraint(kind: str, difference: Any) -> WordConstraint:
        return WordConstraint(kind, difference)

    def __repr__(self) -> str:
        return self.monoid.text(self.terms)


class OperatorPolynomial(WordPolynomial):
    """An immutable polynomial in noncommuting operators, in normal form.

    ``p.adjoint`` (also ``p.H``), ``p.is_hermitian``, ``p.degree``; +, -, * with numbers (complex ones too)
    and operators, / by numbers, ** and comparisons: ``p >= 0`` for a Hermitian p, ``p == q`` for any.
    ``terms``: exact coefficients by word, a tuple of letter numbers.
    """

    __slots__ = ()
    monoid = LETTERS
    mixed = (
        "operators and commuting variables are not mixed: state the variables as operators of a party of "
        "their own"
    )

    @classmethod
    def _made(cls, terms: Terms) -> OperatorPolynomial:  # type: ignore[override]
        return OperatorPolynomial(terms)

    def __reduce__(self) -> tuple:
        raise TypeError(
            "polynomials in operators belong to their process, in which letters are numbered: they and what "
            "holds them do not pickle, but their exact proofs (certificates) do"
        )


IMAGINARY_UNIT = OperatorPolynomial({(): IMAGINARY})


class SingleOperator(OperatorPolynomial):
    """One operator that unpacks like a list of one: ``x = sd.operators("x")`` and ``(x,) = ...`` both
    work."""

    __slots__ = ()

    def __iter__(self) -> Iterator[OperatorPolynomial]:
        yield self


class WordConstraint:
    """``polynomial >= 0`` (of operators: as an operator), ``polynomial == 0``, or with the kind ``relation``
    an equation that is used by multiplication. The truth value of an equality: whether both sides were the
    same."""

    __slots__ = ("kind", "polynomial", "taken")

    def __init__(self, kind: str, polynomial: WordPolynomial):
        self.kind, self.polynomial, self.taken = kind, polynomial, False

    def __bool__(self) -> bool:
        if self.kind != "equality":
            raise TypeError("an inequality has no truth value; write them one by one")
        self.taken = True
        return not self.polynomial.terms

    def __repr__(self) -> str:
        return f"{self.polynomial!r} {'>=' if self.kind == 'inequality' else '=='} 0"


def relation(left: Any, right: Any = 0) -> WordConstraint:
    """The relation ``left == right`` between operators of one party, for the list of constraints: products
    are rewritten with it and with its adjoint, so that it costs nothing and gives the best bounds.

    Raises TypeError unless one side is a polynomial in operators.
    """
    difference = left - right
    if not isinstance(difference, OperatorPolynomial):
        raise TypeError(f"a relation is between operators, not {type(difference).__name__}")
    return WordConstraint("relation", difference)
