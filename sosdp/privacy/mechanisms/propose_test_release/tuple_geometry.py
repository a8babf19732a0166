"""Distances between k-tuples of points, in exact integers: who lies near whom, at many radii at once.

Every number here is a function of a pair of tuples (or of one), whatever else is in the data and in whatever
order it is computed: products of matrices are used only where all their partial sums are integers below 2^53.

Proof: docs/proofs/tuples_geometry.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.entries import entries
from sosdp.privacy.inputs import number

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Points = tuple[tuple[int, ...], ...]

LARGEST = 1 << 60
"""Coordinates beyond this many steps of the grid make a tuple unusable."""

SEPARATION = 4
"""Points of a valid tuple are more than this many radii apart."""

_EXACT = 1 << 53
_CHUNK = 1 << 22


def grid_points(result: Any, clusters: int, dimension: int, grid: Fraction) -> Points | None:
    """The k points of one block in grid units, or None if the block did not give k finite points of size d.

    A function of one block's result alone; never raises.
    """
    rows = entries(result)
    if rows is None or len(rows) != clusters:
        return None
    points = []
    for row in rows:
        coordinates = entries(row)
        if coordinates is None or len(coordinates) != dimension:
            return None
        plain = [number(entry) for entry in coordinates]
        exact_entries = [entry for entry in plain if isinstance(entry, Fraction)]
        if len(exact_entries) < dimension:
            return None
        point = tuple(math.floor(entry / grid + Fraction(1, 2)) for entry in exact_entries)
        if any(abs(entry) > LARGEST for entry in point):
            return None
        points.append(point)
    return tuple(points)


@dataclass(frozen=True, eq=False)
class TupleTable:
    """n tuples of k points on an integer grid.

    Attributes:
        points: (n, k, d) int64; zeros where a tuple is not usable.
        usable: (n,) booleans: the entry was k points of d coordinates.
    """

    points: Integers
    usable: Booleans

    def __len__(self) -> int:
        return len(self.usable)

    @property
    def clusters(self) -> int:
        """Points in a tuple."""
        return int(self.points.shape[1])

    @property
    def dimension(self) -> int:
        """Coordinates of a point."""
        return int(self.points.shape[2])


def tuple_table(results: Sequence[Any], clusters: int, dimension: int, grid: Fraction) -> TupleTable:
    """The results of n blocks on a public grid, each by itself."""
    points = np.zeros((len(results), clusters, dimension), dtype=np.int64)
    usable = np.zeros(len(results), dtype=np.bool_)
    for at, result in enumerate(results):
        candidate = grid_points(result, clusters, dimension, grid)
        if candidate is not None:
            points[at] = candidate
            usable[at] = True
    return TupleTable(points, usable)


def least_separation(table: TupleTable, cap: int) -> Integers:
    """(n,) squared distances of the two closest points of each tuple, or `cap` where that is smaller.

    `cap` for k = 1, and -1 for an unusable tuple: it is valid at no radius.
    """
    result = np.full(len(table), cap, dtype=np.int64)
    for i in range(table.clusters):
        for j in range(i):
            pair = _squared(table.points[:, i, :] - table.points[:, j, :], cap)
            result = np.minimum(result, pair)
    return np.where(table.usable, result, -1)


def nearest_squared(first: Integers, second: Integers, cap: int) -> Integers:
    """(p, q, k) squared distances from each point of p tuples to the nearest point of each of q tuples.

    Exactly min(cap, min_j |x_i - y_j|^2), for any integer coordinates up to 2^60.

    Args:
        first, second: (p, k, d) and (q, k, d).
        cap: at most 2^60 / d and 2^53.
    """
    p, k, d = first.shape
    q = len(second)
    reach = max(int(np.abs(first).max(initial=0)), int(np.abs(second).max(initial=0)))
    if 4 * d * reach**2 < _EXACT:
        # |x|^2 + |y|^2 - 2 x.y as one product; every partial sum is an integer below 2^53 in absolute value
        left = first.reshape(p * k, d).astype(np.float64)
        left = np.hstack([left, np.sum(left**2, axis=1, keepdims=True), np.ones((p * k, 1))])
        best = np.full((p * k, q), float(cap))
        for j in range(k):
            right = second[:, j, :].astype(np.float64)
            right = np.hstack([-2.0 * right, np.ones((q, 1)), np.sum(right**2, axis=1, keepdims=True)])
            np.minimum(best, left @ right.T, out=best)
        return best.reshape(p, k, q).transpose(0, 2, 1).astype(np.int64)
    result = np.full((p, q, k), cap, dtype=np.int64)
    for i in range(k):
        for j in range(k):
            np.minimum(
                result[:, :, i],
                _squared(first[:, None, i, :] - second[None, :, j, :], cap),
                out=result[:, :, i],
            )
    return result


def _squared(differences: Integers, cap: int) -> Integers:
    """min(cap, squared length) along the last axis, without overflow for entries up to 2^61."""
    limit = math.isqrt(cap) + 1
    short = np.clip(differences, -limit, limit)
    return np.minimum(np.sum(short * short, axis=-1), cap)


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Which tuples are friends at each of J radii.

    Two usable tuples are friends at radius r if in both the points are more than `SEPARATION` r apart, every
    point has one of the other tuple within r, and the squares of these distances sum to at most spread r^2.

    Attributes:
        levels: (n, n) number of the first radius at which the distances fit, J if none does; symmetric where
            both are valid.
        valid: (n,) number of the last radius at which the tuple is valid, -1 if none.
        radii: J of them.
    """

    levels: npt.NDArray[np.int16]
    valid: Integers
    radii: int

    def matches(self, level: int) -> Booleans:
        """(n, n): whether two tuples are friends at this radius (a valid tuple is its own friend)."""
        sound = self.valid >= level
        return (self.levels <= level) & sound[:, None] & sound[None, :]


def neighbourhoods(table: TupleTable, radii: Sequence[int], spread: Fraction) -> Neighbourhoods:
    """Friends at all radii (grid steps, rising) from one pass over the pairs; O(n^2 k^2 d).

    Raises:
        ValueError: radii that do not rise, or too large for exact arithmetic (SEPARATION r above 2^28 / d).
    """
    n, k, d = table.points.shape
    if list(radii) != sorted(set(radii)) or not radii or radii[0] < 1:
        raise ValueError("radii must be whole numbers >= 1 that rise")
    cap = (SEPARATION * radii[-1]) ** 2 + 1
    if cap * d * k >= _EXACT:
        raise ValueError(f"a radius of {radii[-1]} steps is too fine a grid for exact arithmetic")
    least_gap = least_separation(table, cap)
    valid = np.searchsorted([(SEPARATION * r) ** 2 for r in radii], least_gap, side="left") - 1
    single = np.array([r * r for r in radii], dtype=np.int64)
    joint = np.array([math.floor(spread * r * r) for r in radii], dtype=np.int64)
    levels = np.full((n, n), len(radii), dtype=np.int16)
    used = np.flatnonzero(valid >= 0)
    points = table.points[used]
    if len(used):  # moving all tuples by one integer vector changes no distance, and keeps the numbers small
        points = points - _middle(points)
    size = max(1, _CHUNK // max(1, len(used) * k))
    result = np.full((len(used), len(used)), len(radii), dtype=np.int16)
    for start in range(0, len(used), size):
        stop = min(start + size, len(used))
        near = nearest_squared(points[start:stop], points[start:], cap)
        part = np.searchsorted(single, near.max(axis=2), side="left")
        if spread < k:
            part = np.maximum(part, np.searchsorted(joint, near.sum(axis=2), side="left"))
        result[start:stop, start:] = part
        result[start:, start:stop] = part.T
    levels[np.ix_(used, used)] = result
    return Neighbourhoods(levels, valid.astype(np.int64), len(radii))


def _middle(points: Integers) -> Integers:
    """An integer vector in the middle of most points; which one does not matter, as differences are exact."""
    middle = np.median(points.reshape(-1, points.shape[2]), axis=0)
    return np.floor(np.clip(middle, -LARGEST, LARGEST)).astype(np.int64)


def matching(
    first: Sequence[Sequence[int]], second: Sequence[Sequence[int]], radius: int
) -> list[int] | None:
    """The permutation p with |first[i] - second[p[i]]| <= radius for all i, where nearest points give one."""
    assigned = []
    for x in first:
        distances = [sum((int(a) - int(b)) ** 2 for a, b in zip(x, y, strict=True)) for y in second]
        nearest = min(range(len(second)), key=distances.__getitem__)
        if distances[nearest] > radius**2:
            return None
        assigned.append(nearest)
    return assigned if len(set(assigned)) == len(assigned) else None
