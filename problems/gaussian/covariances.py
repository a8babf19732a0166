"""Covariance, and mean, of folded records: two coarse covariances that whiten, then the final one.

Privacy: docs/proofs/gaussian_frame.md, 5
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.integrate import quad

from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.integer_queries import IntegerQueries, square_variance

from .columns import Columns
from .fold import cells, image, integers, norms, to_ball
from .frame import frame_dict, radius_quantile, release_frame
from .planning import (
    CELL_REACH,
    Budget,
    MeanTask,
    Plan,
    TooFewRecords,
    frame_share,
    order_seconds,
    quantile_epsilon,
)

UNITS = 1 << 18  # squares of 2^20 records stay below 2^56
LEAST_EIGENVALUE = 0.02
LEAST_WEIGHT = 0.3
THIN = 0.1  # variance of a column in squares of its scale
LARGEST = 50  # columns
# shares of what the frame leaves, by whether the mean is wanted too
WITH_MEAN = {"radius": 4, "weight": 3, "centre": 5, "coarse": 15, "final": 43, "mean": 30}
ALONE = {"radius": 4, "weight": 2, "centre": 5, "coarse": 15, "final": 74, "mean": 0}
USES = {"radius": 3, "centre": 2, "coarse": 2, "final": 1, "mean": 1}


def plan_covariance(task: MeanTask, budget: Budget, *, mean: bool) -> Plan:
    """Shares and predicted error of a covariance (and mean) in zCDP.

    Raises:
        TooFewRecords: with the n that would do. ValueError: pure budgets, tight columns, over 50 columns.
    """
    from scipy.stats import chi2

    if budget.rho is None:
        raise ValueError("a covariance of more than two columns needs delta > 0 or rho")
    if task.tight:
        raise ValueError("covariances have no tight columns: give all columns wide bounds")
    if task.d > LARGEST:
        raise ValueError(f"at most {LARGEST} columns, got {task.d}: project to fewer by a public map")
    total = Fraction(budget.rho)
    frame, each, needed = frame_share(task, float(total), 0.06)
    if needed:
        raise TooFewRecords(
            f"n = {task.n} records of d = {task.d} columns are too few at this budget: "
            f"about {needed} would do",
            needed,
        )
    rest = total - frame
    table = WITH_MEAN if mean else ALONE
    spent = {"frame": frame, **{name: rest * parts / 100 for name, parts in table.items()}}
    d, n = task.d, task.n
    deviation = math.sqrt(square_variance(d, 1, spent["final"])) * chi2.ppf(0.95, d) / n
    private = deviation * math.sqrt(d * (d + 1) / 2.0) / consistency(d)
    sampling = math.sqrt(d * (d + 1) / n)
    seconds = 0.05 + 4e-7 * n * d + 2e-8 * n * d * d + 4e-4 * d * d + order_seconds(task, each, 2 * d)
    return Plan("whitened", each, spent, private, sampling, seconds)


def private_gaussian(
    entries: np.ndarray,
    columns: Columns,
    task: MeanTask,
    budget: Budget,
    plan: Plan,
    *,
    mean: bool,
    insecure_seed: int | None,
) -> Release:
    """Covariance (d, d), mean (d,) if wanted, and frame, of (n, d) entries that `columns` has clipped.

    plan: what `plan_covariance` said for the same task, budget and `mean`.
    """
    queries = IntegerQueries(
        task.n,
        epsilon=budget.epsilon,
        delta=budget.delta,
        rho=None if budget.epsilon is not None else budget.rho,
        insecure_seed=insecure_seed,
    )
    frame = release_frame(queries, entries, columns, plan.frame_epsilon, task.contamination)
    steps = _Steps(queries, frame.into(entries), plan.spent, 4 if mean else 3)
    d = task.d
    for _ in range(2):
        steps.whiten(final=False)
    matrix = steps.whiten(final=True)
    covariance = frame.scale[:, None] * steps.before @ matrix @ steps.before.T * frame.scale
    covariance = (covariance + covariance.T) / 2.0
    thin = np.diag(covariance) < THIN * frame.scale**2  # its scale was that of a heap, not of the column
    frame = replace(frame, degenerate=frame.degenerate | thin)
    value = {"covariance": covariance, "frame": frame_dict(frame)}
    if mean:
        value["mean"] = columns.raw(frame.centre + frame.scale * steps.mean())
    public = {
        "records": task.n,
        "dimension": d,
        "method": "whitened",
        "contamination": task.contamination,
        "bounds": columns.bounds,
    }
    name = "gaussian.learner" if mean else "gaussian.covariance"
    return queries.seal(value, mechanism=name, public=public)


class _Steps:
    """Records y (n, d) in a frame z = T^-1 (y - b) that is made better by every release."""

    def __init__(
        self, queries: IntegerQueries, y: np.ndarray, spent: dict[str, Fraction], weights: int
    ) -> None:
        self.queries, self.spent = queries, spent
        n, d = y.shape
        near = np.zeros(n)
        for j in range(d):
            near += np.clip(3.0 - np.abs(y[:, j]) / CELL_REACH, 0.0, 1.0)
        self.kept = (near >= d / 2.0).astype(np.float64)
        self.y = cells(y, CELL_REACH) * self.kept[:, None]
        self.n, self.d, self.weights = n, d, weights
        self.transform, self.centre = np.eye(d), np.zeros(d)
        self.before = self.transform

    def _folded(self, radius: float | None) -> tuple[np.ndarray, np.ndarray, float]:
        """Rows w min(1, C/|z|) z, their weights, C; the radius is a question unless it is given."""
        from scipy.stats import chi2

        z = image(self.y - self.centre, np.linalg.inv(self.transform))
        size = norms(z)
        if radius is None:
            epsilon = quantile_epsilon(self.spent["radius"] / USES["radius"])
            quantile = radius_quantile(self.queries, size, 0.8, self.d, epsilon)
            radius = quantile * math.sqrt(chi2.ppf(0.95, self.d) / chi2.ppf(0.8, self.d))
        weight = self.kept * np.clip(3.0 - size / radius, 0.0, 1.0)
        return to_ball(z, radius, redescend=True) * self.kept[:, None], weight, radius

    def _weight(self, weight: np.ndarray) -> float:
        """Private average weight, at least .3."""
        counts = integers(weight, 1.0 / UNITS)[:, None]
        price = self.spent["weight"] / self.weights
        result = self.queries.gaussian_sum(counts, UNITS, price, shape="positive")[0]
        return max(LEAST_WEIGHT, min(1.0, result / (self.n * UNITS)))

    def _average(self, rows: np.ndarray, radius: float, price: Fraction) -> np.ndarray:
        counts = integers(rows, radius / UNITS)
        sums = self.queries.gaussian_sum(counts, UNITS, price)
        return np.array(sums, dtype=np.float64) * (radius / (self.n * UNITS))

    def whiten(self, *, final: bool) -> np.ndarray:
        """One covariance in the frame, (d, d); the frame moves by it."""
        rows, weight, radius = self._folded(None)
        share = self._weight(weight)
        shift = np.zeros(self.d)
        if not final:
            shift = self._average(rows, radius, self.spent["centre"] / USES["centre"]) / share
        kind = "final" if final else "coarse"
        price = self.spent[kind] / USES[kind]
        squares = self.queries.squares(integers(rows, radius / UNITS), UNITS, price)
        unit = radius**2 / (float(UNITS) ** 2 * self.n * share)
        gamma = consistency(self.d)
        matrix = (np.array(squares, dtype=np.float64) * unit - np.outer(shift, shift)) / gamma
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
        least = LEAST_EIGENVALUE
        if not final:
            deviation = math.sqrt(square_variance(self.d, UNITS, price)) * unit / gamma
            least = max(least, 2.0 * math.sqrt(self.d) * deviation)
        values = np.maximum(values, least)
        self.before = self.transform
        self.centre = self.centre + self.transform @ shift
        self.transform = self.transform @ ((vectors * np.sqrt(values)) @ vectors.T)
        return (vectors * values) @ vectors.T

    def mean(self) -> np.ndarray:
        """The mean in the first frame, from records whitened by everything released."""
        from scipy.stats import chi2

        radius = math.sqrt(chi2.ppf(0.9, self.d))
        rows, weight, _ = self._folded(radius)
        average = self._average(rows, radius, self.spent["mean"])
        return self.centre + self.transform @ average / self._weight(weight)


@lru_cache(maxsize=64)
def consistency(d: int) -> float:
    """(1/d) E[min(t, C^2) clip(3 - sqrt(t)/C, 0, 1)^2], t ~ chi^2_d, C^2 its .95-quantile: what folding
    leaves of the variance of a Gaussian, d <= 50."""
    from scipy.stats import chi2

    law = chi2(d)
    c = math.sqrt(law.ppf(0.95))

    def weighted(t: float) -> float:
        return min(t, c * c) * min(1.0, max(0.0, 3.0 - math.sqrt(t) / c)) ** 2 * law.pdf(t)

    inner = quad(weighted, 0.0, c * c, limit=200)[0]
    outer = quad(weighted, c * c, 9.0 * c * c, limit=200)[0]
    return float(inner + outer) / d
