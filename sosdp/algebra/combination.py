"""Combinations of words with numbers, as immutable objects with Python's operators.

What words and numbers are, a subclass says: words in operators and monomials in complex variables have
numbers in Q(i) and an adjoint (``operator``, ``complex``), products of Chebyshev polynomials real ones
(``chebyshev``). The word () is 1. Terms are in a dictionary; for many terms there are arrays (``sparse``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

_MOST_PRODUCTS = 500_000  # of two terms, in a power
_MOST_DEGREE = 100_000


class Combination(ABC):
    """``terms`` maps a word to its number, which is not 0; +, -, * with numbers and its like, / by numbers,
    ** by integers."""

    __slots__ = ("terms",)
    __array_ufunc__ = None
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

    def __add__(self, other: Any) -> Any:
        q = self._of(other)
        if q is None:
            return NotImplemented
        out = dict(self.terms)
        for word, c in q.terms.items():
            self._add_to(out, word, c)
        return self._made(out)

    __radd__ = __add__

    def __neg__(self) -> Self:
        result: Self = self * -1
        return result

    def __sub__(self, other: Any) -> Any:
        q = self._of(other)
        return NotImplemented if q is None else self + -q

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        q = self._of(other)
        if q is None:
            return NotImplemented
        if q.terms.keys() <= {()}:
            numbers = q.terms.values()
            return self._made({w: self._times(c, d) for c in numbers for w, d in self.terms.items()})
        return self._made(self._product(self.terms, q.terms))

    __rmul__ = __mul__  # from the left come numbers, and what commutes

    def __truediv__(self, other: Any) -> Any:
        q = self._of(other)
        if q is None or q.terms.keys() - {()}:
            return NotImplemented
        if not q.terms:
            raise ZeroDivisionError("a polynomial was divided by zero")
        return self * self._made({(): self._inverse(q.terms[()])})

    def __pow__(self, power: Any) -> Self:
        if isinstance(power, bool) or not isinstance(power, int) or power < 0:
            raise ValueError(f"a power must be a non-negative integer, not {power!r}")
        if self.degree * power > _MOST_DEGREE:
            raise ValueError(f"a power of degree {self.degree * power} is too large")
        result, square, products = self._of(1), self, 0
        assert result is not None
        while power:
            factors = [f for f, used in ((result, power & 1), (square, power > 1)) if used]
            products += sum(len(f.terms) for f in factors) * len(square.terms)
            if products > _MOST_PRODUCTS:
                raise ValueError(f"this power needs more than {_MOST_PRODUCTS:.0e} products of two terms")
            result = result * square if power & 1 else result
            power >>= 1
            square = square * square if power else square
        return result

    def __format__(self, form: str) -> str:
        return format(str(self), form)

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __bool__(self) -> bool:
        return bool(self.terms)
