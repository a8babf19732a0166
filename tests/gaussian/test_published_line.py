"""The exact score of one coordinate, and Theorem 4.2 on it: all neighbours, exact deltas, controls."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from problems.gaussian.planning import TooFewRecords
from problems.gaussian.published import truncated
from problems.gaussian.published.line import Candidates, LineScore, points_of
from problems.gaussian.theory import extremal_example
from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.laboratory.packing_score import packing_score
from sosdp.privacy.mechanisms.exponential import plan_truncated
from sosdp.privacy.verification.audit import hockey_stick
from tests.neighbours import neighbour_pairs
from tests.refusals import refuse

HOSTILE = [0.0, -0.0, 5e-324, 1e-200, 1.0, -3.0, 1e308, -1e308, math.inf, math.nan]


def mean_score(n, lam=Fraction(3, 2), quantum=Fraction(1), spacing=Fraction(1, 2)):
    return LineScore(Candidates("mean", spacing), n, lam, quantum=quantum)


def variance_score(n, lam=Fraction(5, 2), quantum=Fraction(1), steps=2):
    return LineScore(Candidates("variance", steps=steps), n, lam, quantum=quantum)


@pytest.mark.parametrize("task", ["mean", "variance"])
def test_it_is_the_packing_score(task):
    generator = np.random.default_rng(3)
    fine = Fraction(1, 64)
    for trial in range(25):
        n = int(generator.integers(1, 9))
        records = np.round(generator.normal(size=n) * 10.0 ** generator.integers(-1, 2) * 64) / 64
        records = np.round(records) if trial % 3 == 0 else records
        lam = Fraction(int(generator.integers(1, 40)), 16)
        score = (mean_score if task == "mean" else variance_score)(n, lam, fine)
        t = int(generator.integers(-5, 6))
        candidate = float(score.candidates.value(t))
        features = "identity" if task == "mean" else "covariance"
        problem = PackingProblem(features, 1, float(lam), relative=task == "variance")
        result = packing_score(problem, records, [candidate], tolerance=1e-7)
        level = score.on(records).level((t,))
        assert result.low * 64 - 1e-3 <= level <= result.high * 64 + 1 + 1e-3


def test_the_extremal_example_exactly():
    records, lam, c = extremal_example(20, 2)
    score = LineScore(Candidates("mean"), 20, Fraction(lam), quantum=Fraction(1))
    at_zero = 2 + Fraction(4, 18)
    assert score.given_up(records, Fraction(0), at_zero + Fraction(1, 10**9))
    assert not score.given_up(records, Fraction(0), at_zero - Fraction(1, 10**9))
    assert score.given_up(records, Fraction(c), 2 + Fraction(1, 10**9))


@pytest.mark.parametrize("make", [mean_score, variance_score])
def test_one_record_moves_a_level_by_one_on_all_small_tables(make):
    """All tables of three hostile records, all neighbours; quarters of a record move by four."""
    for quantum, moved in ((Fraction(1), 1), (Fraction(1, 4), 4)):
        score = make(3, quantum=quantum)
        assert score.sensitivity == moved
        points = [(t,) for t in (-9, -2, 0, 1, 3)]
        alphabet = HOSTILE if quantum == 1 else HOSTILE[3:7]
        result = {
            chosen: [score.on(np.array([alphabet[k] for k in chosen])).level(point) for point in points]
            for chosen in combinations_with_replacement(range(len(alphabet)), 3)
        }
        levels = neighbour_pairs(result, range(len(alphabet)))
        assert max(abs(a - b) for near in levels for a, b in zip(*near, strict=True)) == moved


@pytest.mark.parametrize("make", [mean_score, variance_score])
def test_boxes_hold_their_levels(make):
    generator = np.random.default_rng(5)
    for _ in range(12):
        n = int(generator.integers(7, 16))
        records = generator.normal(size=n) * 2.0 ** generator.integers(-2, 3)
        records[: int(generator.integers(0, 3))] = generator.choice([0.0, 30.0, -1e9])
        levels = make(n).on(records)
        for k in range(3):
            box = levels.box(k)
            if box is None:
                continue
            inside = {p for p in points_of(((-80, 80),)) if levels.level(p) <= k}
            assert inside <= set(points_of(box))


# ------------------------------------------------------------------------------------------------------------
# Whole pipelines


def law(score, plan, records, accept=None):
    """Exact output law: probability of every candidate, and of declining under None."""
    levels = score.on(np.array(records))
    last = plan.threshold + plan.sensitivity * (plan.profile.length - 1)
    distance = plan.distance({j: levels.count(j) for j in range(last + 1)})
    chance = plan.profile.probability(distance) if accept is None else accept
    box = levels.box(plan.threshold)
    result = {} if box is None else {p: levels.level(p) for p in points_of(box)}
    weights = {p: plan.base.ratio**k for p, k in result.items() if k <= plan.threshold}
    total = sum(weights.values())
    if not total:
        return {None: 1.0}
    return {None: 1.0 - float(chance)} | {p: float(chance * w / total) for p, w in weights.items()}


def worst_delta(laws, alphabet, epsilon):
    return max(hockey_stick(*near, epsilon) for near in neighbour_pairs(laws, alphabet))


@pytest.mark.parametrize(
    ("make", "n", "alphabet", "epsilon", "delta"),
    [
        (mean_score, 3, (-2.0, 0.0, 0.5, 9.0), 6.0, 0.4),
        (mean_score, 9, (0.0, 1.0, 40.0), 8.0, 0.4),
        (variance_score, 3, (0.0, 0.5, 1.0, 9.0), 6.0, 0.4),
    ],
)
def test_self_certified_draws_on_all_neighbours(make, n, alphabet, epsilon, delta):
    """Exact laws of whole pipelines; control: accepting every table breaks the promise."""
    score = make(n) if make is mean_score else make(n, lam=Fraction(1, 4))
    plan = plan_truncated(score, epsilon=epsilon, delta=delta, threshold=1)
    tables = list(combinations_with_replacement(alphabet, n))
    laws = {table: law(score, plan, table) for table in tables}
    assert worst_delta(laws, alphabet, epsilon) <= delta
    careless = {table: law(score, plan, table, accept=Fraction(1)) for table in tables}
    assert worst_delta(careless, alphabet, epsilon) > delta
    if n == 9:
        assert min(result[None] for result in laws.values()) < 1.0  # some tables are answered


@pytest.mark.parametrize(
    ("task", "levels"), [("mean", (6, 4, 2)), ("mean", (5, 3, 1)), ("variance", (4, 3, 2))]
)
def test_the_volume_theorem_against_enumeration(task, levels):
    """N(T) / N(t) of every table found, against the bound; and the bound is not vacuous."""
    generator = np.random.default_rng(7)
    T, t, b = levels
    n = 40 if task == "mean" else 160
    steps = 64
    score = mean_score(n, spacing=Fraction(1, steps)) if task == "mean" else variance_score(n, steps=steps)
    bound = truncated.log_ratio(score.candidates, float(score.lam), n, levels)
    assert math.isfinite(bound)
    largest = -math.inf
    for trial in range(8):
        records = generator.normal(size=n) * (0.6 if task == "mean" else 1.0)
        if trial % 2:
            records = np.concatenate([np.zeros(n - 2 * T), np.full(T, 3.0), np.full(T, -3.0 * (trial % 3))])
            records = records + (1.0 if task == "variance" else 0.0)
        levels_of = score.on(records)
        if min(levels_of.level(p) for p in points_of(levels_of.box(T))) < b:
            largest = max(largest, math.log(levels_of.count(T)) - math.log(levels_of.count(t)))
    assert 0 < largest <= bound


@pytest.mark.parametrize("task", ["mean", "variance"])
def test_scores_are_nearly_convex_along_every_segment(task):
    """No candidate on the proven part of the way from one to another has a larger score than is claimed."""
    generator = np.random.default_rng(5)
    n, steps, q = 24, 24, 8
    lam = Fraction(1, 2) if task == "mean" else Fraction(1, 4)
    excess = 1.0 if task == "mean" else 1.0 + float(lam)
    checked = convex = 0
    for trial in range(8):
        many = int(generator.integers(2, 6))
        records = np.concatenate([generator.normal(size=n - many), np.full(many, 2.0 + trial % 3)])
        records[: trial * 2] = np.sign(records[: trial * 2])  # at two places
        make = mean_score if task == "mean" else variance_score
        step = {"spacing": Fraction(1, 8)} if task == "mean" else {"steps": 8}
        levels = make(n, lam, Fraction(1, q), **step).on(records)
        values = make(n, lam, Fraction(1, q), **step).candidates
        level = {t: levels.level((t,)) for t in range(-steps, steps)}
        low = [t for t, result in level.items() if result <= 0.4 * n * q]
        for a, b in product(low, low):
            if abs(a - b) < 2 or level[a] >= level[b]:
                continue
            ends = [float(values.value(t)) for t in (a, b)]
            for t in range(min(a, b) + 1, max(a, b)):
                under = level[t] - 1  # its score is above
                if not level[a] < under < level[b]:
                    continue
                way = (float(values.value(t)) - ends[0]) / (ends[1] - ends[0])
                scores = (level[a] / (q * n), level[b] / (q * n), under / (q * n))
                assert truncated.convex_share(scores, excess) <= way
                checked += 1
                convex += (under - level[a]) / (level[b] - level[a]) > way
    assert checked > 100
    assert convex > 0 or task == "variance"  # control: they are not convex


def test_the_part_of_the_way_is_what_the_page_says():
    assert truncated.convex_share((0.07, 0.1, 0.08), 1.0) == pytest.approx(0.115, abs=0.001)
    # c / alpha = .171 (1 + sqrt(10/7)) and a / alpha so that their harmonic sum is .17
    first = 0.17 * (1 + math.sqrt(10 / 7))
    second = 1 / (1 / 0.17 - 1 / first)
    part = 0.01 / (0.03 + 0.07 * first + 0.1 * second)
    assert truncated.convex_share((0.07, 0.1, 0.08), 1.0) == pytest.approx(part, rel=1e-6)
    assert truncated.convex_share((0.0, 0.1, 0.05), 1.0) == pytest.approx(0.05 / (0.1 + 0.1 / 9), rel=1e-6)
    assert truncated.convex_share((0.4, 0.45, 0.44), 3.0) == 0.0  # nothing is proven
    grid = Candidates("mean", Fraction(1, 128))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(truncated, "convex_share", lambda *_: 0.0)
        assert 3.7 < truncated.log_ratio(grid, 1.02, 5056, (505, 404, 354)) < 3.8  # by separation alone
    assert truncated.log_ratio(grid, 1.02, 5056, (505, 404, 354)) == pytest.approx(2.48, abs=0.05)


def test_the_excess_of_a_variance():
    """(1 - a) x^2 + a y^2 - ((1 - a) x + a y)^2 = a (1 - a) (x - y)^2, lam times, is in the ratio."""
    numbers = (2.0, 11_000, (330, 264, 231))
    grid = Candidates("variance", spacing=Fraction(1, 256), steps=256)
    ratio = truncated.log_ratio(grid, *numbers)
    assert ratio == pytest.approx(3.36, abs=0.01)
    assert ratio > truncated.log_ratio(
        Candidates("variance", spacing=Fraction(1, 256), steps=256), 1.6, *numbers[1:]
    )


def test_public_numbers_decide_and_name_the_records():
    for task, eta in (("mean", 0.1), ("variance", 0.03)):
        needed = truncated.least_records(task, 4.0, 1e-6, eta)
        assert truncated.truncation(task, needed, 4.0, 1e-6, eta).holds
        assert not truncated.truncation(task, needed * 3 // 4, 4.0, 1e-6, eta).holds
    with pytest.raises(TooFewRecords) as refused:
        truncated.published_location(np.zeros(100), 1.0, 1e-6)
    assert 2500 < refused.value.needed < 3500
    refuse(
        (lambda: truncated.published_gaussian(np.zeros(3000), 1.0, 1e-6), None, TooFewRecords),
        (lambda: truncated.least_records("variance", 1.0, 1e-6, 0.2), "at any number"),
    )
    plan = truncated.truncation("mean", 100, 1.0, 1e-6)
    refuse((lambda: truncated.truncated_draw(plan, np.zeros(100)), "does not apply"))


def test_a_location_and_a_variance_far_away():
    """Found without bounds; a table of two clusters is declined. The same by the new design."""
    generator = np.random.default_rng(1)
    records = 1e6 + generator.normal(size=100)
    result = truncated.published_location(records, 16.0, 1e-3, eta=0.25)
    assert result.value == pytest.approx(records.mean(), abs=0.6)
    assert result.guarantee.epsilon == 16.0 and result.guarantee.delta == 1e-3
    records[50:] += 1e3
    assert truncated.published_location(records, 16.0, 1e-3, eta=0.25).value is None
    hostile = np.array([math.nan, math.inf, 1e308, 0.0, 5e-324] * 100)
    assert truncated.published_location(hostile, 16.0, 1e-3, eta=0.25).value in (
        None,
        pytest.approx(0, abs=1),
    )


def test_numbers_of_numpy_do_not_overflow():
    """Public arguments may be numpy's integers; the sums over records are of Python's."""
    records = [2.0**30, -(2.0**30), 3.0, 4.0, 5.0]
    plain = LineScore(Candidates("mean"), 5, 2).on(records)
    counted = LineScore(Candidates("mean"), np.int64(5), np.int64(2), quantum=np.float64(1.0)).on(records)
    assert type(counted.score.records) is int and type(counted.score.lam.numerator) is int
    for place in (-7, 0, 4, 1000):
        assert counted.level((place,)) == plain.level((place,))
    refuse((lambda: LineScore(Candidates("mean"), 5.5, 2), "records"))
