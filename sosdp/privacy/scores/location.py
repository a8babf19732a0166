"""Location scores: how many records to change before a weighted average of order statistics reaches theta.

With weights w_i >= 0 on the order statistics, W their sum, and x_(i) read as the clipping bound (or infinity)
outside 1..n, U_j = sum_i w_i x_(i+j) / W and L_j = sum_i w_i x_(i-j) / W are the extreme values after j
replacements, and the score of theta is the least j with L_j - slack <= theta <= U_j + slack. In several
dimensions the score is the largest over public integer directions, applied to the projections. Integers only.

Proof: docs/proofs/scores.md
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.arguments import integer, nonnegative
from sosdp.privacy.calibrate import between, least
from sosdp.privacy.scores.score import Box, Lattice, Levels, Point, ScoreFunction, whole_records

_UNBOUNDED_REACH = 1 << 44


def median_weights(n: int) -> tuple[int, ...]:
    """Weight 1 on the middle order statistic, or on both middle ones for even n."""
    n = _size(n)
    return tuple(int(i in ((n - 1) // 2, n // 2)) for i in range(n))


def quantile_weights(n: int, q: float) -> tuple[int, ...]:
    """Weight 1 on the order statistic of rank ceil(q n), at least 1."""
    n = _size(n)
    rank = min(max(1, math.ceil(between(q, "q", "[0, 1]") * n)), n)
    return tuple(int(i == rank - 1) for i in range(n))


def trimmed_weights(n: int, trimmed: int) -> tuple[int, ...]:
    """Weight 1 on all but the `trimmed` smallest and largest."""
    n, trimmed = _size(n), integer(trimmed, "trimmed", 0)
    if 2 * trimmed >= n:
        raise ValueError(f"trimming {trimmed} a side leaves nothing of {n} records")
    return tuple(int(trimmed <= i < n - trimmed) for i in range(n))


def mean_weights(n: int) -> tuple[int, ...]:
    """Weight 1 on every order statistic."""
    return (1,) * _size(n)


def _size(n: int) -> int:
    return integer(n, "the number of records")


def integer_directions(dimension: int, largest: int = 1) -> tuple[tuple[int, ...], ...]:
    """All primitive integer vectors with entries at most `largest`, one of each +- pair."""
    dimension, largest = integer(dimension, "dimension"), integer(largest, "largest")
    result = []
    for u in itertools.product(range(-largest, largest + 1), repeat=dimension):
        first = next((entry for entry in u if entry), 0)
        if first > 0 and math.gcd(*u) == 1:
            result.append(u)
    return tuple(result)


def l_statistic(
    weights: Sequence[int],
    lattice: Lattice,
    *,
    refine: int = 1,
    slack: Fraction | float = 0,
    clip: bool = True,
) -> LocationScore:
    """Score of a one-dimensional monotone L-statistic.

    Args:
        weights: w_1, ..., w_n: nonnegative integers, see `median_weights` and its like.
        lattice: of dimension 1.
        refine: data are rounded to multiples of spacing / refine.
        slack: theta within this of a reachable value counts as reached.
        clip: clip the records to the lattice's box (needed for pure DP); False reads order statistics
            outside the data as infinite.

    Raises:
        ValueError: weights, lattice or refine out of range.
    """
    if lattice.dimension != 1:
        raise ValueError("l_statistic is one-dimensional: use coordinate_max or directional")
    return LocationScore(weights, ((1,),), lattice, refine=refine, slack=slack, clip=clip)


def coordinate_max(
    weights: Sequence[int],
    lattice: Lattice,
    *,
    refine: int = 1,
    slack: Fraction | float = 0,
    clip: bool = True,
) -> LocationScore:
    """The largest of the scores of all coordinates: sensitivity 1 in any dimension; boxes."""
    d = lattice.dimension
    units = tuple(tuple(int(i == j) for j in range(d)) for i in range(d))
    return LocationScore(weights, units, lattice, refine=refine, slack=slack, clip=clip)


def directional(
    weights: Sequence[int],
    directions: Sequence[Sequence[int]],
    lattice: Lattice,
    *,
    refine: int = 1,
    slack: Fraction | float = 0,
    clip: bool = True,
) -> LocationScore:
    """The largest of the scores of the projections on public integer directions; level sets are polytopes.

    With trimmed means the error is of the order d / (epsilon n) in the Euclidean norm.
    """
    return LocationScore(weights, directions, lattice, refine=refine, slack=slack, clip=clip)


class LocationScore(ScoreFunction):
    """Built by `l_statistic`, `coordinate_max` and `directional`; sensitivity 1, quasi-convex.

    Levels are at most n on a bounded lattice; without clipping every point has level at most the first j at
    which both ends are infinite.
    """

    def __init__(
        self,
        weights: Sequence[int],
        directions: Sequence[Sequence[int]],
        lattice: Lattice,
        *,
        refine: int = 1,
        slack: Fraction | float = 0,
        clip: bool = True,
    ) -> None:
        weights = tuple(int(w) for w in weights)
        if not weights or min(weights) < 0 or not any(weights):
            raise ValueError("weights must be integers >= 0, one a record, not all zero")
        refine = integer(refine, "refine")
        if clip and lattice.box is None:
            raise ValueError("clipping needs a bounded lattice: give it a box, or clip=False")
        d = lattice.dimension
        rows = tuple(tuple(int(entry) for entry in u) for u in directions)
        if not rows or any(len(u) != d or not any(u) for u in rows):
            raise ValueError(f"directions must be non-zero integer vectors of length {d}")
        if lattice.box is not None and refine * max(abs(end) for pair in lattice.box for end in pair) > 2**53:
            raise ValueError("the lattice has more than 2^53 data units a side: take a coarser spacing")
        slack = nonnegative(slack, "slack")
        n = len(weights)
        first = weights.index(next(w for w in weights if w)) + 1
        last = n - next(i for i, w in enumerate(reversed(weights)) if w)
        units = all(sum(map(abs, u)) == 1 for u in rows) and {
            next(i for i, e in enumerate(u) if e) for u in rows
        } == set(range(d))
        per_side = math.floor(slack / lattice.spacing)
        super().__init__(
            lattice=lattice,
            records=n,
            max_level=n if clip else max(n - last, first - 1) + 1,
            quasi_convex=True,
            exact_boxes=units,
            # without a box nothing cuts the ball of radius slack about the estimate; a real centre has at
            # least 2 floor(slack / spacing) lattice points within slack
            level0_count=(2 * per_side) ** d if len(rows) == d and units and lattice.box is None else 0,
        )
        vars(self).update(
            weights=weights,
            directions=rows,
            refine=refine,
            slack=slack,
            clip=clip,
            finite_below=n if clip else min(n - last, first - 1),
        )

    weights: tuple[int, ...]
    directions: tuple[tuple[int, ...], ...]
    refine: int
    slack: Fraction
    clip: bool
    finite_below: int
    """Level sets up to this level are finite."""

    @property
    def unit(self) -> Fraction:
        """Records are rounded to multiples of this."""
        return self.lattice.spacing / self.refine

    def bounds(self) -> list[tuple[int, int]]:
        """Clipping bounds of the coordinates in data units; far but finite ones without clipping."""
        if self.clip and self.lattice.box is not None:
            return [(low * self.refine, high * self.refine) for low, high in self.lattice.box]
        return [(-_UNBOUNDED_REACH, _UNBOUNDED_REACH)] * self.lattice.dimension

    def quantise(self, data: Any) -> np.ndarray:
        """Integer records, (n, d) int64: rounded, clipped, NaN read as 0; a function of each record alone.

        Raises:
            ValueError: the shape is not the public (n, d).
        """
        d = self.lattice.dimension
        return whole_records(data, self.records, [float(self.unit)] * d, self.bounds())

    def on(self, data: Any) -> LocationLevels:
        """Sorts every projection: O(directions * n log n)."""
        return LocationLevels(self, self.quantise(data))


class LocationLevels(Levels):
    """The windows [L_j, U_j] of every direction, times W, in data units."""

    def __init__(self, score: LocationScore, records: np.ndarray) -> None:
        self.score = score
        self.exact_boxes = score.exact_boxes
        total = sum(score.weights)
        slack_units = score.slack / score.unit
        # everything times the denominator of the slack, so that all ends are integers
        self.scale = slack_units.denominator
        slack = total * slack_units.numerator
        self.factor = total * score.refine * self.scale
        bounds = score.bounds()
        reach = max(max(abs(a), abs(b)) for a, b in bounds) * max(sum(map(abs, u)) for u in score.directions)
        object_needed = (reach * self.scale + slack_units.numerator + 1) * max(
            total, len(score.weights), 1
        ) >= 1 << 61
        self.lower: list[list[int]] = []
        self.upper: list[list[int]] = []
        table = records.astype(object) if object_needed else records
        for u in score.directions:
            values = np.sort(table @ np.array(u, dtype=table.dtype))
            ends = [sorted((a * e, b * e)) for (a, b), e in zip(bounds, u, strict=True)]
            low, high = sum(e[0] for e in ends), sum(e[1] for e in ends)
            up = _windows(values, score.weights, high, score.clip)
            down = [-w for w in _windows(-values[::-1], score.weights[::-1], -low, score.clip)]
            self.upper.append([w * self.scale + slack for w in up])
            self.lower.append([-(w * self.scale - slack) for w in down])  # negated: nondecreasing

    def level(self, point: Point) -> int:
        """One binary search a direction and side."""
        worst = 0
        for u, lower, upper in zip(self.score.directions, self.lower, self.upper, strict=True):
            at = self.factor * sum(t * e for t, e in zip(point, u, strict=True))
            worst = max(worst, bisect_left(upper, at), bisect_left(lower, -at))
        return min(worst, self.score.top)

    def in_level(self, point: Point, k: int) -> bool:
        """One comparison a direction and side."""
        if k < 0 or point not in self.score.lattice:
            return False
        if k >= self.score.top:
            return True
        for u, lower, upper in zip(self.score.directions, self.lower, self.upper, strict=True):
            at = self.factor * sum(t * e for t, e in zip(point, u, strict=True))
            if (k < len(upper) and upper[k] < at) or (k < len(lower) and lower[k] < -at):
                return False
        return True

    def halfspaces(self, k: int) -> list[tuple[tuple[int, ...], int]]:
        """Integer (u, b) with factor * <u, t> <= b for every lattice point t of level <= k."""
        rows = []
        for u, lower, upper in zip(self.score.directions, self.lower, self.upper, strict=True):
            if k < len(upper):
                rows.append((u, upper[k]))
            if k < len(lower):
                rows.append((tuple(-e for e in u), lower[k]))
        return rows

    def box(self, k: int) -> Box | None:
        """Exact for coordinate directions; else certified by linear programming."""
        lattice = self.score.lattice
        if k < 0:
            return ((0, -1),) * lattice.dimension
        if k >= self.score.top:
            return lattice.box
        if not self.exact_boxes:
            from sosdp.privacy.scores.enclosure import polytope_box

            return polytope_box(self.halfspaces(k), self.factor, lattice.box)
        if lattice.box is None and k > self.score.finite_below:
            return None
        ends: list[tuple[list[int], list[int]]] = [
            ([], []) if lattice.box is None else ([lattice.box[i][1]], [-lattice.box[i][0]])
            for i in range(lattice.dimension)
        ]
        for u, lower, upper in zip(self.score.directions, self.lower, self.upper, strict=True):
            # factor * u_i t <= b with u_i = +-1, the only entry that is not 0
            i = next(i for i, entry in enumerate(u) if entry)
            for side, bounds in ((u[i] < 0, upper), (u[i] > 0, lower)):
                if k < len(bounds):
                    ends[i][side].append(bounds[k] // self.factor)
        return tuple((-min(low), min(high)) for high, low in ends)

    def least(self) -> int:
        """Levels below are certified empty by linear programming (directions may disagree at level 0)."""
        box = self.score.lattice.box
        if self.exact_boxes or box is None:
            return 0
        from sosdp.privacy.scores.enclosure import polytope_is_empty

        def settled(k: int) -> bool:
            return k >= self.score.top or not polytope_is_empty(self.halfspaces(k), self.factor, box)

        return least(settled, -1, 0)


def _windows(values: np.ndarray, weights: Sequence[int], beyond: int, clip: bool) -> list[int]:
    """W U_j for j = 0, 1, ...: up to n with values past the end read as `beyond`, else while finite."""
    n = len(weights)
    first = next(i for i, w in enumerate(weights) if w)
    last = n - 1 - next(i for i, w in enumerate(reversed(weights)) if w)
    longest = n if clip else n - 1 - last
    padded = np.concatenate([values, np.full(n, beyond, dtype=values.dtype)]) if clip else values
    used = np.array(weights[first : last + 1], dtype=values.dtype)
    if (used == used[0]).all():
        sums = np.concatenate([np.zeros(1, dtype=values.dtype), np.cumsum(padded)])
        width = last + 1 - first
        ends = sums[first + width : first + width + longest + 1] - sums[first : first + longest + 1]
        return [int(w) * int(used[0]) for w in ends]
    return [int(used @ padded[first + j : last + 1 + j]) for j in range(longest + 1)]
