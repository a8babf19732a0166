"""Measures and integrals: what a generalised moment problem is stated with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra.coefficients import Number, as_number
from ..algebra.polynomial import Polynomial, coerce
from .system import System


@dataclass(frozen=True, eq=False)
class Measure:
    """An unknown non-negative measure on the points of ``support`` in the space of ``variables``.

    ``mu(p)`` is the integral of a polynomial, ``mu.mass`` that of 1; its mass is unknown unless a constraint
    fixes it.
    """

    name: str
    variables: tuple[Polynomial, ...]
    support: System

    def __call__(self, p: Any) -> Integral:
        """The integral of a polynomial in the variables of the measure; ValueError for other variables."""
        q = coerce(p)
        foreign = [v for v in q.variables if v not in self.variables]
        if foreign:
            raise ValueError(
                f"{foreign[0]} is not a variable of the measure {self.name}, whose variables are "
                f"{', '.join(map(str, self.variables))}"
            )
        return Integral(((self, q),), 0)

    @property
    def mass(self) -> Integral:
        """The integral of 1."""
        return self(1)

    def __repr__(self) -> str:
        return f"Measure({self.name}, variables={list(map(str, self.variables))}, support={self.support!r})"


@dataclass(frozen=True, eq=False)
class Integral:
    """A sum of integrals against measures and a number; supports +, -, multiplication by numbers and
    comparisons.

    ``parts``: each measure once, with what is integrated against it.
    """

    parts: tuple[tuple[Measure, Polynomial], ...]
    constant: Number

    __array_ufunc__ = None

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return _over(other, lambda entry: self + entry)
        if isinstance(other, Integral):
            merged = dict(self.parts)
            for measure, p in other.parts:
                merged[measure] = merged[measure] + p if measure in merged else p
            return Integral(tuple(merged.items()), _sum(self.constant, other.constant))
        number = as_number(other)
        return NotImplemented if number is None else Integral(self.parts, _sum(self.constant, number))

    __radd__ = __add__

    def __neg__(self) -> Integral:
        return Integral(tuple((m, -p) for m, p in self.parts), -self.constant)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, np.ndarray):
            return _over(factor, lambda entry: self * entry)
        number = as_number(factor)
        if number is None:
            return NotImplemented
        scaled = coerce(self.constant) * number
        return Integral(tuple((m, p * number) for m, p in self.parts), scaled.constant)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Any:
        number = as_number(factor)
        if number is None:
            return NotImplemented
        scaled = coerce(self.constant) / number
        return Integral(tuple((m, p / number) for m, p in self.parts), scaled.constant)

    def __ge__(self, other: Any) -> Any:
        return _compare("inequality", self, other)

    def __le__(self, other: Any) -> Any:
        return _compare("inequality", -self, -other)

    def __eq__(self, other: Any) -> Any:
        return _compare("equality", self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("an integral has no truth value: its value is unknown until a program is solved")

    def of(self, measure: Measure) -> Polynomial:
        """What is integrated against one measure; 0 for a measure that does not occur."""
        return next((p for m, p in self.parts if m is measure), Polynomial(0))

    def __repr__(self) -> str:
        shown = " + ".join(f"{m.name}[{p}]" for m, p in self.parts)
        if not shown or not self.constant:
            return shown or str(self.constant)
        return f"{shown} {'-' if self.constant < 0 else '+'} {abs(self.constant)}"


@dataclass(frozen=True, eq=False)
class IntegralConstraint:
    """``body >= 0`` or ``body == 0`` for a sum of integrals."""

    kind: str
    body: Integral

    def __bool__(self) -> bool:
        raise TypeError("a constraint on integrals has no truth value; pass it to require()")

    def __repr__(self) -> str:
        return f"{self.body} {'>=' if self.kind == 'inequality' else '=='} 0"


def _sum(a: Number, b: Number) -> Number:
    return (coerce(a) + coerce(b)).constant


def _over(array: np.ndarray, function: Callable[[Any], Any]) -> np.ndarray:
    out = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        out[index] = function(array[index])
    return out


def _compare(kind: str, left: Integral, right: Any) -> Any:
    if isinstance(right, np.ndarray):
        return _over(right, lambda entry: _compare(kind, left, entry))
    difference = left - right
    return difference if difference is NotImplemented else IntegralConstraint(kind, difference)
