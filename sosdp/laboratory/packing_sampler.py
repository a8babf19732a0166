"""An exact sampler for scores with cuts: rejection from a partition of the lattice into boxes.

The lattice is split into boxes of integer points, heaviest first; every box has a certified lower bound of
the score from the dual cuts found so far. A box is drawn with weight (points) * r^(bound), a point uniformly
in it, and kept with probability r^(level - bound). The law is exactly r^level whatever partition and cuts
are: they depend on the data and decide nothing but the time. After a public number of rejections every point
is listed, so a draw ends.

Proof: docs/proofs/gaussian_scores.md, 5
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sosdp.laboratory.packing_score import QUANTUM, PackingLevels, PackingScore
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.scores.levels import BITS, RationalBase
from sosdp.privacy.scores.sampling import Sampler, draw_listed
from sosdp.privacy.scores.score import Box, Levels, Point, ScoreFunction, box_size

EVALUATIONS = {1: 30, 2: 80, 3: 150, 4: 300}
BOXES = {1: 200, 2: 600, 3: 1500, 4: 6000}
MOST_BOXES = 1 << 17  # a partition is refined up to here
STEPS_A_BOX = 8  # splits for each box wanted
PATIENCE = 128  # proposals after which the partition is refined


def most_proposals(size: int) -> int:
    """Rejections after which a lattice of so many points is listed: about as long as that takes; public."""
    return max(8 * PATIENCE, size)


@dataclass(frozen=True)
class DyadicBoxes(Sampler):
    """Rejection from a partition refined by dual cuts; for packing scores with at most four coordinates.

    Attributes:
        evaluations: cuts computed while building, by default 30, 80, 150, 300 for 1 to 4 coordinates.
        boxes: boxes of the partition at most.
    """

    evaluations: int | None = None
    boxes: int | None = None

    def check(self, score: ScoreFunction) -> None:
        """Needs a completion score on a bounded lattice."""
        if not isinstance(score, PackingScore) or score.problem.kind != "completion":
            raise ValueError("DyadicBoxes needs a completion score, whose dual cuts bound every candidate")
        if score.lattice.box is None:
            raise ValueError("DyadicBoxes needs a bounded lattice: give it a box")

    def draw(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int, bits: RandomBits
    ) -> Point:
        """Build the partition, then reject until a point is kept, at most `most_proposals` times."""
        return self.prepare(score, levels, base, top)(bits)[0]

    def prepare(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int
    ) -> Callable[[RandomBits], tuple[Point, int]]:
        """The partition, built once; each call draws a point and counts the trials (private numbers)."""
        assert isinstance(score, PackingScore) and isinstance(levels, PackingLevels)
        d, size = score.lattice.dimension, score.lattice.size
        assert size is not None
        tree = Partition(
            score,
            levels,
            base.rate,
            self.evaluations or EVALUATIONS[d],
            self.boxes or BOXES[d],
        )
        coin = Fraction(base.numerator, 1 << BITS)
        groups, counts = tree.by_level(top)

        def draw(bits: RandomBits) -> tuple[Point, int]:
            nonlocal groups, counts
            for trials in range(1, most_proposals(size) + 1):
                if trials % PATIENCE == 0:
                    # every kept point has the law r^level under any partition, so under a finer one too
                    tree.grow()
                    groups, counts = tree.by_level(top)
                low = exact.categorical_levels(counts, base.inverse, bits)
                point = _uniform(groups[low], exact.random_below(counts[low], bits))
                if not score.admits(point):
                    continue
                # j with P(j >= i) = r^i: the point is kept with probability r^(level - low)
                k = low
                while k < top and exact.bernoulli(coin, bits):
                    k += 1
                if levels.in_level(point, k):
                    return point, trials
            # given so many rejections the law is still r^level: nothing of them is in the point
            admitted = filter(score.admits, score.lattice.points())
            return draw_listed(admitted, levels, base, top, bits), trials + 1

        return draw


def _uniform(boxes: list[Box], place: int) -> Point:
    """The point with this number among all points of the boxes."""
    for box in boxes:
        size = box_size(box)
        if place < size:
            out = []
            for low, high in reversed(box):
                place, offset = divmod(place, high - low + 1)
                out.append(low + offset)
            return tuple(reversed(out))
        place -= size
    raise AssertionError("the counts are those of the boxes")


class Partition:
    """Boxes with certified lower bounds of the level, split heaviest first."""

    def __init__(
        self, score: PackingScore, levels: PackingLevels, rate: float, evaluations: int, boxes: int
    ) -> None:
        self.score, self.levels, self.rate = score, levels, rate
        self.unit = float(score.lattice.spacing)
        self.evaluations, self.most = evaluations, boxes
        whole = score.lattice.box
        assert whole is not None
        self.heap: list[tuple[float, int, Box, int, int]] = []
        self.gone: list[Box] = []  # none of their points is in the domain: never proposed
        self.number = 0
        self.spent = 0
        self.due, self.total = 0, math.inf  # when the total weight is computed anew, and its logarithm
        self._push(whole)
        if not self.heap:
            raise ValueError("no lattice point lies in the domain: widen it, or refine the lattice")
        self._build()

    def grow(self) -> None:
        """Twice the evaluations and boxes: for scores whose cuts are loose."""
        if self.most >= MOST_BOXES:
            return  # the law is the same under any partition; a finer one would only take memory
        self.evaluations *= 2
        self.most *= 2
        self._build()

    def by_level(self, top: int) -> tuple[dict[int, list[Box]], dict[int, int]]:
        """The boxes by their lower bound, and the number of points of each."""
        groups: dict[int, list[Box]] = {}
        for box, low in self.refreshed():
            groups.setdefault(min(low, top), []).append(box)
        return groups, {low: sum(map(box_size, boxes)) for low, boxes in groups.items()}

    def _bound(self, box: Box, since: int = 0) -> int:
        """floor(64 lower bound) of the score over a box by the cuts from number ``since`` on, at least 0."""
        return max(0, math.floor(Fraction(self.levels.cuts.box(*self._corners(box), since)) / QUANTUM))

    def _corners(self, box: Box) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest coordinates."""
        return np.array([a * self.unit for a, _ in box]), np.array([b * self.unit for _, b in box])

    def _push(self, box: Box, least: int = 0, since: int = 0) -> None:
        if self.score.excludes(*self._corners(box)):
            self.gone.append(box)
            return
        low = max(least, self._bound(box, since))
        weight = math.log(box_size(box)) - self.rate * low
        self.number += 1
        heapq.heappush(self.heap, (-weight, self.number, box, low, self.levels.cuts.constants.size))

    def _build(self) -> None:
        for _ in range(STEPS_A_BOX * self.most):  # boxes that leave the domain do not count as boxes
            if len(self.heap) >= self.most:
                break
            weight, _, box, low, cuts = heapq.heappop(self.heap)
            if cuts < self.levels.cuts.constants.size:
                fresh = self._bound(box, cuts)
                if fresh > low:
                    self._push(box, fresh, self.levels.cuts.constants.size)
                    continue
            if self.spent < self.evaluations:
                self.spent += 1
                centre = self.score.into_domain(tuple((a + b) // 2 for a, b in box))
                if not self.score.problem.relative or self.score.admits(centre):
                    self.levels.add_cut(centre)
            elif self._light(-weight):
                self._push(box, low, self.levels.cuts.constants.size)
                break
            if box_size(box) == 1:
                self.number += 1
                heapq.heappush(self.heap, (math.inf, self.number, box, low, cuts))
                if all(entry[0] == math.inf for entry in self.heap):
                    break
                continue
            self._split(box, low)

    def _light(self, weight: float) -> bool:
        """Whether the heaviest box is a small part of the whole: further splitting gains little."""
        if (
            self.number >= self.due
        ):  # weights only fall: an old total is too large, which stops a little early
            self.due = self.number + 64
            self.total = float(np.logaddexp.reduce([weight, *(-entry[0] for entry in self.heap)]))
        return weight - self.total < math.log(0.3 / self.most) + 2.0

    def _split(self, box: Box, least: int) -> None:
        """Two halves along the side that is longest relative to its coordinate's scale."""
        scales = self.levels.cuts.scales(np.mean(self._corners(box), axis=0))
        axis = max(range(len(box)), key=lambda k: (box[k][1] - box[k][0]) / scales[k])
        low, high = box[axis]
        middle = (low + high) // 2
        for part in ((low, middle), (middle + 1, high)):
            self._push((*box[:axis], part, *box[axis + 1 :]), least)

    def refreshed(self) -> list[tuple[Box, int]]:
        """The boxes with bounds from all cuts."""
        return [(box, max(low, self._bound(box, cuts))) for _, _, box, low, cuts in self.heap]
