"""Whether an integer matrix is positive semidefinite: exact, and always decided.

Standard library only; python-flint makes products and eliminations faster when it is installed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import mul
from typing import Any

from certificates.checker.reading import WORK, Meter

flint: Any
try:
    import flint
except ImportError:  # the pure Python paths below give the same verdicts, a little slower
    flint = None

BITS = 52  # binary places of a factor found in doubles
MORE_BITS = (128, 256, 512)  # of a factor found in integers
LONG = 1000  # bits of the longest entry times the side: from here on elimination is slower than those


def is_positive_semidefinite(matrix: list[list[int]], work: int = WORK) -> bool:
    """Whether a symmetric integer matrix is positive semidefinite; exact, always decided.

    Raises Unreadable when deciding takes more than `work` elementary steps.
    """
    return semidefinite(matrix, Meter(work))


def semidefinite(matrix: list[list[int]], meter: Meter) -> bool:
    """Whether a symmetric integer matrix is positive semidefinite; exact, always decided."""
    # A positive semidefinite matrix with a zero on the diagonal has a zero row there: leave those rows out.
    keep = []
    for i, row in enumerate(matrix):
        meter.spend(1 + len(row))
        if row[i] < 0 or row[i] == 0 and any(row):
            return False
        if row[i] > 0:
            keep.append(i)
    rows = [[matrix[i][j] for j in keep] for i in keep]
    return _dominant_remainder(rows, meter) or _elimination(rows, meter)


def definite(matrix: list[list[int]], meter: Meter) -> bool:
    """Whether a symmetric integer matrix is positive definite; exact, always decided."""
    if any(row[i] <= 0 for i, row in enumerate(matrix)):
        return False
    # M of _dominant_remainder is triangular with a positive diagonal: M M^T is definite
    return _dominant_remainder(matrix, meter) or _elimination(matrix, meter, singular=False)


def _dominant_remainder(matrix: list[list[int]], meter: Meter) -> bool:
    """True only if matrix = M M^T + R exactly, R diagonally dominant: a quick proof for definite matrices.

    M is a rounded Cholesky factor, in doubles or with more digits, so how it was found does not matter: the
    remainder is computed with integers, and a wrong factor makes the test fail, never succeed.
    """
    size = len(matrix)
    meter.spend(size**3 // 24 + size * size)
    meter.hold(size * size, 4 * BITS)
    # Congruence with powers of two brings the diagonal into [1/2, 4): entries of any size fit in doubles.
    half = [matrix[i][i].bit_length() // 2 for i in range(size)]
    for factor in _in_doubles(matrix, half):
        if _remainder_dominates(matrix, half, factor, BITS):
            return True
    # Bases such as high powers of one variable need more digits than a double has; elimination costs more.
    longest = max((abs(v).bit_length() for row in matrix for v in row), default=0)
    for bits in MORE_BITS if longest * size > LONG else ():
        meter.spend(size**3 * bits // 800)
        meter.hold(size * size, 4 * bits)
        longer = integer_cholesky(matrix, half, bits)
        if longer is not None and _remainder_dominates(matrix, half, longer, bits):
            return True
    return False


def _in_doubles(matrix: list[list[int]], half: list[int]) -> Iterator[list[list[int]]]:
    """Cholesky factors of the scaled matrix, less a little of the identity, in units of 2^-BITS."""
    size = len(matrix)
    try:
        scaled = [[matrix[i][j] / (1 << (half[i] + half[j])) for j in range(i + 1)] for i in range(size)]
    except OverflowError:
        return
    for shift in (size * 2.0**-46, size * 2.0**-38):
        factor = cholesky(scaled, shift)
        if factor is None:
            return
        try:
            yield [[round(value * 2.0**BITS) for value in row] for row in factor]
        except (OverflowError, ValueError):
            return


def cholesky(lower: list[list[float]], shift: float) -> list[list[float]] | None:
    """The lower triangular factor in doubles of a matrix less shift * I; None if a pivot is not positive."""
    factor: list[list[float]] = []
    for i, row in enumerate(lower):
        new: list[float] = []
        for j in range(i):
            new.append((row[j] - sum(map(mul, new, factor[j]))) / factor[j][j])
        pivot = row[i] - shift - sum(map(mul, new, new))
        if not 0.0 < pivot < 8.0:
            return None
        new.append(math.sqrt(pivot))
        factor.append(new)
    return factor


def integer_cholesky(matrix: list[list[int]], half: list[int], bits: int) -> list[list[int]] | None:
    """The lower triangular factor, in units of 2^-bits, of matrix[i][j] / 2^(half[i] + half[j]) less a little
    of the identity; None if that is not positive. Every product of two rows is off by at most two units.
    """
    shift, largest = 4 * len(matrix) << bits, 2 << bits
    factor: list[list[int]] = []
    for i, row in enumerate(matrix):
        new: list[int] = []
        for j in range(i):
            entry = _shifted(row[j], half[i] + half[j] - 2 * bits)
            value = (entry - sum(map(mul, new, factor[j]))) // factor[j][j]
            if not -largest <= value <= largest:  # a diagonal below 4 has none: and hostile ones stay short
                return None
            new.append(value)
        pivot = _shifted(row[i], 2 * (half[i] - bits)) - shift - sum(map(mul, new, new))
        if pivot <= 0:
            return None
        new.append(math.isqrt(pivot))
        factor.append(new)
    return factor


def _shifted(value: int, move: int) -> int:
    """value / 2^move, rounded down."""
    return value >> move if move > 0 else value << -move


def _remainder_dominates(matrix: list[list[int]], half: list[int], whole: list[list[int]], bits: int) -> bool:
    """Whether the scaled matrix less M M^T is diagonally dominant, M = whole / 2^bits lower triangular."""
    size = len(matrix)
    if flint is not None and size > 12:
        dense = flint.fmpz_mat([row + [0] * (size - len(row)) for row in whole])
        flat = [int(v) for v in (dense * dense.transpose()).entries()]
        product = [flat[i * size : i * size + i + 1] for i in range(size)]
    else:
        product = [[sum(map(mul, whole[i], whole[j])) for j in range(i + 1)] for i in range(size)]
    if any(whole[i][i] <= 0 for i in range(size)):
        return False
    slack = [0] * size
    for i in range(size):
        for j in range(i + 1):
            # Entry of the scaled matrix in units of 2^(-2 bits), rounded down: at most one unit too small.
            move = half[i] + half[j] - 2 * bits
            rest = _shifted(matrix[i][j], move) - product[i][j]
            if i == j:
                slack[i] += rest
            else:
                size_of_rest = abs(rest) + (move > 0)
                slack[i] -= size_of_rest
                slack[j] -= size_of_rest
    return all(value >= 0 for value in slack)


def _elimination(matrix: list[list[int]], meter: Meter, singular: bool = True) -> bool:
    """Exact LDL^T by fraction-free elimination; a zero pivot must come with a zero row (or not come)."""
    size = len(matrix)
    bits = max((abs(v).bit_length() for row in matrix for v in row), default=0)
    number = flint.fmpz if flint is not None else int
    rows = [[number(v) for v in row] for row in matrix]
    previous = number(1)
    meter.hold(size * size, bits * min(size, 64))
    active = list(range(size))
    done = 0
    while active:
        # The largest remaining diagonal entry as pivot puts the zero pivots of a singular matrix last.
        k = max(active, key=lambda i: rows[i][i])
        pivot = rows[k][k]
        if pivot < 0:
            return False
        active.remove(k)
        if pivot == 0:
            if not singular:
                return False
            # All diagonal entries left are <= 0: every one of them must vanish, with everything beside it.
            active.append(k)
            return all(rows[i][j] == 0 for i in active for j in active)
        done += 1
        words = bits * done >> 6
        meter.spend(len(active) ** 2 * (6 + words // 4 + words * words // 50))
        row_k = rows[k]
        for i in active:
            row_i, factor = rows[i], rows[i][k]
            for j in active:
                if j > i:
                    break
                row_i[j] = rows[j][i] = (pivot * row_i[j] - factor * row_k[j]) // previous
        previous = pivot
    return True
