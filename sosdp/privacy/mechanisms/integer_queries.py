"""Adaptive questions about records that are mapped, one by one, to bounded integers: one exact budget.

Later questions may depend on earlier answers in any way (a frame, a radius); the map of a record may not look
at other records. Every answer is an exact draw, every price an exact fraction of the budget.

Proof: docs/proofs/integer_queries.md, docs/proofs/gaussian_pure.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy import calibrate
from sosdp.privacy.arguments import integer, nonnegative, positive
from sosdp.privacy.ball_accounting import largest_rate
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness import ball, cube, exact
from sosdp.privacy.terms import Terms

Counts = npt.NDArray[np.int64]

CHUNK = 1 << 16  # records whose squares are summed at a time: below 2^53 a float64 sum of integers is exact
LARGEST_SQUARES = 1 << 18
LARGEST_BOUND = 1 << 24
NATS = 45  # a level this far out in log-probability, beyond the log of the grid, is drawn with P < e^-45

SQUARED: dict[str, Callable[[int], int]] = {
    "ball": lambda d: 4,
    "orthant": lambda d: 2,
    "box": lambda d: 4 * d,
    "positive": lambda d: d,
}
"""Shapes of the set that a row of d integers lies in, with the square of the l2 distance of two of its points
in squares of its bound: a ball, its nonnegative part, [-bound, bound]^d, [0, bound]^d."""
SPANS = {"box": 2, "positive": 1}
"""And, of those whose pure noise is cubic, the largest distance of two coordinates."""
DIAGONAL, BESIDE = 99, 140  # weights of the entries of a pure matrix of squares: 140^2 < 2 * 99^2


class IntegerQueries:
    """A budget, n records, and the questions that may be asked about integer images of the records.

    Args:
        n: number of records, public.
        epsilon: pure budget; or, with `delta`, spent as the zCDP that it allows; or
        rho: zCDP budget.
        before: with delta, the zCDP of all questions but one last `ball_sum`, which takes all that
            (epsilon, delta) leaves; the others are then asked within `before`.
        dimension: of that ball, public: it decides the rate, so it may not depend on answers. Columns that
            they leave out are columns of zeros. insecure_seed: tests only; voids the guarantee.

    Privacy: neighbours differ in one record, hence in one row of every array below, whatever was answered
    before. A row outside its promised set counts as 0. Prices add up exactly; a question that would overdraw
    raises ValueError before anything is drawn.
    """

    def __init__(
        self,
        n: int,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
        before: Fraction | None = None,
        dimension: int | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        n = integer(n, "n")
        if before is not None:
            before = nonnegative(before, "what is spent before a last ball")
            if delta == 0.0:
                raise ValueError("a last ball needs delta > 0")
        if (before is None) != (dimension is None):
            raise ValueError("a last ball has a budget before it and a dimension, both public")
        dimension = None if dimension is None else integer(dimension, "dimension")
        self.n, self.delta, self.before, self.dimension = n, delta, before, dimension
        self.epsilon = None if epsilon is None else calibrate.check_epsilon(epsilon)
        self._terms = Terms(
            epsilon=self.epsilon,
            delta=delta or None,
            rho=rho,
            adjacency=ONE_RECORD_REPLACED,
            insecure_seed=insecure_seed,
        )
        self.pure = rho is None and delta == 0.0
        total = self._terms.pure if self.pure else self._terms.concentrated
        self.rho = None if self.pure or before is not None else total
        self.budget = Fraction(total) if before is None else before
        self.spent = Fraction(0)
        self._closed = False
        self._bits = self._terms.bits()

    def order_statistic(
        self, values: Counts, rank: int, *, low: int, high: int, epsilon: Fraction | float
    ) -> int:
        """An integer in [low, high] near the `rank`-th smallest of the (n,) values, which are clipped to it.

        P(t) ~ exp(-epsilon min(s, J) / 2), s the least number of values to replace so that t has that rank.
        Price: epsilon, or epsilon^2 / 8 of a zCDP budget. Only 2J - 1 of the sorted values are looked at.
        """
        epsilon, low, high = positive(epsilon, "epsilon"), int(low), int(high)
        self._pay(order_price(epsilon, self.pure))
        ordered = np.sort(np.clip(np.asarray(values, dtype=np.int64), low, high))
        if ordered.shape != (self.n,) or not 1 <= rank <= self.n:
            raise ValueError(f"one value a record and a rank in 1..{self.n} are needed")
        lows, highs = level_sets(ordered, rank, low, high, level_cap(self.n, high - low + 1, epsilon))
        sizes = [b - a + 1 for a, b in zip(lows, highs, strict=True)]
        counts = dict(enumerate(map(int.__sub__, sizes, [0, *sizes])))
        level = exact.categorical_exp(counts, epsilon / 2, self._bits)
        place = exact.random_below(counts[level], self._bits)
        if level == 0:
            return lows[0] + place
        before = lows[level - 1] - lows[level]
        return lows[level] + place if place < before else highs[level - 1] + 1 + place - before

    def noisy_sum(
        self, counts: Counts, bound: int, price: Fraction | float, *, shape: str = "ball"
    ) -> list[int]:
        """The sum of (n, d) integer rows in a set of a shape of `SQUARED`, with noise of the budget's kind.

        zCDP: independent discrete Gaussians. Pure: cube noise for "box" and "positive", P(z) ~ exp(-price max
        |z_j| / D), and for "ball" and "orthant" rounded noise of density exp(-price |x| / D), D the distance
        of two points. Price: price. `sum_deviation` is the standard deviation of one entry.
        """
        price, bound = positive(price, "price"), integer(bound, "bound")
        self._pay(price)
        rows = self._inside(counts, bound, shape)
        d = rows.shape[1]
        squared = bound**2 * SQUARED[shape](d)
        if not self.pure:
            noise = [exact.discrete_gaussian(squared / (2 * price), self._bits) for _ in range(d)]
        elif shape in SPANS:
            noise = cube.cube_noise(d, SPANS[shape] * bound / price, self._bits)
        else:
            noise = ball.ball_noise(d, root_above(squared) / price, self._bits)
        return [int(total) + z for total, z in zip(rows.sum(axis=0), noise, strict=True)]

    def ball_sum(self, counts: Counts, bound: int) -> tuple[list[int], float]:
        """The sum of (n, d) integer rows in the ball of radius bound, with ball noise: the last question.

        d is the dimension that the constructor was told; the bound may depend on answers.
        Price: what `before` leaves of (epsilon, delta). Returns the sums and the standard deviation of the
        noise of one. Raises ValueError where nothing is left.
        """
        if self.before is None or self._closed:
            raise ValueError("a ball is the last question, of a budget with `before`")
        assert self.epsilon is not None and self.dimension is not None
        self._closed, bound = True, integer(bound, "bound")
        rows = self._inside(counts, bound, "ball")
        if rows.shape[1] != self.dimension:
            raise ValueError(f"the ball has {self.dimension} columns, got {rows.shape[1]}")
        rate = largest_rate(self.epsilon, self.delta, self.before, self.dimension)
        if rate == 0.0:
            raise ValueError("this budget leaves nothing for a ball")
        scale = Fraction(2 * bound) / Fraction(rate)
        noise = ball.ball_noise(rows.shape[1], scale, self._bits)
        sums = [int(total) + z for total, z in zip(rows.sum(axis=0), noise, strict=True)]
        return sums, float(scale) * math.sqrt(rows.shape[1] + 1)

    def squares(self, counts: Counts, bound: int, price: Fraction | float) -> list[list[Fraction]]:
        """The symmetric matrix sum of k k^T over (n, d) integer rows in the ball of radius bound, with noise.

        zCDP: independent discrete Gaussians in the upper triangle, of variance v on the diagonal and v/2 off
        it, v = 2 bound^4 / (2 price) (bound^4 / (2 price) for d = 1). Pure: the integers 99 S_ii, 140 S_ij
        get rounded noise of density exp(-price |x| / D), D their distance, and are divided last.
        """
        price, bound = positive(price, "price"), integer(bound, "bound")
        if bound > LARGEST_SQUARES:
            raise ValueError(f"squares need a bound of at most 2^18, got {bound}")
        self._pay(price)
        rows = self._inside(counts, bound, "ball")
        d = rows.shape[1]
        total = squares_of(rows)
        places = [(i, j) for i in range(d) for j in range(i, d)]
        if self.pure:
            weights = [DIAGONAL if i == j else BESIDE for i, j in places]
            scale = root_above(DIAGONAL**2 * squares_apart(d) * bound**4) / price
            noise = ball.ball_noise(len(places), scale, self._bits)
        else:
            weights = [1] * len(places)
            variance = squares_apart(d) * bound**4 / (2 * price)
            noise = [
                exact.discrete_gaussian(variance if i == j else variance / 2, self._bits) for i, j in places
            ]
        noisy = [[Fraction(0)] * d for _ in range(d)]
        for (i, j), weight, z in zip(places, weights, noise, strict=True):
            noisy[i][j] = noisy[j][i] = Fraction(weight * int(total[i, j]) + z, weight)
        return noisy

    def seal(self, value: Any, *, mechanism: str, public: dict[str, Any]) -> Release:
        """The release, with the whole budget as its guarantee."""
        terms = replace(self._terms, mechanism=mechanism, rho=self.rho)
        return terms.seal(value, terms.guarantee(), self._bits, public=public)

    def _pay(self, price: Fraction) -> None:
        if self._closed:
            raise ValueError("the last question has been asked")
        if self.spent + price > self.budget:
            raise ValueError(f"the budget {float(self.budget):.6g} is overdrawn")
        self.spent += price

    def _inside(self, counts: Counts, bound: int, shape: str) -> Counts:
        """The rows, those outside the promised set set to 0, each by itself, in integers."""
        if shape not in SQUARED or not 1 <= bound <= LARGEST_BOUND:
            raise ValueError(f"shape must be one of {', '.join(SQUARED)} and the bound in 1..2^24")
        rows = np.array(counts, dtype=np.int64, ndmin=2)
        if rows.shape[0] != self.n:
            raise ValueError(f"one row a record is needed: {self.n}, got {rows.shape[0]}")
        clipped = np.clip(rows, -bound - 1, bound + 1)  # so that squares below cannot overflow
        outside = (np.abs(clipped) > bound).any(axis=1)
        if shape in ("ball", "orthant"):
            outside |= (clipped * clipped).sum(axis=1) > bound * bound
        if shape in ("orthant", "positive"):
            outside |= (clipped < 0).any(axis=1)
        clipped[outside] = 0
        return clipped


def level_cap(n: int, size: int, epsilon: Fraction) -> int:
    """J: levels above it are drawn as one, with probability below e^-45 for any data; public."""
    return min(n + 1, math.ceil(2 * (NATS + math.log(size)) / epsilon))


def level_sets(ordered: Counts, rank: int, low: int, high: int, cap: int) -> tuple[list[int], list[int]]:
    """Ends of the intervals {s <= k} for k = 0..cap: from the (rank-k)-th to the (rank+k)-th of the sorted
    values, everything where there is none, and everything for k = cap."""
    below = np.asarray(ordered[max(0, rank - cap) : rank])[::-1].tolist()
    above = np.asarray(ordered[rank - 1 : rank - 1 + cap]).tolist()
    return below + [low] * (cap + 1 - len(below)), above + [high] * (cap + 1 - len(above))


def order_price(epsilon: Fraction, pure: bool) -> Fraction:
    """What an order statistic of this epsilon costs: its loss has range epsilon."""
    return epsilon if pure else epsilon**2 / 8


def root_above(square: int) -> Fraction:
    """The least integer whose square is at least this one."""
    return Fraction(math.isqrt(square - 1) + 1)


def squares_of(rows: Counts) -> npt.NDArray[Any]:
    """The (d, d) sum of k k^T over (n, d) integer rows of a ball of radius 2^18, in integers of any size."""
    total = np.zeros((rows.shape[1],) * 2, dtype=object)
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK].astype(np.float64)
        total += np.rint(part.T @ part).astype(np.int64)
    return total


def squares_apart(d: int) -> int:
    """|k k' - l l'|_F^2 <= 2 bound^4 for rows k, l of a ball of d dimensions, or bound^4 for d = 1."""
    return 2 if d > 1 else 1


def sum_deviation(d: int, price: float, *, pure: bool, shape: str = "ball") -> float:
    """Standard deviation of one entry of a `noisy_sum` of d columns over its bound; of cube noise, about."""
    if pure and shape in SPANS:
        return SPANS[shape] / price * math.sqrt((d + 1) * (d + 2) / 3.0)
    return math.sqrt(SQUARED[shape](d)) * (
        math.sqrt(d + 1.0) / price if pure else 1.0 / math.sqrt(2.0 * price)
    )


def squares_deviation(d: int, price: float, *, pure: bool) -> float:
    """Standard deviation of a diagonal entry of `squares` of d columns over the square of its bound."""
    entries = d * (d + 1) // 2
    return math.sqrt(squares_apart(d)) * (
        math.sqrt(entries + 1.0) / price if pure else 1.0 / math.sqrt(2.0 * price)
    )
