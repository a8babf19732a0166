"""No bracket of a packing score is wider than is charged, whatever the records are and the solvers do."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from problems.gaussian import PrivateMean, TooFewRecords, means
from problems.gaussian.budgets import checked_budget
from problems.gaussian.columns import public_columns
from problems.gaussian.means import packing_bound
from problems.gaussian.planning import MeanTask, Plan
from sosdp.laboratory import packing_score as program
from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.laboratory.packing_score import WIDTH, PackingScore
from sosdp.privacy.mechanisms.exponential import exact_law
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.score import cube
from sosdp.structured import packing_ellipsoid
from sosdp.structured.packing import Bracket, certain, lower_bound, solve
from sosdp.structured.packing_bound import as_limit
from sosdp.structured.packing_ellipsoid import Ellipsoid, best_dual, eliminated, gram, steps
from tests.gaussian.test_covariances_attacked import neighbours
from tests.gaussian.test_pipelines import Transcript, loss
from tests.gaussian.test_scores import is_psd
from tests.refusals import refuse, spread


def nothing_found(rows, *_, **__):
    """What is known where every solver fails."""
    n, k = rows.shape
    return Bracket(0.0, float(n), np.zeros(n), np.zeros((k, 1)))


def hostile(generator, kind, n, d):
    records = generator.normal(size=(n, d))
    if kind == "far":  # and nearly orthogonal to one direction
        records[:, 0] *= 1e-3
        records[:, 1:] *= 10.0 ** generator.uniform(0, 9, size=(n, d - 1))
    if kind == "at the edge":  # where records begin to be given up
        records *= math.sqrt(512 * (d + 1) * n) * generator.uniform(0.9, 1.1, size=(n, 1))
    if kind == "equal":
        records[:] = records[0]
    return records


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["plain", "far", "at the edge", "equal"])
def test_the_last_resort_ends_within_its_width(kind):
    generator = np.random.default_rng(len(kind))
    for n, d in ((1, 2), (4, 1), (6, 2), (60, 2)):
        records = hostile(generator, kind, n, d)
        rows = np.hstack([records - 0.25, np.ones((n, 1))])
        bound = np.append(np.full(d, 0.7 * n), float(n))
        right = solve(rows, bound, tolerance=1e-4)
        low, factor = best_dual(
            rows, as_limit(bound), lambda V, a=rows, b=bound: lower_bound(a, b, V), math.inf
        )
        assert right.low <= low + float(packing_ellipsoid.WIDTH) and low <= right.high
        assert low == lower_bound(rows, bound, factor)
        result = certain(rows, bound, nothing_found(rows))
        assert result.width <= packing_ellipsoid.WIDTH + 2.0**-40 and right.low <= result.high
        assert certain(rows, bound, right) is right


def test_records_that_are_given_up_are_counted():
    # the least length at which they are, in every direction: at each value that is proven they count 1
    n = 20
    angles = np.arange(n) * np.pi / n
    away = 1.0001 * math.sqrt(512 * 3 * 0.7 * n)
    rows = np.hstack([away * np.stack([np.cos(angles), np.sin(angles)], axis=1), np.ones((n, 1))])
    rows[::2, :2] *= 1e-4  # and half of them plain
    bound, given_up = np.array([0.7 * n, 0.7 * n, n]), []

    def price(factor):
        given_up.append(float(((rows[1::2] @ factor) ** 2).sum(axis=1).min()))
        return lower_bound(rows, bound, factor)

    low, _ = best_dual(rows, as_limit(bound), price, math.inf)
    assert len(given_up) > 100 and min(given_up) >= 1.0
    assert solve(rows, bound, tolerance=1e-4).low - low < float(packing_ellipsoid.WIDTH)


LATTICE = cube(Fraction(1, 2), 1, 1)
VALUES = (-1.0, 0.0, 0.5, 40.0)


def worst_loss(score, tables, epsilon):
    base = rational_base(epsilon, score.sensitivity)
    laws = {key: exact_law(score, np.array(key)[:, None], base) for key in tables}
    worst = 0.0
    for one, two in itertools.combinations(tables, 2):
        if sum(a != b for a, b in zip(one, two, strict=True)) == 1:
            ratios = [math.log(laws[one][p] / laws[two][p]) for p in laws[one]]
            worst = max(worst, max(map(abs, ratios)))
    return worst


def test_all_small_tables_and_neighbours_without_any_solver(monkeypatch):
    n, epsilon = 3, 0.5
    tables = list(itertools.product(VALUES, repeat=n))
    tables = [t for t in tables if list(t[:2]) == sorted(t[:2])]
    score = PackingScore(PackingProblem("identity", 1, 0.3), LATTICE, n)
    assert 0.2 < worst_loss(score, tables, epsilon) <= epsilon
    best = solve

    def sometimes(rows, bound, **options):
        """Solvers that fail on half of the tables: the worst for privacy."""
        return best(rows, bound, **options) if rows[:, 0].sum() > 0.6 else nothing_found(rows)

    monkeypatch.setattr(program, "solve", sometimes)
    assert worst_loss(score, tables, epsilon) <= epsilon
    # negative control: a bracket that is not narrow is not charged
    monkeypatch.setattr(program, "certain", lambda rows, bound, result: result)
    assert worst_loss(score, tables, epsilon) > epsilon


def test_every_bracket_is_certified_to_be_narrow(monkeypatch):
    score = PackingScore(PackingProblem("identity", 2, 0.7), cube(Fraction(1, 2), 1, 2), 5)
    monkeypatch.setattr(program, "solve", nothing_found)
    levels = score.on(np.random.default_rng(0).normal(size=(5, 2)) * 3)
    assert all(0 <= levels.bracket(p).width <= WIDTH for p in [(0, 0), (1, -2)])
    assert WIDTH > packing_ellipsoid.WIDTH + Fraction(1, 2**20)
    refuse(
        *spread(
            lambda records, lam: PackingScore(
                PackingProblem("identity", 2, lam), cube(Fraction(1, 2), 1, 2), records
            ),
            ((packing_ellipsoid.MOST + 1, 1.0), (5, 2.0**101), (5, 2.0**-101)),
            "proven to be narrow",
        )
    )


@pytest.mark.parametrize("size", [1, 3, 6])
def test_a_cut_keeps_what_it_should(size):
    generator = np.random.default_rng(size)
    body = Ellipsoid(size, 5, 40)
    one = 1 << body.digits
    for _ in range(40):
        old = [[Fraction(x, one) for x in row] for row in body.shape]
        centre = [Fraction(x, one) for x in body.centre]
        g = [int(x) for x in generator.integers(-9, 10, size)]
        g[0] += not any(g)
        assert body.cut(g)
        moved = [sum(a * x for a, x in zip(row, g, strict=True)) for row in old]
        square = sum(a * b for a, b in zip(g, moved, strict=True))
        N = Fraction(size)
        grown = N * N / (N * N - 1) if size > 1 else Fraction(1, 4)
        turned = 2 / (N + 1) / square if size > 1 else Fraction(0)
        exact = [
            [grown * (old[a][b] - turned * moved[a] * moved[b]) for b in range(size)] for a in range(size)
        ]
        more = 1 + Fraction(1, 2 * body.spread)
        new = [[Fraction(x, one) for x in row] for row in body.shape]
        assert is_psd([[new[a][b] - more * exact[a][b] for b in range(size)] for a in range(size)])
        assert not is_psd([[new[a][b] - 2 * exact[a][b] for b in range(size)] for a in range(size)])
        # the centre is moved by A g / (N + 1) / sqrt(g^T A g), which is within the inflation
        root = Fraction(math.isqrt(int(square * one * one)), one)
        wrong = sum(
            (Fraction(x, one) - c - m / (root * (N + 1))) ** 2
            for x, c, m in zip(body.centre, centre, moved, strict=True)
        )
        assert wrong * (5 * body.spread) ** 2 < min(new[a][a] for a in range(size)) / 2**20
        assert sum((Fraction(x, one) - c) * y for x, c, y in zip(body.centre, centre, g, strict=True)) > 0
    assert not body.cut([0] * size)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_after_the_public_number_of_steps_the_volume_is_small(k):
    n, size = 4, k * (k + 1) // 2
    number = steps(n, k)
    body = Ellipsoid(size, 5, number)
    generator = np.random.default_rng(k)
    for _ in range(number):
        body.cut([int(x) for x in generator.integers(-(10**6), 10**6, size)])
    left = [[Fraction(x, 1 << body.digits) / 25 for x in row] for row in body.shape]
    volume = 0.0
    while left:  # logarithm of the determinant
        pivot = left[0][0]
        volume += math.log(pivot)
        left = [[row[b] - row[0] * left[0][b] / pivot for b in range(1, len(left))] for row in left[1:]]
    wanted = size * math.log(2 * math.sqrt(2) * k * 2.25 * n * 2**9)
    assert volume / 2 < -wanted


def test_integer_arithmetic_is_exact():
    generator = np.random.default_rng(0)
    table = generator.integers(-(2**53), 2**53, size=(40, 3))
    whole = [[sum(int(r[a]) * int(r[b]) for r in table) for b in range(3)] for a in range(3)]
    assert gram(table) == whole and gram(table[:0]) == [[0] * 3] * 3
    negative = 0
    for _ in range(200):
        matrix = generator.integers(-3, 4, size=(3, 3))
        matrix = (matrix + matrix.T + generator.integers(0, 9) * np.eye(3, dtype=int)).tolist()
        direction, root = eliminated(matrix)
        if direction is None:
            assert np.allclose(np.array(root) @ np.array(root).T, matrix)
        else:
            negative += 1
            assert any(direction)
            assert (
                sum(x * y * matrix[a][b] for a, x in enumerate(direction) for b, y in enumerate(direction))
                <= 0
            )
    assert 20 < negative < 180


class Drawn(Exception):
    """In place of a draw."""


@pytest.mark.few(1)
@pytest.mark.parametrize("d", [1, 2])
def test_the_mean_of_four_records_and_all_neighbours(monkeypatch, d):
    """The frame's loss is what is charged for it; given the frame, the law of the draw changes by its own."""
    monkeypatch.setattr(means, "IntegerQueries", Transcript)
    seen = []

    def draw(score, rows, *, epsilon, **_):
        coarse = PackingScore(score.problem, cube(Fraction(1), 2, d), score.records)
        seen.append(
            (score.lattice, rows, exact_law(coarse, rows, rational_base(epsilon, coarse.sensitivity)))
        )
        raise Drawn

    monkeypatch.setattr(means, "pure_exponential", draw)
    columns = public_columns((-4.0, 4.0), False, d)
    task = MeanTask(4, d, 0, True, 0.1, 0.0)
    each = Fraction(2)  # so much that the frame shows the records, and the law of the draw depends on them
    plan = Plan("packing", each, {"frame": 2 * d * each, "draw": Fraction(1, 2)}, 0.0, 0.0, 0.0)
    budget = checked_budget(0.5 + 2.0 * d * float(each), 0.0, None)

    def run(rows):
        entries = columns.clipped(np.array(rows, dtype=float))
        with warnings.catch_warnings(), pytest.raises(Drawn):
            warnings.simplefilter("error")
            means.private_mean(entries, columns, task, budget, plan, 1)
        return Transcript.seen

    values = [0.0, 1e308, math.nan, -2.0]
    rows = (
        [[x] for x in values] if d == 1 else [[0.0, 1.0], [-0.0, 1e308], [math.nan, -2.0], [0.5, -math.inf]]
    )
    worst = 0.0
    for start, table in enumerate(list(itertools.permutations(rows, 4))[:: 6 if d == 1 else 2]):
        Transcript.seen, Transcript.script, seen[:] = [None] * start, None, []  # noise of its own
        own = run(table)
        Transcript.script = own
        for other in neighbours([list(row) for row in table]):
            assert loss(own, run(other)) <= 2 * d * each + 1e-9
            (lattice, first, one), (again, last, two) = seen[0], seen[-1]
            assert lattice == again and (first != last).any(axis=1).sum() <= 1
            worst = max(worst, *(abs(math.log(one[p] / two[p])) for p in one))
        Transcript.script = None
    assert 0.05 < worst <= 0.5


def test_a_mean_by_the_packing_score():
    generator = np.random.default_rng(0)
    table = generator.normal(size=(1500, 2))
    table[:225] = [6.0, 6.0]  # fifteen per cent, and no column alone shows where
    table = table * [3.0, 0.01] + [100.0, 1.0]
    made = PrivateMean(2.0, bounds=[(0, 200), (0, 2)], contamination=0.15, method="packing").fit(table)
    assert np.abs((made.mean_ - [100.0, 1.0]) / [3.0, 0.01]).max() < 0.3
    assert made.guarantee_.kind == "certified" and made.guarantee_.epsilon <= 2.0 and made.interval_ is None
    assert made.method_ == "packing" and made.estimates_ == ("robust mean", "robust mean")
    folded = PrivateMean(2.0, bounds=[(0, 200), (0, 2)], contamination=0.15).fit(table)
    assert np.abs((folded.mean_ - [100.0, 1.0]) / [3.0, 0.01]).max() > 0.35


def test_what_the_packing_score_refuses():
    for options, d in (({"delta": 1e-6}, 2), ({"tight": True}, 1), ({}, 5)):
        model = PrivateMean(1.0, bounds=(0, 1), contamination=0.1, method="packing", **options)
        with pytest.raises(ValueError, match="packing score is for"):
            model.plan(10_000, d)
    few = PrivateMean(0.1, bounds=(0, 1), contamination=0.1, method="packing")
    with pytest.raises(TooFewRecords) as refused:
        few.plan(1000, 2)
    assert few.plan(refused.value.needed, 2).method == "packing"
    # a little below the variance of the right rows in a frame that wrong rows widen
    assert 0.84 < packing_bound(0.75, 0.0) <= 0.85 and 0.45 < packing_bound(0.75, 0.1) < 0.6
