"""The published polynomial program as a score, by the engine: n <= 5 records, for study and comparison.

Indeterminates w_i and x'_i, mu' = mean of x'_i (for covariances: of svec(x' x'^T)); at a threshold T

    w_i^2 = w_i,  w_i (x'_i - x_i) = 0,  sum_i w_i >= n - T,  Cov(x') <= lam I,  E[mu'] = candidate,

every constraint multiplied by the squares the degree has room for, the third one too: without its multipliers
(degree 2) the score is zero nearly everywhere. Source: Hopkins, Kamath, Majid, Narayanan (2023), Definitions
5.5 and 7.2, with tolerances zero. Properties: docs/proofs/gaussian_lifts.md
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sosdp.algebra import PSD, variables
from sosdp.conic.rigorous import least_eigenvalue_bound
from sosdp.model.system import System
from sosdp.relaxation.functionals import violations
from sosdp.relaxation.relaxation import Relaxation

LARGEST = 5

_MET = 1e-5  # what moments may miss of a constraint: no point need have them, so none is asked for


@dataclass(frozen=True)
class LiteralBracket:
    """``low <= score <= high``, both proven: low by a refutation, high by records kept whole.

    ``numerical`` is the least threshold at which the solver gave a pseudo-expectation, which meets every
    constraint up to ``violation``: numerically the score lies in [low, numerical].
    """

    low: float
    high: float
    numerical: float
    violation: float
    solves: int


@dataclass(frozen=True)
class LiteralSoSScore:
    """The least T at which the program of this degree has a pseudo-expectation.

    Args:
        records: n <= 5. dimension: d. lam: covariance bound. degree: even, 2, 4 or 6.
        reach: public bound on the coordinates of x'; without one no refutation would be rigorous.
        features: "identity" (means) or "covariance" (records of mean zero; needs degree >= 4).

    Raises:
        ValueError: sizes out of range.
    """

    records: int
    dimension: int = 1
    lam: float = 1.0
    degree: int = 4
    reach: float = 6.0
    features: Literal["identity", "covariance"] = "identity"

    def __post_init__(self) -> None:
        if not 1 <= self.records <= LARGEST or self.dimension < 1:
            raise ValueError(
                f"the literal program can be solved for 1 to {LARGEST} records of d >= 1 numbers"
            )
        least = 2 if self.features == "identity" else 4
        if self.degree % 2 or self.degree < least:
            raise ValueError(f"degree must be even and at least {least}, got {self.degree}")
        if self.features not in ("identity", "covariance"):
            raise ValueError(f"features={self.features!r}: choose 'identity' or 'covariance'")
        if not (self.lam > 0 and self.reach > 0):
            raise ValueError("lam and reach must be > 0")

    def bracket(
        self, X: Any, candidate: Any, *, tolerance: float = 1e-3, solver: str = "auto"
    ) -> LiteralBracket:
        """The score of a candidate by bisection; not private.

        Costs log2(n / tolerance) solves: n = 4, d = 1 about 1 s each at degree 4, 2 to 10 s at degree 6.

        Raises:
            ValueError: wrong shapes, or records or candidate beyond ``reach``.
        """
        rows, theta = self._checked(X, candidate)
        high = float(self._integral(rows, theta))
        low, result, violation, solves = 0.0, high, 0.0, 0
        bottom = 0.0
        while result - bottom > tolerance:
            middle = (bottom + result) / 2
            status, worst = self._solve(rows, theta, middle, solver)
            solves += 1
            if status != "infeasible" and worst <= _MET:
                result, violation = middle, worst
            else:
                bottom = middle
                low = middle if status == "infeasible" else low
        return LiteralBracket(low, high, result, violation, solves)

    def _solve(self, rows: np.ndarray, theta: np.ndarray, threshold: float, solver: str) -> tuple[str, float]:
        n, d = rows.shape
        w = variables("w", n)
        x = np.array([variables(f"x{i}_", d) for i in range(n)], dtype=object)
        inside = self._features(x)
        mean = inside.sum(axis=0) * (1.0 / n)
        away, size = inside - mean, len(mean)
        spread = self.lam * np.eye(size) - away.T @ away * (1.0 / n)
        constraints = [w[i] ** 2 == w[i] for i in range(n)]
        constraints += [w[i] * (x[i, j] - float(rows[i, j])) == 0 for i in range(n) for j in range(d)]
        constraints += [sum(w) >= n - threshold]
        constraints += [spread[0, 0] >= 0] if size == 1 else [PSD(spread)]
        constraints += [x[i, j] ** 2 <= self.reach**2 for i in range(n) for j in range(d)]
        relaxation = Relaxation(System(*constraints), self.degree)
        linked = [relaxation.E(mean[k]) == float(theta[k]) for k in range(size)]
        answer = relaxation.feasible(subject_to=linked, solver=solver)
        known = answer.status in ("optimal", "inaccurate") and answer.moments is not None
        worst = violations(answer).worst if known else math.inf
        return answer.status, worst

    def _features(self, x: np.ndarray) -> np.ndarray:
        if self.features == "identity":
            return x
        i, j = np.triu_indices(self.dimension)
        return np.asarray(x[:, i] * x[:, j] * np.where(i == j, 1.0, math.sqrt(2.0)))

    def _integral(self, rows: np.ndarray, theta: np.ndarray) -> int:
        """The least number of whole records to give up so that the rest can be completed, proven; n at most.

        Records given up are replaced by copies of one point, for means; for covariances only n is claimed.
        """
        n, d = rows.shape
        if self.features != "identity":
            return n
        for count in range(1, n):
            for given_up in itertools.combinations(range(n), count):
                kept = np.delete(rows, given_up, axis=0) - theta
                pulled = kept.sum(axis=0) / count
                inside = np.abs(theta - pulled).max() < self.reach
                left = n * self.lam * np.eye(d) - kept.T @ kept - count * np.outer(pulled, pulled)
                if inside and least_eigenvalue_bound(left) > 1e-12 * n * (1 + np.abs(left).max()):
                    return count
        return n

    def _checked(self, X: Any, candidate: Any) -> tuple[np.ndarray, np.ndarray]:
        n, d = self.records, self.dimension
        rows = np.asarray(X, dtype=np.float64).reshape(-1, d)
        theta = np.asarray(candidate, dtype=np.float64).reshape(-1)
        size = d if self.features == "identity" else d * (d + 1) // 2
        if rows.shape != (n, d) or theta.shape != (size,):
            raise ValueError(f"expected {n} records of {d} and a candidate of {size} coordinates")
        if not (np.abs(rows).max() <= self.reach and np.isfinite(theta).all()):
            raise ValueError(f"records must be finite, within reach = {self.reach}, and the candidate finite")
        return rows, theta
