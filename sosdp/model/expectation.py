"""Expectations as unknowns: what can be asked of a pseudo-expectation besides the system it satisfies.

``relax.E(p)`` is an affine functional of the pseudo-expectation. Two kinds of constraints exist and are
never confused: the system's are *satisfied* (E[q^2 g] >= 0 for every q that fits); a constraint built from
expectations holds *in expectation* only (E[g] >= 0). Squares of expectations give convex quadratic
objectives, so that ``relax.minimize(sum_squares(relax.E(A) - B))`` is a projection onto a set of moments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra.affine import Affine, compare, over
from ..algebra.coefficients import Number, as_number, object_array, times
from ..algebra.constraint import ForAll, Inequality
from ..algebra.monomials import split
from ..algebra.operator import OperatorPolynomial, as_complex_number
from ..algebra.polynomial import Polynomial


def _number(value: Any) -> bool:
    return as_number(value) is not None


@dataclass(frozen=True, eq=False)
class Expectation(Affine):
    """The affine functional ``E[polynomial]``; supports +, -, multiplication by numbers, ``**2`` and
    comparisons."""

    polynomial: Any

    def _plus(self, other: Any) -> Any:
        if isinstance(other, QuadraticExpectation):
            return other + self
        if isinstance(other, Expectation):
            return Expectation(self.polynomial + other.polynomial)
        about_operators = isinstance(self.polynomial, OperatorPolynomial)
        if isinstance(other, complex | np.complexfloating) and not about_operators:
            raise TypeError(f"the expectation of the real polynomial {self.polynomial} is no complex number")
        p = (
            OperatorPolynomial._of(other)
            if about_operators
            else Polynomial(other)
            if _number(other)
            else None
        )
        return NotImplemented if p is None else Expectation(self.polynomial + p)

    def _scaled(self, factor: Any) -> Any:
        about_operators = isinstance(self.polynomial, OperatorPolynomial)
        known = as_complex_number(factor) is not None if about_operators else _number(factor)
        return Expectation(self.polynomial * factor) if known else NotImplemented

    @staticmethod
    def _constraint(kind: str, difference: Any) -> ExpectationConstraint:
        return ExpectationConstraint(kind, difference.polynomial)

    def __pow__(self, power: int) -> QuadraticExpectation:
        if power != 2:
            raise ValueError("only the square of an expectation is convex and allowed: use E(p) ** 2")
        return QuadraticExpectation(_ZERO, ((1, self.polynomial),))

    def __repr__(self) -> str:
        return f"E[{self.polynomial}]"


_ZERO = Polynomial(0)


@dataclass(frozen=True, eq=False)
class QuadraticExpectation(Affine):
    """``E[linear] + sum_k weight_k * E[p_k] ** 2`` with non-negative weights: a convex objective."""

    linear: Polynomial
    squares: tuple[tuple[Number, Polynomial], ...]

    def polynomials(self) -> list[Polynomial]:
        """Every polynomial whose expectation occurs."""
        return [self.linear, *(p for _, p in self.squares)]

    def _plus(self, other: Any) -> Any:
        if isinstance(other, QuadraticExpectation):
            return QuadraticExpectation(self.linear + other.linear, self.squares + other.squares)
        if isinstance(other, Expectation):
            return QuadraticExpectation(self.linear + other.polynomial, self.squares)
        return QuadraticExpectation(self.linear + other, self.squares) if _number(other) else NotImplemented

    def _scaled(self, factor: Any) -> Any:
        number = as_number(factor)
        if number is None:
            return NotImplemented
        if number < 0:
            raise ValueError(
                "a negative multiple of the square of an expectation is not convex: it is not minimised, and "
                "no constraint is made of it"
            )
        squares = tuple((times(w, number), p) for w, p in self.squares)
        return QuadraticExpectation(self.linear * number, squares)

    @staticmethod
    def _constraint(kind: str, difference: Any) -> Any:
        raise TypeError("squares of expectations are minimised: no constraint is made of them")

    def __repr__(self) -> str:
        return f"E[{self.linear}] + {len(self.squares)} squares of expectations"


@dataclass(frozen=True, eq=False)
class ExpectationConstraint:
    """``E[body] >= 0``, ``E[body] == 0``, for a symmetric matrix of polynomials ``E[body]`` psd, or for a
    ``ForAll`` a sum of squares in the quantified variables after the expectation."""

    kind: str
    body: Any

    def polynomials(self) -> list[Polynomial]:
        """Every polynomial whose expectation occurs."""
        if self.kind == "forall":
            p, over = self.body.polynomial, self.body.over_ids
            outer = split(p.monos, over)[1]
            # with coefficients 1, so that nothing cancels
            return [Polynomial.from_arrays(outer, np.ones(len(p.coefs)))]
        return list(self.body.reshape(-1)) if self.kind == "psd" else [self.body]

    def __bool__(self) -> bool:
        raise TypeError("a constraint on an expectation has no truth value; pass it in subject_to=[...]")

    def __repr__(self) -> str:
        if self.kind == "forall":
            return f"in expectation {self.body}"
        sign = {"inequality": ">= 0", "equality": "== 0", "psd": "is positive semidefinite"}[self.kind]
        return f"E[{self.body}] {sign}"


class ExpectationArray(np.ndarray):
    """An object array of expectations with numpy semantics; comparisons give arrays of constraints."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array.view(ExpectationArray) if array.ndim else array.item()  # a sum is no array

    def __ge__(self, other: Any) -> Any:
        return compare(np.greater_equal, self, other)

    def __le__(self, other: Any) -> Any:
        return compare(np.less_equal, self, other)

    def __eq__(self, other: Any) -> Any:
        return compare(np.equal, self, other)

    def psd(self) -> ExpectationConstraint:
        """The matrix of expectations is positive semidefinite; ValueError unless it is square and
        symmetric."""
        entries = object_array(e.polynomial for e in self.reshape(-1)).reshape(self.shape)
        if self.ndim != 2 or self.shape[0] != self.shape[1]:
            raise ValueError(f"a matrix constraint needs a square array, not shape {self.shape}")
        if any(entries[i, j] != entries[j, i] for i in range(len(entries)) for j in range(i)):
            raise ValueError("a matrix constraint needs a symmetric array")
        return ExpectationConstraint("psd", entries)


Expectation._array = ExpectationArray


def expectation(p: Any) -> Expectation | ExpectationArray:
    """E[p] for a polynomial, one in operators, or a number; an array for an array."""
    if isinstance(p, np.ndarray):
        return over(p, lambda entry: Expectation(Polynomial(entry)), ExpectationArray)  # type: ignore[no-any-return]
    return Expectation(p if isinstance(p, Polynomial | OperatorPolynomial) else Polynomial(p))


E = expectation


def for_all(over: Any, constraint: Any, sphere: bool = False) -> Any:
    """``constraint`` for every value of the variables ``over``, with a sum-of-squares proof in them.

    ``constraint``: ``q >= 0`` for a polynomial q in the program's variables and ``over``; goes into a System
    and is satisfied: the proof's coefficients are polynomials. Or ``relax.E(q) >= 0``: after the expectation
    q is a sum of squares in ``over``; goes into ``subject_to``, where ``q >= 0`` means the same. ``sphere``:
    for unit vectors only. Exact (q >= 0 itself) for degree 2 in ``over``, one quantified variable, or degree
    4 and two. Raises TypeError for other constraints, ValueError as ``ForAll``.

    >>> x, v = sd.variables("x", 2), sd.variables("v", 2)
    >>> System(for_all(v, v @ v - (x @ v) ** 2 >= 0))        # |x| <= 1
    """
    if isinstance(constraint, Inequality):
        return ForAll(over, constraint.polynomial, sphere)
    if isinstance(constraint, ExpectationConstraint) and constraint.kind == "inequality":
        return ExpectationConstraint("forall", ForAll(over, constraint.body, sphere))
    raise TypeError(
        f"for_all takes q >= 0 or relax.E(q) >= 0, not {type(constraint).__name__}; an equality in v is one "
        "for each coefficient"
    )


def sum_squares(values: Any) -> QuadraticExpectation:
    """Sum of squares of expectations: the squared norm of a vector, the squared Frobenius norm of a
    matrix."""
    squares = []
    for entry in np.asarray(values, dtype=object).reshape(-1):
        if not isinstance(entry, Expectation):
            raise TypeError(f"sum_squares takes expectations such as relax.E(p), not {type(entry).__name__}")
        squares.append((1.0, entry.polynomial))
    return QuadraticExpectation(_ZERO, tuple(squares))


def flatten_constraints(constraints: Any) -> list[ExpectationConstraint]:
    """All constraints of nested lists and arrays; TypeError for anything that is not one in expectation."""
    if constraints is None:
        return []
    if isinstance(constraints, ExpectationConstraint):
        return [constraints]
    if isinstance(constraints, ForAll):
        return [ExpectationConstraint("forall", constraints)]
    if isinstance(constraints, list | tuple | set | frozenset | Iterator | np.ndarray):
        return [c for entry in constraints for c in flatten_constraints(entry)]
    raise TypeError(
        f"subject_to takes constraints on expectations (relax.E(p) >= 0), not {type(constraints).__name__}; "
        "constraints that must be satisfied belong in the System"
    )
