"""Integers: what floats and fractions are of them and lose of them, kernels, equations, semidefiniteness.

Matrices of integers are those of FLINT, or lists of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..clock import reserve
from ..rigorous import UNIT, largest_eigenvalue_bounds, least_eigenvalue_bound
from ..svec import SHORT, triangle

Rows = Sequence[Sequence[int]]

_LEAST = 2.0**-900  # numbers nearer to zero may have lost digits, or all, to underflow
_TINY = 16  # side up to which a matrix on the boundary is decided in integers
_WORD = 60.0  # binary digits
_LONGEST = 8.0  # seconds that one step in integers may take, whatever the time that is left
_PIVOT, _PRODUCT, _INTEGER = 1e-8, 4e-9, 3e-7  # seconds for a word: in FLINT, twice, and in Python (measured)


def over_one_denominator(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """The numerators of fractions over their common denominator."""
    bottom = math.lcm(*(v.denominator for v in values))
    return [v.numerator * (bottom // v.denominator) for v in values], bottom


def over_one_power(rows: Sequence[Sequence[float]]) -> tuple[list[list[int]], int]:
    """Floats times one power of two, and its exponent."""
    ratios = [[v.as_integer_ratio() for v in row] for row in rows]
    bottom = max((v[1] for row in ratios for v in row), default=1)
    return [[v[0] * (bottom // v[1]) for v in row] for row in ratios], bottom.bit_length() - 1


def primitive(values: Sequence[int]) -> list[int]:
    """Integers divided by their greatest common divisor."""
    common = math.gcd(*values) or 1
    return [v // common for v in values]


def as_row(values: Sequence[int]) -> Any:
    """The matrix of one row."""
    from flint import fmpz_mat

    return fmpz_mat([list(values)])


def table_of(matrix: Any) -> list[list[int]]:
    """The entries, row by row, of a matrix of integers."""
    return [[int(v) for v in row] for row in matrix.tolist()]


def absolute(matrix: Any) -> Any:
    """The absolute values of the entries."""
    from flint import fmpz_mat

    return fmpz_mat(matrix.nrows(), matrix.ncols(), [abs(v) for v in matrix.entries()])


def square(entries: Sequence[Any], side: int) -> list[list[Any]]:
    """The symmetric matrix of the entries of its triangle."""
    matrix: list[list[Any]] = [[0] * side for _ in range(side)]
    for value, i, j in zip(entries, *(v.tolist() for v in triangle(side)), strict=True):
        matrix[i][j] = matrix[j][i] = value
    return matrix


def as_floats(table: Rows) -> np.ndarray:
    """Integers over one power of two, correctly rounded, the largest about one."""
    scale = 1 << max(digits_of(table), 1)
    return np.array([[v / scale for v in row] for row in table])


def near_zero(values: np.ndarray) -> bool:
    """Whether there are numbers so near to zero that their roundings are not small beside them."""
    sizes = np.abs(values)
    return bool(((sizes > 0) & (sizes < _LEAST)).any())


def vanishes(exact: Sequence[int | Fraction], result: np.ndarray) -> bool:
    """Whether one of the exact numbers, not being zero, is next to nothing as the float that was found."""
    return any(exact[i] != 0 for i in np.flatnonzero(~(np.abs(result.reshape(-1)) >= _LEAST)).tolist())


def is_readable(lines: Rows, diagonal: np.ndarray) -> bool:
    """Whether the entries of a matrix are still known when they are stored with their sqrt(2) and read again:
    off the diagonal neighbours of 53 digits may be stored as one float, those of few digits are not."""
    widths = zip(lines, np.where(diagonal, 53, SHORT).tolist(), strict=True)
    numbers = (
        (abs(v).bit_length() - (v & -v).bit_length(), most) for line, most in widths for v in line if v
    )
    return all(digits < most for digits, most in numbers)


def rounded(value: Fraction, direction: int) -> float:
    """A float not below a fraction (``direction`` 1), or not above it (-1)."""
    try:
        result = value.numerator / value.denominator
    except OverflowError:
        limit = float(np.finfo(float).max) * (1 if value > 0 else -1)
        return limit if limit * direction < 0 else direction * np.inf
    if (Fraction(result) - value) * direction < 0:
        result = float(np.nextafter(result, direction * np.inf))
    return result


def digits_of(matrix: Rows) -> int:
    """The binary digits of the largest entry."""
    return max((max(max(row), -min(row)) for row in matrix if row), default=0).bit_length()


def reserve_elimination(rows: Rows) -> None:
    """Time for the echelon form of these rows, whose numbers grow to the digits of all of them together."""
    if rows:
        rank, digits = min(len(rows), len(rows[0])), digits_of(rows)
        words = max(1.0, rank * (digits + rank.bit_length() / 2) / _WORD) * max(1.0, digits / 100)
        reserve(_PIVOT * len(rows) * len(rows[0]) * rank * words, _LONGEST)


def reserve_product(left: Any, right: Any, digits: tuple[int, int]) -> None:
    """Time for the product of two matrices of numbers of these digits, and for its entries in Python."""
    words = max(1.0, digits[0] / _WORD) * max(1.0, digits[1] / _WORD)
    entries = left.nrows() * right.ncols()
    read = _INTEGER * entries * (1 + sum(digits) / 3000)
    reserve(_PRODUCT * entries * left.ncols() * words + read, _LONGEST)


def kernel(rows: Rows, width: int) -> list[list[int]]:
    """Vectors of integers without common divisor that span what all rows, of this width, take to zero."""
    from flint import fmpz_mat

    if not rows:
        return [[int(i == j) for j in range(width)] for i in range(width)]
    rows = [primitive(row) for row in rows]
    reserve_elimination(rows)
    basis, nullity = fmpz_mat(rows).nullspace()
    return [primitive([int(basis[i, j]) for i in range(width)]) for j in range(nullity)]


def echelon(rows: Rows) -> tuple[list[list[int]], int, list[int]]:
    """The reduced rows, without those of zeros, times a denominator; that one; the places of the pivots."""
    from flint import fmpz_mat

    if not rows:
        return [], 1, []
    reserve_elimination(rows)
    reduced, common, rank = fmpz_mat([list(row) for row in rows]).rref()
    sign = -1 if common < 0 else 1
    result = [[sign * int(v) for v in row] for row in reduced.tolist()[:rank]]
    return result, sign * int(common), [next(j for j, v in enumerate(row) if v) for row in result]


def solutions(rows: Rows, columns: int) -> tuple[Any, int, list[list[int]]] | None:
    """All solutions of ``A x = b`` (rows [A | b]) as rows of (-x, 1) times a denominator: one a coordinate
    and a particular one; the denominator, and independent equations. None when they contradict each other."""
    from flint import fmpz_mat

    reduced, bottom, pivots = echelon(rows)
    if columns in pivots:
        return None
    table = []
    for j in [*sorted(set(range(columns)).difference(pivots)), columns]:
        line = [0] * (columns + 1)
        line[j] = bottom if j == columns else -bottom
        for row, p in zip(reduced, pivots, strict=True):
            line[p] = -row[j] if j == columns else row[j]
        table.append(line)
    shared = math.gcd(bottom, *(v for line in table for v in line))
    return fmpz_mat([[v // shared for v in line] for line in table]), bottom // shared, reduced


def is_semidefinite_within(matrix: Rows, off: Fraction) -> bool:
    """Whether every symmetric matrix within ``off`` of an integer one, in norm, is positive semidefinite."""
    side = len(matrix)
    if not side:
        return True
    if not any(map(any, matrix)):
        return off == 0
    scale = 1 << digits_of(matrix)
    slack = 2 * UNIT * side + float(min(off / scale, Fraction(10**6))) * (1 + 1e-12)
    if least_eigenvalue_bound(as_floats(matrix)) >= slack:
        return True
    return off == 0 and side <= _TINY and is_semidefinite(matrix)


def is_semidefinite(matrix: Rows) -> bool:
    """Whether a symmetric matrix of integers is positive semidefinite: as its floats prove, of a large one
    that is not near the boundary; else the signs of its characteristic polynomial alternate, zeros aside,
    exactly when no eigenvalue is negative."""
    from flint import fmpz_mat

    side = len(matrix)
    if side > _TINY:
        if is_semidefinite_within(matrix, Fraction(0)):
            return True
        if largest_eigenvalue_bounds(-as_floats(matrix))[0] > 2 * UNIT * side:
            return False
    reserve(_PRODUCT * side**3 * max(1.0, side * digits_of(matrix) / _WORD), _LONGEST)
    coefficients = fmpz_mat(side, side, [v for row in matrix for v in row]).charpoly().coeffs()
    return all(v * (-1) ** (side - k) >= 0 for k, v in enumerate(coefficients))
