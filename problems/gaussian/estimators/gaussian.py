"""Private covariance, and mean, of a raw table; its principal components, which are a function of them.

Privacy: docs/proofs/gaussian_whitening.md, docs/proofs/gaussian_pure.md, docs/proofs/gaussian_frame.md
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sosdp.estimator.field import Field, Fitted, whole
from sosdp.estimator.planner import Forecasts
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.terms import join

from ..budgets import Budget
from ..columns import Columns
from ..covariances import NAMES, NORMAL, judged, plan_covariance, private_gaussian
from ..frame import frame_dict
from ..means import private_mean
from ..planning import MeanTask, Plan, least_error, plan_mean
from ..pure import PURE_COLUMNS, plan_pure, pure_covariance
from .base import TableEstimator

SURE = 1.645  # deviations by which a gap between eigenvalues is taken smaller than it was released
TOLD_APART = 0.5  # largest forecast sine of a component that means something
LEAST_CONTAMINATION = 0.01
COVARIANCE_SHARE = 0.6  # of a pure budget, the rest for the mean


class PrivateGaussian(TableEstimator):
    """Mean and covariance of the columns of a table (d <= 50), robust to a fraction of outlying rows.

    After fit: mean_ (d,), covariance_ (d, d) positive definite, error_, unseen_, condition_, within_plan_,
    degenerate_ (d,), estimates_, skewed_ (d,), clipped_share_, and what `TableEstimator` lists. Columns that
    a data frame declares as booleans are tight, in (0, 1). Scales of columns may differ by anything; `plan(n,
    d).condition` says up to which condition of the correlation matrix the errors of the plan hold.

    estimates_: what the covariance is of. With contamination 0 of all rows: those beyond an ellipsoid that
    was released, a few, are moved onto it; clipped_share_ is a 95 % upper bound of their share, and the mean
    is that of the same rows. With contamination above 0 of normal columns: outlying rows get weight 0 and
    what is left is scaled as that of normal columns, so heavier tails are read as smaller variances
    (exponential 0.6 to 0.8 of them, uniform 1.05); the mean is that of what is left, and skewed_ says where
    it is not the mean of all rows (none proves nothing).

    error_: forecast Frobenius error relative to what estimates_ says, from what the fit found; with
    contamination 0 with what the rows beyond the ellipsoid may have lost. unseen_: (k, d), directions along
    which the noise hides the variance, one released deviation long; few or none. condition_: of the released
    correlations. within_plan_: False where a direction is unseen, the condition is beyond the plan's, error_
    without that loss is above 1.25 times the plan's error, or more rows are beyond than of normal columns:
    then the forecast of the plan does not hold. degenerate_: columns that are mostly one value, or
    of which many rows are 128 scales away: their variance means nothing and the others are as if they were
    not there. Declare them tight.

    Raises at fit: TooFewRecords, which names the n that would do; ValueError for other public facts out of
    range. In pure privacy one or two columns of few records are answered by one draw, which costs seconds
    (`plan_.method` "packing"), and is the covariance of normal columns whatever the contamination.
    """

    mean_: np.ndarray = Fitted()
    covariance_: np.ndarray = Fitted()
    error_: float = Fitted()
    unseen_: np.ndarray = Fitted()
    condition_: float = Fitted()
    within_plan_: bool = Fitted()
    estimates_: str = Fitted()
    skewed_: np.ndarray = Fitted()
    clipped_share_: float | None = Fitted()

    _mean = True
    _forecasts = Forecasts(
        "Frobenius, relative to the true covariance", "PrivateMean: the means of the same columns"
    )

    def _expected(self, n: int, d: int = 1) -> float:
        """With what trimming takes from records that are all right: about half of the contamination, by
        `benchmarks/outlooks.py`."""
        return math.hypot(super()._expected(n, d), float(self.contamination) / 2)

    def plan(self, n: int, d: int) -> Plan:
        """Shares and predicted errors of the covariance for n records of d columns; raises as `fit` does."""
        _, task = self._facts(n, d)
        budget = self._budget()
        makers = [partial(plan_covariance, task, budget, mean=self._mean)]
        if budget.pure and d <= PURE_COLUMNS and not task.tight:
            makers.append(partial(self._packing_plan, task, budget))
        return least_error(makers)

    def _facts(self, n: int, d: int) -> tuple[Columns, MeanTask]:
        bounds, tight = self._schema(d)
        return self._public(n, d, tight, bounds=bounds)

    def _packing_plan(self, task: MeanTask, budget: Budget) -> Plan:
        first, second = self._pure_budgets(budget)
        plan = plan_pure(task, float(first.total))
        if self._mean:
            plan_mean(_folded(task), second)
        return plan

    def _release(self, data: np.ndarray) -> Release:
        self.plan_ = self.plan(*data.shape)
        columns, task = self._facts(*data.shape)
        entries, budget = columns.clipped(data), self._budget()
        if self.plan_.method == "packing":
            return self._pure(entries, columns, task, budget)
        seed = self.insecure_seed
        return private_gaussian(
            entries, columns, task, budget, self.plan_, mean=self._mean, insecure_seed=seed
        )

    def _unpack(self, value: Any) -> None:
        super()._unpack({"skewed": np.zeros(self.n_features_in_, dtype=bool), "clipped_share": None, **value})
        self.estimates_ = self.release_.public["covariance"]

    def _pure_budgets(self, budget: Budget) -> tuple[Budget, Budget]:
        """Of the covariance and of the mean; together at most the whole."""
        if not self._mean:
            return budget, budget
        first, second = split(float(budget.total), (COVARIANCE_SHARE, 1.0 - COVARIANCE_SHARE))
        return Budget(first, 0.0, None), Budget(second, 0.0, None)

    def _pure(self, entries: np.ndarray, columns: Columns, task: MeanTask, budget: Budget) -> Release:
        plan, (_, second) = self.plan_, self._pure_budgets(budget)
        frame, parts, matrix = pure_covariance(entries, columns, task, plan, self.insecure_seed)
        covariance = frame.scale[:, None] * matrix * frame.scale
        value = {
            "covariance": covariance,
            "frame": frame_dict(frame),
            "unseen": np.zeros((0, task.d)),
            **judged(covariance, plan.total_error, 0, plan),
        }
        if self._mean:
            seed = None if self.insecure_seed is None else self.insecure_seed + 2
            folded = _folded(task)
            parts.append(private_mean(entries, columns, folded, second, plan_mean(folded, second), seed))
            value["mean"] = parts[-1].value["mean"]
        public = {
            "records": task.n,
            "dimension": task.d,
            "method": plan.method,
            "estimates": ("folded mean",) * task.d,
            "covariance": NORMAL,
        }
        return join(parts, value, mechanism=NAMES[self._mean], public=public)


def _folded(task: MeanTask) -> MeanTask:
    """The mean of a whole Gaussian is that of folded rows, whatever is promised of them."""
    return replace(task, contamination=task.contamination or LEAST_CONTAMINATION)


class PrivateCovariance(PrivateGaussian):
    """Covariance of the columns of a table, robust to a fraction of outlying rows, in their own units.

    Arguments, attributes (without mean_) and errors are those of `PrivateGaussian`; no budget goes
    into a mean.
    """

    _mean = False


class PrivatePCA(PrivateGaussian):
    """Leading principal components of a table (d <= 50), robust to a fraction of outlying rows.

    A function of what `PrivateGaussian` releases, whose arguments and attributes it has. After fit:
    components_ (k, d), rows of unit length; explained_variance_ (k,) and explained_variance_ratio_ (k,);
    angle_ (k,), forecast sines of the angles between components and those of the population (first order);
    subspace_angle_, of the span of all k; told_apart_ (k,) bool, components whose forecast is at most .5:
    the others are directions among eigenvalues that are too close; scale_ (d,), 1 unless standardised;
    mean_ (d,), of the rows that estimates_ says.
    """

    n_components: int = Field(whole(), "number of components, at most d", default=1, kw_only=True)
    standardise: bool = Field(
        None,
        "components of the correlations, of columns over their released deviations",
        default=False,
        kw_only=True,
    )

    components_: np.ndarray = Fitted()
    explained_variance_: np.ndarray = Fitted()
    explained_variance_ratio_: np.ndarray = Fitted()
    angle_: np.ndarray = Fitted()
    subspace_angle_: float = Fitted()
    told_apart_: np.ndarray = Fitted()
    scale_: np.ndarray = Fitted()

    def plan(self, n: int, d: int) -> Plan:
        """The plan of the covariance for n records of d columns; raises as `fit` does."""
        if self.n_components > d:
            raise ValueError(f"n_components = {self.n_components} is more than the {d} columns")
        return super().plan(n, d)

    def _unpack(self, value: Any) -> None:
        super()._unpack(value)
        covariance, k = self.covariance_, self.n_components
        deviations = np.sqrt(np.diag(covariance))
        self.scale_ = deviations if self.standardise else np.ones(len(deviations))
        values, vectors = np.linalg.eigh(covariance / self.scale_[:, None] / self.scale_)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
        self.components_ = (vectors * np.sign(largest))[:, :k].T
        self.explained_variance_ = values[:k]
        self.explained_variance_ratio_ = values[:k] / values.sum()
        tilts = squared_tilts(values, self.error_)
        self.angle_ = np.minimum(1.0, np.sqrt(tilts.sum(axis=1)))[:k]
        self.subspace_angle_ = float(min(1.0, np.sqrt(tilts[:k, k:].sum())))
        self.told_apart_ = self.angle_ <= TOLD_APART

    def transform(self, X: Any) -> np.ndarray:
        """(n, k) coordinates of rows X (n, d), not private if they are; a missing entry counts as the
        mean."""
        entries = self._rows(X)
        away = np.where(np.isfinite(entries), entries - self.mean_, 0.0) / self.scale_
        return np.asarray(away @ self.components_.T)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """`fit`, then `transform` of the same rows: the coordinates themselves are not private."""
        return self.fit(X, y).transform(X)


def squared_tilts(values: np.ndarray, error: float) -> np.ndarray:
    """(d, d) expected squares of the tilt of eigenvector i towards j, in first order.

    values: (d,) eigenvalues; error: Frobenius error of the covariance relative to the truth, whose entries
    beside the diagonal have variance error^2 / (d (d + 1)).
    """
    d = len(values)
    variance = error**2 / (d * (d + 1))
    doubt = (
        SURE * math.sqrt(2.0 * variance) * (values[:, None] + values)
    )  # noise drives equal eigenvalues apart
    gaps = np.maximum(np.abs(values[:, None] - values) - doubt, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tilts = np.outer(values, values) * variance / gaps**2
    return np.asarray(np.where(np.eye(d, dtype=bool), 0.0, np.where(gaps == 0.0, 1.0, tilts)))
