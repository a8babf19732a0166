"""The published route: constants, exact laws of the test, group privacy exhaustively, Lemma C."""

import itertools
import math
from fractions import Fraction

import facts as theory
import numpy as np
import pytest

from sosdp.privacy.mechanisms.propose_test_release import close_tuples
from sosdp.privacy.mechanisms.propose_test_release.tuple_geometry import TupleTable
from sosdp.privacy.randomness.bits import InsecureBits
from tests.neighbours import neighbour_pairs
from tests.privacy.noise_laws import law_of
from tests.refusals import each, refuse


@pytest.mark.parametrize(
    ("epsilon", "delta", "sample", "reach", "tuples"),
    [
        (1.0, math.exp(-28), 8, 1191, 2385),
        (1.0, 1e-6, 5, 442, 887),
        (0.5, 1e-6, 5, 884, 1771),
        (2.0, 1e-6, 5, 221, 445),
    ],
)
def test_table_of_the_notes(epsilon, delta, sample, reach, tuples):
    """m, l and n in closed form, and the discrete quantiles that are run: whole numbers."""
    closed = 2.0 * sample / (epsilon / 2.0) * math.log(sample**2 / (0.025 * delta / 4.0))
    assert int(closed) == reach and tuples - 1 < 2.0 * closed + 2.0 <= tuples
    sizes = close_tuples.partition_sizes(tuples, epsilon / 2.0, delta / 4.0, 0.025)
    assert abs(sizes.sample - sample) <= 1 and 0.7 * reach < sizes.reach < 1.25 * reach


def law_of_status(unpartitioned: list[int], sizes: close_tuples.PartitionSizes) -> float:
    """P(success) given l_X of all n tuples, over samples and noise (sample of size 1 or 2)."""
    n, reach = len(unpartitioned), 4000
    counts, votes = (law_of("laplace", scale, reach)[1] for scale in (sizes.count_scale, sizes.vote_scale))
    passes = [
        float(counts[: max(0, min(2 * reach + 1, sizes.count_limit - l + reach + 1))].sum())
        for l in unpartitioned
    ]
    total = 0.0
    samples = list(itertools.combinations(range(n), sizes.sample))
    for sample in samples:
        sums = np.array([1.0])
        for a in sample:
            sums = np.convolve(sums, [1.0 - passes[a], passes[a]])
        for s, chance in enumerate(sums):
            needed = sizes.sample - sizes.vote_limit - s
            total += chance * float(votes[max(0, needed + reach) :].sum()) / len(samples)
    return total


def test_the_outcome_is_private_on_all_neighbours_and_not_with_half_the_noise():
    """All sets of five tuples of two points on a line, all neighbours, exact probabilities of success."""
    n, epsilon, ratio = 5, 1.0, 7
    sizes = close_tuples.PartitionSizes(
        2, 2 * 2 / epsilon, 1.0 / math.log1p(n / 2 * math.expm1(epsilon / 2)), 3, 1, 4, 0.1
    )
    places = [((0,), (20,)), ((1,), (21,)), ((2,), (40,)), ((9,), (20,)), ((0,), (0,))]

    def status(chosen, which):
        table = TupleTable(np.array(chosen, dtype=np.int64), np.ones(n, dtype=bool))
        return law_of_status(close_tuples.unpartitioned(table, range(n), ratio), which)

    from dataclasses import replace

    less = replace(sizes, vote_scale=sizes.vote_scale / 4, count_scale=sizes.count_scale / 4)
    for which, holds in ((sizes, True), (less, False)):
        known = {c: status(c, which) for c in itertools.combinations_with_replacement(places, n)}
        worst = max(max(p / q, (1 - p) / (1 - q)) for p, q in neighbour_pairs(known, places))
        assert (worst <= math.exp(epsilon) * (1 + 1e-9)) == holds


def test_counts_of_what_is_not_partitioned_are_those_of_the_definition():
    generator = np.random.default_rng(1)
    points = np.array([[0, 0], [90, 0], [0, 90]]) + generator.integers(-9, 10, size=(12, 3, 2))
    points[3] = points[3][[1, 1, 2]]  # a repeated point
    usable = np.arange(12) != 5
    table = TupleTable(points.astype(np.int64), usable)
    for ratio in (7, Fraction(15, 2), 12):
        result = close_tuples.unpartitioned(table, range(12), ratio)
        for a in range(12):
            tuples = [points[b].tolist() for b in range(12)]
            sound = usable[a] and a != 3
            expected = (
                sum(not (usable[b] and theory.partitions(tuples[a], tuples[b], ratio)) for b in range(12))
                if sound
                else 12
            )
            assert result[a] == expected


def test_bad_outcomes_are_as_rare_as_claimed():
    """Tuples none of which partitions another: success with a bad centre in at most bad of 600 runs."""
    bits = InsecureBits(4)
    n, bad, beta = 60, 0.2, 0.2
    sizes = close_tuples.partition_sizes(n, 4.0, bad, beta)
    scattered = np.stack([np.array([[0], [100]]) + 1000 * i for i in range(n)])
    table = TupleTable(scattered.astype(np.int64), np.ones(n, dtype=bool))
    assert sizes.reach < n - 1
    wrong = sum(close_tuples.find_partition(table, sizes, 7, bits).success for _ in range(600)) / 600
    assert wrong <= bad + 5 * math.sqrt(bad * (1 - bad) / 600)
    same = TupleTable(np.repeat(scattered[:1], n, axis=0).astype(np.int64), np.ones(n, dtype=bool))
    right = sum(close_tuples.find_partition(same, sizes, 7, bits).success for _ in range(600)) / 600
    assert right >= 1 - beta - 5 * math.sqrt(beta * (1 - beta) / 600)


def test_noisy_centres_and_their_public_errors():
    generator = np.random.default_rng(2)
    n = 500
    centres = np.array([[-(10**7), 0], [10**7, 0]])
    points = centres + generator.integers(-9, 10, size=(n, 2, 2))
    table = TupleTable(points.astype(np.int64), np.ones(n, dtype=bool))
    budget = {"epsilon": 1.0, "delta": 0.05, "beta": 0.05}
    result = {}
    for calibration in ("paper", "tight"):
        release = close_tuples.noisy_centers(
            table, **budget, ratio=900, bits=InsecureBits(3), calibration=calibration
        )
        assert release is not None
        result[calibration] = np.abs(release - centres).max()
        assert result[calibration] < 10**7
    assert close_tuples.tight_multiplier(1.0, 0.05, 2) < close_tuples.paper_multiplier(1.0, 0.05, 2)
    assert (np.diff(release[:, 0]) >= 0).all()  # sorted, not in a private order
    refuse(
        *each(
            lambda bad: close_tuples.noisy_centers(table, **{**budget, "bits": InsecureBits(1), **bad}),
            (
                {"ratio": 5},
                {"ratio": 900, "epsilon": 2.0},
                {"ratio": 900, "delta": 1e-200},
                {"ratio": 900, "calibration": "x"},
            ),
            r"[a-z]",
        )
    )


def test_noise_grows_with_the_gap_at_any_distance():
    """Gaps are exact integers: centres 2^12 and 2^45 steps apart give noise in the same proportion."""
    n, spread = 500, []
    for distant in (1 << 12, 1 << 45):
        points = np.repeat(np.array([[[-distant], [distant]]]), n, axis=0)
        table = TupleTable(points.astype(np.int64), np.ones(n, dtype=bool))
        bits = InsecureBits(1)
        errors = []
        for _ in range(12):
            result = close_tuples.noisy_centers(table, epsilon=1.0, delta=0.05, ratio=900, bits=bits)
            errors += [] if result is None else np.abs(result - [[-distant], [distant]]).ravel().tolist()
        spread.append(float(np.median(errors)) / distant)
    assert len(errors) > 12 and 0.25 < spread[1] / spread[0] < 4.0
    x = np.array([[0, 0], [3, 4]])
    assert close_tuples.squared_distances(x << 40, x << 40) == [[0, 25 << 80], [25 << 80, 0]]


# ------------------------------------------------------------------------------------------------------------
# Averages of private size


@pytest.mark.slow
def test_clusters_change_by_at_most_two_k_times_reach_plus_one():
    """Section 3.3 by search: neighbours, good families for both, additions and removals of all clusters."""
    generator = np.random.default_rng(5)
    ratio, k, worst = 7, 2, 0
    for _ in range(120):
        n = 8
        tuples = [
            tuple(sorted((int(c + generator.integers(-5, 6)),) for c in (0, 200)))
            if generator.random() < 0.8
            else tuple((int(v),) for v in generator.integers(-300, 500, size=2))
            for _ in range(n)
        ]
        other = [*tuples[:-1], tuple((int(v),) for v in generator.integers(-300, 500, size=2))]

        def good(which, reach):
            for x in which:
                if (
                    min(theory.squared_gaps(x))
                    and sum(not theory.partitions(x, y, ratio) for y in which) <= reach
                ):
                    yield x

        reach = 2
        for x, y in itertools.product(list(good(tuples, reach))[:3], list(good(other, reach))[:3]):

            def cut(which, centres):
                sets = [[], []]
                for t in which:
                    for p in t:
                        sets[theory.nearest(p, centres)].append(p[0])
                return sets

            first, second = cut(tuples, sorted(x)), cut(other, sorted(y))
            changes = 0
            for a, b in zip(first, second, strict=True):
                from collections import Counter

                one, two = Counter(a), Counter(b)
                changes += sum(((one - two) + (two - one)).values())
            worst = max(worst, changes)
            assert changes <= 2 * k * (reach + 1)
    assert worst >= 4
