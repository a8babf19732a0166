"""An order statistic on a public grid, by the exponential mechanism, sampled exactly.

Proof: docs/proofs/private_quantile.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sosdp.privacy.arguments import integer, interval, positive
from sosdp.privacy.calibrate import between, range_rho
from sosdp.privacy.contributions import Unit, kept, unit_of
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import number, wholes
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.terms import Terms, on_terms

Array = npt.NDArray[Any]
POINTS = 1 << 20
"""Grid points where no step is given. Only those that occur are stored."""

LARGE = 1 << 62
"""Grids with more points are counted in Python's integers."""


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
    """The points low, low + step, ... up to high; POINTS of them where no step is given.

    Raises:
        ValueError: not low < high, finite, with 0 < step <= high - low (a grid of one point answers nothing).
    """
    first, last = (Fraction(end) for end in interval(low, high))
    width = last - first
    unit = width / (POINTS - 1) if step is None else positive(step, "step")
    if unit > width:
        raise ValueError(
            f"a step of {float(unit):g} is wider than the grid from {low} to {high}: give a smaller one, in "
            "the units of the values"
        )
    return Grid(first, unit, math.floor(width / unit) + 1)


class Runs(NamedTuple):
    """The grid cut at the data: points first..last, in ascending order, have the same level."""

    first: Array
    last: Array
    level: Array


Level = Callable[[Any, Any], Any]
"""Of the numbers of records strictly below and above, elementwise."""


def tallied(indices: Sequence[int], size: int) -> tuple[Array, Array]:
    """The places that occur on a grid of this size, ascending, and how often; integers of any size."""
    return np.unique(np.array(indices, dtype=np.int64 if size < LARGE else object), return_counts=True)


def runs(counted: tuple[Array, Array] | Array, size: int, level: Level) -> Runs:
    """The grid cut at places that ascend; counted: these, and how many records are at each."""
    places, times = counted
    n, gaps = int(times.sum()), len(places) + 1
    first, last = (np.empty(2 * gaps - 1, dtype=places.dtype) for _ in "12")
    below, above = (np.empty(2 * gaps - 1, dtype=np.int64) for _ in "12")
    first[1::2] = last[1::2] = places
    first[0], first[2::2] = 0, places + 1
    last[-1], last[:-1:2] = size - 1, places - 1
    up_to = np.cumsum(times)
    below[0], below[1::2], below[2::2] = 0, up_to - times, up_to
    above[1::2], above[::2] = n - up_to, n - below[::2]
    some = first <= last
    return Runs(first[some], last[some], np.asarray(level(below[some], above[some])))


def draw(cut: Runs, rate: Fraction, bits: RandomBits) -> int:
    """A grid index with probability exactly proportional to exp(-rate * level)."""
    order = np.argsort(cut.level, kind="stable")
    levels, lengths = cut.level[order], (cut.last - cut.first + 1)[order]
    start = np.flatnonzero(np.concatenate([[True], levels[1:] != levels[:-1]]))
    sizes = dict(zip(levels[start].tolist(), np.add.reduceat(lengths, start).tolist(), strict=True))
    level = exact.categorical_exp(sizes, rate, bits)
    place, here = exact.random_below(sizes[level], bits), np.flatnonzero(levels == level)
    ends = np.cumsum(lengths[here])
    run = int(np.searchsorted(ends, place, side="right"))
    return int(cut.first[order[here[run]]] + place - (ends[run] - lengths[here[run]]))


@on_terms("private quantile", takes="adjacency most")
def private_quantile(
    terms: Terms,
    values: Sequence[Any],
    rank: int | None = None,
    *,
    q: float | Fraction | None = None,
    low: float,
    high: float,
    step: float | None = None,
    users: Any = None,
) -> Release:
    """A grid point near the q-quantile of a column, or near its `rank`-th smallest value.

    P(theta) ~ exp(-epsilon s / (2 Delta)) on the grid, epsilon-DP and (epsilon^2 / 8)-zCDP. With q = a / b
    (the nearest fraction with b <= 1000), s = max(0, b #{x < theta} - a n, b #{x > theta} - (b - a) n), and
    Delta = most b where a unit is replaced, most max(a, b - a) where it is added or removed (half for a
    median). With a rank, s is the least number of records to replace so that theta is that order statistic,
    and Delta = 1.

    Args:
        terms: epsilon; adjacency "one record (replace)" (default) or "one record (add or remove)", where n is
            private; with users, "one user (replace)" (default) or "one user (add or remove)". With a rank
            the default only.
        values: n numbers; moved to the nearest point of the public grid. What is no number counts nowhere
            (with q), or as the lowest point (with a rank).
        rank: 1..n, n public; or
        q: in [0, 1], public: .5 for the median.
        low, high, step: the public grid; by default POINTS points. Its fineness costs a logarithm.
        users: with the terms' `most`, see `private_count`.

    Raises:
        ValueError, TypeError: public arguments or the form of the column; never because of the values.

    Source: Smith 2011; the score is the inverse sensitivity of the order statistic. Cost: n log n.
    """
    epsilon = terms.pure
    ends = interval(low, high)
    points = grid(*ends, step)
    unit = unit_of(terms.adjacency, users, terms.most)
    if (rank is None) == (q is None):
        raise ValueError("give q, for example q=0.5 for the median, or the rank of the value that is wanted")
    entries = kept(values, users, unit)
    if rank is None:
        entries = [entry for entry in entries if number(entry) is not None]
        level, moved = quantile_level(_share(q), len(entries), unit)
    else:
        level, moved = _rank_level(rank, len(entries), unit)
    bits = terms.bits()
    rate = Fraction(epsilon) / (2 * moved)
    chosen = draw(runs(tallied(points.counts(entries), points.size), points.size, level), rate, bits)
    wanted = {"q": float(_share(q))} if rank is None else {"n": len(entries), "rank": int(rank)}
    return terms.seal(
        points.value(chosen),
        replace(terms, adjacency=unit.adjacency).guarantee(epsilon=epsilon, rho=range_rho(epsilon)),
        bits,
        evidence=proven_by("private_quantile", Law("exponential", (rate, 2 * moved))),
        public={**wanted, "low": ends[0], "high": ends[1], "step": float(points.step)},
    )


def quantile_level(share: Fraction, n: int, unit: Unit) -> tuple[Level, int]:
    """The score s of a q-quantile of n values, of the numbers below and above, and its sensitivity."""
    a, b = share.numerator, share.denominator

    def level(below: Any, above: Any) -> Any:
        return np.maximum(np.maximum(b * below - a * n, b * above - (b - a) * n), 0)

    return level, unit.most * (b if unit.replaced else max(a, b - a))


def _rank_level(rank: int, n: int, unit: Unit) -> tuple[Level, int]:
    """The score of an order statistic, and its sensitivity 1.

    Raises:
        ValueError: no rank of n values, or n is not public.
    """
    if unit.adjacency != ONE_RECORD_REPLACED:
        raise ValueError(f"a rank needs a public number of records, which {unit.adjacency!s} hides: give q")
    wanted = integer(rank, "rank")  # half a rank would leave levels that are no integers
    if wanted > n:
        raise ValueError(f"rank must be an integer in 1..{n}, got {rank}")

    def level(below: Any, above: Any) -> Any:
        return np.maximum(np.maximum(below - wanted + 1, above - n + wanted), 0)

    return level, 1


def _share(q: Any) -> Fraction:
    """q as a fraction of small numbers; ValueError: not in [0, 1]."""
    return between(q, "q", "[0, 1]").limit_denominator(1000)
