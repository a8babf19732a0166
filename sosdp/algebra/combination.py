"""Combinations of words with numbers, as immutable objects with Python's operators.

What words and numbers are, a subclass says: words in operators and monomials in complex variables have
numbers in Q(i) and an adjoint (``operator``, ``complex``), products of Chebyshev polynomials real ones
(``chebyshev``). The word () is 1. Terms are in a dictionary; for many terms there are arrays (``sparse``).
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from sosdp.algebra.affine import Affine
from sosdp.algebra.coefficients import by_squaring

_MOST_PRODUCTS = 500_000  # of two terms, in a power
_MOST_DEGREE = 100_000


class Combination(Affine):
    """``terms`` maps a word to its number, which is not 0; +, -, * with numbers and its like, / by numbers,
    ** by integers."""

    __slots__ = ("terms",)
    terms: dict[Any, Any]

    def __init__(self, terms: dict[Any, Any]) -> None:
        object.__setattr__(self, "terms", terms)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("polynomials are immutable")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @classmethod
    @abstractmethod
    def _of(cls, value: Any) -> Self | None:
        """A value of this kind, or a number, as one of this kind; None for anything else."""

    @staticmethod
    @abstractmethod
    def _add_to(terms: dict[Any, Any], word: Any, c: Any) -> None:
        """Add a multiple of a word to terms."""

    @staticmethod
    @abstractmethod
    def _times(a: Any, b: Any) -> Any:
        """The product of two numbers."""

    @staticmethod
    @abstractmethod
    def _inverse(a: Any) -> Any:
        """1 / a."""

    @classmethod
    @abstractmethod
    def _product(cls, p: Mapping[Any, Any], q: Mapping[Any, Any]) -> dict[Any, Any]:
        """The terms of a product."""

    @classmethod
    def _made(cls, terms: dict[Any, Any]) -> Self:
        return cls(terms)

    @property
    @abstractmethod
    def degree(self) -> int:
        """The largest degree of a word."""

    def _plus(self, other: Any) -> Any:
        q = self._of(other)
        if q is None:
            return NotImplemented
        out = dict(self.terms)
        for word, c in q.terms.items():
            self._add_to(out, word, c)
        return self._made(out)

    def _scaled(self, other: Any) -> Any:
        q = self._of(other)
        if q is None:
            return NotImplemented
        if q.terms.keys() <= {()}:
            numbers = q.terms.values()
            return self._made({w: self._times(c, d) for c in numbers for w, d in self.terms.items()})
        return self._made(self._product(self.terms, q.terms))

    def __truediv__(self, other: Any) -> Any:
        q = self._of(other)
        if q is None or q.terms.keys() - {()}:
            return NotImplemented
        if not q.terms:
            raise ZeroDivisionError("a polynomial was divided by zero")
        return self * self._made({(): self._inverse(q.terms[()])})

    def __pow__(self, power: Any) -> Any:
        if isinstance(power, bool) or not isinstance(power, int) or power < 0:
            raise ValueError(f"a power must be a non-negative integer, not {power!r}")
        if self.degree * power > _MOST_DEGREE:
            raise ValueError(f"a power of degree {self.degree * power} is too large")
        if power == 0:
            return self._of(1)
        return by_squaring(self, power, operator.mul, lambda p: len(p.terms), _MOST_PRODUCTS)

    def __format__(self, form: str) -> str:
        return format(str(self), form)

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __bool__(self) -> bool:
        return bool(self.terms)
