"""Plans for `RoundsRecovery` from public numbers: the law of a noisy count, round after round.

If the labels z of a round are wrong at a share theta of either side and independent of the edges that are
counted, the count at a vertex, with its true sign, is a difference of binomials; with the noise it is wrong
at a share that is the theta of the next round, up to the fluctuation of n signs. Exact for one round given
theta, a forecast for the whole, the mean of `PATHS` runs: the rounds of the Gaussian plan see the same edges,
of which the forecast follows one return, from a sign to its neighbours and back.
docs/proofs/sbm_rounds.md, section "Planning".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from sosdp.estimator.planner import best
from sosdp.privacy.arguments import integer
from sosdp.privacy.calibrate import check_positive, gaussian_sigma_tight, one_of

from .rounds import WORD, GaussianRounds, Plan, SplitRounds, public_words

PATHS = 1 << 14
"""Runs of which a forecast is the mean: their starts are quantiles, what comes after is drawn."""
ROUGH_PATHS = 64
STEP = 0.02  # of an overlap, for the slope of what a round makes of it
LEAST_SIGNAL = 1e-6  # of gamma^2 d, to divide by: below it nothing is recovered

SHARES = (0.0, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
"""Shares of wrong labels at which the law of a count is taken; between them it is linear."""

EPSILON_SHARES = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
MOST_ROUNDS = 20
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


Parts = tuple[tuple[float, int], ...]
"""Shares of the edges that are counted, with integer weights."""
WHOLE: Parts = ((1.0, 1),)

Count = tuple[Parts, _Noise]
"""What a round counts, and the noise on it."""


def _roughly_wrong(d: float, gamma: float, counts: Sequence[Count]) -> Callable[[np.ndarray], np.ndarray]:
    """As `_wrong_after`, with normal counts: of many plans, of one kind of noise, at once."""
    degrees, squares = (
        np.array([[d * sum(share * weight**power for share, weight in parts)] for parts, _ in counts])
        for power in (1, 2)
    )
    scale = np.array([[noise.scale] for _, noise in counts])
    if counts[0][1].kind == "gauss":
        return lambda overlap: ndtr(-overlap * gamma * degrees / np.hypot(np.sqrt(squares), scale))
    return lambda overlap: _laplace_wrong(overlap * gamma * degrees, squares, scale)


@lru_cache(maxsize=2_000)
def _wrong_after(
    n: int, d: float, gamma: float, parts: Parts, noise: _Noise
) -> Callable[[np.ndarray], np.ndarray]:
    """The share of wrong labels after one noisy count, of an |overlap|: exact at `SHARES`."""
    from scipy.signal import convolve

    result = []
    for theta in SHARES:
        law, start = np.ones(1), 0
        for share, weight in parts:
            more, offset = count_law(n, d * share, gamma, theta)
            spread = np.zeros((len(more) - 1) * weight + 1)
            spread[::weight] = more
            law, start = convolve(law, spread), start - offset * weight
        result.append(float(law @ noise.wrong(np.arange(len(law)) + start)))
    return lambda overlap: np.interp((1.0 - overlap) / 2.0, SHARES, result)


@lru_cache(maxsize=100)
def fluctuations(number: int, paths: int) -> np.ndarray:
    """(paths,) standard normal numbers of a round of all forecasts."""
    return np.asarray(ndtri(public_words(paths, 0, number) / WORD))


def random_overlaps(n: int, paths: int) -> np.ndarray:
    """(paths,) overlaps of n random signs with the truth: quantiles of their law."""
    return np.asarray(ndtri((np.arange(paths) + 0.5) / paths) / math.sqrt(n))


def walk(
    n: int, rounds: Sequence[Callable[[np.ndarray], np.ndarray]], paths: int, memory: float
) -> np.ndarray:
    """|Overlap| that the next count sees after n signs, random at first, took these rounds, in so many runs.

    Every round gives the share of wrong signs that follows a given |overlap|, and n signs of that mean
    fluctuate about it. `memory` is 1 / (gamma^2 d) where all counts see the same edges: a sign has pulled
    its neighbours' signs, which return it in the next count. Else it is 0.
    """
    overlap, returned = random_overlaps(n, paths), np.zeros(paths)
    for number, wrong in enumerate(rounds):
        seen = np.clip(overlap + returned, -1.0, 1.0)
        share, more = wrong(np.abs(seen)), wrong(np.abs(seen) + STEP)
        returned = memory * overlap * 2.0 * (share - more) / STEP
        mean = np.sign(seen) * (1.0 - 2.0 * share)
        overlap = np.clip(mean + fluctuations(number, paths) * np.sqrt((1.0 - mean**2) / n), -1.0, 1.0)
    return np.minimum(np.abs(overlap + returned), 1.0)


def gaussian_noise(epsilon: float, delta: float, queries: int) -> _Noise:
    """Noise of the Gaussian rounds, to plan with."""
    return _Noise("gauss", gaussian_sigma_tight(epsilon, delta) * math.sqrt(2 * queries))


def forecast_rounds(
    n: int, average_degree: float, gamma: float, epsilon: float, delta: float, plan: Plan
) -> PlannedRounds:
    """What a plan is expected to do on the block model with these public parameters."""
    model = int(n), float(average_degree), float(gamma)
    *rounds, vote = (_wrong_after(*model, *count) for count in _counts(epsilon, delta, plan))
    memory = isinstance(plan, GaussianRounds) / max(gamma * gamma * average_degree, LEAST_SIGNAL)
    exact, error = _means(int(n), vote(walk(int(n), rounds, PATHS, memory)))
    return PlannedRounds(plan, float(exact), float(error))


def _rough_ranks(
    n: int, d: float, gamma: float, epsilon: float, delta: float, plans: Sequence[Plan]
) -> dict[Plan, tuple[float, float]]:
    """The rank of each plan by normal counts; those of as many rounds at once."""
    counted = {plan: _counts(epsilon, delta, plan) for plan in plans}
    result: dict[Plan, tuple[float, float]] = {}
    for length in set(map(len, counted.values())):
        group = [plan for plan, counts in counted.items() if len(counts) == length]
        *rounds, vote = (
            _roughly_wrong(d, gamma, counts) for counts in zip(*map(counted.get, group), strict=True)
        )
        memory = isinstance(group[0], GaussianRounds) / max(gamma * gamma * d, LEAST_SIGNAL)
        means = np.transpose(_means(n, vote(walk(n, rounds, ROUGH_PATHS, memory))))
        result |= {plan: _rank(PlannedRounds(plan, *mean)) for plan, mean in zip(group, means, strict=True)}
    return result


def _counts(epsilon: float, delta: float, plan: Plan) -> list[Count]:
    """What a plan counts, round after round, and in the vote."""
    if isinstance(plan, GaussianRounds):
        return [
            *[(WHOLE, gaussian_noise(plan.share * epsilon, delta, plan.queries))] * plan.rounds,
            (WHOLE, _Noise("laplace", 2 / ((1 - plan.share) * epsilon))),
        ]
    p, q = plan.again
    noise, used = _Noise("laplace", 2 / (epsilon * (1 - p / q))), sum(plan.parts)
    last = tuple(part for part in ((1 - used, q), (used, p)) if part[0] > 1e-9 and part[1])
    return [*((((part, 1),), noise) for part in plan.parts), (last, _Noise("laplace", 2 * q / epsilon))]


def _means(n: int, final: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Over runs (..., paths) with these shares of wrong labels: probability of none, and share."""
    return np.exp(-np.minimum(n * final, 700.0)).mean(axis=-1), final.mean(axis=-1)


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
    average_degree, gamma, epsilon = _checked(average_degree, gamma, epsilon)
    one_of(kind, "the plan", ("auto", "gauss", "split"))
    if kind == "gauss" and not delta > 0:
        raise ValueError('the Gaussian plan needs delta > 0; use the plan "split" for pure privacy')
    if by_degree and (kind == "split" or not delta > 0):
        raise ValueError("balancing by noisy degrees needs the Gaussian plan and delta > 0")
    given = int(n), average_degree, min(gamma, 1.0), epsilon, float(delta)
    result = []
    if delta > 0 and kind != "split":
        result.append(_best(*given, _gaussian_plans(bool(by_degree))))
    if kind != "gauss" and not by_degree and not (result and result[0].exact > 0.99):
        result.append(_best(*given, _split_plans()))
    # Where both are sure the Gaussian plan comes first: it is less at the mercy of its start.
    sure = result[0].exact > 0.5
    return min(result, key=lambda planned: -round(planned.exact, 2) if sure else _rank(planned))


def _checked(average_degree: float, gamma: float, epsilon: float) -> tuple[float, ...]:
    named = (("average_degree", average_degree), ("gamma", gamma), ("epsilon", epsilon))
    return tuple(check_positive(value, name) for name, value in named)


def _rank(planned: PlannedRounds) -> tuple[float, float]:
    """Where all labels are more often right than not, how often; then the share of wrong ones. Elsewhere few
    rounds are sometimes right and often near chance, where more rounds have few wrong labels."""
    return -round(planned.exact, 3) if planned.exact > 0.5 else 0.0, planned.error


def _gaussian_plans(by_degree: bool) -> list[GaussianRounds]:
    return [
        GaussianRounds(rounds, share, by_degree)
        for share in EPSILON_SHARES
        for rounds in range(2, MOST_ROUNDS)
    ]


def _split_plans() -> list[Plan]:
    agains, roughs = ((0, 1), (1, 4), (1, 2)), (0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0)
    return [
        SplitRounds((rough / rounds,) * rounds + ((middle,) if middle else ()), again)
        for again, rounds, rough, middle in product(agains, range(1, 9), roughs, (0.0, 0.1, 0.2, 0.3))
        if rough + middle <= (1.0 if again[0] else 0.95)
    ]


def _best(
    n: int, d: float, gamma: float, epsilon: float, delta: float, plans: Sequence[Plan]
) -> PlannedRounds:
    made = best(
        plans,
        lambda plan: forecast_rounds(n, d, gamma, epsilon, delta, plan),
        _rank,
        rough=_rough_ranks(n, d, gamma, epsilon, delta, plans).__getitem__,
        kept=CANDIDATES,
    )
    if isinstance(made.plan, GaussianRounds):  # misses are unlucky starts: one round more than the optimum
        longer = GaussianRounds(made.plan.rounds + 1, made.plan.share, made.plan.by_degree)
        return forecast_rounds(n, d, gamma, epsilon, delta, longer)
    return made


def _laplace_wrong(mean: np.ndarray, variance: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """P(N + L < 0) for N normal and L Laplace; scales below s / 1e4, s the deviation of N, count as that."""
    s = np.sqrt(np.maximum(variance, 1e-9))
    z, t = mean / s, np.minimum(s / scale, 1e4)
    # E[tail] = P(N < 0) + (1/2) (E[e^{-N/b}; N >= 0] - E[e^{N/b}; N < 0])
    above, below = (np.exp(t * t / 2 - t * x + log_ndtr(x - t)) for x in (z, -z))
    return np.clip(ndtr(-z) + 0.5 * (above - below), 0.0, 0.5)


# ------------------------------------------------------------------------------------------------------------
# More than two communities


@lru_cache(maxsize=500)
def plan_groups(
    n: int, average_degree: float, gamma: float, communities: int, epsilon: float, delta: float
) -> PlannedRounds:
    """The best Gaussian plan for k equal communities, one round longer than the optimum."""
    average_degree, gamma, epsilon = _checked(average_degree, gamma, epsilon)
    n, communities = integer(n, "n"), integer(communities, "communities")
    if not delta > 0:
        raise ValueError("rounds for more than two communities need delta > 0")

    def forecast(plan: GaussianRounds) -> PlannedRounds:
        theta = _rough_error(n, average_degree, gamma, communities, plan.share * epsilon, delta, plan.rounds)
        law, offset = group_law(n, average_degree, gamma, communities, theta)
        # the difference of two geometric noises is discrete Laplace
        noise = _Noise("laplace", 2 / ((1 - plan.share) * epsilon))
        error = (communities - 1) * float(law @ noise.wrong(np.arange(len(law)) - offset))
        error = min(error, 1 - 1 / communities)
        longer = GaussianRounds(plan.rounds + 1, plan.share)
        return PlannedRounds(longer, math.exp(-min(n * error, 700.0)), error)

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

    Each binomial is (trials, chance). Values with probabilities below 1e-18 are left out.
    """
    from scipy.signal import fftconvolve

    sides = []
    for side in (plus, minus):
        law = np.ones(1)
        for trials, chance in side:
            law = fftconvolve(law, binomial(trials, chance))
        sides.append(law)
    difference = fftconvolve(sides[0], sides[1][::-1])
    first, last = np.flatnonzero(difference >= 1e-18)[[0, -1]]
    kept = np.maximum(difference[first : last + 1], 0.0)
    return kept / kept.sum(), len(sides[1]) - 1 - int(first)


@lru_cache(maxsize=500)
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
