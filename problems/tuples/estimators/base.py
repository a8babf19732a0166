"""What both estimators share: plan, prediction, score.

Proof: docs/proofs/tuples_clustering.md
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.estimator.base import RecordEstimator
from sosdp.estimator.field import Fitted
from sosdp.estimator.not_fitted import check_fitted
from sosdp.estimator.records import as_records, check_width
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.terms import Terms

from ..planning import TuplePlan


class TupleEstimator(RecordEstimator):
    """Base: (n, d) records to k centres through tuples.

    Attributes after fit: cluster_centers_ (k, d) or None, weights_ (k,) or None, radius_ or None, plan_,
    advice_ ("" where there are centres).
    """

    cluster_centers_: npt.NDArray[np.float64] | None = Fitted()
    weights_: npt.NDArray[np.float64] | None = Fitted()
    radius_: float | None = Fitted()
    plan_: TuplePlan = Fitted()
    advice_: str = Fitted()

    @abstractmethod
    def plan(self, n: int, d: int) -> TuplePlan:
        """What `fit` would do with n records of d coordinates; spends nothing."""

    def _unpack(self, value: Any) -> None:
        self.cluster_centers_ = None if value["centers"] is None else np.array(value["centers"])
        self.weights_ = None if value["weights"] is None else np.array(value["weights"])
        self.radius_ = value["radius"]
        self.advice_ = str(self.release_.public.get("advice", ""))

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Index of the nearest released centre for each row of X. This reveals whatever the rows of X do.

        Raises:
            NotFittedError: `fit` was not called.
            ValueError: nothing was released, or rows of another size.
        """
        return np.argmin(self._distances(X), axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the sum of squared distances of the rows of X to the nearest centre. This reveals X.

        Raises:
            NotFittedError, ValueError: as `predict`.
        """
        return -float(np.sum(np.min(self._distances(X), axis=1) ** 2))

    def _distances(self, X: Any) -> npt.NDArray[np.float64]:
        check_fitted(self, "released_")
        if self.cluster_centers_ is None:
            raise ValueError("no centres were released: there is nothing to predict with (see advice_)")
        rows = as_records(X)
        check_width(rows, self.cluster_centers_.shape[1], type(self).__name__)
        return np.linalg.norm(rows[:, None, :] - self.cluster_centers_[None, :, :], axis=2)


def declined(plan: TuplePlan) -> Release:
    """The refusal that public facts alone decide: no record is looked at, no budget spent."""
    nothing = {"centers": None, "weights": None, "covariances": None, "radius": None, "released": False}
    terms = Terms(epsilon=0.0, adjacency=ONE_RECORD_REPLACED, mechanism="tuples (declined by public facts)")
    public = {"n": plan.n, "dimension": plan.dimension, "clusters": plan.clusters, "advice": plan.advice}
    return Release(nothing, terms.guarantee(), public=public)
