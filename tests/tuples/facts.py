"""Facts about tuples and far balls, exactly: F1 to F6 of docs/proofs/tuples_geometry.md.

Distances are compared as squared rationals, so that a fact holds or fails without any tolerance.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Point = Sequence[Any]
Tuple = Sequence[Point]


def squared_distance(x: Point, y: Point) -> Fraction:
    """|x - y|^2."""
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, y, strict=True)), Fraction(0))


def squared_gaps(points: Tuple) -> list[Fraction]:
    """a_i^2: squared distance of each point to the nearest other one of its tuple.

    Raises:
        ValueError: a tuple of one point has no gap.
    """
    if len(points) < 2:
        raise ValueError("a tuple of one point has no separation: take k >= 2")
    return [min(squared_distance(x, y) for j, y in enumerate(points) if j != i) for i, x in enumerate(points)]


def are_far(centres: Tuple, radii: Sequence[Any], ratio: Any) -> bool:
    """Whether the balls are ratio-far: |c_i - c_j| >= ratio max(r_i, r_j)."""
    return all(
        squared_distance(centres[i], centres[j])
        >= (Fraction(ratio) * max(map(Fraction, (radii[i], radii[j])))) ** 2
        for i in range(len(centres))
        for j in range(i)
    )


def partitioned(centres: Tuple, radii: Sequence[Any], points: Tuple) -> bool:
    """Whether every ball holds exactly one of the points."""
    return all(
        sum(squared_distance(c, y) <= Fraction(r) ** 2 for y in points) == 1
        for c, r in zip(centres, radii, strict=True)
    )


def relative_distance(first: Tuple, second: Tuple) -> Fraction | None:
    """max_i min_j |x_i - y_j|^2 / a_i^2, or None if two points of the first tuple coincide.

    F1: the balls of radius a_i / ratio about the first tuple partition the second (ratio > 2) if and only if
    this is at most 1 / ratio^2: one number answers for all ratios.
    """
    gaps = squared_gaps(first)
    if min(gaps) == 0:
        return None
    return max(min(squared_distance(x, y) for y in second) / gap for x, gap in zip(first, gaps, strict=True))


def partitions(first: Tuple, second: Tuple, ratio: Any) -> bool:
    """Whether the balls B(x_i, a_i / ratio) about the first tuple partition the second (F1)."""
    distance = relative_distance(first, second)
    return distance is not None and distance * Fraction(ratio) ** 2 <= 1


def nearest(x: Point, centres: Tuple) -> int:
    """Number of the nearest centre, the first of equally near ones (what F3 speaks of)."""
    return min(range(len(centres)), key=lambda i: squared_distance(x, centres[i]))
