"""Additive updates without a matrix: the belief is a density and a few coefficients on measured queries.

For graphs too large for n^2 numbers. No box; refitting solves a least-squares problem in the span of the
measured
queries, whose inner products are intersections of sets. Proof: docs/proofs/cuts_constructions.md, section 1
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..queries import CutQuery, Query
from .base import Hypothesis, Measurement


class _Rectangle(NamedTuple):
    """One rectangle of a measured query, its sides as masks (n,) for quick intersections."""

    rows: np.ndarray
    columns: np.ndarray
    weight: float


class ImplicitFriezeKannan(Hypothesis):
    """Belief density * (all pairs) + sum_i c_i q_i over measured cut queries; O(C n) memory, O(C (|S| +
    |T|)) an
    answer.

    Args:
        n: vertices. density: start. refit: sweeps of cyclic projection after each update.

    Raises:
        ValueError: (in `answer` and `update`) a query that is no cut.
    """

    def __init__(self, n: int, density: float = 0.0, *, refit: int = 3) -> None:
        self.n, self.start, self.refit = n, float(density), refit
        self._measured: list[Measurement] = []
        self._rectangles: list[list[_Rectangle]] = []
        self._coefficients = np.zeros(0)
        self._gram = np.zeros((0, 0))

    def answer(self, query: Query) -> float:
        """The believed answer."""
        blocks = _blocks(query)
        return self.start * _pairs_weight(blocks) + float(self._inner(blocks) @ self._coefficients)

    def update(self, measurement: Measurement) -> None:
        """Move towards a measured answer."""
        blocks = _blocks(measurement.query)
        self._measured.append(measurement)
        self._rectangles.append([_Rectangle(self._mask(r), self._mask(c), w) for r, c, w in blocks])
        row = self._inner(blocks)
        size = len(row)
        gram = np.zeros((size, size))
        gram[:-1, :-1] = self._gram
        gram[-1] = gram[:, -1] = row
        self._gram = gram
        coefficients = np.append(self._coefficients, 0.0)
        order = [size - 1] + [i for _ in range(self.refit if size > 1 else 0) for i in range(size)]
        starts = [self.start * _pairs_weight(_blocks(measured.query)) for measured in self._measured]
        for i in order:  # the same slabs as the dense rule, without the box
            gap = self._measured[i].answer - starts[i] - float(gram[i] @ coefficients)
            excess = abs(gap) - self._measured[i].slack
            if excess > 0.0 and gram[i, i] > 0.0:
                coefficients[i] += np.sign(gap) * excess / gram[i, i]
        self._coefficients = coefficients

    def bound(self, gap: float) -> float:
        """As for the dense rule."""
        pairs = self.n * (self.n - 1) / 2.0
        return max(self.start, 1.0 - self.start) ** 2 * pairs * pairs / gap**2

    def _mask(self, members: np.ndarray) -> np.ndarray:
        mask = np.zeros(self.n, dtype=bool)
        mask[members] = True
        return mask

    def _inner(self, blocks: list[Block]) -> np.ndarray:
        """Inner products over pairs with every measured query, shape (C,)."""
        return np.array([_inner(blocks, rectangles) for rectangles in self._rectangles])


Block = tuple[np.ndarray, np.ndarray, float]


def _blocks(query: Query) -> list[Block]:
    if not isinstance(query, CutQuery):
        raise ValueError(
            "a graph of this size answers cut queries only: other queries need a dense hypothesis"
        )
    return query.blocks()


def _pairs_weight(blocks: list[Block]) -> float:
    """Sum of the weights of all pairs."""
    return sum(w * (len(r) * len(c) - (len(r) if r is c else 0)) for r, c, w in blocks)


def _inner(blocks: list[Block], rectangles: list[_Rectangle]) -> float:
    """Sum over pairs of the product of the weights: w(1_R 1_C' + 1_C 1_R') off the diagonal for each
    rectangle."""
    total = 0.0
    for rows, columns, weight in blocks:
        for other in rectangles:
            direct = int(np.count_nonzero(other.rows[rows]) * np.count_nonzero(other.columns[columns]))
            crossed = np.count_nonzero(other.columns[rows]) * np.count_nonzero(other.rows[columns])
            diagonal = 0
            if rows is columns:  # otherwise the sides are disjoint and nothing lies on the diagonal
                diagonal = 2 * int(np.count_nonzero(other.rows[rows] & other.columns[rows]))
            total += weight * other.weight * (direct + crossed - diagonal)
    return total
