"""Quantiles of a column by the exponential mechanism, each with an interval that its own draws give.

Proof: docs/proofs/tables.md, "Quantiles"
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.contributions import Unit
from sosdp.privacy.guarantee.evidence import Law
from sosdp.privacy.mechanisms.basic.quantile import Grid, Runs, draw, quantile_level, runs
from sosdp.privacy.table.statistics import MISSING, Codes, Noise, Row, Statistic, in_column, is_timed

POINTS = 1 << 20
"""Grid points of a column of numbers; integers and days have their own, up to as many. Only those that occur
are stored."""

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
        step = Fraction(1) if whole and length < POINTS else length / (POINTS - 1)
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

    def tally(self, codes: Codes, keys: npt.NDArray[np.intp], count: int) -> list[Codes]:
        """Of each key (2, m): the places that occur, ascending, and how often."""
        kept = (codes != MISSING) & (keys >= 0)
        places, times = np.unique(keys[kept] * self.width + codes[kept], return_counts=True)
        ends = np.searchsorted(places, self.width * np.arange(count + 1))
        return [
            np.stack([places[start:end] - key * self.width, times[start:end]])
            for key, (start, end) in enumerate(itertools.pairwise(ends))
        ]

    def merged(self, first: Codes, second: Codes) -> Codes:
        """The places of both, with the sums of their counts."""
        at = np.searchsorted(first[0], second[0])
        known = np.append(first[0], -1)[at] == second[0]
        both = first.copy()
        both[1, at[known]] += second[1, known]
        return np.insert(both, at[~known], second[:, ~known], axis=1)

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

    def rows(self, cell: Codes, noise: Noise) -> list[Row]:
        """One row a quantile."""
        return [self._row(self.grid, cell, share, noise) for share in self.shares]

    def _row(self, points: Grid, cell: Codes, share: Fraction, noise: Noise) -> Row:
        assert self.column is not None
        n = int(cell[1].sum())
        level, moved = quantile_level(share, n, noise.unit)
        value, end = (part / (2 * moved) for part in self._parts(noise.epsilon))
        place = draw(runs(cell, points.size, level), value, noise.bits)
        row: Row = {"quantile": float(share), "value": self._at(place, 0)}
        if not self.interval:
            return row
        first, last = place, place
        if points.size > 1:
            ends = Ends(share, n, reach(points.size, end, noise.alpha / 2, share.denominator))
            low, high = (self.merged(cell, np.array([[bound], [0]])) for bound in (0, points.size - 1))
            first = min(place, draw(cut(low, points.size, ends.low, first=True), end, noise.bits))
            last = max(place, draw(cut(high, points.size, ends.high, first=False), end, noise.bits))
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

    def low(self, below: Any, above: Any, bound: bool) -> Any:
        """Of a lower end, by the numbers of entries below and above; `bound`: it is the least grid point."""
        a, b = self.share.numerator, self.share.denominator
        if self.away > LARGE:
            below, above = np.asarray(below, dtype=object), np.asarray(above, dtype=object)
        far = np.maximum(b * above - (b - a) * self.n - self.away, 0)
        return far if bound else np.maximum(b * below - a * self.n + self.away, far)

    def high(self, below: Any, above: Any, bound: bool) -> Any:
        """Of an upper end; `bound`: it is the largest grid point."""
        return Ends(1 - self.share, self.n, self.away).low(above, below, bound)


LARGE = 1 << 61
"""Beyond it scores are Python's integers; b n is below 2^61 for every table that fits into memory."""


def cut(cell: Codes, size: int, level: Callable[[Any, Any, bool], Any], *, first: bool) -> Runs:
    """The grid cut at the places of a cell, of which its first (or last) point is one, with the levels."""
    result = runs(cell, size, lambda below, above: level(below, above, False))
    at = 0 if first else -1
    others, none = np.array([cell[1].sum() - cell[1, at]]), np.zeros(1, dtype=np.int64)
    (result.level[at],) = level(none, others, True) if first else level(others, none, True)
    return result
