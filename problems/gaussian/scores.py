"""Packing scores: the least number of records to give up so that the rest fits a candidate's moments.

For records f_i (the data, or svec(x x^T) for covariances) and a candidate theta the score is

    s(theta) = min sum (1 - w_i)  s.t.  0 <= w_i <= 1,
               sum_i w_i (f_i - theta, 1)(f_i - theta, 1)^T <= n diag(lam I, 1):

the kept records can be completed to n with mean exactly theta and covariance at most lam. It changes by at
most 1 when one record is replaced, whatever the data. Source: completion score of our proof page
docs/proofs/gaussian_scores.md; the polynomial programs it replaces are in Hopkins, Kamath, Majid and
Narayanan (2023), Definitions 5.5 and 7.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sosdp.privacy.guarantee import ONE_RECORD_REPLACED
from sosdp.privacy.levels import level_step
from sosdp.privacy.score import Box, Lattice, Levels, Point, ScoreFunction

from .packing import Bracket, dual_parts, solve

QUANTUM = Fraction(1, 16)  # unit of a level
WIDTH = Fraction(1, 1024)  # promised width of every bracket
CONDITION = f"condition: on neighbouring data sets every bracket has width at most {float(WIDTH):.2g}"
CLIP = 2.0**20  # records are clipped to this, one by one: far below overflow, far above use
Kind = Literal["completion", "second moment"]


@dataclass(frozen=True)
class PackingProblem:
    """Public description of one family of packing scores: features, their dimension, and lam.

    Attributes:
        features: "identity" (means) or "covariance" (svec(x x^T), D = d(d+1)/2 coordinates).
        dimension: d, of a record. lam: bound on the covariance of the features, > 0.
        kind: "completion" (default) or "second moment" (without the link to the candidate's mass: a baseline
            whose accuracy is worse, see docs/gaussian.md).
    """

    features: Literal["identity", "covariance"]
    dimension: int
    lam: float
    kind: Kind = "completion"

    def __post_init__(self) -> None:
        if self.features not in ("identity", "covariance"):
            raise ValueError(f"features={self.features!r}: choose 'identity' or 'covariance'")
        if self.kind not in ("completion", "second moment"):
            raise ValueError(f"kind={self.kind!r}: choose 'completion' or 'second moment'")
        if not (isinstance(self.dimension, int) and self.dimension >= 1):
            raise ValueError(f"dimension must be an integer >= 1, not {self.dimension!r}")
        if not (math.isfinite(self.lam) and self.lam > 0):
            raise ValueError(f"lam must be a number > 0, not {self.lam!r}")

    @property
    def size(self) -> int:
        """Coordinates of a candidate."""
        d = self.dimension
        return d if self.features == "identity" else d * (d + 1) // 2

    def records(self, X: Any, spacing: Fraction) -> np.ndarray:
        """The features of checked records, (n, size) float64, rounded to multiples of the spacing.

        Each row is a function of its own record alone: what is not finite counts as 0, what is beyond 2^20
        is clipped. Multiples of a power of two minus multiples of it are exact in float64.
        """
        rows = clean(X, self.dimension)
        if self.features == "covariance":
            rows = svec_of_outer(np.clip(rows, -(2.0**10), 2.0**10))
        unit = float(spacing)
        return np.round(rows / unit) * unit

    def rows(self, features: np.ndarray, candidate: np.ndarray) -> np.ndarray:
        """The vectors a_i of the packing program, (n, size + 1), or (n, size) for second moments."""
        shifted = features - candidate
        if self.kind == "second moment":
            return shifted
        return np.hstack([shifted, np.ones((features.shape[0], 1))])

    def bound(self, n: int) -> np.ndarray:
        """The right side of the matrix inequality, a diagonal."""
        lam = np.full(self.size, n * self.lam)
        return lam if self.kind == "second moment" else np.append(lam, float(n))


def clean(X: Any, dimension: int) -> np.ndarray:
    """Records as (n, dimension) float64, each made finite and clipped by itself.

    Raises:
        ValueError: the shape is not (n, dimension) with n >= 1; never because of what a record holds.
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim == 1 and dimension == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.shape[1] != dimension or rows.shape[0] < 1:
        raise ValueError(f"records must have shape (n, {dimension}) with n >= 1, got {np.shape(X)}")
    return np.clip(np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0), -CLIP, CLIP)


def svec_of_outer(rows: np.ndarray) -> np.ndarray:
    """svec(x x^T) of every row: upper triangle, off-diagonals times sqrt 2, (n, d(d+1)/2)."""
    i, j = np.triu_indices(rows.shape[1])
    return rows[:, i] * rows[:, j] * np.where(i == j, 1.0, math.sqrt(2.0))


def smat(vector: np.ndarray) -> np.ndarray:
    """The symmetric matrix with this svec."""
    size = len(vector)
    d = int((math.isqrt(8 * size + 1) - 1) // 2)
    if d * (d + 1) // 2 != size:
        raise ValueError(f"{size} is not the length of the upper triangle of a matrix")
    i, j = np.triu_indices(d)
    out = np.zeros((d, d))
    out[i, j] = out[j, i] = np.asarray(vector) / np.where(i == j, 1.0, math.sqrt(2.0))
    return out


def packing_score(
    problem: PackingProblem, X: Any, candidate: Any, *, tolerance: float = 1e-6, near: Bracket | None = None
) -> Bracket:
    """The score of one candidate with a proven bracket; not private.

    Args:
        candidate: (size,) coordinates. near: the bracket of a nearby candidate (warm start).

    Raises:
        ValueError: wrong shapes.
    """
    features = problem.records(X, Fraction(1, 2**40))
    theta = np.asarray(candidate, dtype=np.float64).reshape(-1)
    if theta.size != problem.size or not np.isfinite(theta).all():
        raise ValueError(f"a candidate has {problem.size} finite coordinates, got {theta!r}")
    rows = problem.rows(features, theta)
    return solve(
        rows, problem.bound(rows.shape[0]), tolerance=tolerance, near=None if near is None else near.factor
    )


class PackingScore(ScoreFunction):
    """The packing score on a public lattice, in levels of 1/16 unit with brackets of width 1/1024.

    Args:
        problem: features and lam. lattice: public candidates. records: n.
        domain: for covariances, candidates outside low I <= Sigma <= high I are not in the domain.

    The guarantee is conditional on every bracket reaching its width: no run was seen that does not, and no
    proof bounds the conic solver's steps.
    """

    def __init__(
        self,
        problem: PackingProblem,
        lattice: Lattice,
        records: int,
        *,
        domain: tuple[float, float] | None = None,
    ) -> None:
        if lattice.dimension != problem.size:
            raise ValueError(f"the lattice has dimension {lattice.dimension}, candidates have {problem.size}")
        super().__init__(
            lattice=lattice,
            records=records,
            step=level_step(Fraction(1), WIDTH, QUANTUM),
            max_level=math.ceil(records / QUANTUM),
            adjacency=ONE_RECORD_REPLACED,
            kind="conditional",
            assumptions=(
                "the packing score changes by at most 1 when one record is replaced "
                "(docs/proofs/gaussian_scores.md)",
                CONDITION,
            ),
        )
        object.__setattr__(self, "problem", problem)
        object.__setattr__(self, "domain", domain)

    problem: PackingProblem
    domain: tuple[float, float] | None

    def admits(self, point: Point) -> bool:
        """Whether the candidate is in the public domain."""
        if self.domain is None:
            return True
        values = np.linalg.eigvalsh(smat(self.lattice.value(point)))
        return bool(self.domain[0] <= values[0] and values[-1] <= self.domain[1])

    def on(self, data: Any) -> PackingLevels:
        """The levels of one data set; ValueError where the public shape is another."""
        features = self.problem.records(data, self.lattice.spacing)
        if features.shape[0] != self.records:
            raise ValueError(f"{self.records} records were announced, {features.shape[0]} given")
        return PackingLevels(self, features)


def contained(rows: np.ndarray, bound: np.ndarray, tolerance: float, near: np.ndarray | None) -> Bracket:
    """`solve`, or the bracket [0, n] for whatever it raises: that is a function of the records."""
    try:
        return solve(rows, bound, tolerance=tolerance, near=near)
    except KeyboardInterrupt:  # the user
        raise
    except BaseException:  # compiled solvers panic with what is no Exception
        n, k = rows.shape
        return Bracket(0.0, float(n), np.zeros(n), np.zeros((k, 1)))


class PackingLevels(Levels):
    """Levels of one data set (private), with the dual cuts found so far: each bounds every candidate."""

    def __init__(self, score: PackingScore, features: np.ndarray) -> None:
        self.score = score
        self.features = features
        self.bound = score.problem.bound(score.records)
        self.cuts = Cuts(score.problem, features)
        self.known: dict[Point, Bracket] = {}

    def bracket(self, point: Point) -> Bracket:
        """The bracket of a lattice point; found once, warm from the best cut, and it adds a cut."""
        if point not in self.known:
            theta = self.score.lattice.value(point)
            rows = self.score.problem.rows(self.features, theta)
            near = self.cuts.nearest(theta)
            tolerance = float(WIDTH) / 2
            found = contained(rows, self.bound, tolerance, near)
            if found.width > tolerance and near is not None:
                cold = contained(rows, self.bound, tolerance, None)
                found = cold if cold.width < found.width else found
            self.known[point] = found
            self.cuts.add(found.factor, theta)
        return self.known[point]

    def level(self, point: Point) -> int:
        """ceil(16 high) of the bracket."""
        return min(self.score.top, math.ceil(Fraction(self.bracket(point).high) / QUANTUM))

    def in_level(self, point: Point, k: int) -> bool:
        """Whether the score is at most k / 16, up to the promised width; cuts decide far candidates."""
        if k >= self.score.top:
            return True
        limit = float(k * QUANTUM)
        if point not in self.known and self.cuts.at(self.score.lattice.value(point)) > limit:
            return False  # certified: the score is above
        return self.level(point) <= k

    def box(self, k: int) -> Box | None:
        """The lattice's own box: level sets are not bounded more tightly here (see `DyadicBoxes`)."""
        return self.score.lattice.box


class Cuts:
    """Dual certificates P = V V^T shared by all candidates: s(theta) >= C_P - n |V^T (theta, 1)|^2.

    A concave quadratic in theta, so its least value over a box is at a vertex.
    """

    def __init__(self, problem: PackingProblem, features: np.ndarray) -> None:
        self.problem = problem
        self.features = features
        self.n, self.size = features.shape
        self.linked = problem.kind == "completion"
        self.plain = np.hstack([features, np.ones((self.n, 1))])
        self.factors = np.zeros((0, self.size + 1, self.size + 1))
        self.sizes = self.factors
        self.constants = np.zeros(0)

    def add(self, factor: np.ndarray, theta: np.ndarray) -> None:
        """Add the certificate found for one candidate (factor in its shifted coordinates).

        Second-moment scores have none: their dual is not concave in the candidate.
        """
        if not self.linked:
            return
        whole = np.zeros((self.size + 1, self.size + 1))
        whole[:, : factor.shape[1]] = factor
        whole[self.size] -= theta @ whole[: self.size]
        value, paid = dual_parts(self.plain, whole)
        trace = float((whole[: self.size] ** 2).sum()) * self.n * self.problem.lam
        unit = 2.0**-53
        constant = value - paid - trace * (1 + (whole.size + 16) * unit) - 8 * unit * (value + trace)
        if not math.isfinite(constant):
            return
        self.factors = np.concatenate([self.factors, whole[None]])
        self.sizes = np.abs(self.factors)
        self.constants = np.append(self.constants, constant)

    def at(self, theta: np.ndarray) -> float:
        """The best certified lower bound at one candidate."""
        return float(self.over(theta[None, :])[0]) if self.constants.size else 0.0

    def over(self, vertices: np.ndarray) -> np.ndarray:
        """For every vertex the lower bound of every cut is computed; the best over cuts, shape (m,)."""
        if not self.constants.size:
            return np.zeros(vertices.shape[0])
        return np.maximum(self._values(vertices).max(axis=0), 0.0)

    def box(self, low: np.ndarray, high: np.ndarray, since: int = 0) -> float:
        """The best, over the cuts from number ``since`` on, of the least value over a box: its vertices are
        enough, each cut being concave."""
        if since >= self.constants.size:
            return 0.0
        picks = (np.arange(2**low.size)[:, None] >> np.arange(low.size)) & 1
        vertices = np.where(picks == 1, high, low)
        return float(max(0.0, self._values(vertices, since).min(axis=1).max()))

    def _values(self, vertices: np.ndarray, since: int = 0) -> np.ndarray:
        """Lower bounds, shape (cuts, vertices)."""
        lifted = np.hstack([vertices, np.ones((vertices.shape[0], 1))])
        inner = np.matmul(lifted, self.factors[since:])
        slack = (self.size + 4) * 2.0**-53 * np.matmul(np.abs(lifted), self.sizes[since:])
        paid = ((np.abs(inner) + slack) ** 2).sum(axis=2) * self.n * (1 + (self.size + 8) * 2.0**-53)
        return self.constants[since:, None] - paid

    def nearest(self, theta: np.ndarray) -> np.ndarray | None:
        """The factor of the cut that is best at a candidate, in that candidate's shifted coordinates."""
        if not self.constants.size:
            return None
        best = int(np.argmax(self._values(theta[None, :])[:, 0]))
        factor = self.factors[best].copy()
        factor[self.size] += theta @ factor[: self.size]
        return factor
