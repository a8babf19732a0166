"""Propose-test-release for points in space: blocks vote with k points each, and the mean of those that agree
is released.

The test is on the h-score of pairwise agreement (sensitivity 1) with an acceptance curve, so that passing
bounds the share of disagreement surely. All arithmetic up to the noise is in exact integers. The idea of
keeping what has many friends is that of FriendlyCore (Tsfadia, Cohen, Kaplan, Mansour and Stemmer 2022).

Proof: docs/proofs/friends.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from sosdp.model.gathering import gathering
from sosdp.privacy.arguments import integer, positive
from sosdp.privacy.calibrate import between
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.condition import given
from sosdp.privacy.guarantee.evidence import proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import add_up, float_near, float_up
from sosdp.privacy.mechanisms.propose_test_release.block_vote import (
    AgreementRule,
    agreement_rule,
    check_one_replaced,
    h_score,
)
from sosdp.privacy.mechanisms.propose_test_release.tuple_geometry import (
    Booleans,
    TupleTable,
    matching,
    neighbourhoods,
    tuple_table,
)
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.terms import Terms, on_terms

MOST_TUPLES = 1 << 14


def core_weights(friends: Sequence[int]) -> list[int]:
    """max(0, 3 F - 2 n - 1) for each number of friends F (a tuple is its own): the core has positive weight.

    Any three tuples of the core, of either of two neighbouring data sets, share a friend that both have.
    """
    return [max(0, 3 * count - 2 * len(friends) - 1) for count in friends]


def weighted_mean(table: TupleTable, matches: Booleans, radius: int) -> list[list[Fraction]] | None:
    """Mean of the tuples with more than two thirds of all as friends, by excess, aligned to one of them.

    None if there is no such tuple (which does not happen where the test can pass).
    """
    weights = core_weights([int(count) for count in matches.sum(axis=1)])
    core = [a for a, weight in enumerate(weights) if weight > 0]
    if not core:
        return None
    reference = table.points[core[0]].tolist()
    sums = [[0] * table.dimension for _ in range(table.clusters)]
    for a in core:
        own = table.points[a].tolist()
        # two core tuples share a friend, so they match within two radii
        order = matching(reference, own, 2 * radius)
        if order is None:
            return None
        for place, image in enumerate(order):
            for j, entry in enumerate(own[image]):
                sums[place][j] += weights[a] * entry
    total = sum(weights)
    return [[Fraction(entry, total) for entry in row] for row in sums]


@lru_cache(maxsize=4096)
def mean_sensitivity(blocks: int, reach: int) -> Fraction:
    """l2 sensitivity of the aligned mean in R^(kd), in joint radii, where both h-scores are <= reach.

    2 M / ((n - l)(n - 1 - 3 l)) with M the most weight that a changed tuple can move (proof page, Lemma 3);
    about 3/n for l far below n (3.02/n at n = 1000, l = 1).

    Raises:
        ValueError: blocks < 3 reach + 3, or above 2^14.
    """
    n, most = integer(blocks, "tuples"), integer(reach, "reach, a number of tuples,", 0)
    if n < 3 * most + 3:
        raise ValueError(f"{n} tuples cannot carry a test of reach {most}: 3 reach + 3 are needed")
    if n > MOST_TUPLES:
        raise ValueError(f"at most {MOST_TUPLES} tuples, got {n}")
    low, whole = n - 1 - 3 * most, n * (n - 1)
    q = np.arange(n, dtype=np.int64)
    settled = np.maximum(q - most, 0)
    other = np.maximum(n - 1 - 3 * q, 0)
    # in s the moved weight is piecewise linear: its largest value is next to a break or at an end
    fall = (
        3 * settled + n - 1 - other
    )  # what bounds the loss of weight is fall - 6 s with the tuple in the core
    flat = 3 * settled - other  # ... and flat - 3 s without
    knee = -(-3 * whole // low)
    ends = [
        0 * q,
        fall // 6,
        (fall - knee) // 6,
        flat // 3,
        (flat - knee) // 3,
        0 * q + (n - 1) // 3,
        n - 1 - q,
    ]
    best = 0
    for end in ends:
        for step in (-1, 0, 1):
            best = max(best, int(moved_weight(n, most, q, np.clip(end + step, 0, n - 1 - q)).max()))
    return Fraction(2 * best, whole * (n - most) * low)


def moved_weight(n: int, reach: int, q: Any, s: Any) -> Any:
    """n (n - 1) times the bound of Lemma 3 on the weight moved where q friends are lost and s gained."""
    low, whole = n - 1 - 3 * reach, n * (n - 1)
    settled = np.maximum(q - reach, 0)
    own, other = np.maximum(n - 1 - 3 * s, 0), np.maximum(n - 1 - 3 * q, 0)
    lost = np.maximum(3 * settled - 3 * s + own - other, 0)
    return (own + 3 * np.minimum(q, reach)) * whole + settled * np.maximum(3 * whole - lost * low, 0)


@dataclass(frozen=True)
class FriendsMean:
    """What the aggregation draws: private until sealed by a mechanism that accounts for it.

    Attributes:
        value: (k, d) noisy mean in random order, or None where the test did not pass.
        variance: of the noise of a coordinate, in squared grid units; public.
        disagreement: h-score; private.
    """

    value: np.ndarray | None
    variance: Fraction
    disagreement: int


def noisy_mean(
    table: TupleTable,
    matches: Booleans,
    radius: int,
    spread: Fraction,
    rule: AgreementRule,
    rho: float,
    bits: RandomBits,
    average: str = "friends",
) -> FriendsMean:
    """Test, mean and noise in grid steps, for mechanisms that do their own accounting.

    The outcome of the test has the guarantee of the rule. Between data that can both pass, the value is
    rho-zCDP. `matches` is from `neighbourhoods` at this radius.
    """
    n, k, d = table.points.shape
    passed = rule.passes(matches, bits)
    if average == "friends":
        mean, moves = weighted_mean(table, matches, radius), mean_sensitivity(n, rule.reach)
    else:
        mean, moves = (
            around_one(table, matches, radius, average),
            around_one_sensitivity(n, rule.reach, average),
        )
    # rounding the mean moves each of the k d coordinates by at most half a step on either side
    moved = moves * joint_radius(radius, spread) + rounding(k * d)
    variance = moved**2 / (2 * positive(rho, "rho"))
    # drawn whatever happened, so that neither the randomness nor the time tells
    noise = [[exact.discrete_gaussian(variance, bits) for _ in range(d)] for _ in range(k)]
    order = exact.shuffled(k, bits) if average == "friends" else list(range(k))
    value = None
    if passed and mean is not None:
        noisy = [
            [
                float_near(Fraction(math.floor(m + Fraction(1, 2)) + y))
                for m, y in zip(row, extra, strict=True)
            ]
            for row, extra in zip(mean, noise, strict=True)
        ]
        value = np.array([noisy[place] for place in order] if average == "friends" else sorted(noisy))
    return FriendsMean(value, variance, h_score(matches))


def around_one_sensitivity(n: int, reach: int, average: str) -> Fraction:
    """l2 sensitivity, in joint radii, of one good tuple (2) or of the mean of its friends (4 f).

    f = (reach + 1) / (n - reach). For comparison with the mean of friends: docs/proofs/tuples_averages.md.
    """
    return Fraction(2) if average == "center" else Fraction(4 * (reach + 1), n - reach)


def around_one(
    table: TupleTable, matches: Booleans, radius: int, average: str
) -> list[list[Fraction]] | None:
    """The tuple with most friends, or the mean of its friends aligned to it; None where they are not near."""
    best = int(np.argmax(matches.sum(axis=1)))
    centre = table.points[best].tolist()
    members = [best] if average == "center" else np.flatnonzero(matches[best]).tolist()
    sums = [[0] * table.dimension for _ in centre]
    for a in members:
        own = table.points[a].tolist()
        order = matching(centre, own, radius)
        if order is None:
            return None
        for place, image in enumerate(order):
            sums[place] = [x + y for x, y in zip(sums[place], own[image], strict=True)]
    return [[Fraction(total, max(1, len(members))) for total in row] for row in sums]


def joint_radius(radius: int, spread: Fraction) -> int:
    """An integer >= sqrt(spread) radius: the distance of friends in R^(kd)."""
    return math.isqrt(math.ceil(spread * radius**2) - 1) + 1


def rounding(count: int) -> int:
    """An integer >= sqrt(count): how far rounding moves the difference of two means of that many entries."""
    return math.isqrt(count - 1) + 1


@dataclass(frozen=True, kw_only=True)
class Friendship:
    """Who are friends, and how that most are is tested; public, see `release_by_friends`."""

    radius: Fraction | float
    epsilon_test: float
    delta_test: float
    grid: Fraction | float = 2.0**-20
    spread: Fraction | float | None = None
    plateau: int = 3
    failure: float = 0.01

    @property
    def rule(self) -> AgreementRule:
        """The test."""
        plateau = integer(self.plateau, "plateau", 0)
        return agreement_rule(self.epsilon_test, self.delta_test, self.failure, plateau)


def mean_of_friends(
    results: Sequence[Any],
    clusters: int,
    dimension: int,
    *,
    friends: Friendship,
    rule: AgreementRule,
    rho: float,
    bits: RandomBits,
) -> FriendsMean:
    """`noisy_mean` of what blocks returned, in the units of the results; arguments as `release_by_friends`.

    Raises:
        ValueError: a radius below one step of the grid, too few results; never because of the results.
    """
    unit = positive(friends.grid, "grid")
    units = math.floor(positive(friends.radius, "radius") / unit)
    share = spread_of(friends.spread, clusters)
    if units < 1:
        raise ValueError("the radius must be at least one step of the grid")
    mean_sensitivity(len(results), rule.reach)  # public numbers first: too few blocks for the test
    table = tuple_table(results, clusters, dimension, unit)
    matches = neighbourhoods(table, [units], share).matches(0)
    drawn = noisy_mean(table, matches, units, share, rule, rho, bits)
    value = None if drawn.value is None else drawn.value * float(unit)
    return FriendsMean(value, drawn.variance, drawn.disagreement)


def spread_of(spread: Fraction | float | None, clusters: int) -> Fraction:
    """The public number that the squared distances of friends may sum to, in squared radii: 1 to k.

    Raises:
        ValueError: outside [1, k].
    """
    return between(1 if spread is None else spread, "spread", f"[1, {clusters}]")


@gathering(Friendship, "friends")
@on_terms("friends", needs="epsilon delta", takes="adjacency proof", adjacency=ONE_RECORD_REPLACED)
def release_by_friends(
    terms: Terms, results: Sequence[Any], clusters: int, dimension: int, *, friends: Friendship
) -> Release:
    """Release k points near which most blocks have theirs, in random order, or nothing.

    Args:
        terms: epsilon and delta of the noise, discrete Gaussian, through zCDP; neighbours differ in one
            record, and other units are covered on the condition that they own one.
        results: what n blocks returned ((k, d) arrays or lists; anything else agrees with nobody). One
            record of the data changes one entry (`run_blocks` in `block_vote.py`): without a proof (`Terms`)
            a condition of the release.
        clusters, dimension: k and d, public.
        friends: the fields of `Friendship`, as keywords:
        radius: public distance within which every point of one result has one of a friend's; the points of a
            result must be more than 4 radii apart.
        epsilon_test, delta_test: budget of the test.
        grid: public grid of the points, a small fraction of the radius (radius / grid up to 2^20).
        spread: the k squared distances of friends sum to at most spread * radius^2, in [1, k]; 1 by default.
        plateau, failure: an h-score (all but h results agree with all but h) up to `plateau` passes with
            probability 1 - failure.

    Returns:
        Release of a (k, d) array or None; (epsilon_test + epsilon, delta_test + delta)-DP.

    Raises:
        ValueError: public arguments out of range, or fewer than 3 reach + 3 results; never because of what
            they are.

    Source: docs/proofs/friends.md; the h-score and the curve are section 4 of the notes on private clustering
    of easy instances. Cost: O(n^2 k^2 d).
    """
    check_one_replaced(terms.neighbours)
    unit = positive(friends.grid, "grid")
    bits = terms.bits()
    clusters, dimension = integer(clusters, "clusters"), integer(dimension, "dimension")
    rule = friends.rule
    drawn = mean_of_friends(
        results, clusters, dimension, friends=friends, rule=rule, rho=terms.concentrated, bits=bits
    )
    promise = terms.guarantee(
        given("each result is a function of one block of records, and of randomness of its own", terms.proof),
        per="record",
        epsilon=add_up([rule.curve.epsilon, terms.epsilon or 0.0]),
        delta=add_up([float_up(rule.curve.delta), terms.delta or 0.0]),
    )
    return terms.seal(
        drawn.value,
        promise,
        bits,
        evidence=proven_by("friends"),
        public={"blocks": len(results), "scale": float(unit) * math.sqrt(drawn.variance)},
        private={"disagreement": drawn.disagreement, "passed": drawn.value is not None},
    )
