"""Exact samplers of the law P(theta) ~ r^level(theta) on a lattice, and one heuristic.

All but `HitAndRun` draw from exactly that law, with integers alone: whatever boxes, solvers or orders they
use affect the time only. `top` is J (every level is at most J) or the threshold T of a truncated law.

Proof: docs/proofs/samplers.md
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.guarantee.condition import Claim
from sosdp.privacy.guarantee.evidence import Law
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.scores.levels import BITS, RationalBase
from sosdp.privacy.scores.score import Box, Levels, Point, ScoreFunction, box_size

MARKS = (0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30)


@dataclass(frozen=True)
class Sampler(ABC):
    """How a point is drawn once levels, base and top are fixed."""

    def check(self, score: ScoreFunction) -> None:
        """Refuse a score that this sampler cannot serve, from public facts alone; by default none is.

        Raises:
            ValueError: says which fact is missing.
        """
        return None

    def concentrated(self, epsilon: float) -> float:
        """rho such that an epsilon-DP draw is rho-zCDP: the loss of r^level has range epsilon."""
        return epsilon * epsilon / 8.0

    def laws(self, base: RationalBase) -> tuple[Law, ...]:
        """The law of one draw, for whoever checks the release."""
        return (Law("exponential base", (base.numerator, BITS, base.sensitivity)),)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the law drawn rests on, for the guarantee."""
        return ()

    @abstractmethod
    def draw(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int, bits: RandomBits
    ) -> Point:
        """One point with probability proportional to r^level among those of level <= top."""


@dataclass(frozen=True)
class FiniteGrid(Sampler):
    """Every level is computed: any score on a lattice of at most `limit` points."""

    limit: int = 1_000_000

    def check(self, score: ScoreFunction) -> None:
        """Needs a finite lattice within the limit."""
        size = score.lattice.size
        if size is None or size > self.limit:
            raise ValueError(
                f"FiniteGrid lists every point: the lattice has {size or 'infinitely many'}, the limit is "
                f"{self.limit}; take a coarser spacing, or Layered"
            )

    def draw(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int, bits: RandomBits
    ) -> Point:
        """A level by its number of points, then a uniform point of it."""
        return draw_listed(score.lattice.points(), levels, base, top, bits)


@dataclass(frozen=True)
class PermuteAndFlip(FiniteGrid):
    """Permute-and-flip on the listed lattice: a better law than the exponential mechanism on few points.

    Pure epsilon only: its privacy loss is not epsilon-bounded-range, so rho is epsilon^2 / 2.
    """

    def concentrated(self, epsilon: float) -> float:
        """epsilon^2 / 2: the bound of eps^2 / 8 is false for this law."""
        return epsilon * epsilon / 2.0

    def laws(self, base: RationalBase) -> tuple[Law, ...]:
        """Permute-and-flip at the rate epsilon / (2 sensitivity)."""
        rate = Fraction(base.epsilon) / (2 * base.sensitivity)
        return (Law("permute and flip", (rate, 2 * base.sensitivity)),)

    def draw(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int, bits: RandomBits
    ) -> Point:
        """A uniform one among the points that pass a test of probability exp(-rate (level - least))."""
        points = list(score.lattice.points())
        rate = Fraction(base.epsilon) / (2 * base.sensitivity)
        return points[exact.permute_and_flip([-levels.level(point) for point in points], rate, bits)]


@dataclass(frozen=True)
class BoxLattice(Sampler):
    """Scores whose level sets are boxes with exact counts, in any dimension; no rejection."""

    def check(self, score: ScoreFunction) -> None:
        """Needs `exact_boxes`."""
        if not score.exact_boxes:
            raise ValueError("the level sets of this score are not boxes: use Layered or FiniteGrid")

    def draw(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int, bits: RandomBits
    ) -> Point:
        """A level by its mixture weight times its count, then a uniform point of its box."""
        return _draw_box({k: _finite(levels.box(k)) for k in range(top + 1)}, base, top, bits)[1]


@dataclass(frozen=True)
class Layered(Sampler):
    """Layered rejection: any score with certified outer boxes (the lattice's own box always is one).

    Draw level k with weight c_k |E_k|, a uniform point of the box E_k, accept it iff its level is at most k.
    The accepted law is exactly r^level whatever the boxes; they decide how many trials are needed. Running
    time depends on the data and is outside the claim.

    Attributes:
        marks: boxes are computed at these multiples of 1 / ln(1/r) above the least level, and at offsets 0
            to 3, and shared by the levels below.
    """

    marks: tuple[float, ...] = MARKS

    def check(self, score: ScoreFunction) -> None:
        """Needs a bounded lattice (or exact boxes)."""
        if score.lattice.box is None and not score.exact_boxes:
            raise ValueError(
                "Layered needs a bounded lattice: give it a public box, or localise first with a truncated "
                "release on a coordinate-wise score"
            )

    def draw(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int, bits: RandomBits
    ) -> Point:
        """Rejection until a point is accepted; ends with probability 1."""
        return self.prepare(score, levels, base, top)(bits)[0]

    def prepare(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int
    ) -> Callable[[RandomBits], tuple[Point, int]]:
        """The boxes, computed once; each call draws a point and counts the trials."""
        least = min(max(0, levels.least()), top)
        rate = base.rate
        ends = {least + offset for offset in (0, 1, 2, 3)}
        ends |= {least + math.ceil(mark / rate) for mark in self.marks} | {top}
        marked = sorted(k for k in ends if k <= top)
        boxes: dict[int, Box] = {}
        below = least
        for end in marked:
            box = levels.box(end)
            shared = _finite(score.lattice.box if box is None else box)
            boxes.update(dict.fromkeys(range(below, end + 1), shared))
            below = end + 1

        weights = _weights(boxes, base, top)

        def draw(bits: RandomBits) -> tuple[Point, int]:
            trials = 0
            while True:
                trials += 1
                k = exact.categorical_levels(weights, base.inverse, bits)
                point = _uniform(boxes[k], bits)
                if point in score.lattice and levels.in_level(point, k):
                    return point, trials

        return draw


def draw_listed(
    points: Iterable[Point], levels: Levels, base: RationalBase, top: int, bits: RandomBits
) -> Point:
    """The law r^level of the listed points of level <= top: a level by its number of points, then a uniform
    point of it."""
    result: dict[int, list[Point]] = {}
    for point in points:
        level = levels.level(point)
        if level <= top:
            result.setdefault(level, []).append(point)
    if not result:
        raise ValueError("no lattice point lies in the domain: widen it, or refine the lattice")
    counts = {level: len(points) for level, points in result.items()}
    chosen = result[exact.categorical_levels(counts, base.inverse, bits)]
    return chosen[exact.random_below(len(chosen), bits)]


def _finite(box: Box | None) -> Box:
    if box is None:
        raise ValueError("a level set within the top level is infinite: lower the top or bound the lattice")
    return box


def _weights(boxes: dict[int, Box], base: RationalBase, top: int) -> dict[int, int]:
    """Counts c_k |E_k| / r^k times 2^40: c_k = r^k (1 - r) below the top, c_top = r^top."""
    whole = 1 << BITS
    return {k: box_size(box) * (whole if k == top else whole - base.numerator) for k, box in boxes.items()}


def _uniform(box: Box, bits: RandomBits) -> Point:
    return tuple(low + exact.random_below(high - low + 1, bits) for low, high in box)


def _draw_box(boxes: dict[int, Box], base: RationalBase, top: int, bits: RandomBits) -> tuple[int, Point]:
    k = exact.categorical_levels(_weights(boxes, base, top), base.inverse, bits)
    return k, _uniform(boxes[k], bits)


@dataclass(frozen=True)
class HitAndRun(Sampler):
    """Markov chain on the continuous box, rounded to the lattice: a heuristic (extra "mcmc", package hopsy).

    No mixing bound with usable constants exists, so the law drawn is not known to be r^level and the release
    is labelled heuristic. Use an exact sampler wherever one applies.

    Attributes:
        steps: thinned states; the last one is returned. thinning: moves between states.
        acknowledge_heuristic: must be True.
    """

    steps: int = 2000
    thinning: int = 10
    acknowledge_heuristic: bool = False

    def laws(self, base: RationalBase) -> tuple[Law, ...]:
        """None: the law drawn is not known."""
        return ()

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What nobody has proven."""
        return (
            Claim(
                f"heuristic: {self.steps * self.thinning} moves of a Markov chain with floating-point "
                "randomness are taken for a draw from its stationary law, which no proof supports"
            ),
        )

    def check(self, score: ScoreFunction) -> None:
        """Needs a quasi-convex score on a bounded lattice, hopsy, and the acknowledgement."""
        if not score.quasi_convex:
            raise ValueError(
                "HitAndRun needs convex sublevel sets, and this score is not quasi-convex: use FiniteGrid"
            )
        if score.lattice.box is None:
            raise ValueError("HitAndRun needs a bounded lattice")
        if not self.acknowledge_heuristic:
            raise ValueError(
                "HitAndRun has no proven law: pass acknowledge_heuristic=True for a release whose guarantee "
                'has the kind "heuristic", or use Layered'
            )
        from importlib.util import find_spec

        if find_spec("hopsy") is None:
            raise ModuleNotFoundError("HitAndRun needs hopsy: pip install 'sosdp[mcmc]'")

    def draw(
        self, score: ScoreFunction, levels: Levels, base: RationalBase, top: int, bits: RandomBits
    ) -> Point:
        """Last state of the chain, rounded."""
        import hopsy

        box = _finite(score.lattice.box)
        rate = base.rate
        # half a cell beyond the outermost points, so that every point has a cell of the same volume
        low = np.array([a - 0.5 for a, _ in box])
        high = np.array([b + 0.5 for _, b in box])

        def rounded(state: Any) -> Point:
            return tuple(
                min(max(math.floor(x + 0.5), a), b) for x, (a, b) in zip(np.ravel(state), box, strict=True)
            )

        class Target:
            def compute_negative_log_likelihood(self, state: Any) -> float:
                return rate * min(levels.level(rounded(state)), top)

        d = len(box)
        problem = hopsy.Problem(
            np.vstack([np.eye(d), -np.eye(d)]), np.concatenate([high, -low]), hopsy.PyModel(Target())
        )
        chain = hopsy.MarkovChain(
            problem, proposal=hopsy.UniformHitAndRunProposal, starting_point=(low + high) / 2
        )
        generator = hopsy.RandomNumberGenerator(bits.integer(31))
        _, states = hopsy.sample(chain, generator, n_samples=self.steps, thinning=self.thinning)
        return rounded(states[0, -1])
