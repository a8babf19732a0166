"""Consensus programs: exact levels, bounds over cells, the exact law, privacy on all neighbours."""

import itertools
import math
from array import array
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.laboratory import fits
from sosdp.laboratory.consensus import ConsensusProgram
from sosdp.privacy.mechanisms.exponential import exact_law, pure_exponential
from sosdp.privacy.randomness.bits import InsecureBits
from sosdp.privacy.scores import coordinate_max, median_weights
from sosdp.privacy.scores.consensus import ConsensusLevels
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.partition import LazyPartition
from sosdp.privacy.scores.score import Lattice, cube
from sosdp.privacy.verification.audit import epsilon_between
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refuse

F = Fraction


def band(theta, x):
    return [F(1, 4) - (x[1] - theta[0] * x[0] - theta[1]), F(1, 4) + (x[1] - theta[0] * x[0] - theta[1])]


def ring(theta, x):
    squared = (x[0] - theta[0]) ** 2 + (x[1] - theta[1]) ** 2
    return [(theta[0] + F(3, 2)) ** 2 - squared, squared - F(1, 3) + theta[0] * theta[1]]


def either(theta, x):
    return [[theta[0] * x[0] - x[1], x[0] - F(1, 7)], [theta[1] ** 3 - x[1] ** 2 * x[0] - F(1, 10)]]


def cross(theta, x):
    return [theta[0] * theta[1] - F(1, 8) + x[0] * F(1, 4)]


def program(tests=band, n=12, **changes):
    made = ConsensusProgram(tests, n, 2, cube(F(1, 4), 1, 2), -1.0, 1.0)
    return replace(made, **changes)


def records(n=12, seed=0):
    data = np.random.default_rng(seed).uniform(-1.1, 1.1, (n, 2))
    data[0] = 9 / 64, -1.0  # between 1/7 and the next larger unit of 1/64
    return data


def passes(tests, theta, record):
    groups = tests(theta, record)
    groups = groups if isinstance(groups[0], list) else [groups]
    return any(all(q >= 0 for q in group) for group in groups)


@pytest.mark.parametrize("tests", [band, ring, either, cross])
def test_levels_are_those_of_the_rational_program(tests):
    made = program(tests, unit=F(1, 64))
    levels = made.score_function().on(records())
    rounded = [[F(round(v * 64), 64) for v in row] for row in np.clip(records(), -1, 1)]
    for point in made.lattice.points():
        theta = [made.lattice.spacing * t for t in point]
        assert levels.level(point) == sum(not passes(tests, theta, x) for x in rounded)
    least = program(tests, unit=F(1, 64), need=5).score_function().on(records())
    assert all(least.level(p) == max(0, levels.level(p) - 7) for p in made.lattice.points())


@pytest.mark.parametrize("tests", [band, ring, either, cross])
def test_a_cell_has_a_bound_below_the_levels_of_its_points(tests):
    """And one round over any partition returns every point with probability proportional to r^level."""
    score, base = program(tests).score_function(), rational_base(1.0)
    levels = score.on(records(seed=3))
    truth = {point: levels.level(point) for point in score.lattice.points()}
    for listing in (0, 40):
        partition = LazyPartition(listing=listing, loose=1e9).prepare(score, levels, base)
        loosest, listed = 0, 0
        while True:
            law = dict.fromkeys(truth, Fraction(0))
            for cell in partition.cells.values():
                points = list(itertools.product(*(range(low, high + 1) for low, high in cell.box)))
                own = levels.listed(cell.box, cell.sure, cell.rows).tolist()
                listed += cell.listed and len(cell.rows) > 0
                for point, level in zip(points, own, strict=True):
                    # the chance of a cell's level or bound, of a point there, and of keeping it
                    for bound, count in cell.counts.items():
                        if not cell.listed or len(cell.rows) == 0 or bound == level:
                            assert bound <= level
                            loosest = max(loosest, level - bound)
                            weight = count * base.ratio**bound
                            law[point] += weight / count * base.ratio ** (level - bound)
                assert not cell.listed or sorted(own) == sorted(Counter(cell.counts).elements())
            assert law == {point: base.ratio**level for point, level in truth.items()}
            rest = [k for k, cell in partition.cells.items() if not cell.listed]
            if not rest:
                break
            partition.split(max(rest, key=lambda k: partition.cells[k].size))
        assert loosest > 2 and (listed > 0) == (listing > 0)


def test_draws_have_the_law_of_listing():
    score, base, bits = program(n=40).score_function(), rational_base(1.0), InsecureBits(5)
    data = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    data[:8, 1] = 0.5 * data[:8, 0] + 0.25
    levels, law = score.on(data), exact_law(score, data, base)
    for sampler in (LazyPartition(), LazyPartition(loose=1e9), LazyPartition(listing=0)):
        partition = sampler.prepare(score, levels, base)
        first = sampler.draw(score, levels, base, score.top, bits)
        drawn = Counter([first, *(partition.draw(base, bits) for _ in range(1500))])
        usual = [(drawn[p], 1501 * float(q)) for p, q in law.items() if 1500 * q >= 5]
        chi = sum((seen - wanted) ** 2 / wanted for seen, wanted in usual)
        assert len(usual) > 10 and chi < len(usual) + 5 * math.sqrt(2 * len(usual))


def test_every_pair_of_neighbours_loses_at_most_epsilon():
    made = ConsensusProgram(
        lambda t, x: fits.between(x[0] - t[0] - t[1], F(1, 2)), 3, 1, cube(1, 1, 2), -2.0, 2.0, unit=F(1)
    )
    score, values = made.score_function(), (-2.0, 0.0, 1.0, 2.0)

    def worst(epsilon):
        every, base = itertools.combinations_with_replacement(values, 3), rational_base(epsilon)
        laws = {x: exact_law(score, np.array(x)[:, None], base) for x in every}
        return max(epsilon_between(*near) for near in neighbour_pairs(laws, values))

    assert 0.6 < worst(1.0) <= 1.0 < worst(2.0)  # negative control: the base of another epsilon


def test_the_release_is_exact_and_says_nothing_else():
    n = 300
    made = fits.linear(n, tolerance=F(1, 10), spacing=F(1, 256))
    generator = np.random.default_rng(1)
    x = generator.uniform(-1, 1, n)
    data = np.column_stack([x, 0.7 * x - 0.3 + 0.05 * generator.standard_normal(n)])
    fitted = sd.private_estimator(made, epsilon=1.0).fit(data)
    assert fitted.guarantee_.kind == "exact" and fitted.guarantee_.epsilon == 1.0
    assert fitted.guarantee_.mechanism == "private_estimator.consensus"
    assert np.abs(fitted.estimate_ - [0.7, -0.3]).max() < 0.2
    hostile = data.copy()
    hostile[0], hostile[1], hostile[2] = [math.nan, math.inf], [-math.inf, 1e308], [5e-324, -1e308]
    other = sd.private_estimator(made, epsilon=1.0).fit(hostile)
    assert other.guarantee_ == fitted.guarantee_ and other.release_.public == fitted.release_.public
    refuse((lambda: sd.private_estimator(made, epsilon=1.0).fit(data[:-1]), "public shape"))
    assert sd.stability(made).status == "proven" and sd.stability(made).sensitivity == 1
    assert sd.stability(made, claim=F(1, 2)).status != "proven"


def test_a_list_of_numbers_is_read_like_their_array():
    made = ConsensusProgram(lambda t, x: fits.between(x[0] - t[0], F(1, 10)), 5, 1, cube(F(1, 50), 1, 1))
    column = [0.3, 0.25, -0.5, math.nan, 0.7]
    every = [made.score_function().on(data) for data in (column, np.array(column), np.c_[column])]
    every += [made.score_function().on(data) for data in ([[v] for v in column], [0.3, [0.25], *column[2:]])]
    levels = [[known.level(p) for p in made.lattice.points()] for known in every]
    assert all(other == levels[0] for other in levels) and min(levels[0]) == 3
    for two in ([0.3, 0.25, -0.5, [0.1, 0.2], 0.7], [0.3, 0.25, -0.5, [], 0.7]):  # no record: as NaN
        assert [made.score_function().on(two).level(p) for p in made.lattice.points()] == levels[0]


def test_robust_lines_in_large_tables():
    """30 % of the records in a cluster, 10^5 records, 1.7 * 10^7 candidates."""
    n, generator = 100_000, np.random.default_rng(0)
    x = generator.uniform(-1, 1, n)
    y = 0.7 * x - 0.3 + 0.05 * generator.standard_normal(n)
    x[: n * 3 // 10], y[: n * 3 // 10] = 0.9, -0.9
    made = fits.linear(n, tolerance=F(1, 10), spacing=F(1, 1024))
    release = pure_exponential(made.score_function(), np.column_stack([x, y]), epsilon=1.0, insecure_seed=1)
    assert made.lattice.size > 10**7 and np.abs(release.value - [0.7, -0.3]).max() <= 0.01


def _cases():
    n, g = 1000, np.random.default_rng(2)
    bad = n // 4
    points = 0.3 * g.standard_normal((n, 2)) * 0.1 + [0.25, -0.5]
    points[:bad] = 0.9
    yield (
        "location",
        fits.location(n, dimension=2, tolerance=F(1, 8), spacing=F(1, 128)),
        points,
        [0.25, -0.5],
    )
    plane = g.uniform(-1, 1, (n, 3))
    plane[bad:, 2] = plane[bad:, :2] @ [0.3, -0.5] + 0.1
    made = fits.linear(n, features=2, tolerance=F(1, 16), spacing=F(1, 64), slopes=1)
    yield "plane", made, plane, [0.3, -0.5, 0.1]
    angle = g.uniform(0, 2 * np.pi, n)
    circle = 0.5 * np.column_stack([np.cos(angle), np.sin(angle)]) + [0.125, 0.25]
    circle[:bad] = g.uniform(-1, 1, (bad, 2))
    made = fits.sphere(n, tolerance=F(1, 16), spacing=F(1, 64), radii=(F(1, 8), 1))
    yield "circle", made, circle, [0.125, 0.25, 0.5]
    source = g.uniform(-0.5, 0.5, (n, 2))
    target = source @ [[0.75, 0.5], [-0.5, 0.75]] + [0.125, -0.25]
    target[:bad] = g.uniform(-1, 1, (bad, 2))
    made = fits.movement(n, tolerance=F(1, 16), spacing=F(1, 16))
    yield "movement", made, np.hstack([source, target]), [0.75, 0.5, 0.125, -0.25]
    time = g.uniform(-1, 1, n)
    series = np.column_stack([time, np.where(time < 0.25, -0.5, 0.5)])
    made = fits.change_point(n, tolerance=F(1, 16), spacing=F(1, 64))
    yield "change point", made, series, [0.25, -0.5, 0.5]


@pytest.mark.parametrize(("made", "data", "truth"), [c[1:] for c in _cases()], ids=[c[0] for c in _cases()])
def test_ready_made_fits(made, data, truth):
    release = pure_exponential(made.score_function(), data, epsilon=1.0, insecure_seed=3)
    assert np.abs(release.value - truth).max() < 0.15


def test_two_lines():
    g = np.random.default_rng(4)
    x = g.uniform(-1, 1, 1000)
    y = np.where(g.random(1000) < 0.5, 0.5 * x + 0.5, -0.5 * x - 0.5)
    made = fits.two_lines(1000, tolerance=F(1, 8), spacing=F(1, 8), slopes=1)
    value = pure_exponential(
        made.score_function(), np.column_stack([x, y]), epsilon=1.0, insecure_seed=1
    ).value
    one, other = sorted([tuple(value[:2]), tuple(value[2:])])
    assert (
        np.abs(np.array(one) - [-0.5, -0.5]).max() < 0.2 and np.abs(np.array(other) - [0.5, 0.5]).max() < 0.2
    )


def test_a_plan_from_public_numbers():
    made, data = program(n=40), np.zeros((40, 2))
    plan = made.plan(1.0, failure=0.1, examples=[(data, [0, 0])] * 2)
    assert plan.error is not None and plan.seconds is not None and made.plan(1.0).error is None
    score = made.score_function()
    levels = score.on(data)
    least = min(levels.level(p) for p in made.lattice.points())
    law = exact_law(score, data, rational_base(1.0))
    assert sum(q for p, q in law.items() if levels.level(p) > least + plan.missing) <= F(1, 10)
    refuse((lambda: made.plan(1.0, failure=0.0), "failure"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lattice": Lattice(F(1), 2)}, "bounded lattice"),
        ({"lattice": cube(1, 1, 5)}, "at most 4"),
        ({"lattice": cube(F(1, 10**6), 1, 2)}, "points"),
        ({"need": 13}, "need"),
        ({"need": 0}, "need"),
        ({"unit": F(1, 2**70)}, "62"),
        ({"unit": F(0)}, "unit"),
        ({"high": math.inf}, "finite"),
        ({"high": -1.0}, "below"),
        ({"tests": lambda t, x: [0.1 * t[0] * x[0] ** 5 - 0.3 * t[1] ** 3]}, "62"),
        ({"tests": lambda t, x: []}, "at least one"),
        ({"tests": lambda t, x: [[], [t[0]]]}, "at least one"),
        ({"tests": lambda t, x: [t[2] - x[0]]}, "2 and 2 variables.* IndexError"),
        ({"tests": lambda t, x: [t[0] - x[3]]}, "2 and 2 variables.* IndexError"),
        ({"tests": lambda t: [t[0]]}, "2 and 2 variables.* TypeError"),
        ({"tests": lambda t, x: t[0] - x[0]}, "a list of polynomials"),
        ({"tests": lambda t, x: None}, "a list of polynomials"),
        ({"tests": lambda t, x: [[t[0]], x[0]]}, "list of such lists"),
        ({"tests": lambda t, x: [t[0], [x[0]]]}, "list of such lists"),
        ({"tests": lambda t, x: [t[0] == x[0]]}, "branches"),
        ({"low": [-1, -1, -1]}, "2 coordinates"),
        ({"dimension": 0}, "dimension"),
        ({"records": 12.0}, "records"),
        ({"need": 2.5}, "need must be an integer"),
        ({"unit": math.nan}, "unit"),
        ({"tests": lambda t, x: [t[0] - sd.variables("stranger")]}, "in no record"),
    ],
)
def test_refusals(change, words):
    refuse((lambda: program(**change), words))


def test_the_work_of_a_draw_is_bounded_and_refused_by_public_numbers(monkeypatch):
    """Uniform records, without any consensus: the tests that are evaluated stay below the bound."""
    made = fits.location(12, dimension=2, tolerance=F(1, 4), spacing=F(1, 4))
    assert made.plan(1.0).most_tests == made.most_tests == 8 * 81 * 12 * 4
    spent = []
    for name in ("decide", "listed"):
        method = getattr(ConsensusLevels, name)

        def counted(self, box, *more, method=method):
            spent.append(len(more[-1]) * (math.prod(b - a + 1 for a, b in box) if len(more) > 1 else 1))
            return method(self, box, *more)

        monkeypatch.setattr(ConsensusLevels, name, counted)
    data = np.random.default_rng(0).uniform(-1, 1, (12, 2))
    for listing in (0, 1 << 16):
        spent.clear()
        sampler = LazyPartition(listing=listing, loose=0.0)
        pure_exponential(made.score_function(), data, epsilon=1.0, sampler=sampler)
        assert 0 < 4 * sum(spent) <= made.most_tests
    refuse((lambda: replace(made, limit=made.most_tests - 1), "more than the limit"))
    assert replace(made, limit=made.most_tests).limit == made.most_tests


def test_columns_of_numbers_are_no_records_of_two_coordinates():
    """A public type says so; of a list every entry is one record, and one that has no two numbers is NaN."""
    pandas = pytest.importorskip("pandas")
    score = program(n=4).score_function()
    refuse(
        *each(
            score.on,
            (np.zeros(4), array("d", [0.0] * 4), range(4), pandas.Series([0.0] * 4), np.zeros(8)),
            "public shape",
        ),
        (lambda: score.on([0.0] * 8), "public shape"),
    )
    every = [score.on(data) for data in ([0.0] * 4, [[math.nan, math.nan]] * 4, [0.0, 1, "a", [1, 2, 3]])]
    levels = [[known.level(p) for p in score.lattice.points()] for known in every]
    assert levels[0] == levels[1] == levels[2]


def test_a_score_without_bounds_over_cells_is_refused():
    score = coordinate_max(median_weights(5), cube(1, 2, 1))
    refuse((lambda: pure_exponential(score, np.zeros((5, 1)), epsilon=1.0, sampler=LazyPartition()), "cells"))
