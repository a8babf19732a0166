"""What the estimators share: scikit-learn's contract, public columns, and how a table becomes numbers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from sosdp.estimator.base import ReleasingEstimator
from sosdp.estimator.field import Field, Fitted
from sosdp.estimator.not_fitted import check_fitted
from sosdp.estimator.planner import Forecasts
from sosdp.estimator.records import check_width
from sosdp.privacy.rows import counted_width

from ..budgets import Budget, checked_budget
from ..columns import (
    Columns,
    boolean_columns,
    bounds_by_name,
    flags_by_name,
    flags_of,
    pairs_of,
    public_columns,
    read_table,
)
from ..planning import MeanTask, NotOffered, Plan


class TableEstimator(ReleasingEstimator):
    """Base of the estimators of raw tables: n and d are public, one record replaced makes a neighbour.

    X: (n, d) array, data frame or list of rows. Missing entries, and those that are no number, are left out
    of their column's estimate, as if they lay at its centre (tight columns, and means of all rows between
    bounds: the middle of the bounds); each by itself: no record is dropped, none changes another. Frames with
    columns of texts or dates are refused.

    Further attributes after fit, all publishable:
        plan_: the `Plan` that was followed, of public numbers.
        frame_: the released frame (centre, scale, degenerate, arrays by name), or None.
        degenerate_: (d,) bool, columns that are mostly one value.
        n_features_in_: d; feature_names_in_: column names of a data frame.
    """

    epsilon: float | None = Field(
        None, "budget; alone it is pure privacy, with delta > 0 approximate", default=None
    )
    delta: float = Field(None, "of the budget; 0 for none", default=0.0)
    rho: float | None = Field(None, "a zCDP budget instead of both", default=None, kw_only=True)
    bounds: Any = Field(
        None,
        "public: None, a pair (low, high) for all columns, one pair a column, (d, 2), or {name: pair} for "
        "columns of a data frame (the others: None). Entries beyond are clipped, and so is the mean; loose "
        "bounds cost their logarithm only, but for the mean of all rows. None, for all or one of them, needs "
        "about twice the records",
        kw_only=True,
    )
    contamination: float = Field(
        None,
        "public fraction of rows that may be anything, 0 to .2. Above 0 outlying rows get weight 0, and the "
        "estimand is the mean of the others, which for skewed columns is not the mean (take "
        "logarithms first). With 0 a mean is that of all rows, at the price of noise for the whole width of "
        "the bounds",
        kw_only=True,
    )

    tight: Any = Field(
        None,
        "True (or one bool a column, or a list of column names) where the bounds are meant "
        "literally: ratings, 0/1, indicators, small counts, columns with many zeros. Columns of a data frame "
        "that are declared boolean are, with bounds (0, 1)",
        default=False,
        kw_only=True,
    )

    plan_: Plan = Fitted()
    frame_: dict[str, np.ndarray] | None = Fitted()
    degenerate_: np.ndarray = Fitted()
    n_features_in_: int = Fitted()

    _names: list[str] | None = Fitted()

    _forecasts = Forecasts(
        "Euclidean, in standard deviations of the columns",
        "sosdp.privacy.Table(...).mean(column), for bounds that are public: any number of records",
    )

    @abstractmethod
    def plan(self, n: int, d: int) -> Plan:
        """What `fit` would do with n records of d columns; TooFewRecords or ValueError, as `fit`."""

    def _expected(self, n: int, d: int = 1) -> float:
        try:
            return self.plan(n, d).total_error
        except NotOffered:
            return math.inf

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checked_budget(self.epsilon, self.delta, self.rho)

    def _budget(self) -> Budget:
        return checked_budget(self.epsilon, self.delta, self.rho)

    def _read(self, X: Any) -> np.ndarray:
        """(n, d) float64 numbers, NaN for what is none; ValueError for another shape, never for an entry."""
        entries, names = self._entries(X)
        declared = boolean_columns(X)
        self._booleans = [name in declared for name in names or [""] * entries.shape[1]]
        self.n_features_in_ = entries.shape[1]
        self._names = names
        vars(self).pop("feature_names_in_", None)  # of an earlier fit
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return entries

    def _rests(self, X: Any) -> tuple[str, ...]:
        return counted_width(X, self.n_features_in_)

    def _entries(self, X: Any, least: int = 2) -> tuple[np.ndarray, list[str] | None]:
        """(n, d) entries of at least so many records, and names of the columns where they have some."""
        return read_table(X, least)

    def _rows(self, X: Any) -> np.ndarray:
        """(n, d) entries to which a fitted estimator is applied; raises as scikit-learn's do."""
        check_fitted(self, "release_")
        entries, _ = self._entries(X, least=1)
        check_width(entries, self.n_features_in_, type(self).__name__)
        return entries

    def _public(
        self,
        n: int,
        d: int,
        tight: Any = False,
        interval: float | None = None,
        log: Any = False,
        bounds: Any = None,
    ) -> tuple[Columns, MeanTask]:
        """The checked public facts of a task; ValueError from them only."""
        columns = public_columns(self._bounds_of(d) if bounds is None else bounds, tight, d, log)
        contamination = float(self.contamination)
        if not 0.0 <= contamination <= 0.2:
            raise ValueError(f"contamination must lie in [0, 0.2], got {self.contamination!r}")
        level = 0.0 if interval is None else float(interval)
        if not 0.0 <= level < 1.0:
            raise ValueError(f"interval must be a level in (0, 1), or None, got {interval!r}")
        counts = int(columns.tight.sum()), columns.bounded, contamination, level, int(columns.known.sum())
        task = MeanTask(n, d, *counts)
        return columns, task

    def _schema(self, d: int) -> tuple[Any, Any]:
        """Bounds and tightness; columns that a data frame declares as booleans have (0, 1), tight."""
        flags = np.array(vars(self).get("_booleans", ()), dtype=bool)  # none before records were read
        bounds = self._bounds_of(d)
        statement = flags_by_name("tight", self.tight, self._names_of(d))
        if len(flags) != d or not flags.any():  # a plan for other records than those of the fit
            return bounds, statement
        pairs = [(0.0, 1.0) if flag else pair for flag, pair in zip(flags, pairs_of(bounds, d), strict=True)]
        return pairs, flags_of(statement, "tight", d) | flags

    def _bounds_of(self, d: int) -> Any:
        """The bounds, those by name in the order of the columns."""
        return bounds_by_name(self.bounds, self._names_of(d))

    def _names_of(self, d: int) -> list[str] | None:
        """Names of the columns of the records being read. Before any were, a plan takes those it is told for
        the first ones: it depends on how many columns have which facts."""
        if "_names" in vars(self):
            return self._names if self._names is None or len(self._names) == d else None
        given = list(self.bounds) if isinstance(self.bounds, Mapping) else []
        for flag in (self.tight, getattr(self, "log", None)):
            given += [flag] if isinstance(flag, str) else flag if isinstance(flag, list | tuple) else []
        known = list(dict.fromkeys(name for name in given if isinstance(name, str)))
        return [*known, *(f"column {j}" for j in range(len(known), d))] if len(known) <= d else known

    def _unpack(self, value: Any) -> None:
        super()._unpack(value)
        self.degenerate_ = (self.frame_ or value).get("degenerate", np.zeros(self.n_features_in_, dtype=bool))
