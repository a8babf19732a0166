"""Whether a matrix of rationals is positive semidefinite: the kernel's elimination, always decided.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import certificates.kernel as kernel

Matrix = Sequence[Sequence[int | Fraction]]


def is_positive_semidefinite(matrix: Matrix) -> bool:
    """Whether a symmetric matrix is positive semidefinite."""
    return rank_of(matrix) is not None


def definite(matrix: Matrix) -> bool:
    """Whether a symmetric matrix is positive definite."""
    return rank_of(matrix) == len(matrix)


def rank_of(matrix: Matrix) -> int | None:
    """The rank of a symmetric matrix, or None where it is not positive semidefinite."""
    common = kernel.common_denominator({v.denominator for row in matrix for v in row}, len(matrix) ** 2)
    whole = [[v.numerator * (common // v.denominator) for v in row] for row in matrix]
    rank = kernel.rank(whole, kernel.PLACES)
    return rank if rank == len(matrix) else kernel.rank(whole)
