"""Constraints on polynomials: what comparisons build and ``System`` collects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sosdp.algebra.array import PolynomialArray
from sosdp.algebra.polynomial import Polynomial


@dataclass(frozen=True)
class Inequality:
    """``polynomial >= 0``. It has no truth value, which catches chained comparisons (``0 <= x <= 1``)."""

    polynomial: Polynomial

    def __bool__(self) -> bool:
        raise TypeError(
            "an inequality between polynomials is a constraint and has no truth value; "
            "write a chained comparison such as 0 <= x <= 1 as two constraints"
        )

    def __repr__(self) -> str:
        return f"{self.polynomial!r} >= 0"

    def latex(self) -> str:
        """LaTeX of the constraint."""
        return f"{self.polynomial.latex()} \\ge 0"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


@dataclass(frozen=True)
class Equality:
    """``polynomial == 0``. Its truth value: whether the two sides were the same polynomial, term by term."""

    polynomial: Polynomial
    same: bool = field(default=False, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.same

    def __repr__(self) -> str:
        return f"{self.polynomial!r} == 0"

    def latex(self) -> str:
        """LaTeX of the constraint."""
        return f"{self.polynomial.latex()} = 0"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


class PSD:
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

    def __bool__(self) -> bool:
        raise TypeError("a matrix inequality is a constraint and has no truth value")

    def __repr__(self) -> str:
        return f"PSD({self.matrix.tolist()!r})"

    def latex(self) -> str:
        """LaTeX of the constraint."""
        return f"{self.matrix.latex()} \\succeq 0"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"
