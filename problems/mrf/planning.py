"""Choices from public numbers: iterations, and which estimator to take."""

from __future__ import annotations

from sosdp.privacy.mechanisms.propose_test_release.block_vote import blocks_needed

from .theory import balanced_iterations

FEWEST, MOST = 20, 2000


def choose_iterations(n: int, radius: float, rho: float, candidates: int) -> int:
    """T of `iterations="auto"`: a tenth of the balanced number, between 20 and 2000.

    The balance is that of a worst case; measured, the optimisation error is a hundred times below its bound.
    """
    return min(max(balanced_iterations(radius, n, rho, candidates) // 10, FEWEST), MOST)


def suggested_blocks(epsilon: float, delta: float, chance: float = 0.9) -> int:
    """Blocks of a vote that releases with probability .95 when each block is right with this chance."""
    return blocks_needed(epsilon, delta, chance)
