"""What the estimators of Markov random fields share: records, parameters, edges above a threshold."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

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
from sosdp.estimator.planner import Forecasts
from sosdp.privacy.calibrate import zcdp_rho
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.frank_wolfe import private_frank_wolfe
from sosdp.structured.l1_logistic import Regressions

from ..planning import choose_iterations, recommend
from ..theory import noise_scale, utility_bound

Array = npt.NDArray[np.float64]
Edges = tuple[tuple[int, int], ...]


CODED = (
    "the field is as large as the width in these columns: {}; by noise, or nearly all entries have one sign. "
    "Those above 0 count as +1, others as -1: compare items coded 1 and 2, or 1 to 5, with a public number "
    "first (X > 1)"
)


def edges_above(strengths: Array, threshold: float | None) -> Edges | None:
    """Pairs i < j with a strength above the threshold; None without one."""
    above = () if threshold is None else zip(*np.nonzero(np.triu(strengths > threshold, 1)), strict=True)
    return None if threshold is None else tuple((int(i), int(j)) for i, j in above)


def parameter_value(weights: Array, field: Array, threshold: float | None) -> dict[str, Any]:
    """The published value of a parameter estimate."""
    strengths = np.abs(weights) if weights.ndim == 2 else np.abs(weights).max(axis=(2, 3))
    return {"weights": weights, "field": field, "edges": edges_above(strengths, threshold), "released": True}


class FieldEstimator(RecordEstimator):
    """Base: `fit(X)` releases parameters of a Markov random field; n and p are public, one record replaced.

    Entries above 0 are read as +1, others as -1; a record that holds anything but finite numbers is all -1.

    Attributes after fit, all publishable:
        weights_, field_: estimated parameters. edges_: pairs above the public `threshold`, None without one.
        advice_: names columns whose field is as large as the width, and what may be the reason; else "".
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

    _forecasts = Forecasts(
        "largest error of a weight",
        "sosdp.privacy.Table(...).mean(column): the share of ones in every column",
    )

    def _expected(self, n: int, d: int = 8, *, smallest: float = 0.4) -> float:
        """By `planning.recommend`; an error of half the smallest weight or more is no answer."""
        made = recommend(n, d, width=self.width, smallest=smallest, epsilon=self.epsilon, delta=self.delta)
        return next(f.error if f.edges else math.inf for f in made if f.estimator == self._forecast)

    # the name of its forecast in `planning.recommend`
    _forecast: ClassVar[str]

    @property
    def advice_(self) -> str:
        """What the released field and the public width say of the coding; "" where it is within the width."""
        fields = np.abs(self.field_).reshape(len(self.field_), -1).max(axis=1)
        listed = ", ".join(map(str, np.flatnonzero(fields >= 0.99 * float(self.width))))
        return CODED.format(listed) if listed else ""

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

    _forecasts = Forecasts(
        "excess logistic loss of a regression; guessing has .69",
        "sosdp.privacy.Table(...).mean(column): the share of ones in every column",
        useful=0.1,
    )

    @property
    def _part(self) -> int:
        """That of `choose_iterations`."""
        return 10

    @abstractmethod
    def _regressions(self, d: int) -> tuple[float, int, int]:
        """Public facts of the regressions of d columns: radius, what a step chooses among (features, groups),
        and how many regressions a record is in."""

    def _rounds(self, n: int, d: int) -> int:
        """T of n records of d columns."""
        if self.iterations != "auto":
            return int(self.iterations)
        radius, choices, parts = self._regressions(d)
        return choose_iterations(n, radius, self._stand_in() / parts, 2 * choices, self._part)

    def _expected(self, n: int, d: int = 8, *, smallest: float = 0.4) -> float:
        """`theory.utility_bound`, whatever the smallest weight is; its optimisation error is measured to be a
        hundredth of its bound."""
        radius, choices, parts = self._regressions(d)
        rounds = self._rounds(n, d)
        scale = noise_scale(radius, n, rounds, self._stand_in() / parts, self.calibration)
        noise = self._noise_error(scale, rounds, choices)
        return noise + utility_bound(radius, rounds, 0.0, 2 * choices, 0.5) / 100.0

    def _noise_error(self, scale: float, rounds: int, choices: int) -> float:
        """What the noise of `theory.noise_scale` costs in excess loss."""
        return utility_bound(0.0, rounds, scale, 2 * choices, 0.5)

    def _stand_in(self) -> float:
        """The budget in zCDP; for a pure one epsilon^2 / 2: a public choice, not a promise."""
        return zcdp_rho(self.epsilon, self.delta) if self.delta else self.epsilon**2 / 2.0

    def _regressed(self, data: np.ndarray, regressions: Regressions) -> Release:
        """Weights of all regressions by private Frank-Wolfe."""
        radius, rounds = self._regressions(data.shape[1])[0], self._rounds(*data.shape)
        return private_frank_wolfe(self._terms(data), regressions, radius=radius, iterations=rounds)
