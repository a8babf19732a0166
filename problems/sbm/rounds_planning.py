"""Plans for `RoundsRecovery` from public numbers: the law of a noisy count, round after round.

If the labels z of a round are wrong at a share theta of either side and independent of the edges that are
counted, the count at a vertex, with its true sign, is a difference of binomials; with the noise it is wrong
at a share that is the theta of the next round. Exact for one round given theta, a forecast for the whole: the
rounds of the Gaussian plan see the same edges. docs/proofs/sbm_rounds.md, section "Planning".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import erfc, erfcx, ndtr

from sosdp.estimator.planner import best
from sosdp.privacy.calibrate import check_positive, gaussian_sigma_tight, one_of

from .rounds import GaussianRounds, Plan, SplitRounds

STARTS = ((0.04, 0.025), (0.16, 0.13), (0.3, 0.39), (0.5, 1.15))
"""The overlap of random signs with the truth is |N| / sqrt(n), N normal: shares of cases, and their |N|."""

EPSILON_SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)
MOST_ROUNDS = 20
LINEAR = 0.4
"""From this share of wrong labels on, a round multiplies the overlap 1 - 2 theta by a constant."""

CANDIDATES = 8
"""Plans that are forecast with the exact law, after a ranking by normal approximations."""


@dataclass(frozen=True)
class PlannedRounds:
    """A plan and its forecast: probability that all labels are right, mean share of wrong ones."""

    plan: Plan
    exact: float
    error: float


@dataclass(frozen=True)
class _Noise:
    """Noise on a count: "gauss" or "laplace", and its scale in units of an edge."""

    kind: str
    scale: float

    def wrong(self, values: np.ndarray) -> np.ndarray:
        """Probability that value plus noise has the wrong sign, a tie counting half."""
        if self.kind == "gauss":
            return ndtr(-values / self.scale)
        tail = 0.5 * np.exp(-np.abs(values) / self.scale)
        return np.where(values >= 0, tail, 1 - tail)


@dataclass(frozen=True)
class _Model:
    """Public numbers of the block model: vertices, mean degree, contrast."""

    n: int
    degree: float
    gamma: float


@lru_cache(maxsize=20_000)
def _wrong_after(model: _Model, share: float, theta: float, noise: _Noise) -> float:
    """The share of wrong labels after one noisy count of a share of the edges, by the exact law."""
    law, offset = count_law(model.n, model.degree * share, model.gamma, theta)
    return float(law @ noise.wrong(np.arange(len(law)) - offset))


def _step(model: _Model, share: float, theta: float, noise: _Noise) -> float:
    """theta of the next round: linear in the overlap near 1/2, where rounding theta would lose it."""
    if theta > LINEAR:
        slope = (0.5 - _wrong_after(model, share, 0.45, noise)) / 0.05
        return max(
            0.5 - slope * (0.5 - theta), _wrong_after(model, share, LINEAR, noise) if slope > 1 else 0.0
        )
    return _wrong_after(model, share, round(theta, 3 if theta > 0.02 else 4), noise)


def gaussian_noise(epsilon: float, delta: float, queries: int) -> _Noise:
    """Noise of the Gaussian rounds, to plan with."""
    return _Noise("gauss", gaussian_sigma_tight(epsilon, delta) * math.sqrt(2 * queries))


def forecast_rounds(
    n: int, average_degree: float, gamma: float, epsilon: float, delta: float, plan: Plan
) -> PlannedRounds:
    """What a plan is expected to do on the block model with these public parameters."""
    model = _Model(int(n), float(average_degree), float(gamma))
    exact = error = 0.0
    for share, size in STARTS:
        final = _final_error(model, epsilon, delta, plan, 0.5 - 0.5 * min(1.0, size / math.sqrt(n)))
        exact += share * (math.exp(-min(n * final, 700.0)) if final < LINEAR else 0.0)
        error += share * min(final, 0.5)
    return PlannedRounds(plan, exact, error)


def _final_error(model: _Model, epsilon: float, delta: float, plan: Plan, theta: float) -> float:
    if isinstance(plan, GaussianRounds):
        noise = gaussian_noise(plan.share * epsilon, delta, plan.queries)
        for _ in range(plan.rounds):
            theta = _step(model, 1.0, theta, noise)
        return _wrong_after(model, 1.0, round(theta, 4), _Noise("laplace", 2 / ((1 - plan.share) * epsilon)))
    from scipy.signal import convolve

    p, q = plan.again
    noise = _Noise("laplace", 2 / (epsilon * (1 - p / q)))
    for part in plan.parts:
        theta = _step(model, part, theta, noise)
    used = sum(plan.parts)
    theta = round(theta, 4)
    values, law = np.zeros(1), np.ones(1)
    for share, weight in ((1 - used, q), (used, p)):
        if share < 1e-9 or weight == 0:
            continue
        more, offset = count_law(model.n, model.degree * share, model.gamma, theta)
        spread = np.zeros((len(more) - 1) * weight + 1)
        spread[::weight] = more
        law = convolve(law, spread)
        values = np.arange(len(law)) + values[0] - offset * weight
    return float(law @ _Noise("laplace", 2 * q / epsilon).wrong(values))


# ------------------------------------------------------------------------------------------------------------
# The search


@lru_cache(maxsize=500)
def plan_rounds(
    n: int,
    average_degree: float,
    gamma: float,
    epsilon: float,
    delta: float = 0.0,
    *,
    kind: str = "auto",
    by_degree: bool = False,
) -> PlannedRounds:
    """The best plan for the block model with these public parameters, one round longer than the optimum.

    kind: "gauss" (needs delta > 0), "split" (pure), or "auto" (the better forecast). A plan never depends
    on a graph. Below a second, and remembered. Raises ValueError for parameters out of range.
    """
    _check(average_degree, gamma, epsilon)
    one_of(kind, "the plan", ("auto", "gauss", "split"))
    if kind == "gauss" and not delta > 0:
        raise ValueError('the Gaussian plan needs delta > 0; use the plan "split" for pure privacy')
    if by_degree and (kind == "split" or not delta > 0):
        raise ValueError("balancing by noisy degrees needs the Gaussian plan and delta > 0")
    given = int(n), float(average_degree), min(float(gamma), 1.0), float(epsilon), float(delta)
    result = []
    if delta > 0 and kind != "split":
        result.append(_best(*given, _gaussian_plans(bool(by_degree))))
    if kind != "gauss" and not by_degree and not (result and result[0].exact > 0.99):
        result.append(_best(*given, _split_plans()))
    # Where both are sure the Gaussian plan comes first: it is less at the mercy of its start.
    sure = result[0].exact > 0.5
    return min(result, key=lambda planned: -round(planned.exact, 2) if sure else _rank(planned))


def _check(average_degree: float, gamma: float, epsilon: float) -> None:
    for name, value in (("average_degree", average_degree), ("gamma", gamma), ("epsilon", epsilon)):
        check_positive(value, name)


def _rank(planned: PlannedRounds) -> tuple[float, float]:
    return -round(planned.exact, 3), planned.error


def _gaussian_plans(by_degree: bool) -> list[GaussianRounds]:
    return [
        GaussianRounds(rounds, share, by_degree)
        for share in EPSILON_SHARES
        for rounds in range(2, MOST_ROUNDS)
    ]


def _split_plans() -> list[Plan]:
    plans: list[Plan] = []
    for again in ((0, 1), (1, 4), (1, 2)):
        for rounds in range(1, 9):
            for rough in (0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0):
                for middle in (0.0, 0.1, 0.2, 0.3):
                    if rough + middle > (0.95 if again[0] == 0 else 1.0):
                        continue
                    parts = (rough / rounds,) * rounds + ((middle,) if middle else ())
                    plans.append(SplitRounds(parts, again))
    return plans


def _best(
    n: int, d: float, gamma: float, epsilon: float, delta: float, plans: Sequence[Plan]
) -> PlannedRounds:
    made = best(
        plans,
        lambda plan: forecast_rounds(n, d, gamma, epsilon, delta, plan),
        _rank,
        rough=lambda plan: _rough_forecast(n, d, gamma, epsilon, delta, plan),
        kept=CANDIDATES,
    )
    if isinstance(made.plan, GaussianRounds):  # misses are unlucky starts: one round more than the optimum
        longer = GaussianRounds(made.plan.rounds + 1, made.plan.share, made.plan.by_degree)
        return forecast_rounds(n, d, gamma, epsilon, delta, longer)
    return made


def _rough_forecast(
    n: int, d: float, gamma: float, epsilon: float, delta: float, plan: Plan
) -> tuple[float, float]:
    """(1 - probability that all is right, error) with normal counts: for ranking only."""
    overlap = np.array([min(1.0, size / math.sqrt(n)) for _, size in STARTS])
    weights = np.array([share for share, _ in STARTS])
    if isinstance(plan, GaussianRounds):
        sigma = gaussian_noise(plan.share * epsilon, delta, plan.queries).scale
        for _ in range(plan.rounds):
            overlap = 1 - 2 * ndtr(-overlap * gamma * d / math.sqrt(d + sigma**2))
        error = _laplace_wrong(overlap * gamma * d, d, 2 / ((1 - plan.share) * epsilon))
    else:
        p, q = plan.again
        scale = 2 / (epsilon * (1 - p / q))
        for part in plan.parts:
            overlap = 1 - 2 * _laplace_wrong(overlap * gamma * d * part, d * part, scale)
        used = sum(plan.parts)
        mean = overlap * gamma * d * (q * (1 - used) + p * used)
        error = _laplace_wrong(mean, d * (q**2 * (1 - used) + p**2 * used), 2 * q / epsilon)
    right = np.where(error < LINEAR, np.exp(-np.minimum(n * error, 700.0)), 0.0)
    return 1 - round(float(weights @ right), 3), float(weights @ np.minimum(error, 0.5))


def _laplace_wrong(mean: np.ndarray, variance: float, scale: float) -> np.ndarray:
    """P(N + L < 0) for N normal and L Laplace: without overflow."""
    s = math.sqrt(max(variance, 1e-9))
    z, t = mean / s, s / scale
    # E[tail] = P(N < 0) + (1/2) (E[e^{-N/b}; N >= 0] - E[e^{N/b}; N < 0])
    bell = np.exp(-z * z / 2)
    above = 0.5 * _scaled_tail((t - z) / math.sqrt(2), bell)
    below = 0.5 * _scaled_tail((t + z) / math.sqrt(2), bell)
    return np.clip(ndtr(-z) + 0.5 * (above - below), 0.0, 0.5)


def _scaled_tail(u: np.ndarray, bell: np.ndarray) -> np.ndarray:
    """bell e^{u^2} erfc(u)."""
    large = erfcx(np.maximum(u, -5.0))
    with np.errstate(over="ignore"):
        small = np.exp(np.minimum(u * u, 700.0)) * erfc(u)
    return bell * np.where(u > -5.0, large, small)


# ------------------------------------------------------------------------------------------------------------
# More than two communities


@lru_cache(maxsize=500)
def plan_groups(
    n: int, average_degree: float, gamma: float, communities: int, epsilon: float, delta: float
) -> PlannedRounds:
    """The best Gaussian plan for k equal communities, one round longer than the optimum."""
    _check(average_degree, gamma, epsilon)
    if not delta > 0:
        raise ValueError("rounds for more than two communities need delta > 0")

    def forecast(plan: GaussianRounds) -> PlannedRounds:
        theta = _rough_error(n, average_degree, gamma, communities, plan.share * epsilon, delta, plan.rounds)
        longer = GaussianRounds(plan.rounds + 1, plan.share)
        return _voted(n, average_degree, gamma, communities, epsilon, theta, longer)

    return best(_gaussian_plans(False), forecast, _rank)


def _rough_error(n: int, d: float, gamma: float, k: int, epsilon: float, delta: float, rounds: int) -> float:
    """Share of wrong labels after the rounds: overlap by a normal recursion, then nearest centres."""
    width = k - 1
    deviation = math.sqrt(d / width + gaussian_noise(epsilon, delta, rounds + 1).scale ** 2)
    overlap, signal = 0.1 / math.sqrt(n), gamma * d / deviation
    for _ in range(rounds):
        reached = overlap * signal
        overlap = reached / math.sqrt(1 + reached**2)
    centres = math.sqrt(k / (2 * (k - 1)))  # half the distance of two corners of the simplex
    return min(1 - 1 / k, width * float(ndtr(-overlap * signal * centres)))


def _voted(
    n: int, d: float, gamma: float, k: int, epsilon: float, theta: float, plan: GaussianRounds
) -> PlannedRounds:
    law, offset = group_law(n, d, gamma, k, theta)
    # the difference of two geometric noises is discrete Laplace
    noise = _Noise("laplace", 2 / ((1 - plan.share) * epsilon))
    error = (k - 1) * float(law @ noise.wrong(np.arange(len(law)) - offset))
    error = min(error, 1 - 1 / k)
    return PlannedRounds(plan, math.exp(-min(n * error, 700.0)), error)


# ------------------------------------------------------------------------------------------------------------
# Laws of counts of edges at a vertex: differences of binomials


def binomial(trials: float, chance: float) -> np.ndarray:
    """The law of a binomial as probabilities of 0, 1, ...; far tails (9 deviations and more) as 0."""
    from scipy.stats import binom

    count = round(trials)
    if count <= 0 or chance <= 0:
        return np.ones(1)
    mean = count * min(chance, 1.0)
    spread = 9.5 * math.sqrt(mean) + 40
    low, high = max(0, math.floor(mean - spread)), min(count, math.ceil(mean + spread))
    law = np.zeros(high + 1)
    law[low:] = binom.pmf(np.arange(low, high + 1), count, min(chance, 1.0))
    return law


def difference_law(
    plus: Sequence[tuple[float, float]], minus: Sequence[tuple[float, float]]
) -> tuple[np.ndarray, int]:
    """Law of the sum of the binomials `plus` less those of `minus`: probabilities from the value -offset on.

    Each binomial is (trials, chance). Probabilities below 1e-18 are left out.
    """
    from scipy.signal import fftconvolve

    sides = []
    for side in (plus, minus):
        law = np.ones(1)
        for trials, chance in side:
            law = fftconvolve(law, binomial(trials, chance))
        sides.append(law)
    difference = np.maximum(fftconvolve(sides[0], sides[1][::-1]), 0.0)
    difference[difference < 1e-18] = 0.0
    return difference / difference.sum(), len(sides[1]) - 1


def count_law(n: int, average_degree: float, gamma: float, theta: float) -> tuple[np.ndarray, int]:
    """Law of x_v (A z)_v, z wrong at a share theta of either side; see `difference_law`.

    The pair of a vertex with itself is counted as a pair: for large n.
    """
    half = n / 2
    p_in, p_out = (1 + gamma) * average_degree / n, (1 - gamma) * average_degree / n
    return difference_law(
        [(half * (1 - theta), p_in), (half * theta, p_out)],
        [(half * theta, p_in), (half * (1 - theta), p_out)],
    )


def group_law(
    n: int, average_degree: float, gamma: float, communities: int, theta: float
) -> tuple[np.ndarray, int]:
    """Law of (edges into the own group) - (edges into one other group) for k communities.

    p_in = (1 + (k-1) gamma) d / n, p_out = (1 - gamma) d / n; a share theta of every group belongs elsewhere,
    evenly. See `difference_law`.
    """
    k = communities
    size = n / k
    p_in, p_out = (1 + (k - 1) * gamma) * average_degree / n, (1 - gamma) * average_degree / n
    stray = theta / (k - 1)
    return difference_law(
        [(size * (1 - theta), p_in), (size * theta, p_out)],
        [(size * stray, p_in), (size * (1 - stray), p_out)],
    )
