"""Brackets of packing scores against exact rational arithmetic, and what one record can change."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sosdp.conic.svec import svec
from sosdp.laboratory.packing_problem import PackingProblem, svec_of_outer
from sosdp.laboratory.packing_score import QUANTUM, PackingScore, packing_score
from sosdp.privacy.scores.score import cube
from sosdp.structured.packing import lower_bound, solve, upper_bound
from tests.refusals import refuse


def bracket(records, candidate, lam, tolerance=1e-7):
    n, d = records.shape
    rows = np.hstack([records - candidate, np.ones((n, 1))])
    return solve(rows, np.append(np.full(d, n * lam), n), tolerance=tolerance)


def exact_dual(rows, bound, factor):
    """sum min(1, |V^T a|^2) - <V V^T, B> in rationals; a vector B is a diagonal."""
    V, B = (np.frompyfunc(Fraction, 1, 1)(x) for x in (factor, np.diag(bound) if bound.ndim == 1 else bound))
    lengths = [sum(x * x for x in np.array([Fraction(a) for a in row]) @ V) for row in rows.tolist()]
    return sum((min(Fraction(1), x) for x in lengths), Fraction(0)) - ((V @ V.T) * B).sum()


def matrices(generator, d, condition=3.0):
    basis = np.linalg.qr(generator.normal(size=(d, d)))[0]
    return basis * generator.uniform(1 / condition, condition, size=d) @ basis.T


def right_sides(generator, k):
    """Symmetric matrices from well to badly conditioned, or nearly singular."""
    basis = np.linalg.qr(generator.normal(size=(k, k)))[0]
    result = basis * 10.0 ** generator.uniform(-4, 3, size=k) @ basis.T
    return (result + result.T) / 2


def is_psd(matrix):
    """Exact, by elimination with the largest pivot."""
    m = [row[:] for row in matrix]
    while m:
        k = max(range(len(m)), key=lambda i: m[i][i])
        pivot = m[k][k]
        if pivot < 0 or (pivot == 0 and any(x != 0 for row in m for x in row)):
            return False
        if pivot == 0:
            return True
        m = [
            [m[i][j] - m[i][k] * m[k][j] / pivot for j in range(len(m)) if j != k]
            for i in range(len(m))
            if i != k
        ]
    return True


def hard_rows(generator, n, k, distant):
    """Rows with some enormous entries, nearly orthogonal to a direction."""
    rows = generator.normal(size=(n, k))
    rows[:, -1] = 1.0
    if distant:
        direction = generator.normal(size=k)
        direction /= np.linalg.norm(direction)
        away = generator.normal(size=(n // 2, k)) * 1e6
        rows[: n // 2] = away - np.outer(away @ direction, direction)
    return rows


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("distant", [False, True])
def test_both_ends_hold_in_exact_arithmetic(distant, diagonal):
    generator = np.random.default_rng(2 * distant + diagonal)
    useful = 0
    for _ in range(30):
        n, k = int(generator.integers(3, 12)), int(generator.integers(2, 5))
        rows = hard_rows(generator, n, k, distant)
        bound = generator.uniform(0.1, 2.0, size=k) if diagonal else right_sides(generator, k)
        factor = generator.normal(size=(k, int(generator.integers(1, k + 1)))) * generator.uniform(0.05, 0.8)
        exact, claimed = exact_dual(rows, bound, factor), lower_bound(rows, bound, factor)
        assert Fraction(claimed) <= max(exact, Fraction(0))
        useful += exact > 0
        assert not diagonal or float(exact) - claimed < 1e-6 or exact <= 0
        # the claim is that weights scaled to this cost are feasible
        right, weights = bound * n if diagonal else bound, generator.uniform(-0.1, 1.1, size=n)
        claimed = Fraction(upper_bound(rows, right, weights))
        w = [Fraction(x) for x in np.clip(weights, 0.0, 1.0).tolist()]
        keep = (n - claimed) / sum(w)
        assert 0 <= keep <= 1
        left = np.frompyfunc(Fraction, 1, 1)(np.diag(right) if diagonal else right)
        for weight, row in zip(w, rows.tolist(), strict=True):
            exactly = np.array([Fraction(a) for a in row])
            left = left - keep * weight * np.outer(exactly, exactly)
        assert is_psd(left.tolist())
    assert useful > 3


def test_wrong_claims_are_caught():
    # negative controls of the two exact judges
    rows, bound = np.array([[1.0, 1.0], [2.0, 1.0]]), np.array([2.0, 2.0])
    factor = np.array([[0.5], [0.1]])
    assert Fraction(lower_bound(rows, bound, factor) + 1e-3) > exact_dual(rows, bound, factor)
    assert not is_psd([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(1)]])
    assert not is_psd([[Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]])
    assert is_psd([[Fraction(1), Fraction(1)], [Fraction(1), Fraction(1)]])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "adversarial"])
@pytest.mark.parametrize("score", ["mean", "covariance", "relative"])
def test_one_record_changes_the_score_by_at_most_one(score, kind):
    generator, mean = np.random.default_rng(len(kind + score)), score == "mean"
    largest = 0.0
    for k in range(100):
        n, d = int(generator.integers(1, 8)), 1 + k % 3
        records, new = generator.normal(size=(n, d)), generator.normal(size=d)
        candidate = generator.normal(size=d) if mean else svec(matrices(generator, d, 8.0))
        if kind == "adversarial":
            records *= 10.0 ** generator.integers(-2, 3)
            if k % 3 == 0:
                records[:] = records[-1]
            if mean:
                candidate = records[-1] + (k % 2) * 0.2 * generator.normal(size=d)
            distant = np.full(d, 1e6 if mean else 900.0)
            new = (np.full(d, 1e-9), distant, -records[0], records[-1] + 0.5)[k % 4]
        other = records.copy()
        other[0] = new
        lam, features = float(generator.uniform(0.1, 2.5)), "identity" if mean else "covariance"
        problem = PackingProblem(features, d, lam, relative=score == "relative")
        one, two = (packing_score(problem, x, candidate, tolerance=1e-7) for x in (records, other))
        largest = max(largest, one.low - two.high, two.low - one.high)
    assert (0.4 if score == "covariance" else 0.6) < largest <= 1 + 1e-9


def test_every_neighbour_on_a_small_grid():
    values = [-2.0, 0.0, 0.5]
    problem = [np.array(x)[:, None] for x in itertools.product(values, repeat=3)]
    brackets = {tuple(x[:, 0]): bracket(x, np.array([0.4]), 0.7) for x in problem}
    worst = 0.0
    for first, one in brackets.items():
        for second, two in brackets.items():
            if sum(a != b for a, b in zip(first, second, strict=True)) == 1:
                worst = max(worst, one.low - two.high)
    assert 0.5 < worst <= 1 + 1e-9


def test_scores_of_the_reference_sample():
    records = np.random.default_rng(0).standard_normal(200)[:, None]
    for candidate, value in ((0.05, 0.6995), (0.1, 2.4431), (0.3, 11.7447), (1.0, 54.240), (3.0, 149.258)):
        result = bracket(records, candidate, 1.1)
        assert result.low == pytest.approx(value, abs=1e-3) and result.high == pytest.approx(value, abs=1e-3)


def test_zero_exactly_at_a_sample_mean_with_room():
    records = np.random.default_rng(2).normal(size=(40, 2))
    mean = records.mean(axis=0)
    largest = float(np.linalg.eigvalsh(np.cov(records.T, bias=True))[-1])
    assert bracket(records, mean, largest * 1.001).high < 1e-6
    assert bracket(records, mean, largest * 0.9).low > 1e-3
    assert bracket(records, mean + 0.05, largest * 1.001).low > 1e-3
    lows = [bracket(records, mean + 0.3, lam).low for lam in (0.5, 1.0, 2.0)]
    highs = [bracket(records, mean + 0.3, lam).high for lam in (0.5, 1.0, 2.0)]
    assert highs[1] <= lows[0] + 1e-6 and highs[2] <= lows[1] + 1e-6  # more room, lower score


@pytest.mark.parametrize(
    "records",
    [np.zeros((5, 2)), np.full((1, 1), 3.0), np.eye(3), np.full((6, 1), 1e6), np.array([[0.0], [1e6]])],
    ids=["equal", "one", "as many as coordinates", "far", "two"],
)
def test_degenerate_data_get_narrow_brackets(records):
    n, d = records.shape
    for candidate in (np.zeros(d), np.full(d, 0.7), np.full(d, 1e6)):
        result = bracket(records, candidate, 0.5)
        assert 0 <= result.low <= result.high <= n and result.width < 1e-5


def test_levels_are_those_of_the_bracket_whatever_is_asked_first():
    records = np.random.default_rng(4).normal(size=(25, 1))
    score = PackingScore(PackingProblem("identity", 1, 1.4), cube(Fraction(1, 8), 3, 1), 25)
    levels = score.on(records)
    for point in [(k,) for k in range(-24, 25, 4)]:
        fresh = score.on(records)
        level = levels.level(point)
        # cuts of other candidates may answer, but only within the promised width
        assert all(fresh.in_level(point, k) for k in (level, level + 3))
        assert not any(fresh.in_level(point, k) for k in (level - 2, level - 20) if k >= 0)
        low, high = levels.bracket(point).low, levels.bracket(point).high
        assert level == min(score.top, -(-Fraction(high) // QUANTUM)) and high - low <= 2**-10


def test_records_are_cleaned_one_by_one():
    problem = PackingProblem("identity", 2, 1.0)
    result = problem.records([[np.nan, 1.0], [np.inf, -1e30], [0.3, 0.1]], Fraction(1, 8))
    assert result.tolist() == [[0.0, 1.0], [0.0, -(2.0**20)], [0.25, 0.125]]
    assert svec_of_outer(np.array([[1.0, 2.0]]))[0] == pytest.approx([1.0, 2.0 * math.sqrt(2.0), 4.0])
    refuse(
        (lambda: PackingProblem("identity", 2, 0.0), "lam"),
        (lambda: PackingProblem("median", 2, 1.0), "features"),
    )
