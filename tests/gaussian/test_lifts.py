"""The localised lift and the literal program: certified brackets, order, sensitivity, convexity."""

from fractions import Fraction

import numpy as np
import pytest

from problems.gaussian.published.localised_lift import LocalisedLiftScore
from problems.gaussian.published.program import LiteralSoSScore
from problems.gaussian.theory import extremal_example, quasi_convexity_defect
from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.laboratory.packing_score import packing_score
from sosdp.privacy.scores.score import cube
from sosdp.structured.packing import solve
from tests.refusals import refusals

Y = [-1.0, -0.3, 0.2, 0.9]


def completion(records, candidate, lam):
    """A certified bracket of s2."""
    n, d = records.shape
    rows = np.hstack([records - candidate, np.ones((n, 1))])
    result = solve(rows, np.append(np.full(d, n * lam), n), tolerance=1e-6)
    return result.low, result.high


def test_the_lift_is_flat_where_the_completion_score_is_not_convex():
    records, lam, c = extremal_example(6, 2)
    score = LocalisedLiftScore(6, 1, lam)
    for candidate in (-c, 0.0, c):
        low, high = score.bracket(records, [candidate])
        assert low <= 2.0 + 1e-9 and high >= 2.0 - 1e-9 and high - low < 2e-3
    assert completion(records, 0.0, lam)[0] == pytest.approx(2 + quasi_convexity_defect(2, 6), abs=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(("n", "d"), [(5, 1), (6, 2)])
def test_order_of_the_scores(n, d):
    generator = np.random.default_rng([n, d])
    for _ in range(3 - d):
        records = generator.normal(size=(n, d))
        candidate = generator.normal(size=d) * 0.4
        lam = generator.uniform(0.8, 1.6)
        low, high = LocalisedLiftScore(n, d, lam).bracket(records, candidate, width=0.05)
        least, most = completion(records, candidate, lam)
        assert 0 <= low <= high <= n and high - low < 0.1
        assert low <= most + 1e-9
        if high <= n / 4:
            assert least <= high + 3 * high**2 / (n - high) + 1e-9


@pytest.mark.few(1)
@pytest.mark.parametrize("d", [1, 2])
def test_one_record_changes_the_lift_by_at_most_one(d):
    generator = np.random.default_rng(d)
    largest = 0.0
    for _ in range(4 if d == 1 else 2):
        n = int(generator.integers(2, 5))
        records = generator.normal(size=(n, d))
        other = records.copy()
        other[0] = generator.normal(size=d) * 10.0 ** generator.integers(-2, 3)
        score = LocalisedLiftScore(n, d, float(generator.uniform(0.3, 2.0)))
        candidate = generator.normal(size=d)
        one, two = (score.bracket(x, candidate, width=0.1) for x in (records, other))
        # certified: the true difference is at least this
        gap = max(one[0] - two[1], two[0] - one[1])
        largest = max(largest, gap)
        assert gap <= 1 + 1e-9
    assert largest > 0.3  # the pairs are not all harmless


def test_sublevel_sets_of_the_lift_are_convex_along_segments():
    generator = np.random.default_rng(7)
    records = np.append(generator.normal(size=3) - 1, 4.0)[:, None]
    score = LocalisedLiftScore(4, 1, 1.0)
    brackets = [score.bracket(records, [x], width=0.05) for x in np.linspace(-3, 6, 7)]
    for i in range(7):
        for j in range(i + 2, 7):
            ends = max(brackets[i][1], brackets[j][1])
            assert max(low for low, _ in brackets[i + 1 : j]) <= ends + 1e-9


def test_far_records_need_far_moments():
    """Where the records given up must lie far away, the a-priori bound still holds them: never refuted."""
    records = np.array([0.0, 0.0, 0.0, 40.0])[:, None]
    low, high = LocalisedLiftScore(4, 1, 100.0).bracket(records, [20.0])
    assert 2.43 < low <= high < 2.45  # with moments of at most 1 it would be 2.9
    assert high < completion(records, np.array([20.0]), 100.0)[0]


def test_the_lift_as_a_private_score():
    score = LocalisedLiftScore(4, 1, 1.0).score_function(cube(Fraction(1), 2, 1))
    levels = score.on(np.array(Y)[:, None])
    result = [levels.level((k,)) for k in range(-2, 3)]
    assert result[2] <= min(result) + 1 and result[0] > result[2] and result[4] > result[2]


@pytest.mark.slow
@pytest.mark.parametrize(("candidate", "value", "within"), [(0.3, 1.0, 2e-3), (3.0, 3.847, 0.1)])
def test_the_degree_four_program(candidate, value, within):
    result = LiteralSoSScore(4, degree=4).bracket(Y, [candidate], tolerance=within)
    assert value - 1e-3 <= result.numerical <= value + 1e-3 + within and result.violation < 1e-6
    assert result.low <= result.numerical <= result.high and result.low > value - 0.02 - within
    low, _ = LocalisedLiftScore(4, 1, 1.0).bracket(Y, [candidate])
    assert low <= result.numerical + 1e-6


def test_the_degree_four_program_on_three_records():
    records = np.array([-0.5, 0.1, 0.6])
    score = LiteralSoSScore(3, degree=4, lam=0.8, reach=4.0)
    result = score.bracket(records, [0.7], tolerance=0.05)
    low, _ = LocalisedLiftScore(3, 1, 0.8).bracket(records, [0.7])
    assert low <= result.numerical + 1e-6 and 0 < result.low <= result.high <= 3
    moved = score.bracket([-0.5, 0.1, 3.0], [0.7], tolerance=0.05)
    assert moved.low - result.numerical <= 1 and result.low - moved.numerical <= 1


@pytest.mark.slow
def test_the_program_for_a_variance_is_above_the_lift():
    records = np.array([-1.0, 0.4, 1.3])[:, None]
    score = LiteralSoSScore(3, degree=4, lam=2.0, reach=4.0, features="covariance")
    result = score.bracket(records, [3.0], tolerance=0.2)
    s4, s2 = LocalisedLiftScore(3, 1, 2.0), PackingProblem("covariance", 1, 2.0)
    assert result.numerical == pytest.approx(1.878, abs=0.2) and result.low > 1.67
    assert s4.bracket(records**2, [3.0])[0] <= result.numerical
    assert packing_score(s2, records, [3.0]).low <= result.numerical


test_refusals = refusals(
    (lambda: LiteralSoSScore(6), "1 to 5"),
    (lambda: LiteralSoSScore(3, degree=3), "degree"),
    (lambda: LocalisedLiftScore(301, 1, 1.0), "PackingScore"),
    (lambda: LiteralSoSScore(2).bracket([0.0, 9.0], [0.0]), "reach"),
)
