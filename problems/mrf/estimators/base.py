"""What the estimators of Markov random fields share: records, parameters, edges above a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.estimator.base import RecordEstimator
from sosdp.privacy.calibrate import check_delta, check_epsilon, check_positive, zcdp_rho

Array = npt.NDArray[np.float64]
Edges = tuple[tuple[int, int], ...]


def budget_rho(epsilon: float, delta: float) -> float:
    """zCDP that gives (epsilon, delta), for choices made from public numbers."""
    return zcdp_rho(epsilon, delta)


def check_budget(epsilon: Any, delta: Any, *, pure: bool = False) -> None:
    """Raise ValueError unless epsilon > 0 and 0 < delta < 1 (delta = 0 also allowed with `pure`)."""
    check_epsilon(epsilon)
    if not (pure and delta in (None, 0)):
        check_delta(delta)


def edges_above(strengths: Array, threshold: float | None) -> Edges | None:
    """Pairs i < j with a strength above the threshold; None without one."""
    if threshold is None:
        return None
    return tuple(
        (int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(strengths > threshold, 1)), strict=True)
    )


def parameter_value(weights: Array, field: Array, threshold: float | None) -> dict[str, Any]:
    """The published value of a parameter estimate."""
    strengths = np.abs(weights) if weights.ndim == 2 else np.abs(weights).max(axis=(2, 3))
    return {"weights": weights, "field": field, "edges": edges_above(strengths, threshold), "released": True}


class FieldEstimator(RecordEstimator):
    """Base: `fit(X)` releases parameters of a Markov random field; n and p are public, one record replaced.

    Entries above 0 are read as +1, others as -1; a record that holds anything but finite numbers is all -1.

    Attributes after fit, all publishable:
        weights_, field_: estimated parameters. edges_: pairs above the public `threshold`, None without one.
    """

    weights_: Array
    field_: Array
    edges_: Edges | None

    width: float
    threshold: float | None

    def _check_field(self) -> None:
        check_positive(self.width, "width")
        if self.threshold is not None:
            check_positive(self.threshold, "threshold", zero=True)

    def _unpack(self, value: Any) -> None:
        self.weights_, self.field_ = value["weights"], value["field"]
        self.edges_ = value["edges"]
