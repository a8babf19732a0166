"""Centre and scale of the columns of a table, learnt privately, for a pipeline whose every step is inside.

Privacy: docs/proofs/private_quantile.md and docs/proofs/composition.md
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sosdp.estimator.base import RecordEstimator
from sosdp.estimator.field import Field, Fitted, budget
from sosdp.estimator.not_fitted import check_fitted
from sosdp.estimator.records import as_numbers, check_width, pairs_of
from sosdp.extras import need
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.basic.quantile import private_quantile
from sosdp.privacy.terms import join

NORMAL_QUARTILES = 1.3489795003921634
"""Distance of the quartiles of a Gaussian in standard deviations."""

PARTS = (0.25, 0.5, 0.75)


class PrivateScaler(RecordEstimator):
    """Columns minus their median, over their spread: three quantiles a column, by the exponential mechanism.

    Attributes after fit, all publishable: center_ and scale_ (d,), the scale at least a thousandth of the
    bounds' width; released_, guarantee_, release_; n_features_in_, feature_names_in_.

    `transform` maps each record by released numbers, so an estimator after it sees one replaced record where
    one was replaced, and the guarantees of both compose: `compose([scaler.guarantee_, est.guarantee_])`. With
    `set_output(transform="pandas")` frames come out.

    Raises at fit: ValueError for public arguments, TypeError for columns that are no numbers.
    """

    epsilon: float = Field(budget, "whole budget of a fit, pure; divided by the 3 d quantiles", default=1.0)
    bounds: Any = Field(
        None,
        "public: a pair (low, high) for all columns, or one pair a column",
        default=(-1.0, 1.0),
        kw_only=True,
    )

    center_: npt.NDArray[np.float64] = Fitted()
    scale_: npt.NDArray[np.float64] = Fitted()

    def _release(self, data: npt.NDArray[np.float64]) -> Release:
        d = data.shape[1]
        pairs = pairs_of(self.bounds, d)
        shares = split(float(self.epsilon), 3 * d)
        parts = [
            private_quantile(
                data[:, column].tolist(),
                q=q,
                low=float(pairs[column, 0]),
                high=float(pairs[column, 1]),
                epsilon=shares[3 * column + k],
                insecure_seed=None if self.insecure_seed is None else self.insecure_seed + 3 * column + k,
            )
            for column in range(d)
            for k, q in enumerate(PARTS)
        ]
        result = np.array([part.value for part in parts]).reshape(d, 3)
        width = pairs[:, 1] - pairs[:, 0]
        spread = np.maximum((result[:, 2] - result[:, 0]) / NORMAL_QUARTILES, width / 1000.0)
        value = {"center": result[:, 1], "scale": spread}
        return join(parts, value, mechanism="private scaler", public={"bounds": pairs.tolist()})

    def _records(self, X: Any) -> npt.NDArray[np.float64]:
        """(n, d) numbers, NaN for what is none: it counts in no quantile."""
        return as_numbers(X)

    def transform(self, X: Any) -> Any:
        """(n, d) records by the released numbers; what is no number stays NaN. As private as X is."""
        check_fitted(self, "center_")
        rows = as_numbers(X)
        check_width(rows, len(self.center_), type(self).__name__)
        scaled = (rows - self.center_) / self.scale_
        if vars(self).get("_output") != "pandas":
            return scaled
        pandas = need("pandas", 'set_output(transform="pandas")')
        return pandas.DataFrame(scaled, columns=self.get_feature_names_out(), index=getattr(X, "index", None))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """`fit(X).transform(X)`."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns that come out: those that went in."""
        names = vars(self).get("feature_names_in_", input_features)
        if names is None:
            names = [f"x{k}" for k in range(self.n_features_in_)]
        return np.asarray(names, dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Let `transform` return "default" arrays or "pandas" frames.

        Raises:
            ValueError: another word.
        """
        if transform not in (None, "default", "pandas"):
            raise ValueError(f'transform must be "default" or "pandas", got {transform!r}')
        if transform is not None:
            self._output = transform
        return self
