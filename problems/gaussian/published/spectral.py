"""Spectral covariance, as published, on a public set of directions: exact levels, pure privacy.

The published program (Definitions 6.5 and 6.6) asks, identically in v, that the kept and imputed records
have variance at most (2 + a) (v' Sigma v)^2 of <v, x>^2 about v' Sigma v. For one v that is the score of
one coordinate, exact in integers; here the score is its largest value over finitely many public
directions with integer entries. Candidates have eigenvalues in [1/K, K], decided in rationals (Theorem
6.1).

Proof: docs/proofs/gaussian_published.md, 3
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from sosdp.privacy.arguments import integer, positive
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import floats
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.rows import counted_width, numbers
from sosdp.privacy.scores.sampling import FiniteGrid
from sosdp.privacy.scores.score import Lattice, Levels, Point, ScoreFunction

from ..fold import combined
from ..planning import NotOffered
from .line import Candidates, LineScore
from .thresholds import semidefinite
from .truncated import bound_of

LARGEST = 3  # columns
MOST_CANDIDATES = 300_000


def integer_directions(d: int, reach: int = 2) -> tuple[tuple[int, ...], ...]:
    """Primitive integer vectors with entries up to `reach`, one of v and -v."""
    vectors = product(range(-reach, reach + 1), repeat=d)
    return tuple(v for v in vectors if next(filter(None, v), 0) > 0 and math.gcd(*v) == 1)


class SpectralScore(ScoreFunction):
    """The largest of the scores of <v, x>^2 at v' Sigma v, v in `directions`; levels of one record, exact.

    Args:
        dimension: d <= 3. records: n. lam: 2 + a. condition: K. spacing: of the entries of Sigma.
        directions: integer vectors.

    Raises:
        NotOffered: more candidates than can be listed.
    """

    def __init__(
        self,
        dimension: int,
        records: int,
        lam: Fraction,
        *,
        condition: Fraction,
        spacing: Fraction,
        directions: tuple[tuple[int, ...], ...] | None = None,
    ) -> None:
        reach = math.floor(Fraction(condition) / spacing)
        size = dimension * (dimension + 1) // 2
        least = math.ceil(1 / (Fraction(condition) * spacing))
        i, j = np.triu_indices(dimension)
        box = tuple((least if a == b else -reach, reach) for a, b in zip(i.tolist(), j.tolist(), strict=True))
        lattice = Lattice(spacing, size, box)
        if not 1 <= dimension <= LARGEST or (lattice.size or 0) > MOST_CANDIDATES:
            raise NotOffered(
                f"the published spectral program lists its candidates: {lattice.size} of them for "
                f"{dimension} columns, at most {MOST_CANDIDATES} of at most {LARGEST} columns; a coarser "
                "spacing or a smaller condition would do, or PrivateCovariance"
            )
        super().__init__(
            lattice=lattice,
            records=records,
            sensitivity=1,
            max_level=records,
            assumptions=(
                Fact(
                    "a completion score changes by at most 1 when one record is replaced, and so does the "
                    "largest of several (docs/proofs/gaussian_published.md, 3)"
                ),
            ),
        )
        chosen = integer_directions(dimension) if directions is None else directions
        vars(self).update(
            dimension=dimension, lam=Fraction(lam), condition=Fraction(condition), directions=chosen
        )

    dimension: int
    lam: Fraction
    condition: Fraction
    directions: tuple[tuple[int, ...], ...]

    def matrix(self, point: Point) -> np.ndarray:
        """The candidate (d, d), fractions."""
        out = np.empty((self.dimension, self.dimension), dtype=object)
        i, j = np.triu_indices(self.dimension)
        out[i, j] = out[j, i] = [self.lattice.spacing * t for t in point]
        return out

    def admits(self, point: Point) -> bool:
        """Whether I/K <= Sigma <= K I, exactly."""
        sigma, one = self.matrix(point), np.eye(self.dimension, dtype=int)
        return semidefinite(sigma - one / self.condition) and semidefinite(self.condition * one - sigma)

    def on(self, data: Any) -> SpectralLevels:
        """Levels of (n, d) records; an entry that is no finite number counts as 0."""
        table = floats(data, (self.dimension,))
        if table.shape != (self.records, self.dimension):
            raise ValueError(
                f"expected {self.records} records of {self.dimension} columns, got {table.shape}"
            )
        return SpectralLevels(self, table)


class SpectralLevels(Levels):
    """Levels of one table (private), one `LineLevels` a direction."""

    def __init__(self, score: SpectralScore, rows: np.ndarray) -> None:
        self.score = score
        line = LineScore(Candidates("variance"), score.records, score.lam)
        entries = np.where(np.isfinite(rows), np.clip(rows, -(2.0**80), 2.0**80), 0.0)
        weights = [np.array(v, dtype=float) for v in score.directions]
        self.lines = [line.on(combined(entries, v)) for v in weights]  # no row's rounding depends on others

    def level(self, point: Point) -> int:
        """The largest level over the directions; above all levels outside of the domain."""
        if not self.score.admits(point):
            return self.score.top + 1
        sigma, directions = self.score.matrix(point), map(np.array, self.score.directions)
        return max(line.level_at(v @ sigma @ v) for v, line in zip(directions, self.lines, strict=True))


@lru_cache(maxsize=8)
def spectral_score(d: int, n: int, condition: float, steps: int) -> SpectralScore:
    """The score of Theorem 6.1 for n records of mean zero: spacing 1 / steps, 2 + a with its sampling."""
    return SpectralScore(
        d, n, bound_of("variance", n), condition=Fraction(condition), spacing=Fraction(1, steps)
    )


def published_spectral_covariance(
    X: Any, epsilon: float, *, condition: float = 4.0, steps: int = 4, insecure_seed: int | None = None
) -> Release:
    """Covariance (d, d) of records of mean zero with eigenvalues in [1/K, K]: pure epsilon (Theorem 6.1).

    Raises NotOffered where there are too many candidates to list, from public numbers.
    """
    records = numbers(X)
    if records.ndim != 2 or min(records.shape) < 1:
        raise ValueError(f"X must have shape (n, d), got {records.shape}")
    steps = integer(steps, "steps")
    score = spectral_score(records.shape[1], records.shape[0], float(positive(condition, "condition")), steps)
    result = pure_exponential(
        score,
        records,
        epsilon=epsilon,
        sampler=FiniteGrid(MOST_CANDIDATES),
        mechanism="gaussian.published.spectral",
        assumptions=counted_width(X, records.shape[1]),
        insecure_seed=insecure_seed,
    )
    point = tuple(round(x * steps) for x in np.asarray(result.value).tolist())
    value = np.array(score.matrix(point), dtype=np.float64)
    return Release(value, result.guarantee, public=result.public)
