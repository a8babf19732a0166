"""Depth scores: Tukey (half-space) depth in 2 and 3 dimensions, and regression depth, in exact integers.

The level is n minus the depth; one record changes every half-space count by at most 1: sensitivity 1.

Proof: docs/proofs/scores.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.arguments import positive
from sosdp.privacy.scores.score import Box, Lattice, Levels, Point, ScoreFunction, whole_records

Vector = tuple[int, ...]


class TukeyDepth(ScoreFunction):
    """level(theta) = n - min over v != 0 of #{i: <v, x_i - theta> >= 0}; quasi-convex.

    Costs O(n log n) a candidate in 2 dimensions and O(n^2 log n) in 3. Records are rounded to the lattice and
    clipped to its box.

    Raises:
        ValueError: a lattice that is unbounded, or not of dimension 2 or 3, or records < 1.
    """

    def __init__(self, lattice: Lattice, records: int) -> None:
        if lattice.dimension not in (2, 3) or lattice.box is None:
            raise ValueError("TukeyDepth needs a bounded lattice of dimension 2 or 3")
        super().__init__(lattice=lattice, records=records, max_level=records, quasi_convex=True)

    def on(self, data: Any) -> Levels:
        """Rounds the records; depths are computed when asked for."""
        lattice = self.lattice
        units = [float(lattice.spacing)] * lattice.dimension
        return _DepthLevels(self, _vectors(whole_records(data, self.records, units, lattice.box or ())))


class _DepthLevels(Levels):
    def __init__(self, score: TukeyDepth, records: list[Vector]) -> None:
        self.score, self.records = score, records

    def level(self, point: Point) -> int:
        shifted = [tuple(a - b for a, b in zip(x, point, strict=True)) for x in self.records]
        return self.score.records - half_space_depth(shifted)

    def box(self, k: int) -> Box | None:
        """A point of positive depth lies in the bounding box of the records; so of depth n - k in the box of
        their order statistics.
        """
        lattice, n = self.score.lattice, self.score.records
        if k < 0:
            return ((0, -1),) * lattice.dimension
        if k >= n:
            return lattice.box
        result = []
        for i in range(lattice.dimension):
            ordered = sorted(x[i] for x in self.records)
            # #{x_i <= theta_i} >= n - k and #{x_i >= theta_i} >= n - k
            result.append((ordered[n - k - 1], ordered[k]))
        return tuple(result)


def half_space_depth(vectors: list[Vector]) -> int:
    """min over v != 0 of #{<v, x> >= 0}: the depth of the origin, in 2 or 3 dimensions, exactly."""
    if len(vectors[0]) == 2:
        return _depth_plane(vectors)
    zero = (0, 0, 0)
    at_origin = sum(x == zero for x in vectors)
    others = [x for x in vectors if x != zero]
    if not others:
        return at_origin
    best = len(others)
    for p in {_primitive(x) for x in others}:
        same = opposite = 0
        plane: list[Vector] = []
        first, second = _complement(p)
        for x in others:
            a, b = _dot(first, x), _dot(second, x)
            if a or b:
                plane.append((a, b))
            elif _dot(p, x) > 0:
                same += 1
            else:
                opposite += 1
        # Normals near p's plane: infinitesimal tilting sends the multiples of p to one side or the other.
        best = min(best, min(same, opposite) + (_depth_plane(plane) if plane else 0))
    return at_origin + best


def _depth_plane(vectors: list[Vector]) -> int:
    """Depth of the origin in the plane: the least count over open half-planes, by an angular sweep."""
    at_origin = sum(x == (0, 0) for x in vectors)
    weights: dict[Vector, int] = {}
    for x in vectors:
        if x != (0, 0):
            key = _primitive(x)
            weights[key] = weights.get(key, 0) + 1
    if not weights:
        return at_origin
    total = sum(weights.values())
    # A generic line through the origin has least count; as it turns, points change sides one ray at a time.
    lines: dict[Vector, list[int]] = {}
    for x, weight in weights.items():
        upper = x[1] > 0 or (x[1] == 0 and x[0] > 0)
        key = x if upper else (-x[0], -x[1])
        lines.setdefault(key, [0, 0])[0 if upper else 1] += weight
    ordered = sorted(lines, key=_Angle)
    # half-plane just after angle 0: begins with every ray of the upper half (angles in [0, pi))
    inside = sum(lines[key][0] for key in ordered)
    best = min(inside, total - inside)
    for key in ordered:
        leave, enter = lines[key]
        inside += enter - leave
        best = min(best, inside, total - inside)
    return at_origin + best


class _Angle:
    """Order of vectors of the upper half-plane by angle, by a cross product."""

    __slots__ = ("x",)

    def __init__(self, x: Vector) -> None:
        self.x = x

    def __lt__(self, other: _Angle) -> bool:
        return self.x[0] * other.x[1] - self.x[1] * other.x[0] > 0


def _primitive(x: Vector) -> Vector:
    divisor = math.gcd(*x)
    return tuple(a // divisor for a in x)


def _dot(a: Vector, b: Vector) -> int:
    return sum(p * q for p, q in zip(a, b, strict=True))


def _complement(p: Vector) -> tuple[Vector, Vector]:
    """Two integer vectors whose products with x vanish together exactly on multiples of p."""
    a, b, c = p
    if a or b:
        # (-b, a, 0) and p x (-b, a, 0)
        return (-b, a, 0), (-a * c, -b * c, a * a + b * b)
    return (1, 0, 0), (0, 1, 0)


class RegressionDepth(ScoreFunction):
    """level(slope, intercept) = n - regression depth of a line for records (x, y); NOT quasi-convex.

    The depth is min over v != 0 of #{i: r_i <v, (x_i, 1)> >= 0}, r_i the residuals (Rousseeuw and Hubert
    1999). Only `FiniteGrid` and `Layered` with the lattice's own box apply.

    Args:
        lattice: 2-dimensional, bounded: multiples of its spacing for (slope, intercept).
        records: n. largest_x, largest_y: records are rounded to integers and clipped to these bounds, after
            division by `unit_x`, `unit_y`.

    Raises:
        ValueError: a lattice that is unbounded or not 2-dimensional, or a bound or unit not > 0.
    """

    def __init__(
        self,
        lattice: Lattice,
        records: int,
        *,
        largest_x: float,
        largest_y: float,
        unit_x: float = 1.0,
        unit_y: float = 1.0,
    ) -> None:
        if lattice.dimension != 2 or lattice.box is None:
            raise ValueError("RegressionDepth needs a bounded lattice of dimension 2 (slope, intercept)")
        units = positive(unit_x, "unit_x"), positive(unit_y, "unit_y")
        largest = positive(largest_x, "largest_x"), positive(largest_y, "largest_y")
        super().__init__(lattice=lattice, records=records, max_level=records, quasi_convex=False)
        vars(self).update(units=units, largest=largest)

    units: tuple[Fraction, Fraction]
    largest: tuple[Fraction, Fraction]

    def on(self, data: Any) -> Levels:
        """Rounds the records; (n, 2) with columns x, y."""
        reach = tuple(math.floor(b / u) for b, u in zip(self.largest, self.units, strict=True))
        units = [float(unit) for unit in self.units]
        rows = _vectors(whole_records(data, self.records, units, [(-b, b) for b in reach]))
        return _RegressionLevels(self, rows)


class _RegressionLevels(Levels):
    def __init__(self, score: RegressionDepth, records: list[Vector]) -> None:
        self.score, self.records = score, records

    def level(self, point: Point) -> int:
        unit_x, unit_y = self.score.units
        spacing = self.score.lattice.spacing
        slope, intercept = spacing * point[0], spacing * point[1]
        vectors: list[Vector] = []
        for x, y in self.records:
            residual = y * unit_y - slope * x * unit_x - intercept
            sign = (residual > 0) - (residual < 0)
            # the direction of r (x, 1): multiples by positive numbers change no half-plane
            vectors.append((sign * x * unit_x.numerator, sign * unit_x.denominator))
        return self.score.records - _depth_plane(vectors)


def _vectors(records: npt.NDArray[np.int64]) -> list[Vector]:
    return [tuple(row) for row in records.tolist()]
