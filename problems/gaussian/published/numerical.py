"""The score with numerical tolerances tau T (Definition 5.5), as a program of the engine.

For one column and n <= 2 records (more at degree 2): functionals L on all polynomials of the degree in w_i,
x'_i and M, nothing substituted, since with tolerances w^2 = w holds only up to tau T. At a threshold T every
p of norm 1 (Euclidean, of its coefficients) has

    L[p^2] >= -tau T,   |L[(w_i^2 - w_i) p]|, |L[w_i (x'_i - y_i) p]|, |L[(Cov' + M^2 - lam) p]| <= tau T,
    L[(sum w - n + T) p^2] >= -5 tau T n,   |L[mu'] - candidate| <= alpha + tau T,   |L| <= R + tau T.

The score is the least T. It has sensitivity 1 up to degree 6, which is where the 5 comes from.

Proof: docs/proofs/gaussian_published.md, 5
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.inputs import floats
from sosdp.privacy.scores.lifted import BracketScore
from sosdp.privacy.scores.score import Lattice

from .thresholds import decided, least_threshold

SLACK = 5  # of the constraint on the sum of the weights: at least 2 + sqrt 6
MOST_MOMENTS = 140

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
        return least_threshold(Functionals(self, *self._read(X, candidate)).decide, self.records, width)

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
        kept = (
            (count, np.delete(rows, gone)) for count in range(n) for gone in combinations(range(n), count)
        )
        return next((count for count, rest in kept if self._completes(rest, count, theta)), n)

    def _completes(self, kept: np.ndarray, count: int, theta: float) -> bool:
        mean = float(kept.mean())  # where the spread is least
        near = min(max(mean, theta - self.alpha), theta + self.alpha)
        if near != mean and not count:
            return False
        pulled = float((kept - near).sum())
        spread = float(((kept - near) ** 2).sum()) + (pulled**2 / count if count else 0.0)
        return spread <= self.records * self.lam

    def _read(self, X: Any, candidate: Any) -> tuple[np.ndarray, float]:
        rows = floats(X, (1,)).reshape(-1)
        theta = np.asarray(candidate, dtype=np.float64).reshape(-1)
        if rows.size != self.records or theta.size != 1:
            raise ValueError(f"expected {self.records} records and one coordinate of a candidate")
        near = np.clip(np.where(np.isfinite(rows), rows, 0.0), -self.reach, self.reach)
        return near, float(theta[0])


class Functionals:
    """All constraints on a functional, for one table and one candidate: matrices in its moments."""

    def __init__(self, score: NumericalScore, rows: np.ndarray, theta: float) -> None:
        n, D = score.records, score.degree
        self.score, one = score, Polynomial(1)
        w, x, slack = list(variables("w", n)), list(variables("x", n)), variables("slack", 1)[0]
        given = [one, *w, *x, slack]
        self.all, half, inner, tests = (_monomials(given, k) for k in (D, D // 2, (D - 1) // 2, D - 2))
        self.moments = list(variables("moment", len(self.all) - 1))
        self.known = dict(zip(map(_key, self.all), [one, *self.moments], strict=True))
        mean = sum(x) * Fraction(1, n)
        spread = sum((v - mean) ** 2 for v in x) * Fraction(1, n) + slack**2 - score.lam
        equations = [v**2 - v for v in w]
        equations += [v * (u - y) for v, u, y in zip(w, x, rows.tolist(), strict=True)]
        ends = [mean - theta + score.alpha, theta + score.alpha - mean, mean + 2 * score.reach]
        tau = Fraction(score.tau)
        squares = self._at(np.outer(inner, inner))
        self.parts = [  # each with what a unit of T adds
            (self._at(np.outer(half, half)), tau * _identity(len(half))),
            (
                self._at((sum(w) - n) * np.outer(inner, inner)),
                squares + SLACK * tau * n * _identity(len(inner)),
            ),
            *((self._arrow(p * tests), tau * _identity(len(tests) + 1)) for p in (*equations, spread)),
            *(
                (self._at(np.array([[p]], dtype=object)), tau * _identity(1))
                for p in (*ends, 2 * score.reach - mean)
            ),
        ]

    def decide(self, threshold: float) -> int:
        """1: proven score <= threshold; -1: proven score > threshold; 0: neither."""
        return decided(self.at(threshold), self.moments, self.reach(threshold), norm=True)

    def at(self, threshold: float) -> list[np.ndarray]:
        """The matrices that have to be positive semidefinite at a threshold."""
        return [base + Fraction(threshold) * slope for base, slope in self.parts]

    def reach(self, threshold: float) -> Fraction:
        """Bound on the norm of all moments but the constant, which is 1; rounded down."""
        squared = (self.score.bound + self.score.tau * threshold) ** 2 - 1.0
        return Fraction(math.sqrt(max(squared, 0.0)) * (1 - 1e-12))

    def _at(self, values: np.ndarray) -> np.ndarray:
        """The functional of polynomials of at most its degree, entry by entry."""
        out = np.empty(values.shape, dtype=object)
        for place, p in np.ndenumerate(values):
            terms = zip(p.coefs.tolist(), map(_key_of_row, p.monos.tolist()), strict=True)
            out[place] = sum((c * self.known[key] for c, key in terms), Polynomial(0))
        return out

    def _arrow(self, values: np.ndarray) -> np.ndarray:
        """[[0, v'], [v, 0]], v the functional of these: at least -t I iff |v| <= t."""
        out = np.full((len(values) + 1,) * 2, Polynomial(0), dtype=object)
        out[0, 1:] = out[1:, 0] = self._at(values)
        return out


def _monomials(factors: list[Polynomial], degree: int) -> np.ndarray:
    """All products of so many of the factors, the first of which is 1."""
    chosen = combinations_with_replacement(factors, degree)
    return np.array([math.prod(few, start=Polynomial(1)) for few in chosen], dtype=object)


def _key(monomial: Polynomial) -> tuple[int, ...]:
    return _key_of_row(monomial.monos[0].tolist())


def _key_of_row(row: list[int]) -> tuple[int, ...]:
    return tuple(v for v in row if v)


def _identity(side: int) -> np.ndarray:
    return np.eye(side, dtype=int).astype(object)
