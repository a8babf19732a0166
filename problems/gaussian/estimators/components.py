"""Private principal components of a raw table: eigenvectors of a released covariance, nothing else.

Privacy: docs/proofs/gaussian_whitening.md
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sosdp.estimator.field import Field, Fitted, whole
from sosdp.estimator.not_fitted import check_fitted

from ..planning import Plan
from ..tables import read_table
from .gaussian import PrivateGaussian

SURE = 1.645  # deviations by which a gap between eigenvalues is taken smaller than it was released
TOLD_APART = 0.5  # largest forecast sine of a component that means something


class PrivatePCA(PrivateGaussian):
    """Leading principal components of a table (d <= 50), robust to a fraction of far rows.

    A function of what `PrivateGaussian` releases, whose arguments and attributes it has. After fit:
    components_ (k, d), rows of unit length; explained_variance_ (k,) and explained_variance_ratio_ (k,);
    angle_ (k,), forecast sines of the angles between components and those of the population (first order);
    subspace_angle_, of the span of all k; told_apart_ (k,) bool, components whose forecast is at most .5:
    the others are directions among eigenvalues that are too close; scale_ (d,), 1 unless standardised;
    mean_ (d,), that of folded rows.
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
        check_fitted(self, "components_")
        entries, _ = read_table(X, least=1)
        if entries.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {entries.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        away = np.where(np.isfinite(entries), entries - self.mean_, 0.0) / self.scale_
        result: np.ndarray = away @ self.components_.T
        return result

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
    result: np.ndarray = np.where(np.eye(d, dtype=bool), 0.0, np.where(gaps == 0.0, 1.0, tilts))
    return result
