"""Measures and integrals: what a generalised moment problem is stated with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..algebra.affine import Affine
from ..algebra.coefficients import Number, as_number, plus, times
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
class Integral(Affine):
    """A sum of integrals against measures and a number; supports +, -, multiplication by numbers and
    comparisons.

    ``parts``: each measure once, with what is integrated against it.
    """

    parts: tuple[tuple[Measure, Polynomial], ...]
    constant: Number

    def _plus(self, other: Any) -> Any:
        if isinstance(other, Integral):
            merged = dict(self.parts)
            for measure, p in other.parts:
                merged[measure] = merged[measure] + p if measure in merged else p
            return Integral(tuple(merged.items()), plus(self.constant, other.constant))
        number = as_number(other)
        return NotImplemented if number is None else Integral(self.parts, plus(self.constant, number))

    def _scaled(self, factor: Any) -> Any:
        number = as_number(factor)
        if number is None:
            return NotImplemented
        return Integral(tuple((m, p * number) for m, p in self.parts), times(self.constant, number))

    @staticmethod
    def _constraint(kind: str, difference: Any) -> IntegralConstraint:
        return IntegralConstraint(kind, difference)

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

    def states(self, other: IntegralConstraint) -> bool:
        """Whether the other constraint says the same, side by side."""
        difference = self.body - other.body
        same = difference.constant == 0 and all(bool(p == 0) for _, p in difference.parts)
        return self.kind == other.kind and same

    def __bool__(self) -> bool:
        raise TypeError("a constraint on integrals has no truth value; pass it to require()")

    def __repr__(self) -> str:
        return f"{self.body} {'>=' if self.kind == 'inequality' else '=='} 0"
