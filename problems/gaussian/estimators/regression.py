"""Private linear, logistic and Poisson regression of a raw table.

Privacy: docs/proofs/gaussian_regression.md, docs/proofs/gaussian_likelihood.md, docs/proofs/gaussian_pure.md
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, xlogy

from sosdp.estimator.field import Field, Fitted, nonnegative
from sosdp.estimator.planner import Forecasts
from sosdp.privacy.ball_accounting import LARGEST_EPSILON
from sosdp.privacy.calibrate import shown
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import name_of
from sosdp.privacy.labels import check_labels, of_second
from sosdp.privacy.schema import Column, Schema, SchemaError, texts_at
from sosdp.privacy.table.whole import Table, by_schema, named_in

from ..budgets import Budget, checked_budget
from ..columns import Columns, flags_of, pairs_of, read_table
from ..likelihood import Family, Logistic, Poisson, likelihood
from ..planning import MeanTask, Plan
from ..regression import private_regression
from ..regression_planning import plan_regression
from .base import TableEstimator


class _OnRegressors(TableEstimator):
    """What regressions share: a target beside the regressors, coefficients of at most 50 of these."""

    interval: float | None = Field(
        None, "level of the confidence intervals, None for none", default=0.95, kw_only=True
    )
    schema: Any = Field(
        None,
        "public: what the columns of X are (the object of a schema file, or its path), with bounds None; it "
        "may state more columns, where it states all of X; of the target where y has a name. A category "
        "becomes indicators of its values but the first; a record with none of them counts for nothing",
        default=None,
        kw_only=True,
    )

    coef_: np.ndarray = Fitted()
    intercept_: Any = Fitted()
    interval_: np.ndarray | None = Fitted()
    noise_scale_: np.ndarray = Fitted()
    left_out_: np.ndarray = Fitted()
    seen_: np.ndarray = Fitted()

    _family: ClassVar[Family | None] = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release the coefficients of y (n,) on X (n, d); both lengths are public."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        self._check_parameters()
        self._target = y  # read where X is, in silence
        try:
            return super().fit(X)
        finally:
            del self._target

    def _aim(self, y: Any) -> Column | None:
        """What the schema says of the target, by the public name of y."""
        schema, name = None if self.schema is None else Schema.of(self.schema), name_of(y)
        columns = [] if schema is None else schema.columns
        return next((column for column in columns if column.name == name), None)

    def _by_aim(self, y: Any, aim: Column) -> np.ndarray:
        """The target (n, 1) as this column of the schema reads it."""
        only = y[y.columns[0]] if hasattr(type(y), "columns") else y
        return by_schema({aim.name: only}, Schema((aim,))).values

    def _given(self, y: Any) -> np.ndarray:
        """The target as numbers (n, 1)."""
        if (aim := self._aim(y)) is not None:
            if aim.type == "category":
                raise SchemaError(f"columns.{aim.name}: a category, and the target is a number")
            return self._by_aim(y, aim)
        target, _ = read_table(y, width=1)
        if target.shape[1] != 1:
            raise ValueError(f"y must have shape (n,), got {target.shape}")
        return target

    def _by_schema(self, X: Any) -> Table | None:
        """Records X by the schema, with indicators (None: its public facts alone); None without a schema.
        Before records were read, of all columns of the schema."""
        if self.schema is None:
            return None
        schema = Schema.of(self.schema)
        if self.bounds is not None:
            raise ValueError("bounds: the schema states them")
        if schema.owner is not None:
            raise ValueError("schema: this estimator protects records, not their owners")
        return by_schema(X, schema, vars(self).get("_used")).with_indicators()

    def _entries(self, X: Any, least: int = 2) -> tuple[np.ndarray, list[str] | None]:
        table = self._by_schema(X)
        if table is None:
            return read_table(X, least)
        self._assumed = table.assumptions
        return table.values, table.names

    def _rests(self, X: Any) -> tuple[str, ...]:
        return super()._rests(X) if self.schema is None else self._assumed

    def _bounds_of(self, d: int) -> Any:
        table = self._by_schema(None)
        return super()._bounds_of(d) if table is None else table.bounds

    def _names_of(self, d: int) -> list[str] | None:
        table = self._by_schema(None)
        return super()._names_of(d) if table is None else table.names

    def _linear(self, X: Any) -> np.ndarray:
        """(n,) linear predictors of rows X (n, d); a missing entry counts as 0."""
        entries = self._rows(X)
        return np.asarray(
            np.where(np.isfinite(entries), entries, 0.0) @ np.ravel(self.coef_) + np.ravel(self.intercept_)
        )

    def plan(self, n: int, d: int) -> Plan:
        """Shares and predicted excess error for n records of d regressors; raises as `fit` does."""
        return self._planned(self._facts(n, d)[1])

    _forecasts = Forecasts(
        "excess, in residual standard deviations (of a likelihood: in its linear predictor)",
        "sosdp.privacy.Table(...).by(column).mean(target): means of groups, for public bounds",
    )

    def _planned(self, task: MeanTask) -> Plan:
        return plan_regression(task, self._budget(), self._family)

    def _budget(self) -> Budget:
        """With delta at most the largest epsilon that a last sum in a ball can use: spending less is private
        at what was given, too."""
        budget = super()._budget()
        if budget.epsilon is None or budget.pure:
            return budget
        return checked_budget(min(budget.epsilon, LARGEST_EPSILON), budget.delta, None)

    @abstractmethod
    def _of_target(self) -> tuple[Any, bool]:
        """Public bounds of the target, and whether they are meant literally."""

    @property
    def advice_(self) -> str:
        """What to try, from public facts, or where released numbers show nothing of the target."""
        return super().advice_ or ("" if self.seen_.any() else self._nothing_seen())

    def _nothing_seen(self) -> str:
        return (
            "no coefficient can be seen: there are too few records, or most of the target is one value, or "
            "texts, which count as missing (a schema says how entries are read)"
        )

    def _read(self, X: Any) -> np.ndarray:
        self._target_is = self._aim(self._target)
        self._used = None if self.schema is None else named_in(X, Schema.of(self.schema))
        entries, target = super()._read(X), self._given(self._target)
        if len(entries) != len(target):
            raise ValueError(f"X has {len(entries)} records and y {len(target)}: inconsistent numbers")
        return np.column_stack([entries, target])

    def _facts(self, n: int, d: int) -> tuple[Columns, MeanTask]:
        """Public facts of the regressors and, last, the target."""
        bounds, tight = self._schema(d)
        target, literal = self._of_target()
        table = self._by_schema(None)
        literal_ones = np.zeros(d, dtype=bool) if table is None else np.array(table.literal, dtype=bool)
        if len(literal_ones) != d:
            raise ValueError(
                f"d = {d}: by the schema X has {len(literal_ones)} columns, of each category one for every "
                "value but the first"
            )
        tight = flags_of(tight, "tight", d) | literal_ones
        flags = [*tight.tolist(), literal]
        return self._public(
            n, d + 1, np.array(flags, dtype=bool), self.interval, False, [*pairs_of(bounds, d), target]
        )

    def _release(self, data: np.ndarray) -> Release:
        n, d = data.shape[0], data.shape[1] - 1
        columns, task = self._facts(n, d)
        self.plan_ = self._planned(task)
        terms = self._budget(), self.plan_, self.insecure_seed
        law = None if self._family is None else partial(likelihood, self._family)
        return private_regression(columns.clipped(data), columns, task, *terms, likelihood=law)

    def _unpack(self, value: Any) -> None:
        super()._unpack(value)
        self.degenerate_ = self.degenerate_[:-1]


class PrivateLinearRegression(_OnRegressors):
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

    Raises at fit, from public facts: TooFewRecords, which names the n that would do; ValueError
    for others out of range.
    """

    y_bounds: Any = Field(
        None, "public bounds (low, high) of the target, or None", default=None, kw_only=True
    )
    y_tight: bool = Field(None, "the same for the target (0/1, counts)", default=False, kw_only=True)
    ridge: float = Field(
        nonnegative,
        "penalty of the squared coefficients in the sum of squares, as scikit-learn's alpha; applied to what "
        "was released",
        default=0.0,
        kw_only=True,
    )

    _estimator_type = "regressor"

    sigma_: float = Fitted()
    r2_: float = Fitted()

    def predict(self, X: Any) -> np.ndarray:
        """(n,) predictions for rows X (n, d); a missing entry counts as 0. Post-processing."""
        return self._linear(X)

    def score(self, X: Any, y: Any) -> float:
        """R^2 of the predictions of y (n,). **Not private**: a function of the rows that are given."""
        target = read_table(y)[0][:, 0]
        away = target - target.mean()
        return float(1.0 - ((target - self.predict(X)) ** 2).sum() / (away**2).sum())

    def _of_target(self) -> tuple[Any, bool]:
        aim: Column | None = vars(self).get("_target_is")  # none before records were read
        if aim is not None and self.y_bounds is not None:
            raise ValueError("y_bounds: the schema states them")
        return (self.y_bounds, self.y_tight) if aim is None else (aim.bounds, self.y_tight or aim.truths)

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


NO_LABELS = (
    "no coefficient can be seen: there are too few records, or most labels count as one. They are {0} and "
    "{1}: of numbers others count as the nearer one, and what else is none of them counts as {0}; say "
    "classes=(first, second)"
)


class PrivateLogisticRegression(_OnRegressors):
    """Two classes by at most 50 regressors and a constant: one Newton step from a private pilot.

    One record is a row of X with its label. Under the logistic model the estimate is consistent whatever the
    law of X; outlying rows weigh little, or, with contamination above 0, nothing. Each fit spends the whole
    budget, and `score` is computed on the rows that are given, without any guarantee. For many features of
    which few matter: `problems.mrf.PrivateSparseLogistic`.

    After fit: coef_ (1, d), intercept_ (1,), classes_; interval_ (d, 2) or None, sampling and noise;
    noise_scale_ (d,); left_out_ (d,), regressors that are mostly one value (coefficient 0; where all are,
    so is the constant); seen_ (d,), all False, and no interval, where released numbers say that the step was
    too long to trust (rare labels, one label, few records); plan_, frame_, guarantee_.

    Raises at fit, from public facts: TooFewRecords, which names the n that would do; ValueError
    for others out of range.
    """

    classes: Any = Field(
        None,
        "the two labels; by default the two values that the schema states of the target, else (0, 1). Of "
        "numbers others count as the nearer one (in the middle: the first); what else is none of them counts "
        "as the first",
        default=None,
        kw_only=True,
    )

    _estimator_type = "classifier"
    _family = Logistic()

    coef_: np.ndarray = Fitted(make=lambda coefficients: coefficients[None])
    intercept_: Any = Fitted(make=lambda constant: np.array([constant]))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.classes is not None:
            check_labels(self.classes)

    def _labels(self, aim: Column | None) -> Any:
        """The two labels, which are public."""
        labels = (0, 1) if aim is None else aim.labels
        if self.classes is not None:
            return self.classes
        if labels is None and aim is not None:
            raise ValueError(f"classes: which two of the values that the schema states of {aim.name}?")
        return labels

    def _given(self, y: Any) -> np.ndarray:
        labels = self._labels(aim := self._aim(y))
        if aim is not None:
            places = self._by_aim(y, aim)[:, 0]
            y = texts_at(places, aim.values) if aim.type == "category" else places
        return np.array(of_second(y, labels), dtype=np.float64)[:, None]

    def _nothing_seen(self) -> str:
        first, second = self._labels(self._target_is)
        return NO_LABELS.format(shown(first), shown(second))

    def _of_target(self) -> tuple[Any, bool]:
        return (0.0, 1.0), True

    def _unpack(self, value: Any) -> None:
        super()._unpack(value)
        self.classes_ = np.array(self._labels(self._target_is))

    def decision_function(self, X: Any) -> np.ndarray:
        """(n,) logarithms of the odds of the second class for rows X (n, d); a missing entry counts as 0."""
        return self._linear(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, 2) probabilities of the classes."""
        odds = self._linear(X)
        return np.column_stack([expit(-odds), expit(odds)])

    def predict(self, X: Any) -> np.ndarray:
        """(n,) likelier classes of rows X (n, d). Post-processing."""
        second = (self._linear(X) > 0.0).astype(int)  # says first where nothing is fitted
        return np.asarray(self.classes_[second])

    def score(self, X: Any, y: Any) -> float:
        """Share of labels that are predicted. **Not private**: a function of the rows that are given."""
        return float(((self._linear(X) > 0.0) == (self._given(y)[:, 0] > 0.5)).mean())


class PrivatePoissonRegression(_OnRegressors):
    """Counts by at most 50 regressors and a constant, log mean linear: one Newton step from a private pilot.

    One record is a row of X with its count. Under the Poisson model the estimate is consistent whatever the
    law of X; residuals are held at 2.5 standard deviations or more, and what that leaves of their mean under
    the model is taken off: counts of another law are not estimated without bias.

    After fit: coef_ (d,), intercept_; interval_ (d, 2) or None, sampling and noise; noise_scale_ (d,);
    left_out_ (d,), regressors that are mostly one value (coefficient 0; where all are, so is the constant);
    seen_ (d,), as in `PrivateLogisticRegression`; plan_, frame_, guarantee_.

    Raises as `PrivateLogisticRegression` does.
    """

    _estimator_type = "regressor"
    _family = Poisson()

    def _of_target(self) -> tuple[Any, bool]:
        return (0.0, 2.0**40), True

    def predict(self, X: Any) -> np.ndarray:
        """(n,) means of the counts for rows X (n, d). Post-processing."""
        return np.asarray(np.exp(np.minimum(self._linear(X), 700.0)))

    def score(self, X: Any, y: Any) -> float:
        """D^2, the share of deviance explained. **Not private**: a function of the rows that are given."""
        counts, means = self._given(y)[:, 0], self.predict(X)
        away = [xlogy(counts, counts / m) - counts + m for m in (means, np.full(len(means), counts.mean()))]
        return float(1.0 - away[0].sum() / away[1].sum())
