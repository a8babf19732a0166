"""The localised lift: a score whose sublevel sets are exactly convex, in n matrices of side d + 1.

    s4(theta) = least T with  N_00 = 1, N_0. = theta,  0 <= m_i <= N,  sum_i m_i >= (n - T) N,
                              sum_i F_i m_i F_i^T <= n diag(lam I, 1),     F_i = [[x_i, -I], [1, 0]].

N stands for E[(1, mu)(1, mu)^T], m_i for E[w_i (1, mu)(1, mu)^T]: what the polynomial program for the robust
mean needs of its pseudo-expectation, and no more. s4 <= s2 <= s4 + 3 s4^2 / (n - s4) for s4 <= n / 4, s2 the
completion score. Proof: docs/proofs/gaussian_lifts.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.inputs import floats
from sosdp.privacy.scores.lifted import BracketScore
from sosdp.privacy.scores.score import Lattice

from .thresholds import decided, least_threshold

LARGEST = 300  # records
WIDTH = 1e-3
CLIP = 1e3  # records are clipped to this, coordinate by coordinate

PROOF = Fact(
    "setting m_1 = 0 keeps a solution feasible with T + 1 when record 1 is replaced "
    "(docs/proofs/gaussian_lifts.md, 1)"
)


@dataclass(frozen=True)
class LocalisedLiftScore:
    """s4 of n records of d coordinates with covariance bound lam; for n <= 300 and small d.

    Raises:
        ValueError: sizes or lam out of range.
    """

    records: int
    dimension: int
    lam: float

    def __post_init__(self) -> None:
        if not 1 <= self.records <= LARGEST:
            raise ValueError(f"records must lie in 1..{LARGEST}, got {self.records}: use PackingScore beyond")
        if self.dimension < 1:
            raise ValueError(f"dimension must be an integer >= 1, got {self.dimension}")
        if not (math.isfinite(self.lam) and self.lam > 0):
            raise ValueError(f"lam must be a number > 0, got {self.lam}")

    def bracket(self, X: Any, candidate: Any, width: float = WIDTH) -> tuple[float, float]:
        """Certified (low, high) with low <= s4 <= high, usually at most ``width`` apart; not private.

        Costs about log2(n / width) solves with n (d + 1)(d + 2) / 2 unknowns.

        Raises:
            ValueError: shapes other than the public ones.
        """
        n, d = self.records, self.dimension
        rows = floats(X, (d,))
        theta = np.asarray(candidate, dtype=np.float64).reshape(-1)
        if rows.shape != (n, d) or theta.shape != (d,):
            raise ValueError(f"expected {n} records and a candidate of {d} coordinates")
        near = np.clip(np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0), -CLIP, CLIP)
        lift = _Lift(
            [[Fraction(x) - Fraction(t) for x, t in zip(row, theta, strict=True)] for row in near.tolist()],
            self.lam,
        )
        return least_threshold(lift.decide, n, width)

    def score_function(self, lattice: Lattice) -> BracketScore:
        """The score on a bounded public lattice, for the exponential mechanism (small lattices)."""
        return BracketScore(
            self.bracket,
            lattice,
            self.records,
            largest=float(self.records),
            proof=PROOF,
            sensitivity=1,
            width=4 * WIDTH,
        )


class _Lift:
    """The program of one table less its candidate, which is 0: N becomes diag(1, covariance of mu)."""

    def __init__(self, away: list[list[Fraction]], lam: float) -> None:
        self.n, d = len(away), len(away[0])
        size = (d + 1) * (d + 2) // 2
        self.covariance = list(variables("covariance", d * (d + 1) // 2))
        self.weighted = [list(variables(f"moments{i}_", size)) for i in range(self.n)]
        self.corner = _symmetric([Polynomial(1), *[Polynomial(0)] * d, *self.covariance], d + 1)
        self.parts = [_symmetric(entries, d + 1) for entries in self.weighted]
        limit = np.zeros((d + 1, d + 1), dtype=object)
        np.fill_diagonal(limit, [self.n * Fraction(lam)] * d + [Fraction(self.n)])
        self.left = limit - sum(_moved(m, x) for m, x in zip(self.parts, away, strict=True))
        largest = max(sum(x * x for x in row) for row in away)
        self.reach = 2 * self.n * (d * Fraction(lam) + largest)

    def decide(self, threshold: float) -> int:
        """1: proven s4 <= threshold; -1: proven s4 > threshold; 0: neither."""
        kept = self.n - Fraction(threshold)
        if kept <= 0:
            return 1
        wanted = [
            *self.parts,
            *(self.corner - m for m in self.parts),
            self.left,
            sum(self.parts) - kept * self.corner,
        ]
        unknowns = [*self.covariance, *(v for entries in self.weighted for v in entries)]
        return decided(wanted, unknowns, max(Fraction(1), self.reach / kept))


def _symmetric(entries: list[Polynomial], side: int) -> np.ndarray:
    out = np.empty((side, side), dtype=object)
    i, j = np.triu_indices(side)
    out[i, j] = out[j, i] = entries
    return out


def _moved(m: np.ndarray, away: list[Fraction]) -> np.ndarray:
    """F m F^T, F = [[x, -I], [1, 0]]."""
    d = len(away)
    F = np.zeros((d + 1, d + 1), dtype=object)
    F[:d, 0], F[:d, 1:], F[d, 0] = away, -np.eye(d, dtype=int), 1
    return F @ m @ F.T
