"""Private mean of a raw table: no scale, no radius, wrong rows allowed.

Privacy: docs/proofs/gaussian_frame.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sosdp.privacy.guarantee.release import Release

from ..means import private_mean
from ..planning import Plan, plan_mean
from .base import TableEstimator


class PrivateMean(TableEstimator):
    """Mean of every column of a table, in its own units, robust to a fraction of wrong rows.

    Args:
        epsilon: budget; alone it is pure privacy. delta: > 0 for approximate privacy, which noise in many
            columns needs. rho: a zCDP budget instead of both.
        bounds: public: None, a pair (low, high) for all columns, or one pair a column, (d, 2). Entries beyond
            are clipped; loose bounds cost their logarithm only. None needs about twice the records.
        contamination: public fraction of rows that may be anything, 0 to .2. With 0 the mean itself is
            estimated; above 0 far rows are folded to nothing, and what is estimated is the mean of what is
            left, which for skewed columns is not the mean (take logarithms first).
        tight: True (or one bool a column) where the bounds are meant literally: ratings, 0/1, small counts.
        interval: level of the confidence intervals, None for none (saves a twentieth of the budget).
        method: "auto", or "cube", "gaussian", "trimmed" (see `Plan`).
        insecure_seed: tests only; voids the guarantee.

    After fit: mean_ (d,); interval_ (d, 2) or None; noise_scale_ (d,), standard deviation of the added noise;
    method_; and what `TableEstimator` lists (declare columns in degenerate_ tight). The interval is one for
    the folded mean; docs/gaussian.md says when that is the mean.

    Raises at fit: TooFewRecords (a ValueError, from public numbers, before a record is read), which names the
    n that would do; ValueError for other public facts out of range.
    """

    mean_: np.ndarray
    interval_: np.ndarray | None
    noise_scale_: np.ndarray
    method_: str

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        delta: float = 0.0,
        rho: float | None = None,
        bounds: Any,
        contamination: float,
        tight: Any = False,
        interval: float | None = 0.95,
        method: str = "auto",
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.contamination = contamination
        self.tight = tight
        self.interval = interval
        self.method = method
        self.insecure_seed = insecure_seed

    def plan(self, n: int, d: int) -> Plan:
        """What `fit` would do with n records of d columns: method, shares, predicted errors, time.

        Raises TooFewRecords or ValueError, as `fit` does.
        """
        _, task = self._public(n, d, self.tight, self.interval)
        return plan_mean(task, self._budget(), self.method)

    def _release(self, data: np.ndarray) -> Release:
        n, d = data.shape
        columns, task = self._public(n, d, self.tight, self.interval)
        budget = self._budget()
        self.plan_ = plan_mean(task, budget, self.method)
        self.method_ = self.plan_.method
        return private_mean(columns.clipped(data), columns, task, budget, self.plan_, self.insecure_seed)
