"""The mean in the largest coordinate (Appendix E), literally: a search of tables, and its score.

A table is *good* when few records are far from its mean in every public direction, at every scale, and no
coordinate is far. The estimator looks for the nearest good table and gives its mean. The score of a
candidate is the least number of records to change so that the estimate is close to it in the largest
coordinate and in Euclidean norm: every table over a public alphabet is looked at, which is what makes it
literal, and small.

Proof: docs/proofs/gaussian_published.md, 4
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sosdp.estimator.planner import least
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import floats
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.scores.score import Box, Lattice, Levels, Point, ScoreFunction

from ..planning import NotOffered
from .spectral import integer_directions

MOST_TABLES = 20_000
MOST_RECORDS = 1 << 30

Table = tuple[int, ...]
"""The cell of every record."""


@dataclass(frozen=True)
class Search:
    """Public facts: n records in the cells {-reach..reach}^d * spacing, of which `wrong` may be anything.

    alpha: how close the estimate has to be in the largest coordinate.
    """

    n: int
    d: int
    reach: int
    spacing: Fraction
    wrong: int
    alpha: float

    def __post_init__(self) -> None:
        if self.n < 1 or self.d < 1 or self.reach < 1 or not 0 <= self.wrong <= self.n or not self.alpha > 0:
            raise ValueError("a search needs n, d, reach >= 1, wrong in 0..n and alpha > 0")
        if self.tables > MOST_TABLES:
            raise NotOffered(
                f"Appendix E looks at every table: {self.tables} of them here, at most {MOST_TABLES}; fewer "
                "records, columns or cells would do, or PrivateMean"
            )

    @property
    def tables(self) -> int:
        """Number of tables."""
        return int((2 * self.reach + 1) ** (self.d * self.n))

    @property
    def cells(self) -> np.ndarray:
        """(cells, d) integers, in units of the spacing."""
        return np.array(list(product(range(-self.reach, self.reach + 1), repeat=self.d)))

    @property
    def euclidean(self) -> float:
        """Half of the ball of this radius is within alpha in every coordinate."""
        return euclidean_radius(self.d, self.alpha)


def euclidean_radius(d: int, alpha: float) -> float:
    """alpha sqrt(d / (2 ln 4d)): a ball with half of its volume in the cube of half-side alpha."""
    return alpha * math.sqrt(d / (2.0 * math.log(4.0 * d)))


def far_allowed(t: float, n: int, d: int) -> float:
    """How many records of a good table may be t or more from its mean in a direction: 2 n e^(-t^2/2) + d."""
    return min(float(n), 2.0 * n * math.exp(-t * t / 2.0) + d)


def coordinate_reach(n: int, d: int) -> float:
    """How far an entry of a good table may be from its column's mean: 2 sqrt(2 ln(2 n d))."""
    return 2.0 * math.sqrt(2.0 * math.log(2.0 * n * d))


def is_good(rows: np.ndarray) -> bool:
    """Both properties, of an (n, d) table in units of the standard deviation."""
    n, d = rows.shape
    away = rows - rows.mean(axis=0)
    limit = coordinate_reach(n, d)
    if np.abs(away).max() > limit:
        return False
    for v in integer_directions(d, 1):
        sizes = np.abs(away @ np.array(v)) / math.sqrt(sum(x * x for x in v))
        t = 1.0
        while t <= limit * math.sqrt(d):
            if (sizes >= t).sum() > far_allowed(t, n, d):
                return False
            t *= 2.0
    return True


class Estimates:
    """The estimator's answer for every table of a `Search`: (tables, d), NaN where it finds no good table.

    That is the mean of the first good table of least distance, at most `wrong`.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        cells = search.cells * float(search.spacing)
        self.tables = np.array(list(product(range(len(cells)), repeat=search.n)))
        means = cells[self.tables].mean(axis=1)
        good = np.flatnonzero([is_good(cells[table]) for table in self.tables])
        self.answers = np.full_like(means, math.nan)
        for place, table in enumerate(self.tables):
            distance = (self.tables[good] != table).sum(axis=1)
            if good.size and distance.min() <= search.wrong:
                self.answers[place] = means[good[distance.argmin()]]


class CoordinateScore(ScoreFunction):
    """The inverse-sensitivity score of the estimator: records to change until it is close to a candidate.

    Integer levels of sensitivity 1, exact; candidates: the cells' lattice, `finer` times finer.
    """

    def __init__(self, search: Search, *, finer: int = 1) -> None:
        box = ((-search.reach * finer, search.reach * finer),) * search.d
        super().__init__(
            lattice=Lattice(search.spacing / finer, search.d, box),
            records=search.n,
            sensitivity=1,
            max_level=search.n,
            assumptions=(
                Fact(
                    "the least number of records to change moves by at most 1 when one is replaced "
                    "(docs/proofs/gaussian_published.md, 4)"
                ),
            ),
        )
        object.__setattr__(self, "search", search)
        object.__setattr__(self, "estimates", Estimates(search))

    search: Search
    estimates: Estimates

    def table(self, data: Any) -> Table:
        """Every record in its nearest cell, by itself; what is no finite number counts as 0."""
        rows = floats(data)
        if rows.shape != (self.search.n, self.search.d):
            raise ValueError(f"expected shape {(self.search.n, self.search.d)}, got {rows.shape}")
        unit, reach = float(self.search.spacing), self.search.reach
        near = np.clip(np.where(np.isfinite(rows), rows, 0.0), -reach * unit, reach * unit)
        counts = np.rint(near / unit).astype(np.int64) + reach
        width = 2 * reach + 1
        return tuple(int(sum(c * width ** (len(row) - 1 - j) for j, c in enumerate(row))) for row in counts)

    def on(self, data: Any) -> CoordinateLevels:
        """The levels of one table."""
        return CoordinateLevels(self, self.table(data))


class CoordinateLevels(Levels):
    """Levels of one table (private): distances to all tables."""

    def __init__(self, score: CoordinateScore, table: Table) -> None:
        self.score = score
        self.distance = (score.estimates.tables != np.array(table)).sum(axis=1)

    def level(self, point: Point) -> int:
        """Least distance of a table whose estimate is close to the candidate in both norms; n without one."""
        away = self.score.estimates.answers - self.score.lattice.value(point)
        search = self.score.search
        with np.errstate(invalid="ignore"):
            close = (np.abs(away).max(axis=1) <= search.alpha) & (
                np.sqrt((away * away).sum(axis=1)) <= search.euclidean
            )
        return int(self.distance[close].min()) if close.any() else search.n

    def box(self, k: int) -> Box | None:
        """The lattice's own box."""
        return self.score.lattice.box


def published_coordinate_mean(
    X: Any,
    epsilon: float,
    *,
    alpha: float,
    reach: int = 1,
    spacing: float = 1.0,
    wrong: int = 1,
    insecure_seed: int | None = None,
) -> Release:
    """Mean (d,) close in the largest coordinate, of a tiny table in units of its deviation: pure epsilon.

    Raises NotOffered where there are more tables than can be looked at, from public numbers.
    """
    rows = floats(X)
    if rows.ndim != 2:
        raise ValueError(f"X must have shape (n, d), got {rows.shape}")
    search = Search(rows.shape[0], rows.shape[1], reach, Fraction(spacing), wrong, float(alpha))
    return pure_exponential(
        CoordinateScore(search, finer=2),
        rows,
        epsilon=epsilon,
        mechanism="gaussian.published.coordinates",
        insecure_seed=insecure_seed,
    )


def shift(count: int, n: int, d: int) -> float:
    """How far the means of two good tables can be apart in a direction if all but `count` records agree.

    2 S / (n - count), S the largest sum of `count` distances: the integral of min(count, far_allowed(t)).
    """
    if count >= n:
        return math.inf
    total, t, step = 0.0, 0.0, 1.0 / 64
    last = coordinate_reach(n, d) * math.sqrt(d)
    while t < last:
        total += step * min(float(count), far_allowed(t, n, d))
        t += step
    return 2.0 * total / (n - count)


def records_for(d: int, alpha: float, epsilon: float, radius: float, failure: float = 0.05) -> int:
    """The least power of two n at which the score's law is within 2 alpha, by volumes; a forecast.

    For every t >= 1: epsilon t / 2 >= d ln((rho + 2 shift(2t)) / rho) + ln 2 + 2 ln t + ln(1.65 / failure),
    rho the Euclidean radius, and 2 radius sqrt(d) where nothing bounds the shift.
    """
    result = least(
        lambda n: _enough(n, d, alpha, epsilon, radius, failure), start=8, most=MOST_RECORDS // 2, ratio=2.0
    )
    if result is None:
        raise ValueError("no number of records up to 2^30 suffices")
    return result


def _enough(n: int, d: int, alpha: float, epsilon: float, radius: float, failure: float) -> bool:
    rho = euclidean_radius(d, alpha)
    least = math.ceil(alpha * n / coordinate_reach(n, d) / 2.0)
    counts = sorted({*(round(least * 1.2**k) for k in range(200)), n})
    for t in (count for count in counts if max(1, least) <= count <= n):
        apart = min(2.0 * radius * math.sqrt(d), 2.0 * shift(min(n, 2 * t), n, d))
        volumes = d * math.log((rho + apart) / rho) + math.log(2.0)
        if epsilon * t / 2.0 < volumes + 2.0 * math.log(t) + math.log(1.65 / failure):
            return False
    return True
