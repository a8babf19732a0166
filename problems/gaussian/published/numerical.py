"""The score with numerical tolerances tau T (Definition 5.5), by bisection and the ellipsoid method.

For one column and n <= 2 records (more at degree 2), after Appendix C: functionals L on all polynomials of
the degree in w_i, x'_i and M, nothing substituted, since with tolerances w^2 = w holds only up to tau T. At a
threshold T every p of norm 1 (Euclidean, of its coefficients) has

    L[p^2] >= -tau T,   |L[(w_i^2 - w_i) p]|, |L[w_i (x'_i - y_i) p]|, |L[(Cov' + M^2 - lam) p]| <= tau T,
    L[(sum w - n + T) p^2] >= -5 tau T n,   |L[mu'] - candidate| <= alpha + tau T,   |L| <= R + tau T.

The score is the least T. It has sensitivity 1 up to degree 6, which is where the 5 comes from.

Proof: docs/proofs/gaussian_published.md, 5
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sosdp.conic.brackets import bounded_lower_bound, upper_bound
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.quiet_solve import matrix_program
from sosdp.conic.rigorous import UNIT
from sosdp.conic.svec import triangle
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.inputs import floats
from sosdp.privacy.scores.lifted import BracketScore
from sosdp.privacy.scores.score import Lattice

SLACK = 5.0  # of the constraint on the sum of the weights: at least 2 + sqrt 6
MOST_MOMENTS = 140

Monomial = tuple[int, ...]
Poly = dict[Monomial, float]

PROOF = Fact(
    "setting w_1 to 0 keeps a functional feasible with T + 1 when record 1 is replaced, degree <= 6 "
    "(docs/proofs/gaussian_published.md, 5)"
)


@dataclass(frozen=True)
class NumericalScore:
    """The score of n records in [-reach, reach] at candidates of one coordinate.

    Args:
        records: n. degree: 2, 4 or 6. lam: bound on the variance. alpha: tolerance of the candidate. tau: of
            everything, > 0. reach: R, records are clipped to it. bound: on the norm of all moments.

    Raises:
        ValueError: numbers out of range, or more moments than are practical.
    """

    records: int
    degree: int = 4
    lam: float = 1.0
    alpha: float = 0.1
    tau: float = 1e-3
    reach: float = 2.0
    bound: float = 100.0

    def __post_init__(self) -> None:
        if self.records < 1 or self.degree not in (2, 4, 6):
            raise ValueError("a score needs records >= 1 and degree 2, 4 or 6")
        if not min(self.lam, self.alpha, self.tau, self.reach) > 0 or not self.bound >= 1:
            raise ValueError("lam, alpha, tau, reach must be > 0 and bound >= 1")
        count = math.comb(2 * self.records + 1 + self.degree, self.degree) - 1
        if count > MOST_MOMENTS:
            raise ValueError(
                f"{count} moments, at most {MOST_MOMENTS}: PrivateMean and the completion score are for data"
            )

    def bracket(self, X: Any, candidate: Any, width: float = 1e-2) -> tuple[float, float]:
        """Certified (low, high) with low <= score <= high; not private."""
        program = self._program(X, candidate)
        low, high = 0.0, float(self.records)
        while high - low > width:
            middle = (low + high) / 2
            verdict = program.decide(middle)
            if verdict == 0:
                break
            low, high = (low, middle) if verdict > 0 else (middle, high)
        return low, high

    def bisection(self, X: Any, candidate: Any, width: float = 0.1) -> tuple[float, float, int]:
        """(low, high, steps) by the ellipsoid method of Theorem C.6, in at most a public number of steps.

        high is certified; low rests on the volume argument, in floats.
        """
        program = self._program(X, candidate)
        low, high, steps = 0.0, float(self.records), 0
        while high - low > 2 * width:
            middle = (low + high) / 2
            result, used = program.ellipsoid(middle, width / 2)
            steps += used
            low, high = (low, middle) if result else (middle - width / 2, high)
        return low, high, steps

    def most_steps(self, width: float = 0.1) -> int:
        """Public bound on the steps of `bisection`."""
        program = self._program(np.zeros(self.records), [0.0])
        rounds, gap = 0, float(self.records)
        while gap > 2 * width:
            rounds, gap = rounds + 1, gap / 2 + width / 2
        return rounds * program.steps(float(self.records), width / 2)

    def score_function(self, lattice: Lattice) -> BracketScore:
        """The score on a bounded public lattice, for the exponential mechanism (small lattices)."""
        return BracketScore(
            self.bracket,
            lattice,
            self.records,
            largest=float(self.records),
            proof=PROOF,
            sensitivity=1,
            width=Fraction(1, 50),
            quantum=Fraction(1, 4),
        )

    def integral(self, X: Any, candidate: Any) -> int:
        """The score of whole records and no tolerance but alpha, by enumeration; at least the score.

        Kept records stay; the others go to one point, which is best for the variance.
        """
        rows, theta = self._read(X, candidate)
        n = self.records
        for count in range(n + 1):
            for gone in combinations(range(n), count):
                if self._completes(np.delete(rows, gone), count, theta):
                    return count
        return n

    def _completes(self, kept: np.ndarray, count: int, theta: float) -> bool:
        ends = (theta - self.alpha, theta + self.alpha)
        if kept.size == 0:
            return True
        m = float(kept.mean())  # where the spread is least
        if count:
            m = min(max(m, ends[0]), ends[1])
        if not ends[0] <= m <= ends[1]:
            return False
        pulled = float((kept - m).sum())
        spread = float(((kept - m) ** 2).sum()) + (pulled**2 / count if count else 0.0)
        return spread <= self.records * self.lam

    def _read(self, X: Any, candidate: Any) -> tuple[np.ndarray, float]:
        rows = floats(X).reshape(-1)
        theta = np.asarray(candidate, dtype=np.float64).reshape(-1)
        if rows.size != self.records or theta.size != 1:
            raise ValueError(f"expected {self.records} records and one coordinate of a candidate")
        near = np.clip(np.where(np.isfinite(rows), rows, 0.0), -self.reach, self.reach)
        return near, float(theta[0])

    def _program(self, X: Any, candidate: Any) -> _Program:
        rows, theta = self._read(X, candidate)
        return _Program(self, rows, theta)


@lru_cache(maxsize=16)
def monomials(count: int, degree: int) -> tuple[Monomial, ...]:
    """All exponents of `count` variables up to a degree, the constant first."""
    factors = [(0,) * count, *(tuple(row) for row in np.eye(count, dtype=int).tolist())]
    return tuple(_times(factors[0], *chosen) for chosen in combinations_with_replacement(factors, degree))


def _times(*factors: Monomial) -> Monomial:
    return tuple(map(sum, zip(*factors, strict=True)))


class _Block(NamedTuple):
    """A matrix constant + sum_k y_k matrices_k, plus T (same), plus a slack times T, that has to be >= 0."""

    base: np.ndarray  # (1 + N, side, side)
    times_threshold: np.ndarray  # the same shape, or zeros
    slack: float

    def at(self, T: float) -> np.ndarray:
        """(1 + N, side, side) at a threshold, slack included."""
        out = self.base + T * self.times_threshold
        out[0] += self.slack * T * np.eye(out.shape[1])
        return out


class _Program:
    """All constraints as matrices, for one table and one candidate."""

    def __init__(self, score: NumericalScore, rows: np.ndarray, theta: float) -> None:
        n, D, tau = score.records, score.degree, score.tau
        self.score, self.n, self.count = score, n, 2 * n + 1
        self.all = monomials(self.count, D)
        self.number = {m: k for k, m in enumerate(self.all)}
        self.size = len(self.all) - 1
        one, *z = monomials(self.count, 1)
        w, x, slack = z[:n], z[n : 2 * n], z[2 * n]
        mean: Poly = {x[i]: 1.0 / n for i in range(n)}
        total: Poly = {one: -float(n), **dict.fromkeys(w, 1.0)}
        spread: Poly = {one: -score.lam, _times(slack, slack): 1.0}
        for i, j in combinations_with_replacement(range(n), 2):
            spread[_times(x[i], x[j])] = 1.0 / n - 1.0 / n**2 if i == j else -2.0 / n**2
        half, inner, tests = (monomials(self.count, k) for k in (D // 2, (D - 1) // 2, D - 2))
        equations: list[Poly] = [{_times(w[i], w[i]): 1.0, w[i]: -1.0} for i in range(n)]
        equations += [{_times(w[i], x[i]): 1.0, w[i]: -float(rows[i])} for i in range(n)]
        self.blocks = [
            _Block(self._localised({one: 1.0}, half), np.zeros(1), tau),
            _Block(self._localised(total, inner), self._localised({one: 1.0}, inner), SLACK * tau * n),
            *(_Block(self._arrow(p, tests), np.zeros(1), tau) for p in (*equations, spread)),
        ]
        for sign in (1.0, -1.0):
            for room in (score.alpha + sign * theta, 2.0 * score.reach):
                near = {m: -sign * c for m, c in mean.items()} | {one: room}
                self.blocks.append(_Block(self._localised(near, (one,)), np.zeros(1), tau))

    def _values(self, q: Poly, basis: Iterable[Monomial]) -> np.ndarray:
        """(1 + N, len(basis)): the values on q times the basis, in the moments."""
        listed = list(basis)
        out = np.zeros((self.size + 1, len(listed)))
        for (column, monomial), (m, c) in product(enumerate(listed), q.items()):
            out[self.number[_times(monomial, m)], column] += c
        return out

    def _localised(self, q: Poly, basis: tuple[Monomial, ...]) -> np.ndarray:
        products = self._values(q, (_times(a, b) for a in basis for b in basis))
        return products.reshape(-1, len(basis), len(basis))

    def _arrow(self, q: Poly, basis: tuple[Monomial, ...]) -> np.ndarray:
        """[[0, v'], [v, 0]], v the values on q times the basis: >= -t I iff |v| <= t."""
        out = np.zeros((self.size + 1, len(basis) + 1, len(basis) + 1))
        out[:, 0, 1:] = out[:, 1:, 0] = self._values(q, basis)
        return out

    def radius(self, T: float) -> float:
        """Bound on the norm of all moments but the constant, which is 1."""
        return math.sqrt(max((self.score.bound + self.score.tau * T) ** 2 - 1.0, 0.0))

    def margin(self, T: float) -> tuple[ConicProgram, float]:
        """Largest t <= 1 such that every matrix at T is at least t, over moments of at most the radius each,
        as a minimum of -t; and by how much rounding of the entries may change t."""
        parts, radius = [block.at(T) for block in self.blocks], self.radius(T)
        rows, limits = [], []
        for part in parts:
            i, j = triangle(part.shape[1])
            vectors = part[:, i, j] * np.where(i == j, 1.0, math.sqrt(2.0))
            rows.append(sp.csr_matrix(np.column_stack([-vectors[1:].T, np.where(i == j, 1.0, 0.0)])))
            limits.append(vectors[0])
        box = sp.eye_array(self.size, self.size + 1)
        cost = np.append(np.zeros(self.size), -1.0)
        A = sp.vstack([sp.csr_matrix(-cost), box, -box, *rows], format="csc")
        b = np.concatenate([[1.0], np.full(2 * self.size, radius), *limits])
        cones = Cones(0, 1 + 2 * self.size, tuple(part.shape[1] for part in parts))
        largest = max(float(np.abs(part).sum(axis=0).max()) * part.shape[1] for part in parts)
        return ConicProgram(cost, A, b, cones), 64 * UNIT * largest * (1.0 + radius)

    def decide(self, T: float) -> int:
        """1: proven score <= T; -1: proven score > T; 0: neither. By a conic solver's proposals."""
        program, _ = self.margin(T)
        cones = program.cones
        answer = matrix_program(program.q, program.A, program.b, cones.nonnegative, cones.psd)
        if answer is None:
            return 0
        y, z = answer
        return 1 if self.holds(T, y[:-1]) else -1 if self.refuted(T, z) else 0

    def holds(self, T: float, y: np.ndarray) -> bool:
        """Every constraint at T, proven for these moments."""
        program, rounding = self.margin(T)
        inside = float(np.linalg.norm(y)) * (1 + 1e-12) <= self.radius(T)
        return inside and bool(np.isfinite(upper_bound(program, np.append(y, rounding))))

    def refuted(self, T: float, z: np.ndarray) -> bool:
        """Whether these multipliers prove that no moments within the radius have all matrices at T >= 0."""
        program, rounding = self.margin(T)
        return bounded_lower_bound(program, z, max(1.0, self.radius(T))) > rounding

    def inner_radius(self, T: float, width: float) -> float:
        """r: if the score is at most T - width, a ball of this radius is feasible at T (Lemma C.5)."""
        largest = 1.0
        for block in self.blocks:
            flat = block.at(T)[1:].reshape(self.size, -1)
            largest = max(largest, float(np.linalg.norm(flat, 2)))
        return self.score.tau * width / largest

    def steps(self, T: float, width: float) -> int:
        """Steps after which no ball of the inner radius is left: 2 N (N + 1) ln(R / r); public."""
        N = self.size
        return math.ceil(2 * N * (N + 1) * math.log(self.radius(T) / self.inner_radius(T, width))) + 1

    def ellipsoid(self, T: float, width: float) -> tuple[bool, int]:
        """(whether a feasible functional was found, steps): none after all steps means score > T - width."""
        N, radius = self.size, self.radius(T)
        parts = [block.at(T) for block in self.blocks]
        centre, shape = np.zeros(N), radius**2 * np.eye(N)
        most = self.steps(T, width)
        for step in range(most):
            worst, cut = 0.0, None
            away = float(np.linalg.norm(centre))
            if away > radius:
                worst, cut = away - radius, -centre / away
            for part in parts:
                values, vectors = np.linalg.eigh(part[0] + np.tensordot(centre, part[1:], axes=1))
                if -values[0] > worst:
                    u = vectors[:, 0]
                    worst, cut = -float(values[0]), part[1:] @ u @ u
            if cut is None:
                return True, step
            # keep {y: <cut, y - centre> >= worst}: the feasible ones have at least that
            moved = shape @ cut
            length = math.sqrt(max(float(cut @ moved), 0.0))
            depth = worst / length if length > 0 else 1.0
            if depth >= 1.0:  # nothing is left
                return False, step + 1
            shape_step = moved / length
            centre = centre + (1 + N * depth) / (N + 1) * shape_step
            factor = N * N / (N * N - 1.0) * (1 - depth * depth)
            gain = 2 * (1 + N * depth) / ((N + 1) * (1 + depth))
            shape = factor * (shape - gain * np.outer(shape_step, shape_step))
            shape = (shape + shape.T) / 2
        return False, most
