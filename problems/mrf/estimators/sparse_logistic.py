"""Private sparse logistic regression: one regression over an l1 ball by private Frank-Wolfe.

Proof: docs/proofs/mrf_frank_wolfe.md
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sosdp.estimator.field import Field, Fitted, positive
from sosdp.privacy.calibrate import shown
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.labels import check_labels, of_second
from sosdp.structured.l1_logistic import one_label

from .base import Array, Iterated

UNIT = 1 << 10
"""Scaled features are multiples of 1 / UNIT."""

NARROWEST = 2.0**-400
"""Half of the bounds of a feature is more: coefficients are divided by it."""


ONE_CLASS = (
    "one class is the likelier one everywhere: there are too few records for this budget, or most labels "
    "count as one. They are {0} and {1}: of numbers others count as the nearer one, and what else is none "
    "of them counts as {0}; say classes=(first, second)"
)


class PrivateSparseLogistic(Iterated):
    """Two classes, many features, few of them needed: the error grows with the logarithm of their number.

    One record is a row with its label; at most T - 1 features get a coefficient. Attributes after fit: coef_
    (1, d) and intercept_ (1,) for the features as they came, classes_.
    """

    radius: float = Field(
        positive,
        "bound on the l1 norm of the coefficients of the features scaled to [-1, 1], the constant among them",
        default=5.0,
    )
    low: Any = Field(
        None,
        "bounds of the features, numbers or one a column; entries are clipped to them",
        default=-1.0,
        kw_only=True,
    )
    high: Any = Field(
        None,
        "bounds of the features, numbers or one a column; entries are clipped to them",
        default=1.0,
        kw_only=True,
    )
    classes: Any = Field(
        None,
        "the two labels. Of numbers others count as the nearer one; what else is none of them as the first",
        default=(0, 1),
        kw_only=True,
    )

    _estimator_type = "classifier"

    coef_: Array = Fitted(make=lambda coefficients: coefficients[None])
    intercept_: Array = Fitted(make=lambda constant: np.array([constant]))
    classes_: np.ndarray = Fitted()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        low, high = np.asarray(self.low, dtype=np.float64), np.asarray(self.high, dtype=np.float64)
        finite = np.isfinite(low).all() and np.isfinite(high).all()
        if not (finite and (high / 2.0 - low / 2.0 > NARROWEST).all()):
            raise ValueError("bounds must be finite with low < high, and not closer than 1e-120")
        check_labels(self.classes)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release the coefficients for records (row of X, label in y); y is as long as X (public)."""
        if y is None:
            raise ValueError("fit needs the labels y")
        self._check_parameters()
        self._labels = y  # read where X is, in silence
        try:
            return super().fit(X)
        finally:
            del self._labels

    def _read(self, X: Any) -> np.ndarray:
        records = super()._read(X)
        self._labels = np.array(of_second(self._labels, self.classes))
        if len(self._labels) != len(records):
            raise ValueError(f"X has {len(records)} records and y {len(self._labels)} labels")
        return records

    def _regressions(self, d: int) -> tuple[float, int, int]:
        return float(self.radius), d + 1, 1

    def _bounds(self, d: int) -> tuple[Array, Array]:
        """Middle and half width of the public box."""
        low, high = (
            np.broadcast_to(np.asarray(side, dtype=np.float64), (d,)) for side in (self.low, self.high)
        )
        half = high / 2.0 - low / 2.0
        return low + half, half

    def _release(self, data: np.ndarray) -> Release:
        n, d = data.shape
        middle, half = self._bounds(d)
        scaled = np.clip((data - middle) / half, -1.0, 1.0)
        features = np.concatenate([np.rint(scaled * UNIT), np.full((n, 1), UNIT)], axis=1).astype(np.int64)
        regressions = one_label(features, np.where(self._labels, 1, -1), UNIT)
        release = self._regressed(data, regressions)
        weights = release.value[0]
        coefficients = weights[:-1] / half
        value = {
            "coef": coefficients,
            "intercept": float(weights[-1] - coefficients @ middle),
            "released": True,
        }
        return release.postprocess(value, mechanism="mrf.sparse-logistic", public={"dimension": d})

    def _unpack(self, value: Any) -> None:
        super()._unpack(value)
        self.classes_ = np.array(list(self.classes))

    @property
    def advice_(self) -> str:
        """What to try where one class is the likelier one for all records within the public bounds."""
        middle, half = self._bounds(self.n_features_in_)
        constant = float(self.intercept_[0] + self.coef_[0] @ middle)
        first, second = map(shown, self.classes)
        return "" if abs(constant) < float(np.abs(self.coef_[0]) @ half) else ONE_CLASS.format(first, second)

    def decision_function(self, X: Any) -> Array:
        """(n,) log odds of the second class; entries are clipped to the public bounds."""
        coefficients, intercept = self.coef_, self.intercept_  # says so before fit
        records = np.asarray(X, dtype=np.float64)
        middle, half = self._bounds(records.shape[1])
        return np.clip(records, middle - half, middle + half) @ coefficients[0] + intercept[0]

    def predict(self, X: Any) -> np.ndarray:
        """(n,) the likelier of the two classes."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def predict_proba(self, X: Any) -> Array:
        """(n, 2) probabilities of the two classes."""
        second = 1.0 / (1.0 + np.exp(-self.decision_function(X)))
        return np.stack([1.0 - second, second], axis=1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose label is predicted, weighted if weights are given. This reveals X and y."""
        hits = self.predict(X) == np.asarray(y)
        return float(np.average(hits, weights=sample_weight))
