"""Which method should win, and what error to expect, from public parameters alone.

The forecasts are formulas of random-graph theory, not bounds; how far off they are is measured by
`python -m benchmarks sbm_recovery` (docs/sbm.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from sosdp.estimator.planner import least_budget
from sosdp.privacy.calibrate import check_delta, check_epsilon, check_positive

from .estimators.base import RecoveryEstimator
from .estimators.certificate import LARGEST_N, CertificateRecovery
from .estimators.exponential import ExponentialRecovery
from .estimators.flips import RandomizedResponseRecovery
from .estimators.output_perturbation import ProjectionRecovery
from .estimators.rounds import RoundsRecovery
from .estimators.vote import VotingRecovery
from .labellings import LARGEST
from .program import DEFAULT_TAU0
from .rounds_planning import difference_law, plan_rounds
from .theory import _vertices, predict_error, release_law

Method = Literal["certificate", "edge flips", "projection", "voting", "exponential", "rounds"]
Goal = Literal["error", "exact"]

LARGEST_DENSE = LARGEST_N
"""Most vertices for the methods with dense (n, n) matrices."""

SPREAD = 1.03
"""How much larger r is than two vertices alone would make it: measured 1.01 to 1.07."""

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
class Forecast:
    """What to expect of one method: mean fraction of wrong labels (a refusal counts as 1/2), and the
    probability that all labels are right. runs: False for a method whose dense matrices are too large here.
    """

    method: Method
    error: float
    exact: float
    runs: bool = True


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


def chosen_method(advice: Recommendation, weighted: bool) -> Method:
    """The best method among those that run at this size and, where asked for, take weighted graphs."""
    return next(f.method for f in advice.forecasts if f.runs and not (weighted and f.method in UNWEIGHTED))


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
) -> Recommendation:
    """Forecast every method for the block model with these public parameters and rank them.

    delta = 0 leaves the purely private methods. goal: "error" ranks by the expected fraction of wrong labels,
    "exact" by the probability that all are right. Raises ValueError for parameters out of range (edge
    probabilities (1 +- gamma) d / n must be at most 1). Cost: below a second.
    """
    n, d, contrast = _model(n, average_degree, gamma)
    epsilon = check_epsilon(epsilon)
    if goal not in ("error", "exact"):
        raise ValueError(f'goal must be "error" or "exact", got {goal!r}')
    if delta != 0:
        delta = check_delta(delta)
    result = [
        replace(forecast(), runs=method == "rounds" or n <= LARGEST_DENSE)
        for method, forecast in _forecasts(n, d, contrast, epsilon, delta).items()
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


def _model(n: int, average_degree: float, gamma: float) -> tuple[int, float, float]:
    """The public parameters of a block model, checked."""
    n = _vertices(n)
    d, contrast = check_positive(average_degree, "average_degree"), check_positive(gamma, "gamma")
    if contrast > 1 or d * (1 + contrast) > n:
        raise ValueError(f"need gamma <= 1 and d (1 + gamma) <= n, got d = {d}, gamma = {contrast}, n = {n}")
    return n, d, contrast


def _forecasts(
    n: int, d: float, gamma: float, epsilon: float, delta: float
) -> dict[Method, Callable[[], Forecast]]:
    """How each method that the budget and n allow is forecast."""

    def projection(share: float) -> float:
        return predict_error(n, d, gamma, share * epsilon, delta, projected_eigenvalue(d, gamma))

    def voting() -> Forecast:
        return _forecast("voting", n, vote_error(n, d, gamma, projection(0.75), 0.25 * epsilon))

    def certificate() -> Forecast:
        share = certificate_probability(n, d, gamma, epsilon, delta)
        return Forecast("certificate", 0.5 * (1 - share), share)

    def rounds() -> Forecast:
        planned = plan_rounds(n, d, gamma, epsilon, delta)
        return Forecast("rounds", planned.error, planned.exact)

    result: dict[Method, Callable[[], Forecast]] = {
        "edge flips": lambda: flips_forecast(n, d, gamma, epsilon),
        "rounds": rounds,
    }
    if n <= LARGEST:
        result["exponential"] = lambda: exponential_forecast(n, d, gamma, epsilon)
    if delta > 0:
        result |= {"projection": lambda: _forecast("projection", n, projection(1.0)), "voting": voting}
    if 0 < delta <= 0.5:
        result["certificate"] = certificate
    return result


def _forecast(method: Method, n: int, error: float) -> Forecast:
    return Forecast(method, error, math.exp(-n * error) if error < 0.5 else 0.0)


def projected_eigenvalue(average_degree: float, gamma: float) -> float:
    """Leading eigenvalue of the projected matrix X to plan with: 1 - 1.6 / (gamma sqrt d), at least .05.

    A fit: measured .67, .77, .87 at gamma sqrt d = 5, 7.1, 10.
    """
    return max(0.05, 1.0 - 1.6 / (gamma * math.sqrt(average_degree)))


def _votes_law(n: int, d: float, gamma: float, wrong: float) -> tuple[np.ndarray, int]:
    """Law of x_v (A z)_v for z wrong at a share of either side: probabilities from value -offset on."""
    p_in, p_out = (1 + gamma) * d / n, (1 - gamma) * d / n
    inside, across = n // 2 - 1, n - n // 2
    bad_in, bad_out = round(wrong * inside), round(wrong * across)

    return difference_law(
        [(inside - bad_in, p_in), (bad_out, p_out)], [(bad_in, p_in), (across - bad_out, p_out)]
    )


def vote_error(n: int, average_degree: float, gamma: float, wrong: float, epsilon: float) -> float:
    """Expected fraction of wrong labels after one private vote on labels of which a share `wrong` is wrong.

    The exact law of binomials plus discrete Laplace noise of scale 2 / epsilon, for labels that are
    independent of the voting edges and wrong equally on both sides; `wrong` in [0, 1/2]. O(n log n).
    """
    if not 0 <= wrong <= 0.5:
        raise ValueError(f"wrong must be in [0, 1/2], got {wrong}")
    probabilities, offset = _votes_law(_vertices(n), average_degree, gamma, wrong)
    values = np.arange(len(probabilities)) - offset
    scale = max(2.0 / check_epsilon(epsilon), 0.1)
    a = math.exp(-1.0 / scale)
    tail = a ** (np.abs(values) + 1) / (1 + a)  # P(L < -|y|)
    below = np.where(values >= 0, tail, 1 - a ** np.abs(values) / (1 + a))
    tie = (1 - a) / (1 + a) * a ** np.abs(values)
    return min(0.5, float(probabilities @ (below + wrong * tie)))


def flips_forecast(n: int, average_degree: float, gamma: float, epsilon: float) -> Forecast:
    """`RandomizedResponseRecovery`: spectral error of the spiked model, then a fixed point of voting."""
    q = 1 / (1 + math.exp(min(check_epsilon(epsilon), 700.0)))
    noisy = [q + (1 - 2 * q) * (1 + sign * gamma) * average_degree / n for sign in (1, -1)]
    variance = n / 2 * sum(p * (1 - p) for p in noisy)
    signal = (1 - 2 * q) * gamma * average_degree
    cosine = 1 - variance / signal**2
    if cosine <= 0:
        return Forecast("edge flips", 0.5, 0.0)
    error = float(ndtr(-math.sqrt(cosine / (1 - cosine))))
    for _ in range(50):
        error = float(ndtr(-(1 - 2 * error) * signal / math.sqrt(variance)))
    return _forecast("edge flips", n, error)


def exponential_forecast(n: int, average_degree: float, gamma: float, epsilon: float) -> Forecast:
    """`ExponentialRecovery`: mean-field equation, a label wrong with probability 1 / (1 + e^(eps votes))."""
    error = 0.0
    for _ in range(30):
        probabilities, offset = _votes_law(_vertices(n), average_degree, gamma, min(error, 0.5))
        votes = np.clip(epsilon * (np.arange(len(probabilities)) - offset), -700, 700)
        error = float(probabilities @ (1 / (1 + np.exp(votes))))
    return _forecast("exponential", n, min(error, 0.5))


def predicted_slack(n: int, average_degree: float, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Law of the dual slack lambda(G, x) of the planted labels: values (ascending) and probabilities.

    The smallest of n vertex votes t (exact binomial law, taken as independent), pushed down by the noise of
    the rest: lambda = (m + t - sqrt((m - t)^2 + 4 V)) / 2, m and V mean and variance of a vote. Within 4 of
    the measured values of docs/sbm.md.
    """
    n = _vertices(n)
    probabilities, offset = _votes_law(n, average_degree, gamma, 0.0)
    votes = np.arange(len(probabilities)) - offset
    mean = float(probabilities @ votes)
    variance = float(probabilities @ (votes - mean) ** 2)
    above = np.clip(1 - np.concatenate([[0.0], np.cumsum(probabilities)]), 0.0, 1.0)
    least = -np.diff(above**n)
    return (mean + votes - np.sqrt((mean - votes) ** 2 + 4 * variance)) / 2, least


def predicted_resistance(n: int, average_degree: float, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Law of the statistic r(G, x) of the planted labels: values (ascending) and probabilities.

    The bottom of M_x sits on the vertices with the least votes, so the largest resistance is about the sum of
    the reciprocals of the two least slacks: the least one, and the next given the least (its mean vote); less
    `SPREAD`, a fit, because the bottom is not quite on them. Within 7 % of measured graphs.
    """
    n = _vertices(n)
    probabilities, offset = _votes_law(n, average_degree, gamma, 0.0)
    votes = np.arange(len(probabilities)) - offset
    slack, least = predicted_slack(n, average_degree, gamma)
    survival = np.clip(1 - np.cumsum(probabilities), 0.0, 1.0)  # P(vote > value)
    at_least = np.concatenate([[1.0], survival[:-1]])
    result = slack / 2
    for place in np.flatnonzero((least > 1e-9) & (slack > 0)):
        tail = (survival[place:] / at_least[place]) ** (n - 1)  # P(all others > value | all >= the least)
        after = votes[place] + float(tail.sum())
        second = np.interp(after, votes, slack)
        result[place] = SPREAD / (1 / slack[place] + 1 / max(second, slack[place]))
    return result, least


def certificate_probability(
    n: int,
    average_degree: float,
    gamma: float,
    epsilon: float,
    delta: float,
    tau0: float = DEFAULT_TAU0,
) -> float:
    """Predicted probability that `CertificateRecovery` releases, over graphs of the model and its noise."""
    statistic, chance = predicted_resistance(n, average_degree, gamma)
    law = release_law(epsilon, delta)
    kept = chance > 1e-9
    released = [law(float(r) - tau0) for r in statistic[kept]]
    return float(np.clip(chance[kept] @ np.array(released), 0.0, 1.0))


def achieved_epsilon(
    method: Method, n: int, average_degree: float, gamma: float, delta: float = 0.0, failure: float = 0.01
) -> float:
    """Least epsilon (to 1 %) at which a method is forecast to get all labels right, up to `failure`.

    Compare with `lower_bound_epsilon`, which no purely private algorithm can beat. Infinite where no epsilon
    up to 64 suffices.
    """

    n, d, contrast = _model(n, average_degree, gamma)

    def enough(epsilon: float) -> bool:
        forecast = _forecasts(n, d, contrast, epsilon, float(delta)).get(method)
        return forecast is not None and forecast().exact >= 1 - failure

    return least_budget(enough, 1e-3, 64.0, 1.01)
