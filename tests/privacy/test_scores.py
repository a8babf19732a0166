"""Scores against brute force: inverse sensitivity, depths, boxes, counts, sensitivity, hostile data."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.scores.depth import RegressionDepth, TukeyDepth, half_space_depth
from sosdp.privacy.scores.location import (
    coordinate_max,
    directional,
    integer_directions,
    l_statistic,
    mean_weights,
    median_weights,
    quantile_weights,
    trimmed_weights,
)
from sosdp.privacy.scores.score import Lattice, box_size, cube, intersect
from tests.neighbours import neighbour_pairs
from tests.refusals import refuse


def multisets(values, n):
    return itertools.combinations_with_replacement(values, n)


def table(score, data):
    levels = score.on(np.array(data, dtype=float))
    return {point: levels.level(point) for point in score.lattice.points()}


WEIGHTS = [median_weights(4), (0, 1, 0, 0), (2, 0, 0, 1), (1, 2, 1, 0), mean_weights(4), (0, 0, 0, 2)]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("slack", [0, Fraction(1, 3), Fraction(1, 2)])
def test_l_statistics_against_brute_force(weights, slack):
    """Inverse sensitivity by trying all replacements: never larger, equal where attainable."""
    grid, n = range(-2, 3), 4
    score = l_statistic(weights, cube(1, 2, 1), slack=slack)
    total = sum(weights)
    estimates = {x: Fraction(sum(w * v for w, v in zip(weights, x)), total) for x in multisets(grid, n)}
    equal = 0
    for data in list(estimates)[::4]:
        levels = score.on(np.array(data, float))
        for theta in grid:
            reached = [
                n - sum((_count(data, v)[0] and min(data.count(v), x.count(v))) for v in set(data))
                for x, e in estimates.items()
                if abs(e - theta) <= slack
            ]
            level = levels.level((theta,))
            if reached:
                assert level <= min(reached)
                equal += level == min(reached)
            lows = [k for k in range(n + 1) if levels.in_level((theta,), k)]
            assert lows == list(range(level, n + 1))
    assert equal > 50


def _count(data, value):
    return (data.count(value),)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("clip", [True, False])
def test_sensitivity_is_exactly_one(weights, clip):
    values = range(-2, 3)
    lattice = cube(1, 2, 1)
    score = l_statistic(weights, lattice, slack=Fraction(1, 3), clip=clip)
    tables = {x: table(score, x) for x in multisets(values, 4)}
    assert (
        max(abs(one[p] - two[p]) for one, two in neighbour_pairs(tables, values) for p in lattice.points())
        == 1
    )
    assert max(max(t.values()) for t in tables.values()) <= score.top


def test_boxes_and_counts_are_exact():
    rng = np.random.default_rng(3)
    for clip, d in itertools.product((True, False), (1, 2)):
        box = ((-7, 9),) * d
        score = coordinate_max(
            trimmed_weights(7, 2), Lattice(Fraction(1, 2), d, box), slack=Fraction(1, 3), refine=3, clip=clip
        )
        levels = score.on(rng.normal(scale=2, size=(7, d)))
        result = {p: levels.level(p) for p in score.lattice.points()}
        for k in range(score.top + 1):
            inside = {p for p, level in result.items() if level <= k}
            assert levels.count(k) == len(inside) == box_size(levels.box(k))
            assert all(levels.in_level(p, k) == (p in inside) for p in result)
    assert levels.count(-1) == 0


def test_unbounded_counts_become_infinite_and_slack_guarantees_points():
    lattice = Lattice(Fraction(1, 10), 2)
    score = coordinate_max(median_weights(9), lattice, slack=Fraction(1, 2), clip=False)
    assert score.level0_count == 100 and score.top == 5 and score.finite_below == 4
    rng = np.random.default_rng(0)
    for _ in range(20):
        levels = score.on(rng.normal(size=(9, 2)) * 10)
        counts = [levels.count(k) for k in range(7)]
        assert counts[0] >= score.level0_count and None not in counts[:5] and counts[5:] == [None, None]
        assert counts[:5] == sorted(counts[:5])


def test_directional_boxes_and_least_level_are_certified():
    rng = np.random.default_rng(2)
    for d in (2, 3):
        lattice = cube(1, 4 if d == 2 else 3, d)
        score = directional(trimmed_weights(9, 2), integer_directions(d), lattice, refine=4)
        for _ in range(4):
            data = rng.normal(size=(9, d)) * 2
            levels = score.on(data)
            result = table(score, data)
            assert levels.least() <= min(result.values())
            for k in range(10):
                box = levels.box(k)
                inside = [p for p, level in result.items() if level <= k]
                assert all(low <= x <= high for p in inside for x, (low, high) in zip(p, box))


def test_directions():
    assert integer_directions(2) == ((0, 1), (1, -1), (1, 0), (1, 1))
    assert len(integer_directions(3)) == 13 and len(integer_directions(2, 2)) == 8


def brute_depth(vectors):
    """Minimum over many normals: all pairwise perpendiculars, perturbed in every sign pattern."""
    d = len(vectors[0])
    x = np.array(vectors, dtype=float)
    normals = []
    if d == 2:
        for v in vectors:
            for s, t in itertools.product((1, -1), repeat=2):
                normals.append(np.array([-v[1], v[0]]) * s + 1e-4 * t * np.array(v))
        normals += [np.array([1.0, 1e-3]), np.array([-1.0, 1e-3])]
    else:
        for v, w in itertools.product(vectors, repeat=2):
            cross = np.cross(v, w).astype(float)
            for s, t, u in itertools.product((1, -1), repeat=3):
                normals.append(cross * s + 1e-3 * t * np.cross(cross, v) + 1e-6 * u * np.array(v))
                normals.append(np.cross(cross, v) * s + 1e-3 * t * cross + 1e-6 * u * np.array(v))
        normals += list(np.random.default_rng(0).normal(size=(400, 3)))
    return min(int((x @ v >= -1e-12).sum()) for v in normals if np.abs(v).max() > 0)


@pytest.mark.parametrize("d", [2, 3])
def test_depth_against_brute_force(d):
    rng = np.random.default_rng(d)
    for _ in range(60):
        n = int(rng.integers(1, 8))
        vectors = [tuple(int(e) for e in row) for row in rng.integers(-2, 3, size=(n, d))]
        assert half_space_depth(vectors) == brute_depth(vectors)
    assert half_space_depth([(0,) * d] * 3) == 3


def test_depth_in_space_has_sensitivity_one():
    rng = np.random.default_rng(9)
    grid = list(itertools.product((-1, 0, 1), repeat=3))
    for _ in range(60):
        data = [grid[i] for i in rng.integers(0, 27, size=4)]
        base = half_space_depth(data)
        for i, y in itertools.product(range(4), grid):
            assert abs(half_space_depth(data[:i] + [y] + data[i + 1 :]) - base) <= 1


def test_tukey_boxes():
    rng = np.random.default_rng(4)
    for d in (2, 3):
        score = TukeyDepth(cube(1, 2, d), 6)
        data = rng.normal(size=(6, d))
        result, levels = table(score, data), score.on(data)
        for k in range(7):
            box = levels.box(k)
            inside = [p for p, level in result.items() if level <= k]
            assert all(low <= x <= high for p in inside for x, (low, high) in zip(p, box))


def test_regression_depth_against_its_definition():
    rng = np.random.default_rng(5)
    score = RegressionDepth(cube(Fraction(1, 2), 2, 2), 6, largest_x=4, largest_y=4)
    for _ in range(10):
        data = rng.integers(-4, 5, size=(6, 2))
        levels = score.on(data.astype(float))
        for point in score.lattice.points():
            slope, intercept = (float(score.lattice.spacing * t) for t in point)
            residual = data[:, 1] - slope * data[:, 0] - intercept
            vectors = [
                tuple(v) for v in (np.sign(residual)[:, None] * np.c_[data[:, 0], np.ones(6)]).astype(int)
            ]
            nonzero = [v for v in vectors if any(v)]
            expected = 6 - (brute_depth(nonzero) + 6 - len(nonzero) if nonzero else 6)
            assert levels.level(point) == expected


@pytest.mark.parametrize(
    "score",
    [
        l_statistic(trimmed_weights(6, 1), cube(0.5, 2, 1)),
        directional(trimmed_weights(6, 1), integer_directions(2), cube(0.5, 2, 2)),
        coordinate_max(median_weights(6), Lattice(Fraction(1, 2), 2), clip=False),
        TukeyDepth(cube(0.5, 2, 2), 6),
        RegressionDepth(cube(0.5, 2, 2), 6, largest_x=2, largest_y=2),
    ],
    ids=lambda s: f"{type(s).__name__}{s.lattice.dimension}",
)
def test_hostile_records_cost_one_level(score):
    rng = np.random.default_rng(6)
    data = rng.normal(size=(6, score.lattice.dimension))
    before = score.on(data)
    points = list(itertools.product(range(-4, 5), repeat=score.lattice.dimension))
    for value in (math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324):
        hostile = data.copy()
        hostile[2] = value
        after = score.on(hostile)
        assert max(abs(before.level(p) - after.level(p)) for p in points) <= 1
    refuse((lambda: score.on(data[:3]), "public shape"))


@pytest.mark.parametrize(
    "build",
    [
        lambda: l_statistic((), cube(1, 1, 1)),
        lambda: l_statistic((0, 0), cube(1, 1, 1)),
        lambda: l_statistic((1, -1), cube(1, 1, 1)),
        lambda: l_statistic((1,), cube(1, 1, 2)),
        lambda: l_statistic((1,), Lattice(Fraction(1), 1)),
        lambda: l_statistic((1,), cube(1, 1, 1), refine=0),
        lambda: l_statistic((1,), cube(1, 1, 1), slack=-1),
        lambda: directional((1,), [(0, 0)], cube(1, 1, 2)),
        lambda: trimmed_weights(4, 2),
        lambda: quantile_weights(4, 2.0),
        lambda: median_weights(0),
        lambda: l_statistic((1,), cube(Fraction(1, 2**60), 1, 1)),
        lambda: Lattice(Fraction(0), 1),
        lambda: Lattice(Fraction(1), 1, ((1, 0),)),
        lambda: TukeyDepth(Lattice(Fraction(1), 2), 3),
        lambda: TukeyDepth(cube(1, 1, 4), 3),
        lambda: RegressionDepth(cube(1, 1, 3), 3, largest_x=1, largest_y=1),
        lambda: RegressionDepth(cube(1, 1, 2), 3, largest_x=0, largest_y=1),
    ],
)
def test_public_arguments_are_checked(build):
    refuse((lambda: build(),))


def test_intersections_and_sizes():
    assert box_size(((0, -3), (0, -3))) == 0  # two negative lengths do not multiply to a count
    assert intersect(None, ((0, 1),)) == ((0, 1),) and intersect(((0, 5),), ((3, 9),)) == ((3, 5),)
    assert quantile_weights(5, 0.0) == (1, 0, 0, 0, 0) and quantile_weights(5, 0.5) == median_weights(5)


def test_large_numbers_do_not_overflow():
    score = l_statistic(mean_weights(50), cube(Fraction(1, 2**40), 2**10, 1), refine=8)
    data = np.linspace(-1000, 1000, 50)[:, None]
    levels = score.on(data)
    box = levels.box(0)
    records = score.quantise(data)[:, 0]
    exact = Fraction(sum(int(r) for r in records), 50 * 8)
    assert box == ((math.ceil(exact), math.floor(exact)),)
