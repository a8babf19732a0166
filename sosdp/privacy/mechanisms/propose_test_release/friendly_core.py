"""Friendly core: blocks vote with k points each, and the mean of those that agree is released.

The idea is that of Tsfadia, Cohen, Kaplan, Mansour and Stemmer 2022, for k-tuples.

All arithmetic up to the noise is in exact integers: tuples on a public grid, counts of friends, weights.

Proof: docs/proofs/friends.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import add_up, float_near
from sosdp.privacy.inputs import entries, integer, number, positive, source
from sosdp.privacy.mechanisms.propose_test_release.block_vote import check_one_replaced
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.seal import seal

Points = tuple[tuple[int, ...], ...]

LARGEST = 1 << 60
SEPARATION = 6


def grid_points(result: Any, clusters: int, dimension: int, grid: Fraction) -> Points | None:
    """The k points of one block in grid units, or None if the block did not give k finite points of size d.

    A function of one block's result alone; never raises.
    """
    rows = entries(result)
    if rows is None or len(rows) != clusters:
        return None
    points = []
    for row in rows:
        coordinates = entries(row)
        if coordinates is None or len(coordinates) != dimension:
            return None
        plain = [number(entry) for entry in coordinates]
        exact_entries = [entry for entry in plain if isinstance(entry, Fraction)]
        if len(exact_entries) < dimension:
            return None
        point = tuple(math.floor(entry / grid + Fraction(1, 2)) for entry in exact_entries)
        if any(abs(entry) > LARGEST for entry in point):
            return None
        points.append(point)
    return tuple(points)


def _squared(x: Sequence[int], y: Sequence[int]) -> int:
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def is_valid(points: Points | None, radius: int) -> bool:
    """Whether the k points are pairwise more than 6 radii apart."""
    if points is None:
        return False
    limit = (SEPARATION * radius) ** 2
    return all(_squared(x, y) > limit for i, x in enumerate(points) for y in points[:i])


def matching(first: Points, second: Points, radius: int) -> tuple[int, ...] | None:
    """For valid tuples: the permutation p with sum |first[l] - second[p[l]]|^2 <= radius^2, or None.

    It can only be the nearest neighbour of every point, since points of a valid tuple are 6 radii apart.
    """
    assigned, total = [], 0
    for x in first:
        distances = [_squared(x, y) for y in second]
        nearest = min(range(len(second)), key=distances.__getitem__)
        total += distances[nearest]
        assigned.append(nearest)
    if total > radius**2 or len(set(assigned)) < len(assigned):
        return None
    return tuple(assigned)


def count_friends(tuples: Sequence[Points | None], radius: int) -> list[int]:
    """Number of friends of every tuple, itself included; 0 for tuples that are not valid. O(B^2 k^2 d)."""
    valid = [b for b, points in enumerate(tuples) if is_valid(points, radius)]
    found = [0] * len(tuples)
    for place, a in enumerate(valid):
        found[a] += 1
        for b in valid[place + 1 :]:
            if matching(tuples[a], tuples[b], radius) is not None:  # type: ignore[arg-type]
                found[a] += 1
                found[b] += 1
    return found


@dataclass(frozen=True)
class FriendsTest:
    """Pass iff (number of ordered pairs of friends) + tau >= needed, tau <= 0 a shifted, truncated noise.

    P(tau = -j) ~ r^|j - shift| for j >= 0, r = exp(-epsilon / sensitivity).

    Attributes:
        blocks: B.
        needed: least number of pairs that can pass, ceil(p B^2).
        sensitivity: 2 B - 1.
        shift: A.
        epsilon, delta: what the outcome promises.
    """

    blocks: int
    needed: int
    sensitivity: int
    shift: int
    epsilon: float
    delta: float

    def passes(self, pairs: int, bits: RandomBits | None = None) -> bool:
        """Draw tau, exactly, and compare."""
        bits = bits or RandomBits()
        scale = Fraction(self.sensitivity) / Fraction(self.epsilon)
        while True:
            lowered = self.shift + exact.discrete_laplace(scale, bits)
            if lowered >= 0:
                return pairs - lowered >= self.needed

    def pass_probability(self, pairs: int) -> float:
        """Probability of passing with this many pairs (closed form, float64)."""
        room = pairs - self.needed
        if room < 0:
            return 0.0
        r = math.exp(-self.epsilon / self.sensitivity)
        whole = (1.0 + r - r ** (self.shift + 1)) / (1.0 - r)
        if room <= self.shift:
            part = r ** (self.shift - room) * -math.expm1((room + 1) * math.log(r)) / (1.0 - r)
            return part / whole
        return 1.0 - r ** (room + 1 - self.shift) / (1.0 - r) / whole


def friends_test(
    blocks: int, epsilon: float, delta: float, fraction: Fraction | float = Fraction(3, 4)
) -> FriendsTest:
    """Calibrate the test; passing implies that at least `fraction` of all pairs are friends.

    Raises:
        ValueError: fewer than 3 blocks, or a fraction not in (1/2 + 1/B, 1].
    """
    blocks = integer(blocks, "blocks", 3)
    epsilon, delta = calibrate.check_epsilon(epsilon), calibrate.check_delta(delta)
    share = Fraction(fraction)
    if not Fraction(1, 2) + Fraction(1, blocks) < share <= 1:
        raise ValueError(f"the fraction must lie in (1/2 + 1/{blocks}, 1], got {float(share)}")
    sensitivity = 2 * blocks - 1
    r = math.exp(-epsilon / sensitivity)
    guess = sensitivity / epsilon * math.log(r * (math.expm1(epsilon) + delta) / (delta * (1.0 + r)))
    shift = max(sensitivity, math.ceil(guess) - 2)
    while not _covered(shift, sensitivity, epsilon, delta):
        shift += 1
    return FriendsTest(blocks, math.ceil(share * blocks**2), sensitivity, shift, epsilon, delta)


def _covered(shift: int, sensitivity: int, epsilon: float, delta: float) -> bool:
    """Whether r^(A-D+1) (1 - r^D) / (1 + r - r^(A+1)) <= delta is proven, by ball arithmetic."""

    def excess() -> Any:
        r = (-calibrate.ball(epsilon) / sensitivity).exp()
        outside = r ** (shift - sensitivity + 1) * (1 - r**sensitivity)
        return outside / (1 + r - r ** (shift + 1)) - calibrate.ball(delta)

    return calibrate.decide(excess) is False


def weighted_mean(
    tuples: Sequence[Points | None], friends: Sequence[int], radius: int
) -> list[list[Fraction]] | None:
    """Mean of the tuples with more than half of all others as friends, by excess, aligned to one.

    None if there is no such tuple (which does not happen when the test passes).
    """
    blocks = len(tuples)
    weights = [max(0, 2 * count - blocks - 2) for count in friends]
    core = [b for b, weight in enumerate(weights) if weight > 0]
    if not core:
        return None
    reference: Points = tuples[core[0]]  # type: ignore[assignment]
    clusters, dimension = len(reference), len(reference[0])
    sums = [[0] * dimension for _ in range(clusters)]
    for b in core:
        # two core tuples share a friend, so they match within two radii
        order = matching(reference, tuples[b], 2 * radius)  # type: ignore[arg-type]
        if order is None:
            return None
        for place, image in enumerate(order):
            point = tuples[b][image]  # type: ignore[index]
            for j, entry in enumerate(point):
                sums[place][j] += weights[b] * entry
    total = sum(weights)
    return [[Fraction(entry, total) for entry in row] for row in sums]


def mean_sensitivity(blocks: int, fraction: Fraction | float) -> Fraction:
    """l2 sensitivity of the aligned mean in R^(kd), in radii, where the test can pass on both sides."""
    lowest = Fraction(1, 2) + Fraction(1, blocks)
    return Fraction(2, blocks) * (2 - lowest) / (Fraction(fraction) - lowest)


@dataclass(frozen=True)
class FriendsMean:
    """What the aggregation draws: private until sealed by a mechanism that accounts for it.

    Attributes:
        value: (k, d) noisy mean in random order, or None where the test did not pass.
        variance: of the noise of a coordinate, in squared grid units; public.
        pairs: number of ordered pairs of friends; private.
    """

    value: np.ndarray | None
    variance: Fraction
    pairs: int


def mean_of_friends(
    results: Sequence[Any],
    clusters: int,
    dimension: int,
    *,
    test: FriendsTest,
    fraction: Fraction | float,
    radius: Fraction | float,
    rho: float,
    grid: Fraction | float,
    bits: RandomBits,
) -> FriendsMean:
    """Test, mean and noise, in exact integers; for mechanisms that do their own accounting.

    The outcome of the test is (test.epsilon, test.delta)-DP. Between data that can both pass it, the value is
    rho-zCDP. Arguments as for `release_by_friends`.

    Raises:
        ValueError: a radius below one step of the grid; never because of the results.
    """
    unit = positive(grid, "grid")
    units = math.floor(positive(radius, "radius") / unit)
    if units < 1:
        raise ValueError("the radius must be at least one step of the grid")
    tuples = [grid_points(result, clusters, dimension, unit) for result in results]
    friends = count_friends(tuples, units)
    passed = test.passes(sum(friends), bits)
    mean = weighted_mean(tuples, friends, units)
    # rounding the mean moves each of the k d coordinates by at most half a step on either side
    moved = mean_sensitivity(len(results), fraction) * units + math.isqrt(clusters * dimension - 1) + 1
    variance = moved**2 / (2 * Fraction(rho))
    # drawn whatever happened, so that neither the randomness nor the time tells
    noise = [[exact.discrete_gaussian(variance, bits) for _ in range(dimension)] for _ in range(clusters)]
    order = list(range(clusters))
    for last in range(clusters - 1, 0, -1):
        other = exact.random_below(last + 1, bits)
        order[last], order[other] = order[other], order[last]
    value = None
    if passed and mean is not None:
        noisy = [
            [float_near((math.floor(m + Fraction(1, 2)) + y) * unit) for m, y in zip(row, extra, strict=True)]
            for row, extra in zip(mean, noise, strict=True)
        ]
        value = np.array([noisy[place] for place in order])
    return FriendsMean(value, variance, sum(friends))


def release_by_friends(
    results: Sequence[Any],
    clusters: int,
    dimension: int,
    *,
    radius: float,
    epsilon_test: float,
    delta_test: float,
    epsilon: float,
    delta: float,
    grid: float = 2.0**-20,
    fraction: Fraction | float = Fraction(3, 4),
    adjacency: str = ONE_RECORD_REPLACED,
    insecure_seed: int | None = None,
) -> Release:
    """Release k points near which most blocks have theirs, in random order, or nothing.

    Args:
        results: what B blocks returned ((k, d) arrays or lists; anything else agrees with nobody). One
            record of the data changes one entry (`run_blocks` in `block_vote.py`).
        clusters, dimension: k and d, public.
        radius: public distance in R^(kd) within which two results are friends.
        epsilon_test, delta_test: budget of the test.
        epsilon, delta: budget of the noise, discrete Gaussian, through zCDP.
        grid: public grid of the points, a small fraction of the radius.
        fraction: share of pairs that must be friends, in (1/2 + 1/B, 1].

    Returns:
        Release of a (k, d) array or None; (epsilon_test + epsilon, delta_test + delta)-DP.

    Raises:
        ValueError: public arguments out of range; never because of the results.

    Source: the private mixture paper's aggregation with constants proven on the page. Cost: O(B^2 k^2 d).
    """
    check_one_replaced(adjacency)
    unit = positive(grid, "grid")
    clusters, dimension = integer(clusters, "clusters"), integer(dimension, "dimension")
    blocks = len(results)
    test = friends_test(blocks, epsilon_test, delta_test, fraction)
    bits = source(insecure_seed)
    drawn = mean_of_friends(
        results,
        clusters,
        dimension,
        test=test,
        fraction=fraction,
        radius=radius,
        rho=calibrate.zcdp_rho(epsilon, delta),
        grid=unit,
        bits=bits,
    )
    release = seal(
        drawn.value,
        Guarantee(
            mechanism="friends",
            adjacency=adjacency,
            epsilon=add_up([test.epsilon, epsilon]),
            delta=add_up([test.delta, delta]),
            assumptions=("each result is a function of one block of records, and of randomness of its own",),
        ),
        bits,
        public={"blocks": blocks, "scale": float(unit) * math.sqrt(drawn.variance)},
    )
    release.private_diagnostics.update(pairs=drawn.pairs, passed=drawn.value is not None)
    return release
