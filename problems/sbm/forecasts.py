"""Errors to expect of every method, from public parameters: formulas of random-graph theory, not bounds.

How far off they are is measured by `python -m benchmarks sbm_recovery` (docs/sbm.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr

from sosdp.privacy.arguments import integer
from sosdp.privacy.calibrate import between, check_epsilon, check_positive

from .labellings import LARGEST
from .program import DEFAULT_TAU0
from .rounds_planning import difference_law, plan_rounds
from .theory import predict_error, release_law

Method = Literal["certificate", "edge flips", "projection", "voting", "exponential", "rounds"]

SPREAD = 1.03
"""How much larger r is than two vertices alone would make it: measured 1.01 to 1.07."""


@dataclass(frozen=True)
class Forecast:
    """What to expect of one method: mean fraction of wrong labels (a refusal counts as 1/2), and the
    probability that all labels are right. runs: False for a method whose dense matrices are too large here.
    """

    method: Method
    error: float
    exact: float
    runs: bool = True


def checked_model(n: int, average_degree: float, gamma: float) -> tuple[int, float, float]:
    """The public parameters of a block model, checked."""
    n = integer(n, "n", 2)
    d, contrast = check_positive(average_degree, "average_degree"), check_positive(gamma, "gamma")
    if contrast > 1 or d * (1 + contrast) > n:
        raise ValueError(f"need gamma <= 1 and d (1 + gamma) <= n, got d = {d}, gamma = {contrast}, n = {n}")
    return n, d, contrast


def forecasts(
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
    wrong = float(between(wrong, "wrong", "[0, 0.5]"))
    probabilities, offset = _votes_law(integer(n, "n", 2), average_degree, gamma, wrong)
    values = np.arange(len(probabilities)) - offset
    scale = max(2.0 / check_epsilon(epsilon), 0.1)
    a = math.exp(-1.0 / scale)
    tail = a ** (np.abs(values) + 1) / (1 + a)  # P(L < -|y|)
    below = np.where(values >= 0, tail, 1 - a ** np.abs(values) / (1 + a))
    tie = (1 - a) / (1 + a) * a ** np.abs(values)
    return min(0.5, float(probabilities @ (below + wrong * tie)))


def flips_forecast(
    n: int, average_degree: float, gamma: float, epsilon: float, communities: int = 2
) -> Forecast:
    """Labels from a flipped graph: spectral error of the spiked model, then a fixed point of voting."""
    q, k = 1 / (1 + math.exp(min(check_epsilon(epsilon), 700.0))), communities
    edge = (1 + (k - 1) * gamma) * average_degree / n, (1 - gamma) * average_degree / n
    inside, across = (p * (1 - p) for p in (q + (1 - 2 * q) * p for p in edge))
    variance = n / k * (inside + (k - 1) * across)
    signal = (1 - 2 * q) * gamma * average_degree
    cosine = 1 - variance / signal**2
    if cosine <= 0:
        return Forecast("edge flips", 1 - 1 / k, 0.0)
    error = (k - 1) * float(ndtr(-math.sqrt(cosine / (1 - cosine))))
    for _ in range(50):
        right = max(0.0, 1 - error * k / (k - 1))
        error = (k - 1) * float(ndtr(-right * signal / math.sqrt(n / k * (inside + across))))
    return _forecast("edge flips", n, min(error, 1 - 1 / k))


def exponential_forecast(n: int, average_degree: float, gamma: float, epsilon: float) -> Forecast:
    """`ExponentialRecovery`: mean-field equation, a label wrong with probability 1 / (1 + e^(eps votes))."""
    error = 0.0
    for _ in range(30):
        probabilities, offset = _votes_law(integer(n, "n", 2), average_degree, gamma, min(error, 0.5))
        votes = np.clip(epsilon * (np.arange(len(probabilities)) - offset), -700, 700)
        error = float(probabilities @ (1 / (1 + np.exp(votes))))
    return _forecast("exponential", n, min(error, 0.5))


def predicted_slack(n: int, average_degree: float, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Law of the dual slack lambda(G, x) of the planted labels: values (ascending) and probabilities.

    The smallest of n vertex votes t (exact binomial law, taken as independent), pushed down by the noise of
    the rest: lambda = (m + t - sqrt((m - t)^2 + 4 V)) / 2, m and V mean and variance of a vote. Within 4 of
    the measured values of docs/sbm.md.
    """
    n = integer(n, "n", 2)
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
    n = integer(n, "n", 2)
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
