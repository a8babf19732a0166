"""An order statistic on a public grid, by the exponential mechanism, sampled exactly.

Proof: docs/proofs/private_quantile.md
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import integer, positive, range_rho, source, wholes
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.seal import seal


@dataclass(frozen=True)
class Grid:
    """Public points low, low + step, ..., of which there are `size`."""

    low: Fraction
    step: Fraction
    size: int

    def counts(self, values: Any) -> list[int]:
        """Sorted indices of the grid points nearest to the values, clipped; NaN counts as the lowest."""
        return sorted(wholes(values, self.step, self.low - self.step / 2, 0, self.size - 1))

    def value(self, index: int) -> float:
        """The grid point, as a float64."""
        return float(self.low + index * self.step)


def grid(low: Any, high: Any, step: Any) -> Grid:
    """The points low, low + step, ... up to high.

    Raises:
        ValueError: not low < high, finite, with a step > 0.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"the grid needs finite low < high, got [{low}, {high}]")
    width = Fraction(high) - Fraction(low)
    return Grid(Fraction(low), Fraction(step), math.floor(width / positive(step, "step")) + 1)


@dataclass(frozen=True)
class Run:
    """Grid points first..last with the same level."""

    first: int
    last: int
    level: int


def runs(indices: Sequence[int], size: int, level: Callable[[int, int], int]) -> list[Run]:
    """The grid cut at the data; `level(below, above)` of the numbers of records strictly below and above."""
    found: list[Run] = []
    n = len(indices)
    below, start = 0, 0
    for index, count in sorted(Counter(indices).items()):
        if start < index:
            found.append(Run(start, index - 1, level(below, n - below)))
        found.append(Run(index, index, level(below, n - below - count)))
        below += count
        start = index + 1
    if start < size:
        found.append(Run(start, size - 1, level(n, 0)))
    return found


def draw(cut: Sequence[Run], rate: Fraction, bits: RandomBits) -> int:
    """A grid index with probability exactly proportional to exp(-rate * level)."""
    sizes: Counter[int] = Counter()
    for run in cut:
        sizes[run.level] += run.last - run.first + 1
    level = exact.categorical_exp(sizes, rate, bits)
    place = exact.random_below(sizes[level], bits)
    for run in cut:
        length = run.last - run.first + 1
        if run.level == level:
            if place < length:
                return run.first + place
            place -= length
    raise AssertionError("a place beyond the level's points")


def private_quantile(
    values: Sequence[Any],
    rank: int,
    *,
    low: float,
    high: float,
    step: float,
    epsilon: float,
    insecure_seed: int | None = None,
) -> Release:
    """A grid point near the `rank`-th smallest of n values.

    P(theta) ~ exp(-epsilon s / 2), s the least number of records to replace so that theta is the order
    statistic: s = max(0, #{x < theta} - rank + 1, #{x > theta} - n + rank). epsilon-DP and (epsilon^2 /
    8)-zCDP.

    Args:
        values: n numbers, n public; moved to the nearest point of the public grid.
        rank: 1..n, public; (n + 1) // 2 for the median.
        low, high, step: the public grid.
        epsilon: budget.

    Raises:
        ValueError: public arguments out of range; never because of the values.

    Source: Smith 2011; the score is the inverse sensitivity of the order statistic. Cost: n log n.
    """
    epsilon = calibrate.check_epsilon(epsilon)
    points = grid(low, high, step)
    n = len(values)
    if integer(rank, "rank") > n:  # half a rank would leave levels that are no integers
        raise ValueError(f"rank must be an integer in 1..{n}, got {rank}")
    rank = int(rank)

    def level(below: int, above: int) -> int:
        return max(0, below - rank + 1, above - n + rank)

    bits = source(insecure_seed)
    chosen = draw(runs(points.counts(values), points.size, level), Fraction(epsilon) / 2, bits)
    return seal(
        points.value(chosen),
        Guarantee(
            mechanism="private quantile",
            adjacency=ONE_RECORD_REPLACED,
            epsilon=epsilon,
            delta=0.0,
            rho=range_rho(epsilon),
        ),
        bits,
        evidence=proven_by("private_quantile", Law("exponential", (Fraction(epsilon) / 2, 2))),
        public={"n": n, "rank": rank, "low": low, "high": high, "step": step},
    )
