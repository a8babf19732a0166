"""Equations and semidefiniteness in integers; matrices are those of FLINT, or lists of rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .clock import reserve
from .rigorous import UNIT, least_eigenvalue_bound

_TINY = 16  # side up to which a matrix on the boundary is decided in integers
_WORD = 60.0  # binary digits
_LONGEST = 8.0  # seconds that one step in integers may take, whatever the time that is left
_PIVOT, _PRODUCT, _INTEGER = 1e-8, 4e-9, 3e-7  # seconds for a word: in FLINT, twice, and in Python (measured)


def digits_of(matrix: list[list[int]]) -> int:
    """The binary digits of the largest entry."""
    return max((max(max(row), -min(row)) for row in matrix if row), default=0).bit_length()


def reserve_elimination(rows: list[list[int]]) -> None:
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


def pivots_of(echelon: list[list[Any]]) -> list[int]:
    """The places of the first entries, not zero, of the rows."""
    found = []
    for row in echelon:
        at = next((j for j, v in enumerate(row) if v != 0), None)
        if at is not None:
            found.append(at)
    return found


def solutions(rows: list[list[int]], columns: int) -> tuple[Any, int, list[list[int]]] | None:
    """All solutions of ``A x = b`` (rows [A | b]) as rows of (-x, 1) times a denominator: one a coordinate
    and a particular one; the denominator, and independent equations. None when they contradict each other."""
    from flint import fmpz_mat

    if not rows:
        table = [[-int(i == j) for j in range(columns + 1)] for i in range(columns)]
        return fmpz_mat([*table, [0] * columns + [1]]), 1, []
    reserve_elimination(rows)
    reduced, common, rank = fmpz_mat(rows).rref()
    echelon = [[int(v) for v in row] for row in reduced.tolist()[:rank]]
    pivots = pivots_of(echelon)
    if columns in pivots:
        return None
    bottom = int(common)
    if bottom < 0:
        bottom, echelon = -bottom, [[-v for v in row] for row in echelon]
    free = [j for j in range(columns) if j not in set(pivots)]
    table = []
    for j in [*free, columns]:
        line = [0] * (columns + 1)
        line[j] = bottom if j == columns else -bottom
        for row, p in zip(echelon, pivots, strict=True):
            line[p] = -row[j] if j == columns else row[j]
        table.append(line)
    shared = math.gcd(bottom, *(v for line in table for v in line))
    table = [[v // shared for v in line] for line in table]
    return fmpz_mat(table), bottom // shared, echelon


def is_semidefinite_within(matrix: list[list[int]], off: Fraction) -> bool:
    """Whether every symmetric matrix within ``off`` of an integer one, in norm, is positive semidefinite."""
    side = len(matrix)
    if not side:
        return True
    largest = max(abs(v) for row in matrix for v in row)
    if not largest:
        return off == 0
    scale = 1 << largest.bit_length()
    floats = np.array([[v / scale for v in row] for row in matrix])
    slack = 2 * UNIT * side + float(min(off / scale, Fraction(10**6))) * (1 + 1e-12)
    if least_eigenvalue_bound(floats) >= slack:
        return True
    return off == 0 and side <= _TINY and is_semidefinite(matrix)


def is_semidefinite(matrix: list[list[int]]) -> bool:
    """Whether a symmetric matrix of integers is positive semidefinite, by elimination in integers."""
    side = len(matrix)
    reserve(_INTEGER * side**3 / 3 * max(1.0, side * digits_of(matrix) / _WORD), _LONGEST)
    rest = np.array(matrix, dtype=object).reshape(side, side)
    while rest.size:
        reserve()
        diagonal = rest.diagonal()
        if (diagonal < 0).any():
            return False
        pivot = int(np.argmax(diagonal > 0))
        if not diagonal[pivot] > 0:
            return not rest.any()
        keep = np.arange(rest.shape[0]) != pivot
        column = rest[keep, pivot]
        rest = rest[np.ix_(keep, keep)] * rest[pivot, pivot] - np.outer(column, column)
        common = math.gcd(*(int(v) for v in rest.reshape(-1))) if rest.size else 1
        rest = rest // common if common > 1 else rest
    return True
