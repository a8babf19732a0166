"""A private frame: where every column lies and how wide it is, by two order statistics a column.

Privacy and utility: docs/proofs/gaussian_frame.md, 2
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from sosdp.privacy.mechanisms.integer_queries import IntegerQueries

from .columns import FARTHEST, Columns

PLACES = 44  # bits of the uniform part of the grid of a bounded column
STEPS = 1 << 10  # steps of log2 of a scale
DEPTH = 40  # a scale is at least 2^-40 of the width of the bounds
DROPPED = 11  # lowest bits of a float that the grid without bounds leaves out
LOG_DROPPED = 14  # and the logarithmic part of the grid of a bounded column
SMALLEST = 2.0**-100
NATS = 15.0  # log-probability that prices the far part of a grid out, twice that without bounds
WRONG = 0.1  # share of records, promised or not, above the quantile of a scale
TOP = 22.0  # twice the nats that keep a scale's quantile away from the empty top
ALMOST_ONE_VALUE = STEPS  # a scale within a factor 2 of the bottom of its grid


@dataclass(frozen=True, eq=False)
class Frame:
    """A released frame: centre (d,), scale (d,) > 0, and where a column was mostly one value (d,) bool."""

    centre: np.ndarray
    scale: np.ndarray
    degenerate: np.ndarray

    def into(self, entries: np.ndarray) -> np.ndarray:
        """(x - centre) / scale, entry by entry; 0 for a missing one."""
        return np.where(np.isnan(entries), 0.0, (entries - self.centre) / self.scale)


def frame_dict(frame: Frame | None) -> dict[str, np.ndarray] | None:
    """A released frame as arrays by name."""
    if frame is None:
        return None
    return {"centre": frame.centre, "scale": frame.scale, "degenerate": frame.degenerate}


def location_nats(contamination: float, bounded: bool) -> float:
    """L: epsilon_j n / 4 needed for the median to find the data, with a public fraction of wrong rows."""
    return NATS * max(1.0, 0.8 / (1.0 - 2.0 * contamination)) * (1.0 if bounded else 2.0)


def quantile_epsilon(rho: Fraction) -> Fraction:
    """An epsilon with epsilon^2 / 8 just below rho: what an order statistic of this zCDP price may use."""
    return Fraction(math.sqrt(8.0 * float(rho)) * (1.0 - 2.0**-40))


def each_epsilon(price: Fraction, count: int, pure: bool) -> Fraction:
    """Epsilon of each of so many order statistics that share a price."""
    return price / count if pure else quantile_epsilon(price / count)


def scale_quantile(n: int, epsilon_each: float, contamination: float) -> float:
    """The quantile of |x - median| that is released: wrong rows and the empty top of the grid stay above."""
    room = min(0.4, max(0.15, TOP / (n * epsilon_each)))
    return 1.0 - max(WRONG, contamination) - room


def release_frame(
    queries: IntegerQueries,
    entries: np.ndarray,
    columns: Columns,
    epsilon_each: Fraction,
    contamination: float,
) -> Frame:
    """Two order statistics of every robust column, epsilon_each apiece; tight columns take their bounds.

    entries: (n, d), clipped by `columns`.
    """
    n, d = entries.shape
    low, high, known = columns.low, columns.high, columns.known
    centre, scale, degenerate = np.zeros(d), np.ones(d), np.zeros(d, dtype=bool)
    q = scale_quantile(n, float(epsilon_each), contamination) if columns.robust.size else 0.5
    for j in range(d):
        if columns.tight[j]:
            scale[j] = (high[j] - low[j]) / 2.0
            centre[j] = low[j] + scale[j]
            continue
        centre[j] = release_median(queries, entries[:, j], columns, j, epsilon_each)
        width, depth = (float(high[j] - low[j]), DEPTH) if known[j] else (FARTHEST, 200)
        away = spread_missing(np.abs(entries[:, j] - centre[j]), q, (0.0, width))
        grid = (math.log2(width) - depth, depth)
        steps, result = log_quantile(queries, away, q, grid, epsilon_each)
        scale[j] = result / float(ndtri((1.0 + q) / 2.0))
        degenerate[j] = steps < ALMOST_ONE_VALUE
    return Frame(centre, scale, degenerate)


def radius_quantile(queries: IntegerQueries, norms: np.ndarray, q: float, d: int, epsilon: Fraction) -> float:
    """The q-quantile of norms (n,) of d coordinates of unit scale, between sqrt(d)/8 and 32 sqrt(d)."""
    return log_quantile(queries, norms, q, (math.log2(math.sqrt(d) / 8.0), 8), epsilon)[1]


def spread_missing(column: np.ndarray, q: float, ends: tuple[float, float]) -> np.ndarray:
    """Missing entries at both ends, a share q of them at the lower: the q-quantile of the others stays.

    Which end, is decided by the position of the record alone, so that no entry's image depends on another.
    """
    return np.where(np.isnan(column), np.where(positions(column.size) < q, ends[0], ends[1]), column)


def positions(n: int) -> np.ndarray:
    """(n,) numbers in [0, 1) by the position of a record alone, spread evenly over every run of records: the
    golden-ratio sequence."""
    return np.arange(n) * 0.6180339887498949 % 1.0


def release_median(
    queries: IntegerQueries, column: np.ndarray, columns: Columns, j: int, epsilon: Fraction
) -> float:
    """The median of column j (n,), clipped by `columns`, as an order statistic of a grid."""
    rank = (column.size + 1) // 2
    low, high = max(float(columns.low[j]), -FARTHEST), min(float(columns.high[j]), FARTHEST)
    column = spread_missing(column, 0.5, (low, high))
    if not columns.known[j]:
        top = int(_spelled(np.array([FARTHEST]), SMALLEST, DROPPED)[0])
        places = _spelled(column, SMALLEST, DROPPED)
        return _read(queries.order_statistic(places, rank, low=-top, high=top, epsilon=epsilon))
    grid = MixedGrid(low, high)
    first, last = (int(grid.places(np.array([end]))[0]) for end in (grid.low, grid.high))
    return grid.value(
        queries.order_statistic(grid.places(column), rank, low=first, high=last, epsilon=epsilon)
    )


@dataclass(frozen=True)
class MixedGrid:
    """Integers that grow with x in [low, high]: equal steps, plus equal steps of log |x| on either side of 0.

    A uniform draw from them is uniform half of the time and log-uniform otherwise: where bounds are some
    hundreds of standard deviations wide the first finds a column, where they are a million the second does,
    at a price of log 2 over the better one.
    """

    low: float
    high: float

    def places(self, column: np.ndarray) -> np.ndarray:
        """int64 places of (n,) entries within the bounds, nondecreasing in the entry."""
        width = self.high - self.low
        uniform = np.rint((column - self.low) / width * ((1 << PLACES) - 1)).astype(np.int64)
        return uniform + _spelled(column, width * 2.0**-DEPTH, LOG_DROPPED)

    def value(self, place: int) -> float:
        """The least float within the bounds whose place is at least this one (bisection on floats)."""
        low, high = _ordered(self.low), _ordered(self.high)
        while low < high:
            middle = (low + high) // 2
            if self.places(np.array([_unordered(middle)]))[0] < place:
                low = middle + 1
            else:
                high = middle
        return _unordered(low)


def _ordered(entry: float) -> int:
    """The bits of a float as an integer in the order of floats."""
    bits = int(np.array([abs(entry)]).view(np.int64)[0])
    return -bits if entry < 0 else bits


def _unordered(number: int) -> float:
    size = float(np.array([abs(number)]).view(np.float64)[0])
    return -size if number < 0 else size


def log_quantile(
    queries: IntegerQueries, sizes: np.ndarray, q: float, grid: tuple[float, int], epsilon: Fraction
) -> tuple[int, float]:
    """A quantile of log2 of sizes (n,) >= 0 on a grid from grid[0] over grid[1] octaves: its step, its value.

    On a uniform grid of the sizes themselves the far part would have nearly all points.
    """
    bottom, octaves = grid
    steps = _steps(sizes, bottom, octaves)
    rank = max(1, math.ceil(q * sizes.size))
    result = queries.order_statistic(steps, rank, low=0, high=octaves * STEPS, epsilon=epsilon)
    return result, 2.0 ** (bottom + result / STEPS)


def between_octaves(
    queries: IntegerQueries, y: np.ndarray, rank: int, octaves: tuple[int, int], epsilon: Fraction
) -> float:
    """An order statistic of y (n,) on a grid of equal steps of log2 |y| on either side of 0, between
    octaves."""
    first, last = octaves
    steps = _steps(np.abs(y), first, last - first)
    top = (last - first) * STEPS
    result = queries.order_statistic(
        np.where(y < 0.0, -steps, steps), rank, low=-top, high=top, epsilon=epsilon
    )
    return math.copysign(2.0 ** (first + abs(result) / STEPS), result) if result else 0.0


def _steps(sizes: np.ndarray, bottom: float, octaves: int) -> np.ndarray:
    """int64 steps of log2 of sizes (n,) from the bottom on; what is no number lies at the top."""
    top = 2.0 ** (bottom + octaves)
    logs = np.log2(np.maximum(np.where(sizes < top, sizes, top), 2.0**bottom))
    return np.floor((logs - bottom) * STEPS).astype(np.int64)


def _spelled(column: np.ndarray, smallest: float, dropped: int) -> np.ndarray:
    """Floats as integers in their order: the bits of |x| beyond those of `smallest`, the lowest dropped."""
    size = np.abs(column)
    offset = _ordered(smallest) >> dropped
    digits = np.where(size < smallest, 0, (size.view(np.int64) >> dropped) - offset + 1)
    return np.where(column < 0, -digits, digits)


def _read(number: int) -> float:
    """The float that `_spelled` wrote as this integer without bounds (rounded towards 0)."""
    if number == 0:
        return 0.0
    bits = (abs(number) - 1 + (_ordered(SMALLEST) >> DROPPED)) << DROPPED
    return _unordered(bits if number > 0 else -bits)
