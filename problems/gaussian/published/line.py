"""The completion score of one coordinate, exactly: no solver, no bracket, levels in rational arithmetic.

In one coordinate the records that are given up are the ones farthest from one point: some at the left end
of the sorted table, the rest at the right end. Whether T records suffice is then decided by one convex
quadratic on each of some 2 T intervals, with integers alone.

Proof: docs/proofs/gaussian_published.md, 1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise, product
from typing import Any, Literal

import numpy as np
from flint import fmpz

from sosdp.privacy.arguments import integer, positive
from sosdp.privacy.calibrate import least
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.inputs import floats
from sosdp.privacy.scores.score import Box, Lattice, Levels, Point, ScoreFunction

FINE = 140  # records are multiples of 2^-140, far below any scale that is told apart
REACH = 2.0**100  # and clipped here
LOG_BITS = 60  # digits of 2^(1/steps) in a logarithmic lattice


@dataclass(frozen=True)
class Candidates:
    """Public candidates of one coordinate, numbered by integers.

    Attributes:
        kind: "mean": candidate t is t * spacing; "variance": 2^(t / steps), for records of mean zero.
        spacing: distance of means. steps: variances an octave.
    """

    kind: Literal["mean", "variance"]
    spacing: Fraction = Fraction(1, 16)
    steps: int = 16

    def value(self, t: int) -> Fraction:
        """The candidate, an exact rational > 0 for variances."""
        if self.kind == "mean":
            return self.spacing * t
        octave, part = divmod(t, self.steps)
        return Fraction(_root(part, self.steps), 1 << LOG_BITS) * Fraction(2) ** octave

    @property
    def lattice(self) -> Lattice:
        """All of them: means in their units, variances by their logarithm to base 2."""
        return Lattice(self.spacing if self.kind == "mean" else Fraction(1, self.steps), 1)


@lru_cache(maxsize=1024)
def _root(part: int, steps: int) -> int:
    """floor(2^60 2^(part / steps)), in integers."""
    return int(fmpz(1 << (LOG_BITS * steps + part)).root(steps))


class LineScore(ScoreFunction):
    """s(theta) of n records in one coordinate, in levels of `quantum` records; exact, of sensitivity 1.

    Args:
        candidates: means, or variances (features x^2, the bound moving with the candidate: lam theta^2).
        records: n. lam: bound on the variance of the features, > 0, a rational.
        quantum: records a level; 1 / quantum an integer.
        box: bounds of the candidates' numbers, or None for all of them.
    """

    def __init__(
        self,
        candidates: Candidates,
        records: int,
        lam: Fraction,
        *,
        quantum: Fraction = Fraction(1),
        box: tuple[int, int] | None = None,
    ) -> None:
        # plain integers: those of numpy overflow in the sums below
        records, lam, quantum = (
            integer(records, "records"),
            positive(lam, "lam"),
            positive(quantum, "quantum"),
        )
        if Fraction(1) % quantum:
            raise ValueError("a score needs a quantum that divides 1")
        free = candidates.lattice
        super().__init__(
            lattice=Lattice(free.spacing, 1, None if box is None else (box,)),
            records=records,
            sensitivity=int(1 / quantum),
            max_level=int(records / quantum),
            exact_counts=True,
            assumptions=(
                Fact(
                    "the completion score changes by at most 1 when one record is replaced "
                    "(docs/proofs/gaussian_published.md)"
                ),
            ),
        )
        vars(self).update(candidates=candidates, lam=lam, quantum=quantum)

    candidates: Candidates
    lam: Fraction
    quantum: Fraction

    def on(self, data: Any) -> LineLevels:
        """Levels of (n,) or (n, 1) records; what is no finite number counts as 0."""
        rows = floats(data, (1,)).reshape(-1)
        if rows.size != self.records:
            raise ValueError(f"{self.records} records were announced, {rows.size} given")
        return LineLevels(self, rows)

    def given_up(self, data: Any, candidate: Fraction, count: Fraction) -> bool:
        """Whether `count` records suffice at a candidate, exactly; not private."""
        return self.on(data).suffices(Fraction(candidate), Fraction(count))


class LineLevels(Levels):
    """Levels of one table (private): sorted features with their sums, as integers."""

    def __init__(self, score: LineScore, rows: np.ndarray) -> None:
        self.score, self.n = score, score.records
        near = np.where(np.isfinite(rows), np.clip(rows, -REACH, REACH), 0.0)
        whole = [round(Fraction(x) * 2**FINE) for x in near.tolist()]
        mean = score.candidates.kind == "mean"
        self.unit = Fraction(1, 2**FINE) if mean else Fraction(1, 4**FINE)  # of a feature
        self.sorted = sorted(whole) if mean else sorted(x * x for x in whole)
        self.sums = [0, *accumulate(self.sorted)]
        self.squares = [0, *accumulate(f * f for f in self.sorted)]
        self.known: dict[Fraction, int] = {}

    def level(self, point: Point) -> int:
        """The least k with score <= k quantum."""
        return self.level_at(self.score.candidates.value(point[0]))

    def level_at(self, candidate: Fraction) -> int:
        """The level of any rational candidate; found once."""
        if candidate not in self.known:
            top, quantum = self.score.top, self.score.quantum
            self.known[candidate] = least(lambda k: k >= top or self.suffices(candidate, k * quantum), -1, 0)
        return self.known[candidate]

    def suffices(self, candidate: Fraction, count: Fraction) -> bool:
        """Whether giving up `count` records leaves what can be completed: mean and variance of the candidate.

        All masses in units of 1/q records (count = p/q), all features in their unit less the candidate,
        everything times the candidate's denominator: integers.
        """
        n = self.n
        if count >= n:
            return True
        place = Fraction(candidate) / self.unit
        c, scale = place.as_integer_ratio()
        p, q = Fraction(count).as_integer_ratio()
        variance = self.score.candidates.kind == "variance"
        bound = n * self.score.lam * scale * scale * (place**2 if variance else 1 / self.unit**2)

        def u(i: int) -> int:
            return scale * self.sorted[i] - c

        def kept(left: int) -> tuple[int, int]:
            """q times the sum of u, and of its squares, where `left` of the p units are from the left end."""
            (i, first), (back, last) = divmod(left, q), divmod(p - left, q)
            j = n - back
            count, x, y = j - i, u(i) if first else 0, u(j - 1) if last else 0
            total = self.sums[j] - self.sums[i]
            squares = (
                scale * scale * (self.squares[j] - self.squares[i]) - 2 * scale * c * total + count * c * c
            )
            return q * (
                scale * total - count * c
            ) - first * x - last * y, q * squares - first * x * x - last * y * y

        g, a = kept(0)
        if p == 0:
            return g == 0 and a <= bound
        limit = 4 * bound * q * p
        ends = sorted({*range(0, p, q), *range(p % q, p, q), p})
        for left, end in pairwise([*ends, p]):
            if 4 * (a * p + g * g) <= limit:
                return True
            after = kept(end)
            # on the way one record at the left is given up, and one at the right is given back; the value is
            # least where the sum of what is left is -(x + y) T / 2, if that is passed
            both = u(min(left // q, n - 1)) + u(n - max(1, -((left - p) // q)))
            if min(2 * g, 2 * after[0]) < -both * p < max(2 * g, 2 * after[0]):
                if 4 * p * (a - both * g) - (both * p) ** 2 <= limit:
                    return True
            g, a = after
        return False

    def box(self, k: int) -> Box | None:
        """Candidates that can have level <= k, from the sorted table; None where there is no finite bound."""
        eta = k * self.score.quantum / self.n
        ends = self._mean_box(eta) if self.score.candidates.kind == "mean" else self._variance_box(eta)
        own = self.score.lattice.box
        if ends is None:
            return own
        low, high = ends
        if own is not None:
            low, high = max(low, own[0][0]), min(high, own[0][1])
        return ((low, high),)

    def _mean_box(self, eta: Fraction) -> tuple[int, int] | None:
        """By Cantelli: at least 1/2 - eta of the completed mass lies on either side of a median."""
        if eta >= Fraction(1, 2):
            return None
        squared = self.score.lam * (1 + 2 * eta) / (1 - 2 * eta)
        away = math.isqrt(math.ceil(squared / self.unit**2)) + 1
        middle, spacing = self.sorted[(self.n - 1) // 2], self.score.candidates.spacing / self.unit
        return math.floor((middle - away) / spacing), math.ceil((middle + away) / spacing)

    def _variance_box(self, eta: Fraction) -> tuple[int, int] | None:
        """By Cantelli at an upper quantile: candidates lie between Q / (1 + below) and Q / (1 - above)."""
        lam, n = float(self.score.lam), self.n
        ranks = np.arange(1, n + 1)
        under, over = ranks / n - float(eta), (n - ranks + 1) / n - float(eta)
        with np.errstate(divide="ignore", invalid="ignore"):
            above, below = (np.sqrt(lam * np.maximum(1 / mass - 1, 0.0)) for mass in (under, over))
            used = (under > 0) & (over > 0) & (above < 1)
            low, high = -np.log2(1 + below[used]), -np.log2(1 - above[used])
        squares = [self.sorted[r] for r in np.flatnonzero(used)]
        if not squares:
            return None
        if not squares[0]:  # then no candidate > 0 at all
            return 0, -1
        unit = math.log2(self.unit.denominator) - math.log2(self.unit.numerator)
        places = np.array([math.log2(square) for square in squares]) - unit
        steps = self.score.candidates.steps
        # two steps more than the floats may be off
        return math.floor((places + low).max() * steps) - 2, math.ceil((places + high).min() * steps) + 2

    def count(self, k: int) -> int | None:
        """Exact number of candidates of level <= k; None where no finite box is known."""
        if k < 0:
            return 0
        box = self.box(k)
        return None if box is None else sum(self.level(point) <= k for point in points_of(box))


def points_of(box: Box) -> Any:
    """Every integer point of a box."""
    return product(*(range(low, high + 1) for low, high in box))
