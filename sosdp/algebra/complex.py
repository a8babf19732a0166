"""Polynomials in complex variables and their conjugates.

A complex polynomial is a pair of real-coefficient polynomials in the variables z and their conjugates, which
the algebra treats as variables of their own (``z`` and ``z_conj``): exact coefficients stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra.build import variables
from sosdp.algebra.polynomial import Polynomial, coerce, variable
from sosdp.algebra.variables import variable_name

_SUFFIX = "_conj"
_ZERO = coerce(0)


def complex_variables(names: str, shape: int | None = None) -> Any:
    """Complex variables by name, as ``variables`` makes real ones: a tuple, one, or an array."""
    made = variables(names, shape)
    if isinstance(made, Polynomial):
        return _variable(made)
    if shape is None:
        return tuple(_variable(v) for v in made)
    result = np.empty(made.shape, dtype=object)
    result[:] = [_variable(v) for v in made]
    return result


def _variable(v: Polynomial) -> ComplexPolynomial:
    if v.name.endswith(_SUFFIX):
        raise ValueError(f"{v.name!r} would be the conjugate of a variable: choose another name")
    return ComplexPolynomial(v, _ZERO)


@dataclass(frozen=True, eq=False)
class ComplexPolynomial:
    """``first + 1j * second``, both with real coefficients in variables and conjugates.

    ``p.conj()``, ``p.real``, ``p.imag``, ``p.abs2()``; +, -, * with numbers (complex ones too), ** and
    comparisons: ``p >= 0`` for a p that is real everywhere, ``p == q`` for any.
    """

    first: Polynomial
    second: Polynomial

    __array_ufunc__ = None

    def conj(self) -> ComplexPolynomial:
        """The conjugate."""
        return ComplexPolynomial(_swapped(self.first), -_swapped(self.second))

    @property
    def real(self) -> ComplexPolynomial:
        """The real part, a polynomial in variables and conjugates."""
        return (self + self.conj()) / 2

    @property
    def imag(self) -> ComplexPolynomial:
        """The imaginary part."""
        difference = self - self.conj()
        return ComplexPolynomial(difference.second / 2, -difference.first / 2)

    def abs2(self) -> ComplexPolynomial:
        """The squared absolute value."""
        return self * self.conj()

    @property
    def is_real(self) -> bool:
        """Whether it equals its conjugate, term by term: real at every point."""
        other = self.conj()
        return bool(self.first == other.first) and bool(self.second == other.second)

    @property
    def variable_ids(self) -> list[int]:
        """Sorted ids of the variables (not of conjugates) that occur."""
        result = {*self.first.variable_ids.tolist(), *self.second.variable_ids.tolist()}
        return sorted({own_id(i) for i in result})

    def __add__(self, other: Any) -> Any:
        q = as_complex(other)
        return (
            NotImplemented if q is None else ComplexPolynomial(self.first + q.first, self.second + q.second)
        )

    __radd__ = __add__

    def __neg__(self) -> ComplexPolynomial:
        return ComplexPolynomial(-self.first, -self.second)

    def __sub__(self, other: Any) -> Any:
        q = as_complex(other)
        return NotImplemented if q is None else self + (-q)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        q = as_complex(other)
        if q is None:
            return NotImplemented
        a, b, c, d = self.first, self.second, q.first, q.second
        return ComplexPolynomial(a * c - b * d, a * d + b * c)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return ComplexPolynomial(self.first / other, self.second / other)

    def __pow__(self, power: int) -> ComplexPolynomial:
        if isinstance(power, bool) or not isinstance(power, int) or power < 0:
            raise ValueError(f"a power must be a non-negative integer, not {power!r}")
        result = ComplexPolynomial(coerce(1), _ZERO)
        for _ in range(power):
            result = result * self
        return result

    def __ge__(self, other: Any) -> Any:
        return _constraint("inequality", self - other)

    def __le__(self, other: Any) -> Any:
        return _constraint("inequality", -(self - other))

    def __eq__(self, other: Any) -> Any:
        return _constraint("equality", self - other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        if not self.second:
            return str(self.first)
        return f"{self.first} + 1j*({self.second})"


@dataclass(frozen=True)
class ComplexConstraint:
    """``polynomial >= 0`` (real everywhere) or ``polynomial == 0``."""

    kind: str
    polynomial: ComplexPolynomial

    def __bool__(self) -> bool:
        raise TypeError("a constraint on complex polynomials has no truth value; write them one by one")


def _constraint(kind: str, p: Any) -> Any:
    if p is NotImplemented:
        return NotImplemented
    if kind == "inequality" and not p.is_real:
        raise ValueError(
            f"{p!r} is not real everywhere: an inequality needs a polynomial that is its conjugate"
        )
    return ComplexConstraint(kind, p)


def as_complex(value: Any) -> ComplexPolynomial | None:
    """A number or a complex polynomial as a complex polynomial; None for anything else."""
    if isinstance(value, ComplexPolynomial):
        return value
    if isinstance(value, Polynomial):
        return ComplexPolynomial(value, _ZERO) if value.is_constant else None
    if isinstance(value, complex | np.complexfloating):
        return ComplexPolynomial(coerce(_whole(float(value.real))), coerce(_whole(float(value.imag))))
    try:
        return ComplexPolynomial(coerce(value), _ZERO)
    except (TypeError, ValueError):
        return None


def _whole(value: float) -> Any:
    """The parts of Python's complex numbers are floats; whole ones are meant exactly."""
    return int(value) if value.is_integer() else value


def own_id(identifier: int) -> int:
    """The variable that a variable or a conjugate belongs to."""
    name = variable_name(identifier)
    if not name.endswith(_SUFFIX):
        return identifier
    return int(variables(name.removesuffix(_SUFFIX)).variable_ids[0])


def conjugate_id(identifier: int) -> int:
    """The id of the conjugate of a variable, or of what a conjugate belongs to."""
    name = variable_name(identifier)
    other = name.removesuffix(_SUFFIX) if name.endswith(_SUFFIX) else name + _SUFFIX
    return int(variables(other).variable_ids[0])


def _swapped(p: Polynomial) -> Polynomial:
    """Variables and conjugates exchanged."""
    ids = p.variable_ids
    table = np.arange(int(ids.max(initial=0)) + 1, dtype=mono.MONOMIAL)
    for i in ids.tolist():
        table[i] = conjugate_id(i)
    return Polynomial.from_arrays(table[p.monos], p.coefs)


def in_real_variables(p: ComplexPolynomial, parts: dict[int, tuple[Polynomial, Polynomial]]) -> Polynomial:
    """The real part of ``p`` with ``z = x + i y``; ``parts``: x and y of every variable by id."""
    unit = variables("sosdp_i_")
    values = {}
    for i in p.variable_ids:
        x, y = parts[i]
        values[variable(i)], values[variable(conjugate_id(i))] = x + unit * y, x - unit * y
    whole = (p.first + unit * p.second).subs(values)
    powers = (whole.monos == unit.variable_ids[0]).sum(axis=1)
    even = powers % 2 == 0  # of i: its odd powers are imaginary
    monos = np.where(whole.monos == unit.variable_ids[0], 0, whole.monos)[even]
    return Polynomial.from_arrays(np.sort(monos, axis=1), whole.coefs[even] * (1 - powers[even] % 4))


def real_parts(ids: list[int]) -> dict[int, tuple[Polynomial, Polynomial]]:
    """New real variables ``z_re``, ``z_im`` for every complex variable."""
    result: dict[int, tuple[Polynomial, Polynomial]] = {}
    for i in ids:
        name = variable(i).name
        result[i] = (variables(f"{name}_re"), variables(f"{name}_im"))
    return result
