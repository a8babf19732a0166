"""Which method should win, and what error to expect, from public parameters alone.

The forecasts are formulas of random-graph theory, not bounds; how far off they are is measured by
`python -m benchmarks sbm_recovery` (docs/sbm.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import binom

from sosdp.privacy.calibrate import check_delta, check_epsilon, check_positive

from .estimators.base import RecoveryEstimator
from .estimators.certificate import CertificateRecovery
from .estimators.exponential import LARGEST, ExponentialRecovery
from .estimators.output_perturbation import ProjectionRecovery
from .estimators.randomised_response import RandomizedResponseRecovery
from .estimators.vote import VotingRecovery
from .program import DEFAULT_TAU0
from .theory import _vertices, predict_error, release_law

Method = Literal["certificate", "edge flips", "projection", "voting", "exponential"]
Goal = Literal["error", "exact"]


@dataclass(frozen=True)
class Forecast:
    """What to expect of one method: mean fraction of wrong labels (a refusal counts as 1/2), and the
    probability that all labels are right.
    """

    method: Method
    error: float
    exact: float


@dataclass(frozen=True)
class Recommendation:
    """Forecasts of all methods that the budget allows, best first, and the best one ready to run."""

    forecasts: tuple[Forecast, ...]
    parameters: dict[str, float]

    @property
    def best(self) -> Forecast:
        """The first forecast."""
        return self.forecasts[0]

    def estimator(self, method: Method | None = None, **options: Any) -> RecoveryEstimator:
        """The estimator of the best (or the named) method with these parameters; options go to it as well."""
        p = self.parameters
        make: dict[str, Callable[[], RecoveryEstimator]] = {
            "certificate": lambda: CertificateRecovery(
                p["epsilon"], p["delta"], average_degree=p["average_degree"], **options
            ),
            "edge flips": lambda: RandomizedResponseRecovery(
                p["epsilon"], average_degree=p["average_degree"], **options
            ),
            "projection": lambda: ProjectionRecovery(
                p["epsilon"], p["delta"], p["gamma"], p["average_degree"], **options
            ),
            "voting": lambda: VotingRecovery(
                p["epsilon"], p["delta"], p["gamma"], p["average_degree"], **options
            ),
            "exponential": lambda: ExponentialRecovery(p["epsilon"], p["average_degree"], **options),
        }
        return make[self.best.method if method is None else method]()


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
    probabilities (1 +- gamma) d / n must be at most 1). Cost: milliseconds, a second at n = 10^5.
    """
    n = _vertices(n)
    d, contrast = check_positive(average_degree, "average_degree"), check_positive(gamma, "gamma")
    epsilon = check_epsilon(epsilon)
    if contrast > 1 or d * (1 + contrast) > n:
        raise ValueError(f"need gamma <= 1 and d (1 + gamma) <= n, got d = {d}, gamma = {contrast}, n = {n}")
    if goal not in ("error", "exact"):
        raise ValueError(f'goal must be "error" or "exact", got {goal!r}')
    found = [flips_forecast(n, d, contrast, epsilon)]
    if n <= LARGEST:
        found.append(exponential_forecast(n, d, contrast, epsilon))
    if delta != 0:
        delta = check_delta(delta)
        lam = projected_eigenvalue(d, contrast)
        error = predict_error(n, d, contrast, epsilon, delta, lam)
        found.append(_forecast("projection", n, error))
        rough = predict_error(n, d, contrast, 0.75 * epsilon, delta, lam)
        found.append(_forecast("voting", n, vote_error(n, d, contrast, rough, 0.25 * epsilon)))
        if delta <= 0.5:
            share = certificate_probability(n, d, contrast, epsilon, delta)
            found.append(Forecast("certificate", 0.5 * (1 - share), share))
    found.sort(key=lambda f: (f.error, -f.exact) if goal == "error" else (-f.exact, f.error))
    parameters = {"epsilon": epsilon, "delta": float(delta), "gamma": contrast, "average_degree": d}
    return Recommendation(tuple(found), parameters)


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

    def law(count: int, chance: float) -> np.ndarray:
        return np.asarray(binom.pmf(np.arange(count + 1), count, min(1.0, chance)))

    plus = fftconvolve(law(inside - bad_in, p_in), law(bad_out, p_out))
    minus = fftconvolve(law(bad_in, p_in), law(across - bad_out, p_out))
    difference = np.maximum(fftconvolve(plus, minus[::-1]), 0.0)
    return difference / difference.sum(), len(minus) - 1


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
    error = _normal_tail(math.sqrt(cosine / (1 - cosine)))
    for _ in range(50):
        error = _normal_tail((1 - 2 * error) * signal / math.sqrt(variance))
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


def certificate_probability(
    n: int,
    average_degree: float,
    gamma: float,
    epsilon: float,
    delta: float,
    tau0: float = DEFAULT_TAU0,
) -> float:
    """Predicted probability that `CertificateRecovery` releases, over graphs of the model and its noise."""
    slack, chance = predicted_slack(n, average_degree, gamma)
    law = release_law(epsilon, delta)
    kept = chance > 1e-9
    released = [law(float(s) / 2 - tau0) for s in slack[kept]]
    return float(np.clip(chance[kept] @ np.array(released), 0.0, 1.0))


def achieved_epsilon(
    method: Method, n: int, average_degree: float, gamma: float, delta: float = 0.0, failure: float = 0.01
) -> float:
    """Least epsilon (to 1 %) at which a method is forecast to get all labels right, up to `failure`.

    Compare with `lower_bound_epsilon`, which no purely private algorithm can beat. Infinite where no epsilon
    up to 64 suffices.
    """

    def enough(epsilon: float) -> bool:
        forecasts = recommend(n, average_degree, gamma, epsilon, delta, goal="exact").forecasts
        return any(f.method == method and f.exact >= 1 - failure for f in forecasts)

    low, high = 1e-3, 64.0
    if not enough(high):
        return math.inf
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _normal_tail(t: float) -> float:
    return 0.5 * math.erfc(t / math.sqrt(2))
