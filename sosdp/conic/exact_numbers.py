"""Floats, integers and fractions into one another, and what floats lose of them.

Matrices of integers are those of FLINT.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .svec import triangle

_LEAST = 2.0**-900  # numbers nearer to zero may have lost digits, or all, to underflow


def over_one_power(rows: list[list[float]]) -> tuple[list[list[int]], int]:
    """The numbers times one power of two, and its exponent."""
    ratios = [[v.as_integer_ratio() if v else None for v in row] for row in rows]
    bottom = max((v[1] for row in ratios for v in row if v), default=1)
    return [[v[0] * (bottom // v[1]) if v else 0 for v in row] for row in ratios], bottom.bit_length() - 1


def over_one_denominator(values: list[Fraction]) -> tuple[list[int], int]:
    """The numerators of fractions over their common denominator."""
    bottom = math.lcm(*(v.denominator for v in values))
    return [v.numerator * (bottom // v.denominator) for v in values], bottom


def as_row(values: list[int]) -> Any:
    """The matrix of one row."""
    from flint import fmpz_mat

    return fmpz_mat([values])


def table_of(matrix: Any) -> list[list[int]]:
    """The entries, row by row, of a matrix of integers."""
    return [[int(v) for v in row] for row in matrix.tolist()]


def entries_of(matrix: Any) -> list[int]:
    """The entries of a matrix of integers, in one list."""
    return [int(v) for v in matrix.entries()]


def absolute(matrix: Any) -> Any:
    """The absolute values of the entries."""
    from flint import fmpz_mat

    return fmpz_mat(matrix.nrows(), matrix.ncols(), [abs(v) for v in matrix.entries()])


def square(entries: list[int], side: int) -> list[list[int]]:
    """The symmetric matrix of the entries of its triangle."""
    matrix = [[0] * side for _ in range(side)]
    for value, i, j in zip(entries, *(v.tolist() for v in triangle(side)), strict=True):
        matrix[i][j] = matrix[j][i] = value
    return matrix


def as_floats(table: list[list[int]]) -> np.ndarray:
    """Integers over one power of two, correctly rounded, the largest about one."""
    largest = max((max(max(row), -min(row)) for row in table if row), default=0)
    scale = 1 << max(largest.bit_length(), 1)
    return np.array([[v / scale for v in row] for row in table])


def near_zero(values: np.ndarray) -> bool:
    """Whether there are numbers so near to zero that their roundings are not small beside them."""
    sizes = np.abs(values)
    return bool(((sizes > 0) & (sizes < _LEAST)).any())


def vanishes(exact: Sequence[int | Fraction], found: np.ndarray) -> bool:
    """Whether one of the exact numbers, not being zero, is next to nothing as the float that was found."""
    return any(exact[i] != 0 for i in np.flatnonzero(~(np.abs(found.reshape(-1)) >= _LEAST)).tolist())


def representable(row: list[int], digits: int = 53) -> bool:
    """Whether floats of so many binary digits hold the numbers."""
    return all(v == 0 or abs(v).bit_length() - (v & -v).bit_length() < digits for v in row)


def rounded(value: Fraction, direction: int) -> float:
    """A float not below a fraction (``direction`` 1), or not above it (-1)."""
    try:
        found = value.numerator / value.denominator
    except OverflowError:
        limit = float(np.finfo(float).max) * (1 if value > 0 else -1)
        return limit if limit * direction < 0 else direction * np.inf
    if (Fraction(found) - value) * direction < 0:
        found = float(np.nextafter(found, direction * np.inf))
    return found
