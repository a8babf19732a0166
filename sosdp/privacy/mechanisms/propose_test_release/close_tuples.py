"""The published route of private k-tuple clustering: a sampled test for close tuples, then noisy centres or
averages, with constants that are proven for the discrete noise that is drawn.

For reproduction and comparison; `tuple_averages.py` does the same with a tenth of the tuples. Points are
integers on a public grid; balls are relative to the gaps of a tuple.

Proof: docs/proofs/tuples_published.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import integer, positive
from sosdp.privacy.mechanisms.propose_test_release.acceptance import tail_margin
from sosdp.privacy.mechanisms.propose_test_release.tuple_geometry import (
    TupleTable,
    nearest_squared,
)
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits

LOG_STEPS = 1 << 20
"""Steps of the logarithm of a gap in the sensitivity of it."""


@dataclass(frozen=True)
class PartitionSizes:
    """Sizes of the sampled test for n tuples, (epsilon, 0)-DP in its outcome; all public.

    Attributes:
        sample: m tuples of the sample.
        count_scale, vote_scale: scales of the discrete Laplace noises.
        count_limit: a sampled tuple passes if its noisy number of unpartitioned tuples is at most this.
        vote_limit: success if the noisy number of passes is at least m minus this.
        reach: l; success implies that at most l tuples are not partitioned, except with probability `bad`.
        bad: d_b.
    """

    sample: int
    count_scale: float
    vote_scale: float
    count_limit: int
    vote_limit: int
    reach: int
    bad: float


def partition_sizes(n: int, epsilon: float, bad: float, beta: float) -> PartitionSizes:
    """The least sample for which both ways of going wrong have probability at most bad / 2.

    Raises:
        ValueError: numbers out of range, or no sample of at most n / 2 tuples does.
    """
    n = integer(n, "n", 2)
    epsilon = calibrate.check_epsilon(epsilon)
    bad, beta = (float(calibrate.between(p, "a failure", "(0, 1)")) for p in (bad, beta))
    for m in range(1, n // 2 + 1):
        # exact amplification: a vote of epsilon2 on a sample of m of n is epsilon / 2 on all
        vote = math.log1p(n / m * math.expm1(epsilon / 2.0)) * (1.0 - 1e-12)
        vote_scale = 1.0 / vote * (1.0 + 1e-12)
        vote_limit = tail_margin(vote_scale, beta / 2.0) - 1
        if m < vote_limit + tail_margin(vote_scale, bad / 2.0):
            continue
        count_scale = 2.0 * m / epsilon * (1.0 + 1e-12)
        count_limit = tail_margin(count_scale, beta / (2.0 * m)) - 1
        reach = count_limit + tail_margin(count_scale, bad / (2.0 * m)) - 1
        return PartitionSizes(m, count_scale, vote_scale, count_limit, vote_limit, reach, bad)
    raise ValueError(f"{n} tuples are too few for a sampled test at epsilon = {epsilon}, failure {bad}")


def unpartitioned(table: TupleTable, sample: Sequence[int], ratio: Fraction | int) -> list[int]:
    """For each sampled tuple X the number of tuples that the balls B(x_i, a_i / ratio) do not partition.

    Exact integers; n for a tuple with a repeated point or an unusable one. ratio > 2.
    """
    n, k = len(table), table.clusters
    far_ratio = positive(ratio, "ratio")
    rows = np.array(sample, dtype=np.intp)
    cap = (1 << 53) - 1
    near = nearest_squared(table.points[rows], table.points, cap)
    result = []
    for place, a in enumerate(sample):
        gaps = squared_gaps(table.points[a])
        if not table.usable[a] or k < 2 or min(gaps) <= 0:
            result.append(n)
            continue
        # ratio^2 d^2 <= a_i^2 in integers; a ball beyond the cap is cut off there
        limits = [min(gap * far_ratio.denominator**2 // far_ratio.numerator**2, cap - 1) for gap in gaps]
        inside = (near[place] <= np.array(limits, dtype=np.int64)).all(axis=1) & table.usable
        result.append(n - int(inside.sum()))
    return result


@dataclass(frozen=True)
class Partition:
    """Outcome of the test: private until what follows is released.

    Attributes:
        success: its outcome, epsilon-DP.
        centre: number of the tuple whose balls partition nearly all, or None.
    """

    success: bool
    centre: int | None


def find_partition(
    table: TupleTable, sizes: PartitionSizes, ratio: Fraction | int, bits: RandomBits
) -> Partition:
    """PrivateTestPartition: a sample of tuples, noisy counts of what each partitions, a noisy vote.

    The outcome is epsilon-DP for the epsilon of the sizes.
    """
    sample = exact.shuffled(len(table), bits)[: sizes.sample]
    passed = [
        count + exact.discrete_laplace(Fraction(sizes.count_scale), bits) <= sizes.count_limit
        for count in unpartitioned(table, sample, ratio)
    ]
    votes = sum(passed) + exact.discrete_laplace(Fraction(sizes.vote_scale), bits)
    success = votes >= sizes.sample - sizes.vote_limit
    first = next((a for a, good in zip(sample, passed, strict=True) if good), None)
    return Partition(success, first if success else None)


def noisy_centers(
    table: TupleTable,
    *,
    epsilon: float,
    delta: float,
    beta: float = 0.05,
    ratio: Fraction | int,
    bits: RandomBits,
    calibration: str = "paper",
) -> npt.NDArray[np.float64] | None:
    """PrivatekNoisyCenters: (epsilon, delta)-DP centres with noise in proportion to their gaps, or None.

    Rows in lexicographic order, in grid steps.

    Args:
        table: n tuples of k >= 2 points.
        ratio: ball ratio; useful from about (16 k / epsilon) log(k / delta) on.
        calibration: "paper": k Gaussians at (epsilon / 4k, delta / 8k) each; "tight": one vector.

    Raises:
        ValueError: epsilon > 1, k = 1, a ratio <= 6, or too few tuples.
    """
    k, d = table.clusters, table.dimension
    epsilon, delta = calibrate.check_epsilon(epsilon), calibrate.check_delta(delta)
    far_ratio = _check_ratio(epsilon, k, ratio)
    sizes = partition_sizes(len(table), epsilon / 2.0, delta / 4.0, beta / 2.0)
    if len(table) < (enough := 2 * sizes.reach + 2):
        raise ValueError(f"{enough} tuples are needed for a test of reach {sizes.reach}, got {len(table)}")
    result = find_partition(table, sizes, far_ratio, bits)
    if result.centre is None:
        return None
    centres = table.points[result.centre]
    gaps = squared_gaps(centres)  # exact at any distance: too small a gap would mean too little noise
    growth = math.log(float((far_ratio + 2) / (far_ratio - 2))) * (1.0 + 1e-9)
    unit = growth / LOG_STEPS
    # a step more for rounding the logarithm, which float64 gives to far less than a step
    scale = float(Fraction(LOG_STEPS + 2) / Fraction(epsilon / (4.0 * k))) * (1.0 + 1e-12)
    raised = tail_margin(scale, delta / (8.0 * k)) + 1
    each = {"paper": paper_multiplier(epsilon, delta, k), "tight": tight_multiplier(epsilon, delta, k)}
    if calibration not in each:
        raise ValueError(f'calibration must be "paper" or "tight", got {calibration!r}')
    noisy = []
    for centre, gap in zip(centres.tolist(), gaps, strict=True):
        steps = math.ceil(math.log(gap) / 2.0 / unit) + exact.discrete_laplace(Fraction(scale), bits) + raised
        # at least the distance 2 a / (ratio - 2) that a centre may move, except with the probability above
        reach = Fraction(math.exp(min(steps * unit, 500.0))) * 2 / (far_ratio - 2) * (1 + Fraction(1, 10**9))
        variance = (reach * Fraction(each[calibration])) ** 2
        noisy.append([c + exact.discrete_gaussian(variance, bits) for c in centre])
    return np.array(sorted(noisy), dtype=np.float64).reshape(k, d)


def paper_multiplier(epsilon: float, delta: float, k: int) -> float:
    """Deviation of noise over the shift of a centre: the published one, or that of discrete noise if more."""
    published = 4.0 * k / epsilon * math.sqrt(2.0 * math.log(10.0 * k / delta))
    return max(published, 1.0 / math.sqrt(2.0 * calibrate.zcdp_rho(epsilon / (4 * k), delta / (8 * k))))


def tight_multiplier(epsilon: float, delta: float, k: int) -> float:
    """The same for all k centres as one vector at (epsilon / 4, delta / 8): sensitivity sqrt(k)."""
    return math.sqrt(k / (2.0 * calibrate.zcdp_rho(epsilon / 4.0, delta / 8.0))) * (1.0 + 1e-12)


def squared_distances(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> list[list[int]]:
    """|x - y|^2 of all rows x of the first and y of the second, exact integers of any size."""
    reach = max(int(np.abs(first).max(initial=0)), int(np.abs(second).max(initial=0)))
    small = 4 * first.shape[1] * reach**2 < 1 << 62
    one, two = (first, second) if small else (first.astype(object), second.astype(object))
    result = [((one - row) ** 2).sum(axis=1) for row in two]
    return [list(row) for row in np.array(result, dtype=object).T.tolist()]


def squared_gaps(points: npt.NDArray[np.int64]) -> list[int]:
    """a_i^2 of the k >= 2 points of one tuple, exact."""
    squares = squared_distances(points, points)
    return [min(row[:i] + row[i + 1 :]) for i, row in enumerate(squares)]


def _check_ratio(epsilon: float, k: int, ratio: Any) -> Fraction:
    far_ratio = positive(ratio, "ratio")
    if k < 2 or far_ratio <= 6 or epsilon > 1.0:
        raise ValueError(f"proven for k >= 2, ratio > 6 and epsilon <= 1, got {k}, {ratio} and {epsilon}")
    return far_ratio
