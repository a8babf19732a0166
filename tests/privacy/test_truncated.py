"""Exhaustive privacy of the truncated mechanism, sensitivity of its distance, and the published utility."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.mechanisms.exponential import (
    TruncatedPlan,
    VolumeTheorem,
    exact_law,
    least_level,
    plan_truncated,
    truncated_exponential,
)
from sosdp.privacy.scores.depth import TukeyDepth
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.location import coordinate_max, l_statistic, median_weights, trimmed_weights
from sosdp.privacy.scores.sampling import HitAndRun, PermuteAndFlip
from sosdp.privacy.scores.score import Lattice, cube
from sosdp.privacy.verification.audit import delta_between, hockey_stick
from tests.neighbours import neighbour_pairs
from tests.refusals import refuse


def law_of(plan, levels, points, distance):
    """Exact output law: None or a point."""
    accept = plan.profile.probability(distance)
    law = {None: 1 - accept}
    if accept:
        weights = {p: plan.base.ratio**level for p in points if (level := levels.level(p)) <= plan.threshold}
        total = sum(weights.values())
        law |= {p: accept * w / total for p, w in weights.items()}
    return {output: float(probability) for output, probability in law.items()}


def worst_delta(plan, score, values, n, distance_of):
    """Exact hockey-stick over all neighbours, and the sensitivity of the distance."""
    reach = range(min(values) - 6, max(values) + 7)
    laws, distances = {}, {}
    for x in itertools.combinations_with_replacement(values, n):
        levels = score.on(np.array(x, float))
        distances[x] = distance_of(plan, levels)
        laws[x] = law_of(plan, levels, [(t,) for t in reach], distances[x])
    near = set(neighbour_pairs({x: x for x in laws}, values))
    delta = max(float(hockey_stick(laws[x], laws[y], plan.epsilon)) for x, y in near)
    return delta, max(abs(distances[x] - distances[y]) for x, y in near), max(distances.values())


def by_counts(plan, levels):
    last = plan.threshold + plan.sensitivity * (plan.profile.length - 1)
    return plan.distance({j: levels.count(j) for j in range(last + 1)})


@pytest.mark.parametrize(
    ("values", "n", "slack", "epsilon", "delta", "threshold"),
    [
        (range(5), 9, 1, 3.22, 0.25, 2),
        (range(5), 9, 0, 3.22, 0.5, 2),
        (range(4), 11, 1, 4.1, 0.15, 2),
        (range(4), 11, 2, 2.32, 0.3, 3),
        (range(4), 7, 1, 8.0, 0.05, 2),
    ],
)
def test_hockey_stick_over_all_neighbours(values, n, slack, epsilon, delta, threshold):
    score = l_statistic(median_weights(n), Lattice(Fraction(1), 1), slack=slack, clip=False)
    plan = plan_truncated(score, epsilon=epsilon, delta=delta, threshold=threshold)
    worst, step, largest = worst_delta(plan, score, list(values), n, by_counts)
    assert worst <= delta and step <= 1
    if slack:
        assert largest > 0 and worst > 0  # something is released, so the comparison means something


def test_mass_is_what_the_plan_promises():
    """Whenever the distance is positive, the boundary layer has at most the mass mu."""
    n = 9
    score = l_statistic(median_weights(n), Lattice(Fraction(1), 1), slack=1, clip=False)
    plan = plan_truncated(score, epsilon=4.0, delta=0.3, threshold=2)
    seen = 0
    for x in itertools.combinations_with_replacement(range(4), n):
        levels = score.on(np.array(x, float))
        if by_counts(plan, levels):
            seen += 1
            weights = {
                t: plan.base.ratio**level
                for t in range(-8, 12)
                if (level := levels.level((t,))) <= plan.threshold
            }
            layer = sum(
                w for t, w in weights.items() if levels.level((t,)) > plan.threshold - plan.sensitivity
            )
            assert layer <= plan.mass * sum(weights.values())
    assert seen > 20


def test_without_the_test_truncation_is_not_private():
    """Negative control: accepting always breaks (epsilon, delta)."""
    score = l_statistic(median_weights(7), Lattice(Fraction(1), 1), slack=1, clip=False)
    plan = plan_truncated(score, epsilon=1.0, delta=0.05, threshold=2)
    worst, _, _ = worst_delta(plan, score, list(range(5)), 7, lambda p, levels: p.profile.length)
    assert worst > 0.05


def random_chain(rng, m, neighbour=None):
    """Random level counts of two neighbours: levels of points moved by at most m."""
    levels = rng.integers(0, 12, size=int(rng.integers(5, 40)))
    moved = np.maximum(0, levels + rng.integers(-m, m + 1, size=levels.size))
    return levels, moved


@pytest.mark.parametrize("m", [1, 2, 3])
def test_random_level_chains(m):
    """Distance has sensitivity 1 and the mechanism is private on arbitrary levels that move by at most m."""
    rng = np.random.default_rng(m)
    base = rational_base(6.0, m, Fraction(1, 10))
    from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile

    profile = accept_profile(1.0, Fraction(1, 10))
    released = 0
    for _ in range(300):
        threshold = int(rng.integers(m, 9))
        first, second = random_chain(rng, m)
        n0 = int(min((first <= 0).sum(), (second <= 0).sum())) if rng.random() < 0.5 else 0
        plan = TruncatedPlan(threshold, base, profile, Fraction(1, 10), m, n0, 7.0, 0.2)
        distances, laws = [], []
        for levels in (first, second):
            counts = {j: int((levels <= j).sum()) for j in range(threshold + m * profile.length)}
            distance = plan.distance(counts)
            accept = plan.profile.probability(distance)
            law = {None: 1 - accept}
            if accept:
                weights = {
                    i: base.ratio ** int(level) for i, level in enumerate(levels) if level <= threshold
                }
                total = sum(weights.values())
                law |= {i: accept * w / total for i, w in weights.items()}
            distances.append(distance)
            laws.append(law)
        assert abs(distances[0] - distances[1]) <= 1
        assert float(delta_between(*laws, 7.0)) <= 0.2
        released += distances[0] > 0
    assert released > 20


def test_published_thresholds():
    score = l_statistic(
        median_weights(401), Lattice(Fraction(1, 1000), 1), slack=Fraction(1, 100), clip=False
    )
    for epsilon, threshold, length in ((1.0, 53, 101), (0.5, 106, 189)):
        plan = plan_truncated(score, epsilon=epsilon, delta=1e-6)
        assert (plan.threshold, plan.profile.length) == (threshold, length)


@pytest.mark.parametrize(("n", "low", "high"), [(201, 0.0, 0.6), (301, 0.9, 1.0), (401, 0.999, 1.0)])
def test_published_acceptance(n, low, high):
    """Unbounded median of N(5000, 1), grid 1e-3, slack 0.01, epsilon 1, delta 1e-6: acceptance by n."""
    score = l_statistic(median_weights(n), Lattice(Fraction(1, 1000), 1), slack=Fraction(1, 100), clip=False)
    plan = plan_truncated(score, epsilon=1.0, delta=1e-6)
    accepted = []
    for seed in range(12):
        levels = score.on(np.random.default_rng(seed).normal(5000.0, 1.0, size=(n, 1)))
        accepted.append(float(plan.profile.probability(by_counts(plan, levels))))
    assert low <= np.mean(accepted) <= high


def test_release_finds_an_unbounded_median():
    n = 401
    score = coordinate_max(
        median_weights(n), Lattice(Fraction(1, 1000), 1), slack=Fraction(1, 100), clip=False
    )
    data = np.random.default_rng(0).normal(-70000.0, 1.0, size=(n, 1))
    release = truncated_exponential(score, data, epsilon=1.0, delta=1e-6)
    assert release.released and abs(release.value[0] + 70000) < 0.5
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1.0, 1e-6)
    assert "distance" not in repr(release) or "distance_needed" in repr(release.public)
    spread = np.random.default_rng(0).normal(0.0, 1e9, size=(n, 1))
    spread[:200] = math.nan
    few = l_statistic(median_weights(21), Lattice(Fraction(1, 1000), 1), slack=Fraction(1, 100), clip=False)
    assert truncated_exponential(few, spread[:21], epsilon=1.0, delta=1e-6).value is None


def test_empty_support_is_unsafe():
    """All records between lattice points: no point of level <= 1, so nothing may be released."""
    score = l_statistic(median_weights(5), Lattice(Fraction(1), 1), refine=10, clip=False)
    plan = plan_truncated(score, epsilon=4.0, delta=0.1, threshold=1)
    levels = score.on(np.full((5, 1), 0.5))
    assert levels.count(1) == 0 and by_counts(plan, levels) == 0


def test_safe_test_by_theorem_is_exhaustively_private():
    """Test A with a 'theorem' established by enumeration of every data set of a small case."""
    n, values, mu = 7, range(5), Fraction(1, 5)
    score = l_statistic(trimmed_weights(n, 2), cube(1, 8, 1), clip=False)
    plan = plan_truncated(score, epsilon=8.0, delta=float(2 * mu), threshold=2)
    # by enumeration: the largest b for which every data set with least level < b is safe
    unsafe = []
    for x in itertools.combinations_with_replacement(values, n):
        levels = score.on(np.array(x, float))
        law = exact_law(score, np.array(x, float), plan.base, plan.threshold)
        layer = sum(q for p, q in law.items() if levels.level(p) > plan.threshold - 1)
        if layer > plan.mass:
            unsafe.append(least_level(score, levels))
    b = min(unsafe, default=plan.threshold)

    def distance(p, levels):
        return max(0, b - least_level(score, levels)) // p.sensitivity

    worst, step, _ = worst_delta(plan, score, list(values), n, distance)
    assert worst <= 2 * mu and step <= 1
    theorem = VolumeTheorem(b, "the boundary mass was enumerated for all data on {0..4}")
    release = truncated_exponential(
        score, np.zeros((n, 1)), epsilon=8.0, delta=0.4, threshold=2, theorem=theorem
    )
    assert release.guarantee.kind == "conditional" and "enumerated" in release.guarantee.assumptions[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": 1e-6, "share": 1.0}, "share"),
        ({"delta": 1e-6, "threshold": 0}, "threshold"),
        ({"epsilon": 0.01, "delta": 0.04}, "does not even pay"),
        ({"delta": 1e-6, "sampler": PermuteAndFlip()}, "infinitely many"),
        ({"delta": 1e-6, "sampler": HitAndRun(acknowledge_heuristic=True)}, "bounded"),
    ],
)
def test_refusals(arguments, words):
    score = l_statistic(median_weights(5), Lattice(Fraction(1), 1), clip=False)
    refuse((lambda: truncated_exponential(score, np.zeros((5, 1)), **{"epsilon": 1.0, **arguments}), words))


def test_scores_without_counts_need_a_theorem():
    refuse(
        (
            lambda: truncated_exponential(
                TukeyDepth(cube(1, 2, 2), 5), np.zeros((5, 2)), epsilon=1.0, delta=1e-3
            ),
            "VolumeTheorem",
        )
    )
    listed = l_statistic(median_weights(5), cube(1, 2, 1))
    refuse(
        (
            lambda: truncated_exponential(
                listed,
                np.zeros((5, 1)),
                epsilon=1.0,
                delta=1e-3,
                threshold=2,
                theorem=VolumeTheorem(4, "none"),
            ),
            "could be empty",
        ),
        (
            lambda: truncated_exponential(
                listed, np.zeros((5, 1)), epsilon=1.0, delta=1e-3, sampler=PermuteAndFlip()
            ),
            "another law",
        ),
    )
