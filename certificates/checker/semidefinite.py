"""Whether an integer matrix is positive semidefinite: the kernel's elimination, paid for.

Exact, and always decided.  Standard library only.
"""

from __future__ import annotations

import certificates.kernel as kernel
from certificates.checker.reading import WORK, Meter


def is_positive_semidefinite(matrix: list[list[int]], work: int = WORK) -> bool:
    """Whether a symmetric integer matrix is positive semidefinite; exact, always decided.

    Raises Unreadable when deciding takes more than `work` elementary steps.
    """
    return rank_of(matrix, Meter(work)) is not None


def definite(matrix: list[list[int]], meter: Meter) -> bool:
    """Whether a symmetric integer matrix is positive definite; exact, always decided."""
    return rank_of(matrix, meter) == len(matrix)


def rank_of(matrix: list[list[int]], meter: Meter) -> int | None:
    """The rank of a symmetric integer matrix, or None where it is not positive semidefinite."""
    with meter.kernel():
        rank = kernel.rank(matrix, kernel.PLACES)
        return rank if rank == len(matrix) else kernel.rank(matrix)
