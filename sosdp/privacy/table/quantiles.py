"""Quantiles of a column by the exponential mechanism, each with an interval about it whose length is drawn.

Proof: docs/proofs/tables.md, "Quantiles"
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sosdp.privacy.contributions import Unit
from sosdp.privacy.guarantee.evidence import Law
from sosdp.privacy.mechanisms.basic.quantile import POINTS, Grid, Runs, draw, quantile_level, runs
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.table.statistics import MISSING, ByPlace, Codes, Noise, Row, Statistic, Within, column_of

VALUE = Fraction(1, 2)
"""Part of the budget of a quantile for its value; the rest is for the length of its interval."""


@dataclass(frozen=True)
class Quantiles(ByPlace, Within):
    """Order statistics at shares q of the entries, rounded to a public grid."""

    shares: tuple[Fraction, ...] = (Fraction(1, 2),)
    interval: bool = True

    name: ClassVar[str] = "quantile"

    def repeats(self, other: Statistic) -> bool:
        """Other shares are other questions."""
        return isinstance(other, Quantiles) and not set(self.shares).isdisjoint(other.shares)

    @property
    def grid(self) -> Grid:
        """Whole numbers and days where they are not too many."""
        column = column_of(self)
        low, high = map(Fraction, column.bounds)
        length = high - low
        whole = column.type == "integer" or (column.type == "date" and not column.is_timed)
        step = Fraction(1) if whole and length < POINTS else length / (POINTS - 1)
        return Grid(low, step, math.floor(length / step) + 1) if length else Grid(low, Fraction(1), 1)

    @property
    def width(self) -> int:
        """Number of grid points."""
        return self.grid.size

    @property
    def levels(self) -> list[tuple[Row, Statistic]]:
        """Every quantile."""
        return [({"quantile": float(share)}, replace(self, shares=(share,))) for share in self.shares]

    def code(self, values: npt.NDArray[np.float64]) -> Codes:
        """The place of the nearest grid point."""
        points, there = self.grid, ~np.isnan(values)
        steps = (np.where(there, values, float(points.low)) - float(points.low)) / float(points.step)
        places = np.clip(np.rint(steps), 0, points.size - 1).astype(np.int64)
        return np.where(there, places, MISSING)

    def _parts(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """What one value, and its interval, may cost."""
        each = epsilon / len(self.shares)
        return (each * VALUE, each * (1 - VALUE)) if self.interval else (each, Fraction(0))

    def laws(self, unit: Unit, epsilon: Fraction) -> tuple[Law, ...]:
        """One exponential mechanism for every value, and one for its interval."""
        value, interval = self._parts(epsilon)
        result = []
        for share in self.shares:
            moved = quantile_level(share, 0, unit)[1]
            result.append(Law("exponential", (value / (2 * moved), 2 * moved)))
            if self.interval:
                result.append(Law("exponential", (interval / (2 * moved), 2 * moved)))
        return tuple(result)

    def rows(self, cell: Codes, noise: Noise) -> list[Row]:
        """One row a quantile."""
        return [self._row(self.grid, cell, share, noise) for share in self.shares]

    def _row(self, points: Grid, cell: Codes, share: Fraction, noise: Noise) -> Row:
        level, moved = quantile_level(share, int(cell[1].sum()), noise.unit)
        value, interval = (part / (2 * moved) for part in self._parts(noise.epsilon))
        place = draw(runs(cell, points.size, level), value, noise.bits)
        row: Row = {"quantile": float(share), "value": self._at(place, 0)}
        if not self.interval:
            return row
        away = reach(interval, noise.alpha, share.denominator)
        first, last = Widths(share, points.size, place, away).drawn(cell, interval, noise.bits)
        return row | {"low": self._at(first, -1), "high": self._at(last, 1)}

    def _at(self, place: int, side: int) -> float:
        """A grid point, of integers a whole number; the ends of an interval reach as far as entries that are
        rounded to it."""
        points, column = self.grid, column_of(self)
        off = Fraction(0) if points.step == 1 else side * points.step / 2
        turned = (round, math.ceil, math.floor)[side] if column.type == "integer" else float
        result = min(max(float(turned(points.low + place * points.step + off)), column.low), column.high)
        return int(result) if column.type == "integer" and result.is_integer() else result

    def spread(self, unit: Unit, epsilon: Fraction) -> float:
        """Ranks that the exponential mechanism is off, about."""
        worst = max(quantile_level(share, 0, unit)[1] / share.denominator for share in self.shares)
        return 2 * worst / float(self._parts(epsilon)[0])

    @property
    def size(self) -> float:
        """The length of the bounds."""
        column = column_of(self)
        return column.high - column.low or 1.0


def in_order(rows: Sequence[Row]) -> None:
    """Put the values of quantiles of the same entries in the order of their shares; an interval that does not
    hold its new value is made longer, so that it still holds what it held."""
    ranked = sorted(rows, key=lambda row: row["quantile"])
    for row, value in zip(ranked, sorted(row["value"] for row in rows), strict=True):
        row["value"] = value
        if "low" in row:
            row["low"], row["high"] = min(row["low"], value), max(row["high"], value)


@dataclass(frozen=True)
class Widths:
    """Half-lengths of an interval about a released place, and their scores.

    The k-th one is drawn with probability proportional to 2^k e^(-rate * score), so all shorter ones together
    weigh less than the next one.

    Attributes:
        share: the share q of the quantile. size: of the grid. place: the grid point in the middle.
        away: G of the proof, how far outside the quantile the ends are put, in units of the score.
    """

    share: Fraction
    size: int
    place: int
    away: int

    @property
    def lengths(self) -> list[int]:
        """0, 1, 2, 3, 4, 6, 8, 11, ..., by the root of 2, and last one that reaches both bounds."""
        last = max(self.place, self.size - 1 - self.place)
        roots = sorted({0, *(round(2 ** (k / 2)) for k in range(2 * last.bit_length() + 1))})
        return [length for length in roots if length < last] + [last]

    def ends(self, length: int) -> tuple[int, int]:
        """The first and the last place of the interval."""
        return max(self.place - length, 0), min(self.place + length, self.size - 1)

    def scores(self, cell: Codes) -> list[int]:
        """Of each length; Python's integers, so that no record decides whether a score can be computed."""
        a, b, n = self.share.numerator, self.share.denominator, int(cell[1].sum())
        up_to, lengths = np.append(0, np.cumsum(cell[1])), self.lengths
        missed: list[int] = []
        for length in lengths[:-1]:
            low, high = self.ends(length)
            below, upto = (int(up_to[k]) for k in np.searchsorted(cell[0], [low, high + 1]))
            sides = [b * below - a * n] * (low > 0) + [b * (n - upto) - (b - a) * n] * (high < self.size - 1)
            missed.append(max(sides))
        short = [gap + self.away for gap in missed] + [0]
        long = [0] + [-gap - self.away for gap in missed]
        return [max(*both, 0) for both in zip(short, long, strict=True)]

    def weighted(self, cell: Codes) -> Runs:
        """Runs of 2^k points, one for each length."""
        starts = 2 ** np.arange(len(self.lengths) + 1, dtype=np.int64) - 1
        return Runs(starts[:-1], starts[1:] - 1, np.array(self.scores(cell), dtype=object))

    def drawn(self, cell: Codes, rate: Fraction, bits: RandomBits) -> tuple[int, int]:
        """The ends of an interval whose length is drawn."""
        return self.ends(self.lengths[(draw(self.weighted(cell), rate, bits) + 1).bit_length() - 1])


def reach(rate: Fraction, alpha: float, unit: int) -> int:
    """G: how far outside the ends are put, so that the interval misses with probability alpha at most.

    Args:
        rate: of the exponential mechanism. alpha: probability of a miss.
        unit: what one record counts in the score; the ends are that much further out.
    """
    return math.ceil(Fraction(math.log(1 / alpha - 1) * (1 + 1e-12)) / rate) + unit
