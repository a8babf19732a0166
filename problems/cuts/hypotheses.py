"""Update rules of iterative database constructions: what the online mechanism believes about the graph.

It answers queries, and moves when an answer was far off (Definitions 3.1 and 3.2 of Gupta, Roth and Ullman
2012). Everything here sees public numbers only: it is post-processing of paid answers.

Additive updates (Frieze and Kannan): B(g) = ||D - D_1||^2 max ||q||^2 / g^2; published with step alpha / |X|
and start 0. Multiplicative updates: B(g) = m^2 ln(N / m) / (2 g^2) for a simple graph with m edges, from the
uniform start; published with eta = alpha / (2 m) and B = 4 m^2 ln N / alpha^2. The median rule on all
databases of a fixed size, for a handful of pairs: B = size * log2 N.

Proof: docs/proofs/cuts_constructions.md
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from .queries import CutQuery, Query


@dataclass(frozen=True)
class Measurement:
    """A paid answer: the query, its noisy answer in plain units, and `slack`, an accuracy it had (z)."""

    query: Query
    answer: float
    slack: float


class Hypothesis(ABC):
    """A public belief about all pairs. Deterministic: replaying the measurements rebuilds it."""

    @abstractmethod
    def answer(self, query: Query) -> float:
        """The believed answer, in plain units."""

    @abstractmethod
    def update(self, measurement: Measurement) -> None:
        """Move towards a measured answer."""

    @abstractmethod
    def bound(self, gap: float) -> float:
        """B(g): no sequence of updates with true gaps of at least g (queries of sensitivity 1) is longer."""

    def matrix(self) -> np.ndarray | None:
        """The belief as a dense symmetric (n, n) matrix, or None where there is none."""
        return None


def _pairs(n: int) -> float:
    return n * (n - 1) / 2.0


def _additive_bound(n: int, start: float, gap: float) -> float:
    """B(g) of additive updates: N times the worst squared distance of a simple graph from the start, over
    g^2."""
    farthest = max(start, 1.0 - start) ** 2 * _pairs(n)
    return farthest * _pairs(n) / gap**2


class _Dense(Hypothesis):
    """A belief as a dense symmetric (n, n) matrix, first the same for all pairs."""

    def __init__(self, n: int, density: float, step: float | None, refit: int) -> None:
        self.n, self.step, self.refit = n, step, refit
        self._belief = np.full((n, n), density)
        np.fill_diagonal(self._belief, 0.0)
        self._measured: list[Measurement] = []

    def answer(self, query: Query) -> float:
        """The believed answer."""
        return query.apply(self._belief)

    def update(self, measurement: Measurement) -> None:
        """Move towards a measured answer, then towards all of them; with a fixed step, as published."""
        self._measured.append(measurement)
        if self.step is not None:
            gap = measurement.answer - self.answer(measurement.query)
            self._published(measurement.query, gap, self.step)
            return
        for earlier in [measurement, *self._measured * (self.refit if len(self._measured) > 1 else 0)]:
            self._towards(earlier)

    @abstractmethod
    def _published(self, query: Query, gap: float, step: float) -> None:
        """One step of the published size in the direction of the gap."""

    @abstractmethod
    def _towards(self, measurement: Measurement) -> None:
        """Into the slab |q(.) - answer| <= slack, where it is outside."""

    def matrix(self) -> np.ndarray:
        """The belief as a dense symmetric (n, n) matrix."""
        return self._belief.copy()


class FriezeKannan(_Dense):
    """Dense additive updates.

    Args:
        n: vertices. density: start, in [0, 1] (0: as published).
        step: None for measured steps (distance less its slack, over ||q||^2), or the published fixed alpha:
        each
            update then adds sign * alpha / |X| times the query.
        box: keep entries in [0, 1] (a simple graph lies there).
        refit: sweeps of cyclic projection over all measurements after each update.
    """

    def __init__(
        self, n: int, density: float = 0.0, *, step: float | None = None, box: bool = True, refit: int = 3
    ) -> None:
        super().__init__(n, float(density), step, refit)
        self.start, self.box = float(density), box

    def _published(self, query: Query, gap: float, step: float) -> None:
        query.add(self._belief, float(np.sign(gap)) * step / _pairs(self.n))
        self._clip()

    def _towards(self, measurement: Measurement) -> None:
        """Project onto the slab |q(.) - answer| <= slack (where it is outside), then onto the box."""
        query = measurement.query
        gap = measurement.answer - self.answer(query)
        excess = abs(gap) - measurement.slack
        norm = query.squared_norm()
        if excess > 0.0 and norm > 0.0:
            query.add(self._belief, float(np.sign(gap)) * excess / norm)
            self._clip()

    def _clip(self) -> None:
        if self.box:
            np.clip(self._belief, 0.0, 1.0, out=self._belief)
            np.fill_diagonal(self._belief, 0.0)

    def bound(self, gap: float) -> float:
        """N (n^2 / 4) / g^2 times the worst squared distance of a simple graph from the start, per pair."""
        return _additive_bound(self.n, self.start, gap)


class MultiplicativeWeights(_Dense):
    """Dense multiplicative updates of a belief with fixed total mass.

    Args:
        n: vertices. mass: of the belief, > 0 (public, or released privately).
        step: None for the exact step of 0/1 queries (the new answer meets the measured one, less its slack;
        other
            queries step by eta = 4 gap / mass), or the published eta as a fixed alpha: eta = alpha / (2
            mass).
        refit: sweeps of proportional fitting over all measurements after each update.

    Raises:
        ValueError: mass <= 0.
    """

    def __init__(self, n: int, mass: float, *, step: float | None = None, refit: int = 3) -> None:
        if not mass > 0.0:
            raise ValueError(f"multiplicative weights need a mass > 0, got {mass}")
        super().__init__(n, float(mass) / _pairs(n), step, refit)
        self.mass = float(mass)

    def _published(self, query: Query, gap: float, step: float) -> None:
        self._tilt(query, (1.0 if gap > 0.0 else -1.0) * step / (2.0 * self.mass))

    def _towards(self, measurement: Measurement) -> None:
        """Move the answer into the measured slab; the target is the near end, which cannot overshoot the
        truth."""
        query = measurement.query
        current = self.answer(query)
        gap = measurement.answer - current
        if abs(gap) <= measurement.slack:
            return
        target = current + math.copysign(abs(gap) - measurement.slack, gap)
        if isinstance(query, CutQuery) and query.delta <= 1.0:
            self._scale_cut(query, current, target)
        else:
            weight = query.delta
            self._tilt(query, 4.0 * (target - current) / (weight * self.mass) / weight)

    def _scale_cut(self, query: CutQuery, current: float, target: float) -> None:
        """Exact projection in relative entropy: the pairs of the cut times one factor, all others times
        another."""
        least = 1e-12 * self.mass
        target = min(max(target, least), self.mass * (1.0 - 1e-12))
        if not least <= current <= self.mass - least:
            return
        inside, outside = target / current, (self.mass - target) / (self.mass - current)
        self._belief *= outside
        for rows, columns, _ in query.blocks():
            self._belief[np.ix_(rows, columns)] *= inside / outside
            if rows is not columns:
                self._belief[np.ix_(columns, rows)] *= inside / outside

    def _tilt(self, query: Query, eta: float) -> None:
        """p(x) times exp(eta * weight), renormalised."""
        weights = np.zeros_like(self._belief)
        query.add(weights, eta)
        self._belief *= np.exp(np.clip(weights, -60.0, 60.0))
        np.fill_diagonal(self._belief, 0.0)
        self._belief *= 2.0 * self.mass / self._belief.sum()

    def bound(self, gap: float) -> float:
        """m^2 ln(N / m) / (2 g^2) with the mass in the place of m (at least one pair's worth of entropy)."""
        return self.mass**2 * max(math.log(_pairs(self.n) / self.mass), 0.0) / (2.0 * gap**2)


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
        return _additive_bound(self.n, self.start, gap)

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


MOST = 20_000
"""More databases than this are refused."""


def median_size(n: int) -> int:
    """The largest number of parts with which the databases on n vertices are at most MOST.

    Raises:
        ValueError: two parts make more than that already (n above 20).
    """
    pairs = n * (n - 1) // 2
    size = 1
    while pairs > 1 and math.comb(pairs + size, size + 1) <= MOST:
        size += 1
    if pairs > 1 and size < 2:
        raise ValueError(f"the median rule lists databases of equal parts: at most 20 vertices, got {n}")
    return size


class MedianMechanism(Hypothesis):
    """Keeps a set of small databases and answers with the median of their answers.

    Args:
        n: vertices. mass: total weight of every database. size: number of unit parts a database is made of.

    Raises:
        ValueError: more than 20000 databases.
    """

    def __init__(self, n: int, mass: float, size: int) -> None:
        pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        count = math.comb(len(pairs) + size - 1, size)
        if count > MOST:
            raise ValueError(f"{len(pairs)} pairs and size {size} make more than {MOST} databases")
        self.n, self.size, self.pairs, self._part = n, size, len(pairs), mass / size
        self._units = []
        for i, j in pairs:
            unit = np.zeros((n, n))
            unit[i, j] = unit[j, i] = 1.0
            self._units.append(unit)
        self._databases = np.zeros((count, len(pairs)), dtype=np.int16)
        for row, chosen in zip(self._databases, combinations_with_replacement(range(len(pairs)), size)):
            np.add.at(row, list(chosen), 1)

    def _values(self, query: Query) -> np.ndarray:
        """The answer of every database that is left."""
        return self._databases @ np.array([query.apply(unit) for unit in self._units]) * self._part

    def answer(self, query: Query) -> float:
        """The believed answer."""
        values = np.sort(self._values(query))
        return float(values[(len(values) - 1) // 2]) if len(values) else 0.0

    def update(self, measurement: Measurement) -> None:
        """Drop the half of the databases on the wrong side of the median (the median included)."""
        values, middle = self._values(measurement.query), self.answer(measurement.query)
        self._databases = self._databases[values < middle if measurement.answer < middle else values > middle]

    @property
    def left(self) -> int:
        """Number of databases that are still possible."""
        return len(self._databases)

    def bound(self, gap: float) -> float:
        """size * log2(number of pairs): every update drops at least half, and a good database survives."""
        return self.size * math.log2(self.pairs)
