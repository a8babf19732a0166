"""Score functions: public descriptions of integer levels that move little between neighbours.

A `ScoreFunction` holds public facts only (lattice, level sensitivity, what is proven about it); `on(data)`
gives `Levels`, a private object that answers level questions about one data set. Mechanisms read guarantees
from the former before they touch the latter.

Proof: docs/proofs/scores.md
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.arguments import finite, integer, nonnegative, positive, settle
from sosdp.privacy.guarantee.guarantee import ONE_RECORD_REPLACED
from sosdp.privacy.inputs import floats

Point = tuple[int, ...]
"""A lattice point, in multiples of the spacing."""
Box = tuple[tuple[int, int], ...]
"""One closed interval of integers a coordinate; empty if any low > high."""


@dataclass(frozen=True)
class Lattice:
    """All points spacing * t, t integer vectors in a public box (or everywhere, for `box` None).

    Attributes:
        spacing: distance of neighbouring points, in the units of the data.
        dimension: number of coordinates.
        box: integer bounds of t, inclusive; None for no bounds.

    Raises:
        ValueError: spacing not > 0, dimension < 1, or a box that is empty or of another dimension.
    """

    spacing: Fraction
    dimension: int
    box: Box | None = None

    def __post_init__(self) -> None:
        settle(
            self, spacing=positive(self.spacing, "spacing"), dimension=integer(self.dimension, "dimension")
        )
        if self.box is not None:
            box = tuple((int(low), int(high)) for low, high in self.box)
            if len(box) != self.dimension or box_size(box) == 0:
                raise ValueError(f"the box must be {self.dimension} non-empty intervals, got {self.box!r}")
            settle(self, box=box)

    def __contains__(self, point: Point) -> bool:
        return self.box is None or all(
            low <= t <= high for t, (low, high) in zip(point, self.box, strict=True)
        )

    def points(self) -> Iterator[Point]:
        """Every point, last coordinate fastest.

        Raises:
            ValueError: the lattice is unbounded.
        """
        if self.box is None:
            raise ValueError("an unbounded lattice cannot be listed")
        return product(*(range(low, high + 1) for low, high in self.box))

    @property
    def size(self) -> int | None:
        """Number of points, None if infinite."""
        return None if self.box is None else box_size(self.box)

    def value(self, point: Point) -> npt.NDArray[np.float64]:
        """Coordinates as float64."""
        return np.array([float(self.spacing * t) for t in point])


def cube(spacing: Fraction | float, radius: Fraction | float, dimension: int) -> Lattice:
    """The lattice of multiples of `spacing` in [-radius, radius]^dimension."""
    step, dimension = positive(spacing, "spacing"), integer(dimension, "dimension")
    reach = math.floor(nonnegative(radius, "radius") / step)
    return Lattice(step, dimension, ((-reach, reach),) * dimension)


def box_size(box: Box) -> int:
    """Number of integer points; 0 as soon as one interval is empty (two negative lengths do not multiply)."""
    size = 1
    for low, high in box:
        size *= max(0, high - low + 1)
    return size


def whole_records(
    data: Any,
    records: int,
    units: Sequence[float],
    bounds: Sequence[tuple[int, int]],
    missing: npt.ArrayLike = 0.0,
) -> npt.NDArray[np.int64]:
    """Records (n, d) in their units: rounded, NaN read as `missing`, clipped; each by itself.

    Raises:
        ValueError: another shape than the public one, (records, len(units)).
    """
    table = floats(data, (len(units),))
    if table.shape != (records, len(units)):
        raise ValueError(f"data must have the public shape ({records}, {len(units)}), got {table.shape}")
    low, high = np.array(bounds, dtype=np.float64).T
    with np.errstate(all="ignore"):
        scaled = np.rint(table / np.array(units))
    return np.clip(np.where(np.isnan(scaled), missing, scaled), low, high).astype(np.int64)


def intersect(first: Box | None, second: Box | None) -> Box | None:
    """Points in both boxes; None stands for everything."""
    if first is None or second is None:
        return second if first is None else first
    return tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(first, second, strict=True))


class Levels(ABC):
    """The levels of one data set: private. Every answer is certified, whatever it rests on."""

    score: Any
    """The public side."""

    exact_boxes: bool = False
    """Whether `box(k)` is exactly the level set, not merely a superset."""

    @abstractmethod
    def level(self, point: Point) -> int:
        """The level of a lattice point, at most the score's `max_level`."""

    def in_level(self, point: Point, k: int) -> bool:
        """Whether level(point) <= k; may be cheaper than the level."""
        return self.level(point) <= k

    def box(self, k: int) -> Box | None:
        """A box that contains all lattice points of level <= k, the lattice's own where none is tighter; None
        if no finite one is known.
        """
        own: Box | None = self.score.lattice.box
        return own

    def least(self) -> int:
        """A certified lower bound of all levels."""
        return 0

    def count(self, k: int) -> int | None:
        """Exact number of lattice points of level <= k, None if infinite.

        Raises:
            ValueError: this score has no exact counts.
        """
        if k < 0:
            return 0
        if not self.exact_boxes:
            raise ValueError("this score has no exact level counts")
        box = self.box(k)
        return None if box is None else box_size(box)


@dataclass(frozen=True)
class ScoreFunction(ABC):
    """The public side of a score.

    Attributes:
        lattice: where the output lives.
        records: n, public under replace-one adjacency.
        sensitivity: m, proven bound on the change of any level between neighbours.
        max_level: J, every level on a bounded lattice is at most J.
        quasi_convex: whether the true score has convex sublevel sets.
        exact_boxes: whether level sets are boxes with exact counts.
        exact_counts: whether `count` is exact all the same.
        level0_count: n0, a lower bound, valid for every data set, of the number of points of level <= 0.
        adjacency, assumptions: for the guarantee; the types of the sentences decide its kind.
        cells: whether levels are bounded over boxes of points (`LazyPartition`).
    """

    lattice: Lattice
    records: int

    sensitivity: int = 1
    max_level: int | None = None
    quasi_convex: bool = False
    exact_boxes: bool = False
    exact_counts: bool = False
    level0_count: int = 0
    adjacency: str = ONE_RECORD_REPLACED
    assumptions: tuple[str, ...] = ()
    cells: bool = False

    def __post_init__(self) -> None:
        settle(
            self,
            records=integer(self.records, "records"),
            sensitivity=finite(self.sensitivity, "the sensitivity of a level", "> 0"),
            max_level=None if self.max_level is None else integer(self.max_level, "max_level", 0),
            level0_count=integer(self.level0_count, "level0_count", 0),
        )

    @property
    def top(self) -> int:
        """J, for the mechanisms that need one.

        Raises:
            ValueError: levels are unbounded.
        """
        if self.max_level is None:
            raise ValueError("this score has no public bound on its levels")
        return self.max_level

    @abstractmethod
    def on(self, data: Any) -> Levels:
        """The levels of one data set.

        Raises:
            ValueError: the number of records or their shape is not the public one; nothing else.
        """


# ------------------------------------------------------------------------------------------------------------
# Composition
