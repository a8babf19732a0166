"""All parameters of the aggregate mode from public facts, and what to expect before any budget is spent.

The privacy of a release does not rest on anything here: a bad plan leads to refusals or to large errors. The
model of the blocks is that their errors are Gaussian with `EFFICIENCY` times the variance of cluster means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.inputs import integer
from sosdp.privacy.mechanisms.propose_test_release.friendly_core import (
    FriendsTest,
    friends_test,
    mean_sensitivity,
)

EFFICIENCY = 1.15
"""Variance of a block's points over that of means of m / k records (measured 0.8 to 1.2; docs/gmm.md)."""

CONFIDENCE = 0.99
"""Pass probability a plan must reach to be called feasible."""

GRID = 2.0**-20
"""Public grid of the blocks' points, in units of sigma."""

_FRACTIONS = (Fraction(13, 20), Fraction(7, 10), Fraction(3, 4), Fraction(4, 5), Fraction(17, 20))
_QUANTILES = (0.9, 0.95, 0.98, 0.99, 0.995)
_TEST_SHARES = (0.3, 0.4, 0.5, 0.6)
_MEAN_SHARES = (0.2, 0.35, 0.5)


@dataclass(frozen=True)
class AggregatePlan:
    """Public parameters of one run of the aggregate mode. Lengths are in units of sigma.

    Attributes:
        n, dimension, clusters, separation, epsilon, delta: the facts it was made from.
        scales: sigma, or the grid of sigmas that are tried from the smallest on.
        blocks, block_size: B and m = floor(n / B); the other n - B m records serve in the refinement only.
        radius: rho, within which the k points of two blocks are friends.
        fraction: share p of pairs of blocks that must be friends.
        epsilon_test, delta_test: budget of the test at each scale.
        epsilon_then, delta_then: budget of the noise; rho_mean, rho_refine (a round): what it buys in zCDP.
        rounds, refine_radius: of the refinement on all records.
        pass_probability: expected, for data as described.
        rough_error, error: expected largest distance of a centre, before and after the refinement.
        feasible: whether it should be run at all.
        advice: what to change if not, from public facts.
    """

    n: int
    dimension: int
    clusters: int
    separation: float
    epsilon: float
    delta: float
    scales: tuple[float, ...]
    blocks: int
    block_size: int
    radius: float
    fraction: Fraction
    epsilon_test: float
    delta_test: float
    epsilon_then: float
    delta_then: float
    rho_mean: float
    rho_refine: float
    rounds: int
    refine_radius: float
    pass_probability: float
    rough_error: float
    error: float
    feasible: bool
    advice: str = ""

    def test(self) -> FriendsTest:
        """The calibrated test of one scale."""
        return friends_test(self.blocks, self.epsilon_test, self.delta_test, self.fraction)


def aggregate_plan(
    n: int,
    d: int,
    k: int,
    separation: float,
    epsilon: float,
    delta: float,
    *,
    sigma: float | Sequence[float] = 1.0,
    block_size: int | None = None,
    radius: float | None = None,
) -> AggregatePlan:
    """Choose block size, friendship radius, budgets and refinement for the least expected error.

    Args:
        n, d, k: records, coordinates, clusters; public.
        separation: least distance of two means in units of sigma (of the largest sigma of a grid).
        epsilon, delta: whole budget.
        sigma: within-cluster standard deviation, or a grid of candidates that shares the test's budget.
        block_size, radius: fixed instead of chosen (radius in units of sigma).

    Raises:
        ValueError: arguments out of range.

    Cost: well below a second; results for the same arguments are kept.
    """
    n, d, k = integer(n, "n"), integer(d, "d"), integer(k, "k")
    epsilon, delta = calibrate.check_epsilon(epsilon), calibrate.check_delta(delta)
    separation = calibrate.check_positive(separation, "separation")
    given = (sigma,) if isinstance(sigma, int | float) else tuple(sigma)
    scales = tuple(sorted(calibrate.check_positive(value, "sigma") for value in given))
    if not scales or len(set(scales)) < len(scales) or not 1e-12 <= scales[0] <= scales[-1] <= 1e12:
        raise ValueError("sigma must be one number, or different ones, between 1e-12 and 1e12")
    if block_size is not None:
        block_size = integer(block_size, "block_size", k)
    if radius is not None:
        radius = calibrate.check_positive(radius, "radius")
    plan = _best(n, d, k, separation, epsilon, delta, scales, block_size, radius)
    return plan if plan.feasible else replace(plan, advice=_advice(plan, block_size, radius))


def required_n(
    d: int,
    k: int,
    separation: float,
    epsilon: float,
    delta: float,
    *,
    sigma: float | Sequence[float] = 1.0,
    most: int = 10**8,
) -> int | None:
    """Least n, to 5 %, for which a plan is feasible; None if not even `most` records do."""

    def fine(n: int) -> bool:
        return aggregate_plan_feasible(n, d, k, separation, epsilon, delta, sigma)

    high = 64
    while not fine(high):
        high *= 2
        if high > most:
            return None
    low = high // 2
    while high > 1.05 * low:
        middle = (low + high) // 2
        low, high = (low, middle) if fine(middle) else (middle, high)
    return high


def aggregate_plan_feasible(
    n: int,
    d: int,
    k: int,
    separation: float,
    epsilon: float,
    delta: float,
    sigma: float | Sequence[float] = 1.0,
) -> bool:
    """Whether the best plan passes with probability `CONFIDENCE`, without asking for advice."""
    scales = (float(sigma),) if isinstance(sigma, int | float) else tuple(sorted(map(float, sigma)))
    return _best(n, d, k, float(separation), float(epsilon), float(delta), scales, None, None).feasible


@lru_cache(maxsize=512)
def _best(
    n: int,
    d: int,
    k: int,
    separation: float,
    epsilon: float,
    delta: float,
    scales: tuple[float, ...],
    block_size: int | None,
    radius: float | None,
) -> AggregatePlan:
    """Search over block sizes, radii, fractions and shares of the budget."""
    plans = []
    for m in _block_sizes(n, d, k) if block_size is None else (block_size,):
        blocks = n // m
        if blocks < 8 or m < 2 * k:
            continue
        radii = [_radius(q, m, d, k) for q in _QUANTILES] if radius is None else [radius]
        for rho in radii:
            friends = expected_friends(rho, m, d, k, separation, blocks)
            for fraction in _FRACTIONS:
                for share in _TEST_SHARES:
                    budget = (epsilon * share / len(scales), delta / 4.0 / len(scales))
                    chance = _pass_chance(blocks, friends, fraction, *budget)
                    plans.append((chance, m, rho, fraction, share))
    if not plans:
        return _hopeless(n, d, k, separation, epsilon, delta, scales)
    good = [choice for choice in plans if choice[0] >= CONFIDENCE]
    if not good:
        return _finish(max(plans, key=lambda c: c[0]), n, d, k, separation, epsilon, delta, scales)
    # the error depends on few of the choices in earnest: those that leave the most for the noise
    finished = [_finish(choice, n, d, k, separation, epsilon, delta, scales) for choice in _front(good, n)]
    return min(finished, key=lambda plan: (not plan.feasible, plan.error, -plan.pass_probability))


def _front(
    choices: list[tuple[float, int, float, Fraction, float]], n: int
) -> list[tuple[float, int, float, Fraction, float]]:
    """For every share of the test, the choices with the least sensitivity of the mean."""

    def moved(choice: tuple[float, int, float, Fraction, float]) -> float:
        return choice[2] * float(mean_sensitivity(n // choice[1], choice[3]))

    return [
        choice
        for share in _TEST_SHARES
        for choice in sorted((c for c in choices if c[4] == share), key=moved)[:2]
    ]


def _block_sizes(n: int, d: int, k: int) -> list[int]:
    size, found = 10.0 * k, []
    while size <= n / 8 and size <= 4000:
        found.append(round(size))
        size *= 1.12
    return found


def _radius(quantile: float, m: int, d: int, k: int) -> float:
    """Distance that pairs of good blocks keep with this probability."""
    from scipy.stats import chi2

    return math.sqrt(2.0 * EFFICIENCY * k / m * float(chi2.ppf(quantile, k * d)))


def expected_friends(radius: float, m: int, d: int, k: int, separation: float, blocks: int) -> float:
    """Expected share of ordered pairs of blocks that are friends, under the model of this module.

    A block is valid if its points are more than 6 radii apart; distances vary along the line that joins two.
    """
    from scipy.stats import chi2, norm

    spread = math.sqrt(2.0 * EFFICIENCY * k / m)
    invalid = k * (k - 1) / 2.0 * float(norm.sf((separation - 6.0 * radius) / spread))
    valid = max(0.0, 1.0 - invalid)
    close = float(chi2.cdf(radius**2 * m / (2.0 * EFFICIENCY * k), k * d))
    return valid**2 * (close + (1.0 - close) / blocks)


def _pass_chance(blocks: int, friends: float, fraction: Fraction, epsilon: float, delta: float) -> float:
    """Pass probability at 1.5 % fewer friends than expected (closed form, shift not certified)."""
    pairs = 0.985 * friends * blocks**2
    if not fraction > Fraction(1, 2) + Fraction(1, blocks) or pairs <= float(fraction) * blocks**2:
        return 0.0
    jump = 2 * blocks - 1
    r = math.exp(-epsilon / jump)
    guess = jump / epsilon * math.log(r * (math.expm1(epsilon) + delta) / (delta * (1.0 + r)))
    shift = max(jump, math.ceil(guess))
    test = FriendsTest(blocks, math.ceil(fraction * blocks**2), jump, shift, epsilon, delta)
    return test.pass_probability(int(pairs))


def _finish(
    choice: tuple[float, int, float, Fraction, float],
    n: int,
    d: int,
    k: int,
    separation: float,
    epsilon: float,
    delta: float,
    scales: tuple[float, ...],
) -> AggregatePlan:
    """Split what the test leaves between mean and refinement, and predict the errors."""
    from scipy.stats import norm

    chance, m, radius, fraction, share = choice
    count, blocks = len(scales), n // m
    m = n // blocks
    tests = Fraction(epsilon * share / count), Fraction(delta / 4.0 / count)
    then = [calibrate.float_down(Fraction(a) - count * b) for a, b in zip((epsilon, delta), tests)]
    total = calibrate.zcdp_rho(then[0], then[1])
    best: tuple[float, ...] | None = None
    several = math.sqrt(2.0 * math.log(max(k, 2)))
    for part in _MEAN_SHARES:
        rho_mean = total * part
        sensitivity = radius * float(mean_sensitivity(blocks, fraction))
        noise = sensitivity / math.sqrt(2.0 * rho_mean) * (math.sqrt(d) + several)
        rough = noise + math.sqrt(d * k / n)
        rounds = 1 if rough <= separation / 8.0 or k == 1 else 2
        rho_refine = (total - rho_mean) * (1.0 - 1e-12) / rounds
        reach = math.sqrt(d) + 4.0 + min(rough, separation)
        spread = math.sqrt(2.0 / rho_refine) * reach * k / n
        error = math.hypot(spread, math.sqrt(k / n)) * (math.sqrt(d) + several)
        if k > 1:
            missed = rough if rounds == 1 else min(rough, error)
            error += (k - 1) * separation * float(norm.sf((separation - missed) / 2.0))
        if best is None or error < best[0]:
            best = (error, rho_mean, rho_refine, rounds, reach, rough)
    assert best is not None
    return AggregatePlan(
        n=n,
        dimension=d,
        clusters=k,
        separation=separation,
        epsilon=epsilon,
        delta=delta,
        scales=scales,
        blocks=blocks,
        block_size=m,
        radius=radius,
        fraction=fraction,
        epsilon_test=float(tests[0]),
        delta_test=float(tests[1]),
        epsilon_then=then[0],
        delta_then=then[1],
        rho_mean=best[1],
        rho_refine=best[2],
        rounds=int(best[3]),
        refine_radius=best[4],
        pass_probability=chance,
        rough_error=best[5],
        error=best[0],
        feasible=chance >= CONFIDENCE and (k == 1 or best[5] <= separation / 3.0),
    )


def _hopeless(
    n: int, d: int, k: int, separation: float, epsilon: float, delta: float, scales: tuple[float, ...]
) -> AggregatePlan:
    """A plan for data too few to make blocks of: it can be run, and will decline."""
    m = max(1, n // 8)
    choice = (0.0, m, separation / 8.0, Fraction(9, 10), _TEST_SHARES[0])
    made = _finish(
        (choice[0], max(1, n // 8), *choice[2:]), max(n, 8), d, k, separation, epsilon, delta, scales
    )
    return replace(made, n=n, blocks=n // m, block_size=m, feasible=False)


def _advice(plan: AggregatePlan, block_size: int | None, radius: float | None) -> str:
    """What would help, tried in turn on public facts."""
    if block_size is not None or radius is not None:
        free = aggregate_plan_feasible(
            plan.n, plan.dimension, plan.clusters, plan.separation, plan.epsilon, plan.delta, plan.scales
        )
        if free:
            return "leave block_size and radius to the plan: then it is expected to pass"
    facts = (plan.dimension, plan.clusters, plan.separation, plan.epsilon, plan.delta)
    found = []
    needed = required_n(*facts, sigma=plan.scales)
    if needed is not None:
        found.append(f"about {needed} records")
    for factor in (1.5, 2.0, 4.0, 8.0):
        if aggregate_plan_feasible(plan.n, *facts[:3], plan.epsilon * factor, plan.delta, plan.scales):
            found.append(f"epsilon = {plan.epsilon * factor:.3g}")
            break
    for factor in (1.25, 1.5, 2.0, 3.0, 5.0):
        if aggregate_plan_feasible(
            plan.n, *facts[:2], plan.separation * factor, plan.epsilon, plan.delta, plan.scales
        ):
            found.append(f"a separation of {plan.separation * factor:.3g} sigma")
            break
    if len(plan.scales) > 1 and aggregate_plan_feasible(plan.n, *facts, plan.scales[-1:]):
        found.append("one known sigma instead of a grid")
    if not found:
        return (
            "these public facts leave no room for blocks that agree: fewer clusters or coordinates are needed"
        )
    return "expected to decline; it would pass with " + ", or ".join(found)
