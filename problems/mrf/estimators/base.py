"""What the estimators of Markov random fields share: records, parameters, edges above a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.estimator.base import RecordEstimator
from sosdp.estimator.field import (
    Field,
    Fitted,
    budget,
    nonnegative,
    optional,
    positive,
    privacy_delta,
    privacy_delta_or_zero,
)
from sosdp.privacy.calibrate import zcdp_rho
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.frank_wolfe import overlap, private_frank_wolfe
from sosdp.structured.l1_logistic import Regressions

from ..planning import choose_iterations

Array = npt.NDArray[np.float64]
Edges = tuple[tuple[int, int], ...]


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

    width: float = Field(
        positive, "lambda, a public bound on sum_j |A_ij| + |theta_i|; never estimated from the data"
    )
    epsilon: float = Field(budget, "budget of one fit", default=1.0, kw_only=True)
    delta: float = Field(privacy_delta, "budget of one fit", default=1e-6, kw_only=True)
    threshold: float | None = Field(
        optional(nonnegative),
        "edges are the pairs with a weight above it, for example half the smallest weight expected",
        default=None,
        kw_only=True,
    )

    weights_: Array = Fitted()
    field_: Array = Fitted()
    edges_: Edges | None = Fitted()


class Iterated(RecordEstimator):
    """Base of what runs Frank-Wolfe."""

    epsilon: float = Field(budget, "budget of one fit", default=1.0, kw_only=True)
    delta: float = Field(privacy_delta_or_zero, "budget; 0 for a pure one", default=1e-6, kw_only=True)
    iterations: int | str = Field(
        None,
        'T of every regression, or "auto" (from n, the radius and the budget)',
        default="auto",
        kw_only=True,
    )
    calibration: str = Field(
        None, '"tight", or "paper" for the published constants', default="tight", kw_only=True
    )

    def _regressed(
        self, data: np.ndarray, regressions: Regressions, radius: float, part: int = 10
    ) -> Release:
        """Weights of all regressions by private Frank-Wolfe, T steps; part: that of `choose_iterations`."""
        rounds = self.iterations
        if rounds == "auto":
            # for a pure budget epsilon^2 / 2 stands in: a public choice, not a promise
            rho = zcdp_rho(self.epsilon, self.delta) if self.delta else self.epsilon**2 / 2.0
            share, candidates = rho / overlap(regressions.tables), 2 * regressions.columns.shape[1]
            rounds = choose_iterations(len(data), radius, share, candidates // regressions.group, part)
        return private_frank_wolfe(self._terms(data), regressions, radius=radius, iterations=int(rounds))
