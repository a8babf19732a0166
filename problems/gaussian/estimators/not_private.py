"""Robust means without privacy: the candidate of least score, and the spectral filter.

What is lost to privacy, and what robustness alone can do; same interface as the private estimators.
Source of the score: docs/proofs/gaussian_scores.md; of the filter: Diakonikolas, Kamath, Kane, Li, Moitra and
Stewart (2016).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sosdp.estimator.field import Field, Fitted
from sosdp.estimator.not_fitted import FitFirst
from sosdp.estimator.parameters import Parameters
from sosdp.laboratory.packing_problem import PackingProblem, clean
from sosdp.privacy.calibrate import between, check_positive
from sosdp.structured.packing import Bracket, solve

from ..theory import default_lam

STEPS = 40


class RobustMean(FitFirst, Parameters):
    """NOT PRIVATE: a candidate at which the completion score has a local minimum, with its certified score.

    After fit: mean_ (d,), score_low_ and score_high_ (certified, of the score at mean_), weights_ (n,).

    Alternates the score's weights with their weighted mean, which never raises the score: at the weighted
    mean of a feasible w the same w is feasible. Cost: a score, then a few warm ones.
    """

    contamination: float = Field(None, "expected fraction of arbitrary records", default=0.0)
    sigma: float = Field(
        None,
        "standard deviation of honest records in every direction",
        default=1.0,
        kw_only=True,
    )
    lam: float | None = Field(
        None,
        "bound on their covariance over sigma^2; by default from n, d, contamination",
        default=None,
        kw_only=True,
    )
    tolerance: float = Field(
        None,
        "stop when the candidate moves by less, in units of sigma",
        default=1e-4,
        kw_only=True,
    )

    mean_: np.ndarray = Fitted()
    weights_: np.ndarray = Fitted()
    score_low_: float = Fitted()
    score_high_: float = Fitted()

    def fit(self, X: Any, y: Any = None) -> RobustMean:
        """Estimate from (n, d) records; y is ignored. ValueError for parameters out of range or no table."""
        rows, sigma, share = _table(X, self.sigma, self.contamination)
        n, d = rows.shape
        lam = default_lam(n, d, share) if self.lam is None else check_positive(self.lam, "lam")
        problem = PackingProblem("identity", d, lam * sigma**2)
        width = max(1e-4, 1e-6 * n)
        # where the plain mean has score 0 there is nothing to improve
        candidate = rows.mean(axis=0)
        result = _score(problem, rows, candidate, width, None)
        if result.high > width:
            candidate, result = self._descend(problem, rows, width)
        self.mean_, self.weights_ = candidate, result.weights
        self.score_low_, self.score_high_ = result.low, result.high
        return self

    def _descend(self, problem: PackingProblem, rows: np.ndarray, width: float) -> tuple[np.ndarray, Bracket]:
        candidate = np.median(rows, axis=0)
        result = _score(problem, rows, candidate, width, None)
        for _ in range(STEPS):
            total = float(result.weights.sum())
            if not total > 0:
                break
            new = result.weights @ rows / total
            # the same P in the new candidate's coordinates
            near = result.factor.copy()
            near[-1] += (new - candidate) @ near[:-1]
            moved = float(np.linalg.norm(new - candidate))
            after = _score(problem, rows, new, width, near)
            if after.high > result.high + width:
                break
            candidate, result = new, after
            if moved <= self.tolerance * float(self.sigma):
                break
        return candidate, result


class FilteredMean(FitFirst, Parameters):
    """NOT PRIVATE: the mean after records that stretch the leading eigenvector of the covariance are removed.

    After fit: mean_ (d,), kept_ (n,) of booleans. Stops when the largest eigenvalue is at most sigma^2 (1 + 3
    eta log(1/eta) + 2 sqrt(d/n)), or 3 eta n records are gone. Cost: at most 30 covariances.
    """

    contamination: float = Field(
        None,
        "eta, expected fraction of arbitrary records, in (0, 1/2)",
        default=0.05,
    )
    sigma: float = Field(
        None,
        "standard deviation of honest records in every direction",
        default=1.0,
        kw_only=True,
    )

    mean_: np.ndarray = Fitted()
    kept_: np.ndarray = Fitted()

    def fit(self, X: Any, y: Any = None) -> FilteredMean:
        """Estimate from (n, d) records; y is ignored. ValueError for parameters out of range or no table."""
        rows, sigma, eta = _table(X, self.sigma, self.contamination)
        if eta <= 0:
            raise ValueError(
                "contamination must lie in (0, 1/2): the filter needs to know how much to remove"
            )
        n, d = rows.shape
        limit = sigma**2 * (1 + 3 * eta * math.log(1 / eta) + 2 * math.sqrt(d / n))
        kept = np.ones(n, dtype=bool)
        batch = max(1, round(0.1 * eta * n))
        while n - kept.sum() + batch <= min(math.ceil(3 * eta * n), n - 1):
            inside = rows[kept]
            centre = inside.mean(axis=0)
            values, vectors = np.linalg.eigh(np.cov(inside.T, bias=True).reshape(d, d))
            if values[-1] <= limit:
                break
            away = np.where(kept, np.abs((rows - centre) @ vectors[:, -1]), -1.0)
            kept[np.argpartition(away, n - batch)[n - batch :]] = False
        self.kept_, self.mean_ = kept, rows[kept].mean(axis=0)
        return self


def _score(
    problem: PackingProblem, rows: np.ndarray, candidate: np.ndarray, width: float, near: np.ndarray | None
) -> Bracket:
    return solve(
        problem.rows(rows, candidate), problem.bound(rows.shape[0], candidate), tolerance=width, near=near
    )


def _table(X: Any, sigma: Any, contamination: Any) -> tuple[np.ndarray, float, float]:
    """Clean records (n, d), sigma and the contamination, checked."""
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    rows = np.asarray(X, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or min(rows.shape) < 1:
        raise ValueError(f"X must have shape (n, d) with n, d >= 1, got {np.shape(X)}")
    contamination = float(between(contamination, "contamination", "[0, 0.5)"))
    return clean(rows, rows.shape[1]), check_positive(sigma, "sigma"), contamination
