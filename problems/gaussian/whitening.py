"""A frame made better in steps: one matrix of second moments a step gives weight, centre and covariance.

A record in the frame reached so far, z, is folded to F = w min(1, C/|z|) z, w = clip(3 - |z|/C, 0, 1). The
question of a step is the sum of squares of the rows (F, w a), which lie in a ball of radius sqrt(C^2 +
a^2). How many steps there are, and which directions are asked about besides, depends on earlier answers;
the sum of all prices does not exceed what was set aside.

Privacy: docs/proofs/gaussian_whitening.md, docs/proofs/gaussian_pure.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtri

from sosdp.privacy.mechanisms.integer_queries import IntegerQueries, order_price, squares_deviation

from .columns import Columns
from .fold import combined, image, integers, norms, shortened, whole_rows
from .frame import STEPS, Frame, each_epsilon, log_quantile, radius_quantile
from .whole_means import count_bound, count_noise

UNITS = 1 << 18  # squares of 2^20 records stay below 2^56
FARTHEST = 1e7  # scales of the frame, at which entries are clipped
LEAST_WEIGHT = 0.3
HEAPS = Fraction(4, 100)  # of what the frame leaves, for counts of distant records
DISTANT = 128.0  # scales from the centre
SURE = 1e4  # one over the chance that noise alone makes a column one of mostly one value
MOST_STEPS = 16
REACH = 1e6  # condition of the correlations that the schedule aims at
CLEAR = 3.0  # an eigenvalue is seen from so many norms of the noise on
NEAR = 0.25  # of the largest eigenvalue or 1: from here on a frame is good
COARSE_SLACK = 0.15  # a^2 / C^2 of the coarse steps
RADIUS_RANK = 0.8
DIRECTION_RANK = 0.6
NATS = 24.0  # twice the nats between a quantile and the empty top of its grid
OCTAVES = 24  # of the grid of a direction's scale
END_NATS = 32.0  # twice the nats between an end of the norms and the empty top of its grid
END_OCTAVES = 16  # of that grid, from an eighth of the norm of a Gaussian record on: tails may be heavy


def rank_epsilon(n: int, rank: float = RADIUS_RANK) -> Fraction:
    """Epsilon of an order statistic of this rank, by default of norms."""
    return Fraction(NATS / (n * (1.0 - rank)))


def radius_price(n: int, pure: bool) -> Fraction:
    """What a radius costs."""
    return order_price(rank_epsilon(n), pure)


def step_overhead(n: int, d: int, pure: bool) -> Fraction:
    """Price of all that a coarse step may ask beside its matrix."""
    return radius_price(n, pure) + d * order_price(rank_epsilon(n, DIRECTION_RANK), pure)


def noise_norm(d: int, deviation: float) -> float:
    """Spectral norm of the noise of a (d, d) matrix, by the deviation of a diagonal entry: sqrt(2 d) of
    them."""
    return deviation * (math.sqrt(2.0 * d) if d > 1 else 1.0)


def entry_deviation(n: int, d: int, squared_radius: float, price: float, pure: bool) -> float:
    """Deviation of a diagonal entry of the average of squares of n rows of d entries in a ball."""
    return squares_deviation(d, price, pure=pure) * squared_radius / n


def without_heaps(
    frame: Frame,
    queries: IntegerQueries,
    y: np.ndarray,
    columns: Columns,
    wrong: float,
    price: Fraction,
) -> Frame:
    """The frame of records y (n, d), degenerate also where more than a share of them are distant.

    A count of each column. Such a scale is that of a heap, and beside it the other columns would be lost.
    """
    degenerate = frame.degenerate.copy()
    for j in columns.robust:
        each = price / columns.robust.size
        most = count_noise(each, queries.pure) + count_noise(each, queries.pure, SURE)
        bound = count_bound(queries, np.abs(y[:, j]) > DISTANT, each)
        degenerate[j] |= bound > wrong * queries.n + most
    return replace(frame, degenerate=degenerate)


@lru_cache(maxsize=256)
def schedule(n: int, d: int, price: Fraction, pure: bool) -> tuple[int, float]:
    """(most coarse steps, condition of the correlations that they reach) for a coarse budget; 0 steps if none
    helps.

    A step whose noise has norm v multiplies the least variance by about 1/v^2 (measured): a direction that
    it does not see is tilted by v, which leaks v^2 of variance into it. The least number of steps, three or
    more, that reach `REACH`; otherwise the best number.
    """
    from scipy.stats import chi2

    squared = float(chi2.ppf(0.95, d)) * (1.0 + COARSE_SLACK)
    best, reach, overhead = 0, 1.0, step_overhead(n, d, pure)
    for steps in range(1, MOST_STEPS + 1):
        each = float(price / steps - overhead)
        if each <= 0.0:
            break
        gain = noise_norm(d + 1, entry_deviation(n, d + 1, squared, each, pure)) ** -2
        if gain > 1.0 and gain**steps > reach:
            best, reach = steps, gain**steps
        if reach >= REACH and steps >= 3:
            break
    most = max(3, best) if price > 3 * overhead else best
    return (most, reach) if best else (0, 0.0)


@lru_cache(maxsize=64)
def consistency(d: int) -> float:
    """E[min(t, C^2) w^2] / (d E[w^2]), t ~ chi^2_d, w = clip(3 - sqrt(t)/C, 0, 1), C^2 its .95-quantile:
    what folding leaves of the variance of a Gaussian."""
    from scipy.stats import chi2

    law = chi2(d)
    c = math.sqrt(law.ppf(0.95))

    def average(f: str) -> float:
        def weighted(t: float) -> float:
            w = min(1.0, max(0.0, 3.0 - math.sqrt(t) / c))
            return float((min(t, c * c) if f == "squares" else 1.0) * w * w * law.pdf(t))

        return sum(quad(weighted, low * c * c, high * c * c, limit=200)[0] for low, high in ((0, 1), (1, 9)))

    return average("squares") / d / average("weights")


class Moments(NamedTuple):
    """What one step released, in the frame that it was asked in.

    matrix: (d, d); shift: (d,) of the centre; deviation: of the noise of a diagonal entry; noise: norm of
    the noise.
    """

    matrix: np.ndarray
    shift: np.ndarray
    deviation: float
    noise: float

    def spectrum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues, eigenvectors, and which of them are seen above the noise."""
        values, vectors = np.linalg.eigh(self.matrix)
        return values, vectors, values >= CLEAR * self.noise


@dataclass(frozen=True)
class Ends:
    """How two order statistics of the norms of n records say where all of them are shortened, by public
    numbers.

    ranks: how many records lie beyond the inner and the outer one; epsilons: of the questions; left: how many
    would lie beyond the radius if the tail fell exponentially.
    """

    ranks: tuple[int, int]
    epsilons: tuple[Fraction, Fraction]
    left: float

    def beyond(self, inner: float, outer: float) -> float:
        """The radius, from both order statistics: a straight line in the logarithm of the rank, and a step
        of their grid, so that a norm that many records share is within."""
        rate = max(0.0, outer - inner) / math.log(self.ranks[0] / self.ranks[1])
        return (outer + rate * math.log(self.ranks[1] / self.left)) * 2.0 ** (1.0 / STEPS)


def ends_of(n: int, d: int, clip: Fraction, final: Fraction, pure: bool) -> Ends:
    """The ends for the price of both, before a last question of another price.

    A record beyond costs an entry of the average as much as its noise does where as many are left as the
    noise has squares of the radius.
    """
    epsilons = each_epsilon(clip / 4, 1, pure), each_epsilon(3 * clip / 4, 1, pure)
    outer = math.ceil(END_NATS / epsilons[1])
    left = min(float(outer), max(1.0, squares_deviation(d + 1, float(final), pure=pure)))
    return Ends((math.ceil(math.sqrt(n * outer)), outer), epsilons, left)


@dataclass(eq=False)
class Whitening:
    """Records y (n, d) of a released frame, and the better one: z = inverse (y - centre), transform its
    inverse.

    heaps: (d,) bool, columns that may be mostly one value: no order statistic is asked along them, which
    would find that value and not the width.
    """

    queries: IntegerQueries
    y: np.ndarray
    contamination: float
    heaps: np.ndarray

    def __post_init__(self) -> None:
        self.y = np.clip(np.where(np.isfinite(self.y), self.y, 0.0), -FARTHEST, FARTHEST)
        self.n, self.d = self.y.shape
        self.transform, self.inverse, self.centre = np.eye(self.d), np.eye(self.d), np.zeros(self.d)

    def norms(self) -> np.ndarray:
        """(n,) lengths of the records in the frame."""
        return norms(image(self.y - self.centre, self.inverse))

    def moments(self, price: Fraction, slack: float) -> Moments:
        """One question about folded records; its radius is another. Price: this and `radius_price`."""
        from scipy.stats import chi2

        z = image(self.y - self.centre, self.inverse)
        size = norms(z)
        rank = RADIUS_RANK * (1.0 - self.contamination)
        quantile = radius_quantile(self.queries, size, rank, self.d, rank_epsilon(self.n))
        radius = quantile * math.sqrt(chi2.ppf(0.95, self.d) / chi2.ppf(RADIUS_RANK, self.d))
        folded, weights = whole_rows(z, size, radius)
        return self._squares(folded, weights, radius, slack, price, folded=True)

    def all_moments(self, price: Fraction, slack: float, ends: Ends) -> tuple[Moments, np.ndarray, float]:
        """One question about all records, those beyond a released radius shortened to it; which these are,
        and the radius. Price: this and that of both ends."""
        z = image(self.y - self.centre, self.inverse)
        size = norms(z)
        grid = math.log2(math.sqrt(self.d) / 8.0), END_OCTAVES
        inner, outer = (
            log_quantile(self.queries, size, 1.0 - rank / self.n, grid, epsilon)[1]
            for rank, epsilon in zip(ends.ranks, ends.epsilons, strict=True)
        )
        radius = ends.beyond(inner, outer)
        rows = shortened(z, size, radius)
        return self._squares(rows, np.ones(self.n), radius, slack, price, folded=False), size > radius, radius

    def _squares(
        self,
        rows: np.ndarray,
        weights: np.ndarray,
        radius: float,
        slack: float,
        price: Fraction,
        *,
        folded: bool,
    ) -> Moments:
        """The question about rows of at most the radius times their weight; what folding took is corrected as
        of normal records."""
        a = math.sqrt(slack) * radius
        reach = math.hypot(radius, a) * (1.0 + 1e-12)
        counts = integers(np.column_stack([rows, weights * a]), reach / UNITS)
        squares = np.array(self.queries.squares(counts, UNITS, price), dtype=np.float64)
        squares *= (reach / UNITS) ** 2 / self.n
        weight = min(1.0, max(LEAST_WEIGHT, squares[-1, -1] / a**2)) if folded else 1.0
        shift = squares[:-1, -1] / (a * weight)
        gamma = consistency(self.d) if folded else 1.0
        matrix = (squares[:-1, :-1] / weight - np.outer(shift, shift)) / gamma
        deviation = entry_deviation(self.n, self.d + 1, reach**2, float(price), self.queries.pure)
        deviation /= weight * gamma
        return Moments((matrix + matrix.T) / 2.0, shift, deviation, noise_norm(self.d, deviation))

    def move(self, step: Moments) -> None:
        """The frame takes what a coarse step found. A direction that it did not see gets its scale from an
        order statistic, which has no floor; price: that of a direction, each."""
        values, vectors, seen = step.spectrum()
        self.centre = self.centre + self.transform @ step.shift
        scales = np.sqrt(np.maximum(values, step.noise))
        for j in np.flatnonzero(~seen):
            if not self._on_heaps(vectors[:, j]):
                most = 2.0 * math.sqrt(max(step.noise, float(values[j])))
                scales[j] = min(most, self._scale_along(vectors[:, j], step.noise))
        self.transform = (self.transform @ vectors) * scales
        self.inverse = (vectors / scales).T @ self.inverse

    def _on_heaps(self, direction: np.ndarray) -> bool:
        parts = (self.inverse.T @ direction) ** 2
        return bool(parts[self.heaps].sum() > 0.5 * parts.sum())

    def _scale_along(self, direction: np.ndarray, noise: float) -> float:
        """Scale of direction . z, by a quantile of the logarithm of its size."""
        along = np.abs(combined(self.y - self.centre, direction @ self.inverse))
        rank = DIRECTION_RANK * (1.0 - self.contamination)
        top = math.log2(4.0 * math.sqrt(noise * self.d))
        epsilon = rank_epsilon(self.n, DIRECTION_RANK)
        _, size = log_quantile(self.queries, along, rank, (top - OCTAVES, OCTAVES), epsilon)
        return size / float(ndtri((1.0 + rank) / 2.0))

    def coarse(self, share: Fraction, steps: int) -> None:
        """At most so many steps for this share together, until every direction is seen and near the scale of
        the frame."""
        price = share / steps - step_overhead(self.n, self.d, self.queries.pure)
        for _ in range(steps):
            step = self.moments(price, COARSE_SLACK)
            values, _, seen = step.spectrum()
            self.move(step)
            if seen.all() and values[0] > NEAR * min(values[-1], 1.0):
                break
