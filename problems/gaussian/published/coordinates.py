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

from sosdp.privacy.arguments import integer, positive
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import floats
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.rows import counted_width, numbers
from sosdp.privacy.scores.score import Lattice, Levels, Point, ScoreFunction

from ..planning import NotOffered
from .spectral import integer_directions

MOST_TABLES = 20_000


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
        tables = (2 * self.reach + 1) ** (self.d * self.n)
        if tables > MOST_TABLES:
            raise NotOffered(
                f"Appendix E looks at every table: {tables} of them here, at most {MOST_TABLES}; fewer "
                "records, columns or cells would do, or PrivateMean"
            )

    @property
    def cells(self) -> np.ndarray:
        """(cells, d) points, the last coordinate fastest."""
        steps = product(range(-self.reach, self.reach + 1), repeat=self.d)
        return np.array(list(steps)) * float(self.spacing)

    @property
    def euclidean(self) -> float:
        """Half of the ball of this radius is within alpha in every coordinate."""
        return euclidean_radius(self.d, self.alpha)

    def estimates(self) -> tuple[np.ndarray, np.ndarray]:
        """(tables, n), the cell of every record of every table, and the estimator's answers (tables, d).

        The mean of the first good table of least distance, at most `wrong`; NaN where there is none.
        """
        cells = self.cells
        tables = np.array(list(product(range(len(cells)), repeat=self.n)))
        means = cells[tables].mean(axis=1)
        good = np.flatnonzero([is_good(cells[table]) for table in tables])
        answers = np.full_like(means, math.nan)
        for place, table in enumerate(tables):
            distance = (tables[good] != table).sum(axis=1)
            if good.size and distance.min() <= self.wrong:
                answers[place] = means[good[distance.argmin()]]
        return tables, answers


def euclidean_radius(d: int, alpha: float) -> float:
    """alpha sqrt(d / (2 ln 4d)): a ball with half of its volume in the cube of half-side alpha."""
    return alpha * math.sqrt(d / (2.0 * math.log(4.0 * d)))


def is_good(rows: np.ndarray) -> bool:
    """Both properties, of an (n, d) table in units of the standard deviation: no entry more than 2 sqrt(2
    ln(2 n d)) from its column's mean, and in every direction at most 2 n e^(-t^2/2) + d records t or more
    away."""
    n, d = rows.shape
    away = rows - rows.mean(axis=0)
    limit = 2.0 * math.sqrt(2.0 * math.log(2.0 * n * d))
    v = np.array(integer_directions(d, 1)).T
    sizes = np.abs(away @ v) / np.sqrt((v**2).sum(axis=0))
    scales = 2.0 ** np.arange(math.floor(math.log2(limit * math.sqrt(d))) + 1)
    counts = (sizes[:, :, None] >= scales).sum(axis=0)
    return bool(np.abs(away).max() <= limit and (counts <= 2.0 * n * np.exp(-(scales**2) / 2.0) + d).all())


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
        vars(self).update(search=search, estimates=search.estimates())

    search: Search
    estimates: tuple[np.ndarray, np.ndarray]

    def table(self, data: Any) -> np.ndarray:
        """(n,) cells, of every record the nearest, by itself; what is no finite number counts as 0."""
        search = self.search
        table, unit, reach = floats(data, (search.d,)), float(search.spacing), search.reach
        if table.shape != (search.n, search.d):
            raise ValueError(f"expected shape {(search.n, search.d)}, got {table.shape}")
        near = np.clip(np.where(np.isfinite(table), table, 0.0), -reach * unit, reach * unit)
        digits = np.rint(near / unit).astype(np.int64) + reach
        return digits @ (2 * reach + 1) ** np.arange(search.d)[::-1]

    def on(self, data: Any) -> CoordinateLevels:
        """The levels of one table."""
        return CoordinateLevels(self, self.table(data))


class CoordinateLevels(Levels):
    """Levels of one table (private): distances to all tables."""

    def __init__(self, score: CoordinateScore, table: np.ndarray) -> None:
        self.score = score
        self.distance = (score.estimates[0] != np.array(table)).sum(axis=1)

    def level(self, point: Point) -> int:
        """Least distance of a table whose estimate is close to the candidate in both norms; n without one."""
        away = self.score.estimates[1] - self.score.lattice.value(point)
        search = self.score.search
        close = np.abs(away).max(axis=1) <= search.alpha
        close &= np.sqrt((away * away).sum(axis=1)) <= search.euclidean
        return int(self.distance[close].min(initial=search.n))


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
    records = numbers(X)
    if records.ndim != 2:
        raise ValueError(f"X must have shape (n, d), got {records.shape}")
    search = Search(
        records.shape[0],
        records.shape[1],
        integer(reach, "reach"),
        positive(spacing, "spacing"),
        integer(wrong, "wrong", 0),
        float(positive(alpha, "alpha")),
    )
    return pure_exponential(
        CoordinateScore(search, finer=2),
        records,
        epsilon=epsilon,
        mechanism="gaussian.published.coordinates",
        assumptions=counted_width(X, records.shape[1]),
        insecure_seed=insecure_seed,
    )
