"""Constraints on polynomials: what comparisons build and ``System`` collects."""

from __future__ import annotations

import opcode
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra.array import PolynomialArray
from sosdp.algebra.polynomial import Polynomial, above, coerce
from sosdp.algebra.sparse import to_variable_id


class Constraint:
    """What ``System`` collects: shown in LaTeX, without a truth value."""

    __slots__ = ()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"  # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        raise TypeError("a constraint has no truth value")


@dataclass(frozen=True)
class Inequality(Constraint):
    """``polynomial >= 0``. It has no truth value, which catches chained comparisons (``0 <= x <= 1``)."""

    polynomial: Polynomial

    def __bool__(self) -> bool:
        raise TypeError(
            "an inequality between polynomials is a constraint and has no truth value; write a chained "
            "comparison such as 0 <= x <= 1 as two constraints, those of an array or a series of polynomials "
            "as sd.PolynomialArray(values) >= 0, or one by one"
        )

    def __repr__(self) -> str:
        return f"{self.polynomial!r} >= 0"

    def latex(self) -> str:
        """LaTeX of the constraint."""
        return f"{self.polynomial.latex()} \\ge 0"


@dataclass(frozen=True)
class Equality(Constraint):
    """``polynomial == 0``. Its truth value: whether the two sides were the same polynomial, term by term.

    An equality whose truth value was asked for is no constraint any more (``taken``): ``0 == x == 1`` and
    ``(x == 1) and (y == 1)`` are one of their two equalities, and ``System`` refuses that one. ``(x == 1) or
    (y == 1)``, which would be the second, raises TypeError; as a condition (``if p == q or ...``) it is asked
    like any other.
    """

    polynomial: Polynomial
    same: bool = field(default=False, repr=False, compare=False)
    taken: bool = field(default=False, init=False, repr=False, compare=False)

    def __bool__(self) -> bool:
        object.__setattr__(self, "taken", True)
        if not self.same and _drops_by_or(sys._getframe(1)):
            raise TypeError(
                f"'or' between {self!r} and another value keeps one of them only: give constraints one by "
                "one; for the truth value of an equality write bool(p == q)"
            )
        return self.same

    def __repr__(self) -> str:
        return f"{self.polynomial!r} == 0"

    def latex(self) -> str:
        """LaTeX of the constraint."""
        return f"{self.polynomial.latex()} = 0"


def _drops_by_or(frame: FrameType) -> bool:
    """Whether the truth value is asked for by an ``or`` whose value is used, so that the first one is lost.

    That is how the compiler writes it: a copy of the value is on the stack while it is tested.
    """
    code, here = frame.f_code.co_code, frame.f_lasti
    if not 0 <= here < len(code):
        return False
    name = opcode.opname[code[here]]
    if name == "JUMP_IF_TRUE_OR_POP":  # Python 3.11
        return True
    if name not in ("POP_JUMP_IF_TRUE", "TO_BOOL") or here < 2 or opcode.opname[code[here - 2]] != "COPY":
        return False
    if name == "TO_BOOL":  # from Python 3.13 on; its cache, then the jump
        while here + 2 < len(code) and opcode.opname[code[here + 2]] in ("CACHE", "<0>"):
            here += 2
        return here + 2 < len(code) and opcode.opname[code[here + 2]] == "POP_JUMP_IF_TRUE"
    return True


class PSD(Constraint):
    """The constraint that a symmetric matrix of polynomials is positive semidefinite.

    ``matrix`` is anything square that ``PolynomialArray`` reads. ValueError if it is not square and
    symmetric.
    """

    __slots__ = ("matrix",)
    matrix: PolynomialArray

    def __init__(self, matrix: Any) -> None:
        matrix = PolynomialArray(matrix)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
            raise ValueError(f"a matrix inequality needs a square matrix, not shape {matrix.shape}")
        for i, j in zip(*np.triu_indices(matrix.shape[0], 1)):
            if not matrix[i, j] == matrix[j, i]:
                raise ValueError(
                    f"a matrix inequality needs a symmetric matrix: entries ({i}, {j}) and ({j}, {i}) are "
                    f"{matrix[i, j]!r} and {matrix[j, i]!r}; use (M + M.T) / 2 if that is meant"
                )
        matrix = matrix.copy()
        matrix.flags.writeable = False
        self.matrix = matrix

    def __repr__(self) -> str:
        return f"PSD({self.matrix.tolist()!r})"

    def latex(self) -> str:
        """LaTeX of the constraint."""
        return f"{self.matrix.latex()} \\succeq 0"


class ForAll(Constraint):
    """For every value of ``over``, ``polynomial >= 0``, with a sum-of-squares proof in those variables.

    The coefficients of the proof are polynomials in the remaining variables (or, in expectation, numbers).
    ``over``: the quantified variables; ``polynomial``: of even degree in them, at least 2; ``sphere``: only
    unit vectors are meant, and terms of lower even degree are multiplied by powers of their squared norm.
    ValueError for an odd degree (such a polynomial is non-negative only where its terms of that degree
    vanish, which equations state), and on the sphere for terms of different parity. Source: Hopkins, Kamath,
    Majid and Narayanan 2022 ("certified in v"); encoding ours, docs/proofs/for_all.md.
    """

    __slots__ = ("over", "polynomial", "sphere")
    over: tuple[Polynomial, ...]
    polynomial: Polynomial
    sphere: bool

    def __init__(self, over: Any, polynomial: Polynomial, sphere: bool = False) -> None:
        flat = [over] if isinstance(over, Polynomial) else list(np.asarray(over, dtype=object).reshape(-1))
        if not flat or any(not isinstance(v, Polynomial) or v.degree != 1 or len(v.coefs) != 1 for v in flat):
            raise ValueError("for_all needs the quantified variables first, for example for_all(v, q >= 0)")
        self.over = tuple(flat)
        self.sphere = bool(sphere)
        if self.sphere:
            polynomial = self._homogeneous(polynomial)
        self.polynomial = polynomial
        degrees = self.inner_degrees
        top = int(degrees.max(initial=0))
        if top % 2:
            raise ValueError(
                f"the polynomial has odd degree {top} in the quantified variables: it is non-negative only "
                "where all its terms of that degree vanish; state these as equations; for v in [-1, 1] put "
                "u[0]**2 - u[1]**2 in its place: for_all(u, q >= 0, sphere=True)"
            )
        if top == 0:
            raise ValueError("the polynomial does not contain the quantified variables; state it as p >= 0")

    @property
    def over_ids(self) -> np.ndarray:
        """Ids of the quantified variables, sorted."""
        return np.unique([int(v.variable_ids[0]) for v in self.over])

    @property
    def inner_degrees(self) -> np.ndarray:
        """Degree of each term in the quantified variables."""
        return _degrees_in(self.polynomial, self.over_ids)

    @property
    def outer_degree(self) -> int:
        """Largest degree in the other variables."""
        monos = self.polynomial.monos
        return int(((monos > 0) & ~np.isin(monos, self.over_ids)).sum(axis=1).max(initial=0))

    @property
    def outer_ids(self) -> np.ndarray:
        """Ids of the other variables, sorted."""
        return np.setdiff1d(np.asarray(self.polynomial.variable_ids), self.over_ids)

    def subs(self, values: Mapping[Any, Any]) -> list[Constraint]:
        """What it says with polynomials or numbers in place of other variables than the quantified ones.

        Where the degree becomes odd, its terms vanish: an equation for the coefficient of each, and so on
        for the rest. Then a for-all constraint, or an inequality where no quantified variable is left.
        ValueError for polynomials that contain a quantified variable.
        """
        other = {v: coerce(q) for v, q in values.items() if to_variable_id(v) in self.outer_ids}
        for v, q in other.items():
            if np.isin(q.variable_ids, self.over_ids).any():
                raise ValueError(f"{q} in place of {v} contains a quantified variable of {self!r}")
        polynomial, result = self.polynomial.subs(other), list[Constraint]()
        while (degrees := _degrees_in(polynomial, self.over_ids)).max(initial=0) % 2:
            top = degrees == degrees.max()
            leading, polynomial = (
                Polynomial.from_arrays(polynomial.monos[part], polynomial.coefs[part]) for part in (top, ~top)
            )
            result += map(Equality, coefficients_in(leading, self.over_ids)[1])
        return [*result, ForAll(self.over, polynomial) if degrees.any() else Inequality(polynomial)]

    def _homogeneous(self, polynomial: Polynomial) -> Polynomial:
        degrees = _degrees_in(polynomial, self.over_ids)
        top = int(degrees.max(initial=0))
        if ((top - degrees) % 2).any():
            raise ValueError(
                "on the sphere every term must have a degree of the same parity in the variables"
            )
        norm = sum((v * v for v in self.over), Polynomial(0))
        parts = [
            Polynomial.from_arrays(polynomial.monos[degrees == d], polynomial.coefs[degrees == d])
            * norm ** ((top - int(d)) // 2)
            for d in np.unique(degrees)
        ]
        return sum(parts, Polynomial(0))

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, ForAll):
            return NotImplemented
        return self.polynomial == other.polynomial and np.array_equal(self.over_ids, other.over_ids)

    def __hash__(self) -> int:
        return hash((self.polynomial, tuple(self.over_ids.tolist())))

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.over))
        return f"ForAll(({names}), {self.polynomial!r} >= 0)"

    def latex(self) -> str:
        """LaTeX of the constraint."""
        names = ", ".join(v.latex() for v in self.over)
        return f"{self.polynomial.latex()} \\ge 0 \\quad \\forall\\, {names}"


def coefficients_in(p: Polynomial, over: np.ndarray) -> tuple[np.ndarray, list[Polynomial]]:
    """Monomials in the variables with these ids and their coefficients, polynomials in the others."""
    inner, outer = mono.split(p.monos, over.astype(mono.MONOMIAL))
    distinct, place = mono.unique(inner)
    here = [place == k for k in range(distinct.shape[0])]
    return distinct, [Polynomial.from_arrays(outer[k], p.coefs[k]) for k in here]


def _degrees_in(p: Polynomial, over: np.ndarray) -> np.ndarray:
    return np.asarray(np.isin(p.monos, over).sum(axis=1))


above["inequality"] = Inequality
above["equality"] = Equality
