"""Private linear regression of a raw table.

Privacy: docs/proofs/gaussian_regression.md
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sosdp.estimator.field import Field, Fitted, nonnegative
from sosdp.privacy.guarantee.release import Release

from ..columns import Columns, flags_by_name, read_table
from ..planning import MeanTask, Plan
from ..regression import private_regression
from ..regression_planning import plan_regression
from .base import TableEstimator


class PrivateLinearRegression(TableEstimator):
    """Least squares of a target on at most 50 regressors and a constant, robust to a fraction of wrong rows.

    One record is a row of X with its y. Each fit spends the whole budget: `cross_val_score` with k folds
    spends it k times, and its scores are computed on private rows without any guarantee (so is `score`).
    With contamination above 0 rows that are far, or have a large residual, count for nothing. Linear truths
    with symmetric errors are estimated without bias whatever the law of X: weights depend on X alone.

    After fit: coef_ (d,) and intercept_; interval_ (d, 2) or None, sampling and noise; noise_scale_ (d,),
    the standard deviation of the noise in each coefficient; sigma_, the residual deviation; r2_, by
    released numbers; left_out_ (d,), regressors that are mostly one value (coefficient 0: give them bounds
    and say `tight`); seen_ (d,), False for coefficients that the noise hides (no interval); plan_, frame_,
    guarantee_.

    Raises at fit, from public facts: TooFewRecords, which names the n that would do; NotOffered for pure
    privacy; ValueError for others out of range.
    """

    y_bounds: Any = Field(
        None, "public bounds (low, high) of the target, or None", default=None, kw_only=True
    )
    tight: Any = Field(
        None,
        "True, one bool a regressor, or names: bounds that are meant literally (indicators, small counts, "
        "columns with many zeros)",
        default=False,
        kw_only=True,
    )
    y_tight: bool = Field(None, "the same for the target (0/1, counts)", default=False, kw_only=True)
    ridge: float = Field(
        nonnegative,
        "penalty of the squared coefficients in the sum of squares, as scikit-learn's alpha; applied to what "
        "was released",
        default=0.0,
        kw_only=True,
    )
    interval: float | None = Field(
        None, "level of the confidence intervals, None for none", default=0.95, kw_only=True
    )

    _estimator_type = "regressor"

    coef_: np.ndarray = Fitted()
    intercept_: float = Fitted()
    interval_: np.ndarray | None = Fitted()
    noise_scale_: np.ndarray = Fitted()
    sigma_: float = Fitted()
    r2_: float = Fitted()
    left_out_: np.ndarray = Fitted()
    seen_: np.ndarray = Fitted()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release the coefficients of y (n,) on X (n, d); both lengths are public."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        target, _ = read_table(y)
        if target.shape[1] != 1:
            raise ValueError(f"y must have shape (n,), got {target.shape}")
        self._target = target
        try:
            return super().fit(X)
        finally:
            del self._target

    def predict(self, X: Any) -> np.ndarray:
        """(n,) predictions for rows X (n, d); a missing entry counts as 0. Post-processing."""
        entries = self._rows(X)
        result: np.ndarray = np.where(np.isfinite(entries), entries, 0.0) @ self.coef_ + self.intercept_
        return result

    def score(self, X: Any, y: Any) -> float:
        """R^2 of the predictions of y (n,). **Not private**: a function of the rows that are given."""
        target = read_table(y)[0][:, 0]
        away = target - target.mean()
        return float(1.0 - ((target - self.predict(X)) ** 2).sum() / (away**2).sum())

    def plan(self, n: int, d: int) -> Plan:
        """Shares and predicted excess error for n records of d regressors; raises as `fit` does."""
        return plan_regression(self._facts(n, d)[1], self._budget())

    def _read(self, X: Any) -> np.ndarray:
        entries = super()._read(X)
        if len(entries) != len(self._target):
            raise ValueError(f"X has {len(entries)} records and y {len(self._target)}: inconsistent numbers")
        return np.column_stack([entries, self._target])

    def _facts(self, n: int, d: int) -> tuple[Columns, MeanTask]:
        """Public facts of the regressors and, last, the target."""
        bounds, tight = self._schema(d) if "_booleans" in vars(self) else self._stated(d)
        one = bounds is None or (len(bounds) == 2 and np.isscalar(bounds[0]))
        pairs = [bounds] * d if one else bounds
        flags = [*np.broadcast_to(tight, (d,)).tolist(), self.y_tight]
        return self._public(
            n, d + 1, np.array(flags, dtype=bool), self.interval, False, [*pairs, self.y_bounds]
        )

    def _stated(self, d: int) -> tuple[Any, Any]:
        return self._bounds_of(d), flags_by_name("tight", self.tight, self._names_of(d))

    def _release(self, data: np.ndarray) -> Release:
        n, d = data.shape[0], data.shape[1] - 1
        columns, task = self._facts(n, d)
        budget = self._budget()
        self.plan_ = plan_regression(task, budget)
        return private_regression(
            columns.clipped(data), columns, task, budget, self.plan_, self.insecure_seed
        )

    def _unpack(self, value: Any) -> None:
        value = dict(value)
        covariance, centre = value.pop("covariance"), value.pop("centre")
        if self.ridge:
            n = int(self.release_.public["records"])
            penalty = self.ridge / n * np.eye(len(centre))
            shrink = np.linalg.solve(covariance + penalty, covariance)
            old = value["coef"]
            value["coef"] = np.where(value["left_out"], 0.0, shrink @ old)
            value["intercept"] += float(centre @ (old - value["coef"]))
            if value["interval"] is not None:
                value["interval"] = value["interval"] + (value["coef"] - old)[:, None]
        super()._unpack(value)
        self.degenerate_ = self.degenerate_[:-1]
