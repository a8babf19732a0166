"""Packing scores: the least number of records to give up so that the rest fits a candidate's moments.

For records f_i (the data, or svec(x x^T) for covariances) and a candidate theta the score is

    s(theta) = min sum (1 - w_i)  s.t.  0 <= w_i <= 1,
               sum_i w_i (f_i - theta, 1)(f_i - theta, 1)^T <= n diag(lam I, 1):

the kept records can be completed to n with mean exactly theta and covariance at most lam (for covariances
preferably relative to the candidate, `PackingProblem.relative`). It changes by at most 1 when one record is
replaced, whatever the data. Source: completion score of our proof page docs/proofs/gaussian_scores.md; the
polynomial programs it replaces are in Hopkins, Kamath, Majid and Narayanan (2023), Definitions 5.5 and 7.2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from sosdp.conic.svec import smat, svec
from sosdp.laboratory.packing_problem import DIGITS, Cuts, PackingProblem, svec_of_outer
from sosdp.privacy.arguments import integer
from sosdp.privacy.guarantee.condition import Charged, Fact
from sosdp.privacy.guarantee.guarantee import ONE_RECORD_REPLACED
from sosdp.privacy.scores.levels import level_sensitivity
from sosdp.privacy.scores.score import Lattice, Levels, Point, ScoreFunction
from sosdp.privacy.silence import contained, no_warnings
from sosdp.structured.packing import Bracket, certain, solve
from sosdp.structured.packing_bound import Limit
from sosdp.structured.packing_ellipsoid import MOST

QUANTUM = Fraction(1, 64)  # unit of a level
WIDTH = Fraction(1, 64)  # no bracket is wider, whatever the records are
AIM = 2.0**-11  # and the width that the solver stops at
SPREAD = 1e6  # sqrt(n (n + 32)) times the eigenvalue ratio of a covariance: docs/proofs/gaussian_scores.md, 3
ROUGH = 0.1  # width of brackets that only serve as cuts
LAM = 2.0**100  # lam and 1 / lam are at most this
LARGEST = 4  # coordinates of a candidate: the work grows exponentially with them


def packing_score(
    problem: PackingProblem, X: Any, candidate: Any, *, tolerance: float = 1e-6, near: Bracket | None = None
) -> Bracket:
    """The score of one candidate with a proven bracket; not private.

    Args:
        candidate: (size,) coordinates, of covariances in the order of `sosdp.conic.svec`.
        near: the bracket of a nearby candidate (warm start).

    Raises:
        ValueError: wrong shapes.
    """
    features = problem.records(X, Fraction(1, 2**30))
    theta = np.asarray(candidate, dtype=np.float64).reshape(-1)
    if theta.size != problem.size or not np.isfinite(theta).all():
        raise ValueError(f"a candidate has {problem.size} finite coordinates, got {theta!r}")
    if problem.relative and np.linalg.eigvalsh(matrix := smat(theta, problem.dimension))[0] <= 0:
        raise ValueError(f"a relative bound needs a positive definite candidate, got {matrix.tolist()}")
    rows, bound = problem.rows(features, theta), problem.bound(features.shape[0], theta)
    return solve(rows, bound, tolerance=tolerance, near=None if near is None else near.factor)


class PackingScore(ScoreFunction):
    """The packing score on a public lattice, in levels of 1/64 unit with brackets of width 1/64 at most.

    Args:
        problem: features and lam. lattice: public candidates. records: n.
        domain: for covariances, candidates outside low I <= Sigma <= high I are not in the domain; for
            relative bounds neither are those of eigenvalue ratio above 10^6 / sqrt(n (n + 32)), where
            rounding would widen brackets.

    Raises:
        ValueError: public numbers beyond what the proof of the width covers: records over 2^22, lam beyond
            2^100, more than 4 coordinates; no domain, or a lattice of another dimension or too fine.
    """

    def __init__(
        self,
        problem: PackingProblem,
        lattice: Lattice,
        records: int,
        *,
        domain: tuple[float, float] | None = None,
    ) -> None:
        if problem.relative and not (domain is not None and 0 < domain[0] <= domain[1]):
            raise ValueError("a relative bound needs domain=(low, high) with 0 < low <= high")
        if problem.size > LARGEST:
            raise ValueError(
                f"a packing score has at most {LARGEST} coordinates, this one has {problem.size}: estimate "
                "fewer at a time"
            )
        if lattice.dimension != problem.size:
            raise ValueError(f"the lattice has dimension {lattice.dimension}, candidates have {problem.size}")
        unit = lattice.spacing
        if unit.numerator & (unit.numerator - 1) or unit.denominator & (unit.denominator - 1):
            raise ValueError(
                f"the spacing of the lattice is a power of two, so that differences are exact; got {unit}"
            )
        if problem.size < 1:
            raise ValueError("a packing score needs at least one feature")
        if lattice.box is not None and max(max(abs(a), abs(b)) for a, b in lattice.box) > DIGITS:
            raise ValueError(
                f"the lattice spacing {float(lattice.spacing):.3g} is too fine for so large a domain: more "
                "than 2^51 steps from 0; make the radius smaller, or sigma larger"
            )
        records = integer(records, "records")
        if records > MOST or not 1.0 / LAM <= problem.lam <= LAM:
            raise ValueError(
                f"brackets are proven to be narrow for at most 2^22 records and lam in [2^-100, 2^100], got "
                f"{records} and {problem.lam:.3g}"
            )
        super().__init__(
            lattice=lattice,
            records=records,
            sensitivity=level_sensitivity(Fraction(1), WIDTH, QUANTUM),
            max_level=math.ceil(records / QUANTUM),
            adjacency=ONE_RECORD_REPLACED,
            assumptions=(
                Fact(
                    "the packing score changes by at most 1 when one record is replaced "
                    "(docs/proofs/gaussian_scores.md)"
                ),
                Charged(
                    f"every bracket has width at most {float(WIDTH):.2g}: a method of a public "
                    "number of steps attains what others miss (docs/proofs/gaussian_scores.md)"
                ),
            ),
        )
        vars(self).update(problem=problem, domain=domain)

    problem: PackingProblem
    domain: tuple[float, float] | None

    def admits(self, point: Point) -> bool:
        """Whether the candidate is in the public domain."""
        if self.domain is None:
            return True
        values = np.linalg.eigvalsh(smat(self.lattice.value(point), self.problem.dimension))
        inside = self.domain[0] <= values[0] and values[-1] <= self.domain[1]
        # rounding widens a bracket in proportion to n (n + 32) ratio^2, whatever the records are
        size = math.sqrt(self.records * (self.records + 32))
        return bool(inside and (not self.problem.relative or size * values[-1] <= SPREAD * values[0]))

    def excludes(self, low: np.ndarray, high: np.ndarray) -> bool:
        """Whether a box of candidates is surely outside the domain: for some direction v, v^T Sigma v is too
        small, or too large, all over it. The time of the sampler depends on it, its law does not.
        """
        if self.domain is None:
            return False
        # any directions will do: fixed ones, and those in which the middle of the box is smallest and largest
        axes = np.linalg.eigh(smat((low + high) / 2, self.problem.dimension))[1].T
        weights = np.vstack([_directions(self.problem.dimension), svec_of_outer(axes)])
        middle, half = weights @ ((low + high) / 2), np.abs(weights) @ ((high - low) / 2)
        # far above the rounding here and in the eigenvalues that decide, which is relative to all entries
        spare = 1e-9 * self.domain[0] + 1e-12 * float(np.maximum(np.abs(low), np.abs(high)).sum())
        small, large = middle + half < self.domain[0] - spare, middle - half > self.domain[1] + spare
        return bool((small | large).any())

    def into_domain(self, point: Point) -> Point:
        """A lattice point close by whose eigenvalues lie in the domain, up to a lattice step."""
        if self.domain is None or self.admits(point):
            return point
        values, vectors = np.linalg.eigh(smat(self.lattice.value(point), self.problem.dimension))
        least = max(1.01 * self.domain[0], float(values[-1]) * self._flattest)
        inside = (vectors * np.clip(values, least, max(least, 0.99 * self.domain[1]))) @ vectors.T
        return tuple(np.rint(svec(inside) / float(self.lattice.spacing)).astype(np.int64).tolist())

    @property
    def _flattest(self) -> float:
        """Least ratio of eigenvalues that `admits` allows, and a little more."""
        return 1.01 * math.sqrt(self.records * (self.records + 32)) / SPREAD if self.problem.relative else 0.0

    def on(self, data: Any) -> PackingLevels:
        """The levels of one data set; ValueError where the public shape is another."""
        features = self.problem.records(data, self.lattice.spacing)
        if features.shape[0] != self.records:
            raise ValueError(f"{self.records} records were announced, {features.shape[0]} given")
        return PackingLevels(self, features)


@cache
def _directions(d: int) -> np.ndarray:
    """svec(v v^T) for unit vectors v: sixteen in the plane, else the axes and their sums and differences."""
    if d == 2:
        angles = np.arange(16) * np.pi / 16
        return svec_of_outer(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    axes = np.eye(d)
    i, j = np.triu_indices(d, 1)
    mixed = np.vstack([axes[i] + axes[j], axes[i] - axes[j]]) / math.sqrt(2.0)
    return svec_of_outer(np.vstack([axes, mixed]))


def _solved(rows: np.ndarray, bound: Limit, tolerance: float, near: np.ndarray | None) -> Bracket:
    """`solve`, or the bracket [0, n] for whatever it raises."""
    n, k = rows.shape
    nothing = Bracket(0.0, float(n), np.zeros(n), np.zeros((k, 1)))
    return contained(lambda: solve(rows, bound, tolerance=tolerance, near=near), nothing)


class PackingLevels(Levels):
    """Levels of one data set (private), with the dual cuts found so far: each bounds every candidate."""

    def __init__(self, score: PackingScore, features: np.ndarray) -> None:
        self.score = score
        self.features = features
        self.cuts = Cuts(score.problem, features)
        self.known: dict[Point, Bracket] = {}

    def bracket(self, point: Point) -> Bracket:
        """The bracket of a lattice point; found once, warm from the best cut, and it adds a cut."""
        if point not in self.known:
            theta, rows, bound = self._program(point)
            near = self.cuts.nearest(theta)
            result = _solved(rows, bound, AIM, near)
            if result.width > AIM and near is not None:
                cold = _solved(rows, bound, AIM, None)
                result = cold if cold.width < result.width else result
            with no_warnings():
                result = certain(rows, bound, result)
            self.known[point] = result
            self._learn(result, theta)
        return self.known[point]

    def add_cut(self, point: Point) -> None:
        """A cut that is nearly tight at a lattice point, at a fraction of the cost of its bracket."""
        theta, rows, bound = self._program(point)
        self._learn(_solved(rows, bound, ROUGH, self.cuts.nearest(theta)), theta)

    def _program(self, point: Point) -> tuple[np.ndarray, np.ndarray, Limit]:
        """A lattice point's coordinates, and the packing program of its score."""
        theta, problem = self.score.lattice.value(point), self.score.problem
        return theta, problem.rows(self.features, theta), problem.bound(self.score.records, theta)

    def _learn(self, bracket: Bracket, theta: np.ndarray) -> None:
        """A cut from what was found; none where its eigenvalues cannot be computed, which is private."""
        contained(lambda: self.cuts.add(bracket.factor, theta), None)

    def level(self, point: Point) -> int:
        """ceil(64 high) of the bracket; the highest outside the domain of a relative bound."""
        if self.score.problem.relative and not self.score.admits(point):
            return self.score.top
        return min(self.score.top, math.ceil(Fraction(self.bracket(point).high) / QUANTUM))

    def in_level(self, point: Point, k: int) -> bool:
        """Whether the score is at most k / 64, up to the promised width; cuts decide far candidates."""
        if k >= self.score.top:
            return True
        limit = float(k * QUANTUM)
        if point not in self.known and self.cuts.at(self.score.lattice.value(point)) > limit:
            return False  # certified: the score is above
        return self.level(point) <= k
