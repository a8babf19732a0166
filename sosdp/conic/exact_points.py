"""Points of a conic program in exact arithmetic, in the coordinates of the face to which it is restricted.

Which face that is says ``exact_restriction``; here a point t of it becomes x exactly, and is proven feasible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .clock import otherwise
from .exact_data import ExactData
from .exact_numbers import absolute, as_row, entries_of, over_one_denominator, rounded, square
from .integer_matrices import digits_of, is_semidefinite_within, reserve_product
from .program import ConicProgram

_DENOMINATORS = (1, 12, 1000)

Kernels = list[list[list[int]]]
Point = list[Fraction] | list[float]


@dataclass(frozen=True)
class Face:
    """Vectors that span, for each block, what its matrices are orthogonal to; scalars that are zero (numbers
    of rows); ``implied``: whether it is proven that no other matrices and scalars are possible."""

    kernels: Kernels
    scalars: tuple[int, ...]
    implied: bool = False


@dataclass(frozen=True, eq=False)
class Restricted:
    """The program in the coordinates t, on its face.

    ``errors``: of the entries of its A and b (zero: exact, those of its q too); ``constant``: its exact one;
    ``changed``: whether it is another than the whole one; ``scalars`` and ``blocks``: which of the whole
    one's are left.
    """

    program: ConicProgram
    errors: tuple[np.ndarray, np.ndarray]
    constant: Fraction
    changed: bool
    scalars: list[int]
    blocks: list[int]
    whole: ConicProgram
    kernels: Kernels
    tight: tuple[int, ...]
    implied: bool
    kept: list[list[int]]
    _data: ExactData
    _map: Any  # rows: what each coordinate, and 1, adds to (-x, 1) times ``_denominator``
    _denominator: int
    _digits: int  # of ``_map``

    @property
    def exact(self) -> bool:
        """Whether floats hold the entries of the program."""
        return not any(e.any() for e in self.errors)

    def point(self, t: Point) -> list[Fraction]:
        """The point x of given coordinates, which satisfies all equations exactly."""
        weights, bottom = over_one_denominator([*map(Fraction, t), Fraction(1)])
        reserve_product(as_row(weights), self._map, (digits_of([weights]), self._digits))
        total = as_row(weights) * self._map
        return [Fraction(-int(total[0, j]), bottom * self._denominator) for j in range(self.whole.q.size)]

    @otherwise(float("inf"))
    def upper_bound(self, t: Point) -> float:
        """The value at the point, rounded upwards, when it is feasible; infinity otherwise."""
        if not all(map(math.isfinite, t)):
            return np.inf
        x = self.point(t)
        if not self._feasible(x):
            return np.inf
        value = sum((Fraction(float(c)) * v for c, v in zip(self.whole.q, x, strict=True)), Fraction(0))
        return rounded(value + Fraction(self.whole.constant), 1)

    def _feasible(self, x: list[Fraction]) -> bool:
        top, bottom = over_one_denominator([-v for v in x] + [Fraction(1)])
        point = as_row(top)
        cones = self.whole.cones
        for row in self._data.scalars[cones.zero :]:
            if sum(a * b for a, b in zip(row, top, strict=True)) < 0:
                return False
        digits = digits_of([top])
        for k, side in enumerate(cones.psd):
            reserve_product(point, self._data.blocks[k], (digits, self._data.digits[k]))
            entries = entries_of(point * self._data.blocks[k])
            matrix = square(entries, side)
            off = Fraction(0)
            if self._data.errors[k]:
                size = as_row([abs(v) for v in top]) * absolute(self._data.blocks[k])
                off = Fraction(self._data.errors[k]) * max(int(v) for v in entries_of(size)) * side
            keep = self.kept[k]
            if not is_semidefinite_within([[matrix[i][j] for j in keep] for i in keep], off):
                return False
        return True


def near(t: np.ndarray) -> list[Point]:
    """A point in floats, and fractions of small denominators next to it: where few points are feasible, an
    integer one may be though no float near it is."""
    if not np.isfinite(t).all():
        return [t.tolist()]
    values = [Fraction(v) for v in t.tolist()]
    return [t.tolist(), *([v.limit_denominator(d) for v in values] for d in _DENOMINATORS)]
