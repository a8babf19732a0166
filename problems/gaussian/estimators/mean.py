"""Private mean of a raw table: no scale, no radius, wrong rows allowed.

Privacy: docs/proofs/gaussian_frame.md, docs/proofs/gaussian_whole_means.md (contamination 0),
docs/proofs/gaussian_scores.md (packing)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sosdp.estimator.field import Field, Fitted
from sosdp.estimator.planner import Outlook
from sosdp.privacy.guarantee.release import Release

from ..columns import Columns, flags_by_name
from ..means import private_mean, targets
from ..planning import MeanTask, Plan, plan_mean
from .base import TableEstimator


class PrivateMean(TableEstimator):
    """Mean of every column of a table, in its own units, robust to a fraction of wrong rows.

    With contamination 0 every row counts. A column with bounds is averaged between them; `plan(n,
    d).advice` says what that costs before anything is spent. A column without is averaged between two
    released points near its ends: estimates_ says "mean clipped to [L, U]", clipped_to_ (d, 2) holds the
    points and clipped_share_ (d,) 95 % upper bounds of the share of rows beyond them. With contamination
    above 0 outlying rows get weight 0.

    After fit: mean_ (d,); interval_ (d, 2) or None, for what estimates_ says: a folded or clipped mean is not
    the mean of all rows where a column is skewed; noise_scale_ (d,), standard deviation of the added noise;
    method_; estimates_ (d,), what each number estimates ("mean", "folded mean", "median", ...): its interval
    is for that; skewed_ (d,) bool, columns so asymmetric that the folded mean is not the mean (take log, or
    contamination 0 with bounds; none found proves nothing); and what `TableEstimator` lists. Columns in
    degenerate_ have no interval (NaN): declare them tight. noise_scale_, clipped_to_ and frame_ of columns in
    logarithms are those of the logarithms.

    Raises at fit: TooFewRecords (a ValueError, from public numbers, before a record is read), which names the
    n that would do; ValueError for other public facts out of range.
    """

    log: Any = Field(
        None,
        "the same; positive skewed columns (incomes, times) are averaged in logarithms; "
        "mean_ is the exponential of that average, their geometric mean, in the units of "
        "the table",
        default=False,
        kw_only=True,
    )
    interval: float | None = Field(
        None,
        "level of the confidence intervals, None for none (saves a twentieth of the budget)",
        default=0.95,
        kw_only=True,
    )
    method: str = Field(
        None,
        '"auto"; "packing" for at most four columns of which many rows are wrong, near or far, with epsilon '
        'alone (seconds to minutes); "median" for medians; or "cube", "gaussian", "ball", "trimmed" (see '
        "`Plan`)",
        default="auto",
        kw_only=True,
    )

    mean_: np.ndarray = Fitted()
    interval_: np.ndarray | None = Fitted()
    noise_scale_: np.ndarray = Fitted()
    skewed_: np.ndarray = Fitted()
    method_: str = Fitted()
    estimates_: tuple[str, ...] = Fitted()
    clipped_to_: np.ndarray | None = Fitted()
    clipped_share_: np.ndarray | None = Fitted()

    def plan(self, n: int, d: int) -> Plan:
        """What `fit` would do with n records of d columns: method, shares, predicted errors, time.

        Raises TooFewRecords or ValueError, as `fit` does.
        """
        return plan_mean(self._facts(n, d)[1], self._budget(), self.method)

    def _facts(self, n: int, d: int) -> tuple[Columns, MeanTask]:
        bounds, tight = self._schema(d)
        log = flags_by_name("log", self.log, self._names_of(d))
        return self._public(n, d, tight, self.interval, log, bounds)

    def outlook(self, n: int, *sizes: Any, **facts: Any) -> Outlook:
        """As of every estimator. Where all records count between bounds, the error is in half-widths of
        these: a standard deviation is at most one."""
        result = super().outlook(n, *sizes, **facts)
        every = self.bounds is not None and not self.contamination
        whole = every and self.method in ("auto", "cube", "gaussian", "ball")
        unit = "Euclidean, at most, in half-widths of the bounds; columns without in standard deviations"
        return replace(result, measure=unit) if whole else result

    def _release(self, data: np.ndarray) -> Release:
        columns, task = self._facts(*data.shape)
        budget = self._budget()
        self.plan_ = plan_mean(task, budget, self.method)
        self.method_ = self.plan_.method
        self.estimates_ = targets(columns, task, self.method_)
        return private_mean(columns.clipped(data), columns, task, budget, self.plan_, self.insecure_seed)

    def _unpack(self, value: Any) -> None:
        super()._unpack({"clipped_to": None, "clipped_share": None, **value})
        if self.clipped_to_ is not None:
            ends = [f" clipped to [{low:.6g}, {high:.6g}]" for low, high in self.clipped_to_.tolist()]
            self.estimates_ = tuple(
                word.replace("clipped mean", "mean") + end if "clipped" in word else word
                for word, end in zip(self.estimates_, ends, strict=True)
            )
