"""Which method should win, from public parameters alone; the forecasts are in `forecasts.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from sosdp.estimator.planner import least_budget
from sosdp.privacy.calibrate import check_delta, check_epsilon, one_of

from .estimators.base import RecoveryEstimator
from .estimators.certificate import LARGEST_N, CertificateRecovery
from .estimators.exponential import ExponentialRecovery
from .estimators.flips import RandomizedResponseRecovery
from .estimators.output_perturbation import ProjectionRecovery
from .estimators.rounds import RoundsRecovery
from .estimators.vote import VotingRecovery
from .forecasts import Forecast, Method, checked_model, forecasts

Goal = Literal["error", "exact"]

LARGEST_DENSE = LARGEST_N
"""Most vertices for the methods with dense (n, n) matrices."""

MAKERS: dict[str, type[RecoveryEstimator]] = {
    "certificate": CertificateRecovery,
    "edge flips": RandomizedResponseRecovery,
    "projection": ProjectionRecovery,
    "voting": VotingRecovery,
    "exponential": ExponentialRecovery,
    "rounds": RoundsRecovery,
}

UNWEIGHTED = ("edge flips", "exponential")
"""Methods that take unweighted graphs only."""


@dataclass(frozen=True)
class Recommendation:
    """Forecasts of all methods that the budget allows, best first, and the best one ready to run."""

    forecasts: tuple[Forecast, ...]
    parameters: dict[str, float]

    @property
    def best(self) -> Forecast:
        """The first forecast of a method that runs at this size."""
        return next(forecast for forecast in self.forecasts if forecast.runs)

    def estimator(
        self, method: Method | None = None, *, insecure_seed: int | None = None
    ) -> RecoveryEstimator:
        """The estimator of the best (or the named) method with these parameters; `set_params` sets others."""
        chosen = self.best.method if method is None else method
        return make_estimator(chosen, self.parameters, {"insecure_seed": insecure_seed})


def make_estimator(
    method: Method | str, known: Mapping[str, float], options: Mapping[str, Any]
) -> RecoveryEstimator:
    """The estimator of a method from public parameters by name; what it does not take is left out."""
    make = MAKERS[method]
    given: dict[str, Any] = {name: known[name] for name in make._declared if name in known}
    return make(**given, **options)


def recommend(
    n: int,
    average_degree: float,
    gamma: float,
    epsilon: float,
    delta: float = 0.0,
    *,
    goal: Goal = "error",
    weighted: bool = False,
) -> Recommendation:
    """Forecast every method for the block model with these public parameters and rank them.

    delta = 0 leaves the purely private methods. goal: "error" ranks by the expected fraction of wrong labels,
    "exact" by the probability that all are right. weighted: only methods that take weighted graphs. Raises
    ValueError for parameters out of range (edge probabilities (1 +- gamma) d / n must be at most 1). Cost:
    below a second.
    """
    n, d, contrast = checked_model(n, average_degree, gamma)
    epsilon = check_epsilon(epsilon)
    one_of(goal, "goal", ("error", "exact"))
    if delta != 0:
        delta = check_delta(delta)
    result = [
        replace(forecast(), runs=method == "rounds" or n <= LARGEST_DENSE)
        for method, forecast in forecasts(n, d, contrast, epsilon, delta).items()
        if not (weighted and method in UNWEIGHTED)
    ]
    # Differences of 1e-4 are beyond the forecasts: then what is right more often, or surely, comes first.
    rank = {"certificate": 0, "rounds": 1}

    def order(f: Forecast) -> tuple[float, ...]:
        error, exact = round(f.error, 4), -round(f.exact, 3)
        first = (error, exact) if goal == "error" else (exact, error)
        return (*first, rank.get(f.method, 2), f.error)

    result.sort(key=order)
    parameters = {"epsilon": epsilon, "delta": float(delta), "gamma": contrast, "average_degree": d}
    return Recommendation(tuple(result), parameters)


def achieved_epsilon(
    method: Method, n: int, average_degree: float, gamma: float, delta: float = 0.0, failure: float = 0.01
) -> float:
    """Least epsilon (to 1 %) at which a method is forecast to get all labels right, up to `failure`.

    Compare with `lower_bound_epsilon`, which no purely private algorithm can beat. Infinite where no epsilon
    up to 64 suffices.
    """

    n, d, contrast = checked_model(n, average_degree, gamma)

    def enough(epsilon: float) -> bool:
        forecast = forecasts(n, d, contrast, epsilon, float(delta)).get(method)
        return forecast is not None and forecast().exact >= 1 - failure

    return least_budget(enough, 1e-3, 64.0, 1.01)
