"""Whether an integer matrix is positive semidefinite: the kernel's elimination, every step paid for.

Exact, and always decided.  Standard library only; python-flint, if installed, makes long numbers faster.
"""

from __future__ import annotations

from typing import Any

import certificates.kernel as kernel
from certificates.checker.reading import WORK, Meter

flint: Any
try:
    import flint
except ImportError:  # Python's integers give the same verdicts, a little slower
    flint = None

_SHORT = 400  # bits up to which Python's integers are as fast


def is_positive_semidefinite(matrix: list[list[int]], work: int = WORK) -> bool:
    """Whether a symmetric integer matrix is positive semidefinite; exact, always decided.

    Raises Unreadable when deciding takes more than `work` elementary steps.
    """
    return semidefinite(matrix, Meter(work))


def semidefinite(matrix: list[list[int]], meter: Meter) -> bool:
    """Whether a symmetric integer matrix is positive semidefinite; exact, always decided."""
    return rank_of(matrix, meter) is not None


def definite(matrix: list[list[int]], meter: Meter) -> bool:
    """Whether a symmetric integer matrix is positive definite; exact, always decided."""
    return rank_of(matrix, meter) == len(matrix)


def rank_of(matrix: list[list[int]], meter: Meter) -> int | None:
    """The rank of a symmetric integer matrix, or None where it is not positive semidefinite."""
    # A positive semidefinite matrix with a zero on the diagonal has a zero row there: leave those rows out.
    keep = []
    for i, row in enumerate(matrix):
        meter.spend(1 + len(row))
        if row[i] < 0 or row[i] == 0 and any(row):
            return None
        if row[i] > 0:
            keep.append(i)
    keep.sort(key=lambda i: -matrix[i][i])  # zero pivots of a singular matrix come last
    bits = max((abs(v).bit_length() for row in matrix for v in row), default=0)
    meter.hold(len(keep) ** 2, 2 * bits + kernel.PLACES)

    def pay(size: int, step: int, grows: bool = True) -> None:
        words = bits * (step + 1) >> 6 if grows else bits + kernel.PLACES >> 6
        meter.spend(size * size * (3 + words // 8 + words * words // 100))

    rows = [[matrix[i][j] for j in keep] for i in keep]
    rank = kernel._rank(_numbers(rows, bits), kernel.PLACES, lambda size, step: pay(size, step, False))
    if rank == len(keep):  # rounded: then it is definite
        return rank
    meter.hold(len(keep) ** 2, bits * min(len(keep), 64))
    return kernel._rank(_numbers(rows, bits * len(keep)), pay=pay)


def _numbers(rows: list[list[int]], bits: int) -> list[list[Any]]:
    """The matrix in the numbers that are fastest for so many bits."""
    number = flint.fmpz if flint is not None and bits > _SHORT else int
    return [[number(v) for v in row] for row in rows]
