"""What estimators of cluster centres share: refusals by public facts, prediction, score."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.estimator.base import RecordEstimator
from sosdp.estimator.field import Fitted
from sosdp.estimator.not_fitted import check_fitted
from sosdp.estimator.records import check_width
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.terms import Terms

Array = npt.NDArray[np.float64]


class CentresEstimator(RecordEstimator):
    """Base: (n, d) records to k centres, or to a refusal.

    Attributes after fit: weights_ (k,) or None, advice_ ("" where there are centres).
    """

    weights_: Array | None = Fitted(make=np.array)

    @property
    @abstractmethod
    def _centres(self) -> Array | None:
        """The released centres, (k, d), or None."""

    def _declined(self, plan: Any, mechanism: str, *names: str) -> Release:
        """The refusal that public facts alone decide: no record is looked at, no budget spent."""
        terms = Terms(
            epsilon=0.0, adjacency=self._adjacency, mechanism=f"{mechanism} (declined by public facts)"
        )
        facts = {"n": plan.n, "dimension": plan.dimension, "clusters": plan.clusters, "advice": plan.advice}
        nothing = dict.fromkeys(("centers", "weights", *names))
        return Release({**nothing, "released": False}, terms.guarantee(), public=facts)

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Index of the nearest released centre for each row of X. This reveals whatever the rows of X do.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            Nothing was released, or rows of another size.
        """
        return np.argmin(self._distances(X), axis=1)

    def _distances(self, X: Any) -> Array:
        check_fitted(self, "released_")
        centres = self._centres
        if centres is None:
            raise ValueError("no centres were released: there is nothing to predict with (see advice_)")
        rows = self._records(X)
        check_width(rows, centres.shape[1], type(self).__name__)
        return np.linalg.norm(rows[:, None, :] - centres[None, :, :], axis=2)
