"""Exact draws from r^level on lattices far too large to list, by a partition refined where it matters.

A cell E has an integer kappa <= level on it. Draw E with weight |E| r^kappa, a uniform point of E, keep it
with probability r^(level - kappa); after a rejection split E, or list it if it is small: of a listed cell all
levels are known. Whatever the partition, a kept point has the law r^level.

Proof: docs/proofs/consensus.md
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.scores.consensus import ConsensusLevels, ConsensusScore, Rows
from sosdp.privacy.scores.levels import BITS, RationalBase
from sosdp.privacy.scores.sampling import Sampler
from sosdp.privacy.scores.score import Box, Levels, Point, ScoreFunction, box_size


@dataclass(frozen=True)
class Cell:
    """A box of lattice points: how many records pass everywhere, and which others pass somewhere in it.

    Attributes:
        counts: levels, or bounds below them, with how many points have each.
        listed: whether these are the levels themselves.
    """

    box: Box
    sure: int
    rows: Rows
    counts: dict[int, int]
    listed: bool

    @property
    def size(self) -> int:
        """Number of its points."""
        return box_size(self.box)


@dataclass(frozen=True)
class LazyPartition(Sampler):
    """Consensus scores on any bounded lattice. The numbers decide the time only, never the law.

    Attributes:
        listing: a cell with at most so many pairs of a point and an undecided record is listed, not split.
        loose: the heaviest cell is refined until its undecided records times ln(1/r) are below this.
    """

    listing: int = 1 << 16
    loose: float = 0.2

    def check(self, score: ScoreFunction) -> None:
        """Needs bounds over cells."""
        if not isinstance(score, ConsensusScore):
            raise ValueError("LazyPartition needs a score with bounds over cells: a ConsensusScore")

    def draw(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int, bits: RandomBits
    ) -> Point:
        """Rejection until a point is kept: at most once for every cell; no limit, and time is not covered."""
        return self.prepare(score, levels, base).draw(base, bits)

    def prepare(self, score: ScoreFunction, levels: Levels, base: RationalBase) -> Partition:
        """A partition of the whole lattice, which further draws refine further."""
        assert isinstance(levels, ConsensusLevels) and score.lattice.box is not None
        partition = Partition(levels, base.rate, self)
        partition.add(score.lattice.box, 0, levels.everyone)
        return partition


@dataclass
class Partition:
    """Cells that cover the lattice once each, and the points at every level or bound by cell: private."""

    levels: ConsensusLevels
    rate: float
    options: LazyPartition
    cells: dict[int, Cell] = field(default_factory=dict)
    at: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    waiting: list[tuple[float, int]] = field(default_factory=list)
    made: int = 0

    def draw(self, base: RationalBase, bits: RandomBits) -> Point:
        """One point with probability exactly proportional to r^level."""
        while True:
            self.refine()
            bound, key = self.choose(base, bits)
            point, level = self.point(self.cells[key], bound, bits)
            if all(bits.integer(BITS) < base.numerator for _ in range(level - bound)):
                return point
            self.split(key)

    def add(self, box: Box, sure: int, rows: Rows) -> None:
        """A cell of the partition; only the undecided records of the one it was part of are looked at."""
        passed, left = self.levels.decide(box, rows)
        sure += passed
        bound = max(0, self.levels.score.need - sure - len(left))
        self._put(Cell(box, sure, left, {bound: box_size(box)}, listed=len(left) == 0))

    def _put(self, cell: Cell) -> None:
        key, self.made = self.made, self.made + 1
        self.cells[key] = cell
        for level, count in cell.counts.items():
            self.at[level][key] = count
        least = min(cell.counts)
        weight = sum(count * math.exp(-self.rate * (level - least)) for level, count in cell.counts.items())
        heapq.heappush(self.waiting, (self.rate * least - math.log(weight), key))

    def split(self, key: int) -> None:
        """List a small cell; of another take two halves, along the axis of which it has the largest part."""
        cell = self.cells.pop(key)
        for level in cell.counts:
            del self.at[level][key]
        if cell.size * len(cell.rows) <= self.options.listing:
            levels, counts = np.unique(self.levels.listed(cell.box, cell.sure, cell.rows), return_counts=True)
            known = dict(zip(levels.tolist(), counts.tolist(), strict=True))
            self._put(Cell(cell.box, cell.sure, cell.rows, known, listed=True))
            return
        whole = self.levels.score.lattice.box
        assert whole is not None
        parts = [
            (high - low) / (last - first + 1)
            for (low, high), (first, last) in zip(cell.box, whole, strict=True)
        ]
        axis = int(np.argmax(parts))
        low, high = cell.box[axis]
        middle = (low + high) // 2
        for part in ((low, middle), (middle + 1, high)) if low < high else ((low, high),):
            box = tuple(part if i == axis else side for i, side in enumerate(cell.box))
            self.add(box, cell.sure, cell.rows)

    def refine(self) -> None:
        """Split or list the heaviest cells while they are loose."""
        while self.waiting:
            _, key = self.waiting[0]
            cell = self.cells.get(key)
            if cell is not None and (cell.listed or len(cell.rows) * self.rate < self.options.loose):
                return
            heapq.heappop(self.waiting)
            if cell is not None:
                self.split(key)

    def choose(self, base: RationalBase, bits: RandomBits) -> tuple[int, int]:
        """A level or bound and a cell, with probability exactly proportional to the points it has there times
        r^level: a level by all its points, then a uniform one of these."""
        counts = {level: sum(held.values()) for level, held in self.at.items() if held}
        level = exact.categorical_levels(counts, base.inverse, bits)
        keys = list(self.at[level])
        ends = list(accumulate(self.at[level].values()))
        drawn = exact.random_below(ends[-1], bits)
        return level, next(key for key, end in zip(keys, ends, strict=True) if drawn < end)

    def point(self, cell: Cell, bound: int, bits: RandomBits) -> tuple[Point, int]:
        """A uniform point of the cell with its level; of a listed cell, one of those at this level."""
        if cell.listed and len(cell.rows):
            places = np.flatnonzero(self.levels.listed(cell.box, cell.sure, cell.rows) == bound)
            place = int(places[exact.random_below(len(places), bits)])
            steps = np.unravel_index(place, [high - low + 1 for low, high in cell.box])
            return tuple(low + int(k) for k, (low, _) in zip(steps, cell.box, strict=True)), bound
        point = tuple(low + exact.random_below(high - low + 1, bits) for low, high in cell.box)
        at = tuple((t, t) for t in point)
        return point, int(self.levels.listed(at, cell.sure, cell.rows)[0])
