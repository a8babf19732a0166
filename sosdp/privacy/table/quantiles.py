"""Quantiles of a column by the exponential mechanism, each with an interval that its own draws give.

Proof: docs/proofs/tables.md, "Quantiles"
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.contributions import Unit
from sosdp.privacy.guarantee.evidence import Law
from sosdp.privacy.mechanisms.basic.quantile import Grid, Run, draw, quantile_level, runs
from sosdp.privacy.table.statistics import MISSING, Codes, Noise, Row, Statistic, in_column, is_timed

POINTS = 1 << 12
"""Grid points of a column of numbers; integers and days have their own, up to MOST."""

MOST = 1 << 17
VALUE = Fraction(1, 2)
"""Part of the budget of a quantile for its value; the rest is for the two ends of the interval."""


@dataclass(frozen=True)
class Quantiles(Statistic):
    """Order statistics at shares q of the entries, rounded to a public grid."""

    shares: tuple[Fraction, ...] = (Fraction(1, 2),)
    interval: bool = True

    @property
    def name(self) -> str:
        """As rows call it."""
        return "quantile"

    def repeats(self, other: Statistic) -> bool:
        """Other shares are other questions."""
        return isinstance(other, Quantiles) and not set(self.shares).isdisjoint(other.shares)

    @property
    def grid(self) -> Grid:
        """Whole numbers and days where they are not too many."""
        assert self.column is not None
        low, high = map(Fraction, self.column.bounds)
        length = high - low
        whole = self.column.type == "integer" or (self.column.type == "date" and not is_timed(self.column))
        step = Fraction(1) if whole and length < MOST else length / (POINTS - 1)
        return Grid(low, step, math.floor(length / step) + 1) if length else Grid(low, Fraction(1), 1)

    @property
    def width(self) -> int:
        """Number of grid points."""
        return self.grid.size

    @property
    def answers(self) -> int:
        """One row a quantile."""
        return len(self.shares)

    def code(self, values: npt.NDArray[np.float64]) -> Codes:
        """The place of the nearest grid point."""
        points, there = self.grid, ~np.isnan(values)
        steps = (np.where(there, values, float(points.low)) - float(points.low)) / float(points.step)
        places = np.clip(np.rint(steps), 0, points.size - 1).astype(np.int64)
        return np.where(there, places, MISSING)

    def _parts(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """What one value, and one end of an interval, may cost."""
        each = epsilon / len(self.shares)
        return (each * VALUE, each * (1 - VALUE) / 2) if self.interval else (each, Fraction(0))

    def laws(self, unit: Unit, epsilon: Fraction) -> tuple[Law, ...]:
        """One exponential mechanism for every value, and two for its interval."""
        value, end = self._parts(epsilon)
        result = []
        for share in self.shares:
            moved = quantile_level(share, 0, unit)[1]
            result.append(Law("exponential", (value / (2 * moved), 2 * moved)))
            if self.interval:
                result.append(Law("exponential", (end / (2 * moved), 2 * moved), 2))
        return tuple(result)

    def rows(self, cell: Sequence[int], noise: Noise) -> list[Row]:
        """One row a quantile."""
        points, counts = self.grid, Counter({k: int(c) for k, c in enumerate(cell) if c})
        return [self._row(points, counts, share, noise) for share in self.shares]

    def _row(self, points: Grid, counts: Counter[int], share: Fraction, noise: Noise) -> Row:
        assert self.column is not None
        n = counts.total()
        level, moved = quantile_level(share, n, noise.unit)
        value, end = (part / (2 * moved) for part in self._parts(noise.epsilon))
        place = draw(runs(counts, points.size, level), value, noise.bits)
        row: Row = {"quantile": float(share), "value": self._at(place, 0)}
        if not self.interval:
            return row
        first, last = place, place
        if points.size > 1:
            ends = Ends(share, n, reach(points.size, end, noise.alpha / 2, share.denominator))
            first = min(place, draw(cut(counts, points.size, ends.low, first=True), end, noise.bits))
            last = max(place, draw(cut(counts, points.size, ends.high, first=False), end, noise.bits))
        return row | {"low": self._at(first, -1), "high": self._at(last, 1)}

    def _at(self, place: int, side: int) -> float:
        """A grid point; the ends of an interval reach as far as entries that are rounded to it."""
        assert self.column is not None
        points = self.grid
        off = Fraction(0) if points.step == 1 else side * points.step / 2
        low, high = self.column.bounds
        result = float(points.low + place * points.step + off)
        result = min(max(result, low), high)
        return int(result) if self.column.type == "integer" and result.is_integer() else result

    def spread(self, unit: Unit, epsilon: Fraction) -> float:
        """Ranks that the exponential mechanism is off, about."""
        worst = max(quantile_level(share, 0, unit)[1] / share.denominator for share in self.shares)
        return 2 * worst / float(self._parts(epsilon)[0])

    def error(self, unit: Unit, epsilon: Fraction, n: float) -> float:
        """Of evenly spread entries."""
        return self.size * min(self.spread(unit, epsilon) / n, 0.5)

    @property
    def size(self) -> float:
        """The length of the bounds."""
        assert self.column is not None
        return self.column.high - self.column.low or 1.0

    def shown(self, value: Any, side: int = 0) -> Any:
        """Dates as texts."""
        assert self.column is not None
        return in_column(self.column, value, side)


def reach(size: int, rate: Fraction, alpha: float, unit: int) -> int:
    """How far an end is put outside, in units of the score, so that it misses with probability alpha at most.

    Args:
        size: of the grid. rate: of the exponential mechanism. alpha: probability of a miss.
        unit: what one record counts in the score; the end is that much further out.
    """
    return math.ceil(math.log((size - 1) / alpha) / float(rate) * (1 + 1e-12)) + unit


@dataclass(frozen=True)
class Ends:
    """The scores of the two ends of an interval for the quantile of share q = a / b of n entries.

    Attributes:
        share: q. n: number of entries. away: G of the proof.
    """

    share: Fraction
    n: int
    away: int

    def low(self, below: int, above: int, bound: bool) -> int:
        """Of a lower end, by the numbers of entries below and above; `bound`: it is the least grid point."""
        a, b = self.share.numerator, self.share.denominator
        far = b * above - (b - a) * self.n - self.away
        return max(0, far) if bound else max(0, b * below - a * self.n + self.away, far)

    def high(self, below: int, above: int, bound: bool) -> int:
        """Of an upper end; `bound`: it is the largest grid point."""
        return Ends(1 - self.share, self.n, self.away).low(above, below, bound)


def cut(counts: Counter[int], size: int, level: Callable[[int, int, bool], int], *, first: bool) -> list[Run]:
    """The grid cut at the data, its first (or last) point by itself, with the levels."""
    n, bound = counts.total(), 0 if first else size - 1
    inner = runs(counts, size, lambda below, above: level(below, above, False))
    inner = [
        Run(part[0], part[1], run.level)
        for run in inner
        for part in ((run.first, min(run.last, bound - 1)), (max(run.first, bound + 1), run.last))
        if part[0] <= part[1]
    ]
    own = n - counts[bound]
    edge = level(0, own, True) if first else level(own, 0, True)
    return [*inner, Run(bound, bound, edge)]
