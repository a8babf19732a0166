"""The public set of one record, a box or a ball, and points of it: extremal ones, ties, random ones."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sosdp.algebra.constraint import Inequality
from sosdp.algebra.polynomial import Polynomial
from sosdp.privacy.arguments import finite, integer

Record = tuple[Fraction, ...]


def claimed_as(claim: Any) -> Fraction | None:
    """The sensitivity that is to be proven; None for the least provable one."""
    return None if claim is None else Fraction(finite(claim, "claim"))


class AsProven:
    """Base of what a report is about: nobody overrides what is proven and evaluated."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if AsProven not in cls.__bases__:
            raise TypeError(
                f"{cls.__bases__[0].__name__} has no subclasses: they could evaluate what was not proven"
            )


@dataclass(frozen=True)
class Domain(AsProven):
    """Public set of one record.

    Attributes
    ----------
    dimension
        Of a record.
    low, high
        The box, the same interval for every coordinate.
    radius
        Of a ball about 0 in place of the box; None for the box.
    """

    dimension: int
    low: Fraction
    high: Fraction
    radius: Fraction | None

    def __init__(
        self,
        dimension: int = 1,
        low: Fraction | float = 0,
        high: Fraction | float = 1,
        radius: Fraction | float | None = None,
    ) -> None:
        object.__setattr__(self, "dimension", integer(dimension, "dimension", 0))
        for name, value in (("low", low), ("high", high), ("radius", radius)):
            object.__setattr__(self, name, None if value is None else Fraction(finite(value, name)))
        if self.dimension < 1 or self.low >= self.high or (self.radius is not None and self.radius <= 0):
            raise ValueError(
                f"a record needs a dimension >= 1 and an interval low < high (or radius > 0), got "
                f"dimension {self.dimension}, [{self.low}, {self.high}], radius {self.radius}"
            )

    def constraints(self, record: Sequence[Polynomial]) -> list[Inequality]:
        """Inequalities that describe the set in these variables."""
        if self.radius is not None:
            return [self.radius**2 - sum((v * v for v in record), Polynomial(0)) >= 0]
        return [(v - self.low) * (self.high - v) >= 0 for v in record]

    def bodies(self, record: Sequence[Polynomial]) -> list[Polynomial]:
        """Exact polynomials that are at least 0 on the set."""
        return [g.polynomial.as_exact() for g in self.constraints(record)]

    def __contains__(self, record: Record) -> bool:
        if self.radius is not None:
            return sum(v * v for v in record) <= self.radius**2
        return all(self.low <= v <= self.high for v in record)

    @property
    def units(self) -> tuple[Fraction, Fraction, Domain]:
        """Origin and size of units of its own, and the set in these: [0, 1], about 0 [-1, 1], radius 1."""
        about = self.radius is not None or self.low == -self.high
        origin, size = (Fraction(0), self.radius or self.high) if about else (self.low, self.high - self.low)
        low, high = ((end - origin) / size for end in (self.low, self.high))
        return origin, size, Domain(self.dimension, low, high, None if self.radius is None else 1)

    @property
    def centre(self) -> Record:
        """A point in the middle."""
        middle = Fraction(0) if self.radius is not None else (self.low + self.high) / 2
        return (middle,) * self.dimension

    def marks(self) -> list[Fraction]:
        """Numbers where a function of one coordinate might branch: the ends, the middle, and 0."""
        if self.radius is not None:
            return [-self.radius, Fraction(0), self.radius]
        marks = [self.low, self.high, (self.low + self.high) / 2]
        return marks + ([Fraction(0)] if self.low <= 0 <= self.high else [])

    def draw(self, generator: random.Random, near: Record | None = None, width: float = 1.0) -> Record:
        """An exact point: extremal half of the time, or within `width` of the set's size around `near`."""
        if near is not None:
            size = float(self.radius if self.radius is not None else self.high - self.low) * width
            return self._inside(tuple(v + Fraction(generator.gauss(0, size)) for v in near))
        if self.radius is None:
            inner = Fraction(generator.uniform(float(self.low), float(self.high)))
            choices = [*self.marks(), *self._inside((inner,))]
            return tuple(generator.choice(choices) for _ in range(self.dimension))
        if generator.random() < 0.4:
            record = [Fraction(0)] * self.dimension
            record[generator.randrange(self.dimension)] = generator.choice(self.marks())
            return tuple(record)
        direction = [generator.gauss(0, 1) for _ in range(self.dimension)]
        length = math.sqrt(sum(v * v for v in direction)) or 1.0
        scale = float(self.radius) * (1.0 if generator.random() < 0.7 else generator.random()) / length
        return self._inside(tuple(Fraction(v * scale) for v in direction))

    def _inside(self, record: Record) -> Record:
        """A point of the set near this one, on a grid of its own, so that sums of many have short numbers."""
        step = (self.radius or self.high - self.low) / 2**13
        if self.radius is None:
            return tuple(
                min(max(self.low + round((v - self.low) / step) * step, self.low), self.high) for v in record
            )
        short = tuple(round(v / step) * step for v in record)
        while short not in self:
            shrink = float(self.radius) / math.sqrt(float(sum(v * v for v in short))) * (1 - 1e-4)
            short = tuple(int(v * Fraction(shrink) / step) * step for v in short)
        return short


def shaped(records: Sequence[Sequence[Any]], dimension: int) -> list[Any]:
    """Records as a statistic takes them: numbers in one dimension, lists of numbers in more."""
    return [list(r) for r in records] if dimension > 1 else [r[0] for r in records]
