"""Private covariance, and mean, of a raw table in approximate or zero-concentrated privacy.

Privacy: docs/proofs/gaussian_whitening.md, docs/proofs/gaussian_frame.md
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sosdp.estimator.field import Fitted
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.terms import join

from ..columns import Columns
from ..covariances import judged, plan_covariance, private_gaussian
from ..frame import frame_dict
from ..means import private_mean
from ..planning import Budget, MeanTask, Plan, plan_mean
from ..pure import plan_pure, pure_covariance
from .base import TableEstimator

LEAST_CONTAMINATION = 0.01
COVARIANCE_SHARE = 0.6  # of a pure budget, the rest for the mean


class PrivateGaussian(TableEstimator):
    """Mean and covariance of the columns of a table (d <= 50), robust to a fraction of far rows.

    After fit: mean_ (d,), covariance_ (d, d) positive definite, error_, unseen_, condition_, within_plan_,
    degenerate_ (d,), and what `TableEstimator` lists. Consistent for Gaussian columns; heavier tails are
    folded and read as smaller variances, and the mean is that of what is left (with contamination 0 as
    well: `PrivateMean` has the mean of all records). Scales of columns may differ by anything; `plan(n,
    d).condition` says up to which condition of the correlation matrix the errors of the plan hold.

    error_: forecast Frobenius error relative to the truth, from what the fit found. unseen_: (k, d),
    directions along which the noise hides the variance, one released deviation long; few or none.
    condition_: of the released correlations. within_plan_: False where a direction is unseen, the condition
    is beyond the plan's, or error_ above 1.25 times the plan's error: then the forecast of the plan does
    not hold.

    Raises at fit: TooFewRecords, which names the n that would do; NotOffered for pure privacy of three
    columns or more; ValueError for other public facts out of range. Pure privacy costs seconds.
    """

    mean_: np.ndarray = Fitted()
    covariance_: np.ndarray = Fitted()
    error_: float = Fitted()
    unseen_: np.ndarray = Fitted()
    condition_: float = Fitted()
    within_plan_: bool = Fitted()

    _mean = True

    def plan(self, n: int, d: int) -> Plan:
        """Shares and predicted errors of the covariance for n records of d columns; raises as `fit` does."""
        _, task = self._public(n, d)
        budget = self._budget()
        if not budget.pure:
            return plan_covariance(task, budget, mean=self._mean)
        first, second = self._pure_budgets(budget)
        plan = plan_pure(task, float(first.total))
        if self._mean:
            plan_mean(_folded(task), second)
        return plan

    def _release(self, data: np.ndarray) -> Release:
        self.plan_ = self.plan(*data.shape)
        columns, task = self._public(*data.shape)
        entries, budget = columns.clipped(data), self._budget()
        if budget.pure:
            return self._pure(entries, columns, task, budget)
        seed = self.insecure_seed
        return private_gaussian(
            entries, columns, task, budget, self.plan_, mean=self._mean, insecure_seed=seed
        )

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
        public = {"records": task.n, "dimension": task.d, "method": plan.method}
        return join(parts, value, mechanism=_name(self._mean), public=public)


def _folded(task: MeanTask) -> MeanTask:
    """The mean of a whole Gaussian is that of folded rows, whatever is promised of them."""
    return replace(task, contamination=task.contamination or LEAST_CONTAMINATION)


def _name(mean: bool) -> str:
    return "gaussian.learner" if mean else "gaussian.covariance"
