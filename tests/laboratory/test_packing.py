"""Packing programs: features of a record by itself, levels that move by what is charged, and releases."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from problems.gaussian import PackingProblem, PackingScore
from sosdp.estimator.scaler import PrivateScaler
from sosdp.laboratory.packing_problem import FeatureMap
from sosdp.privacy.scores.score import Lattice, cube
from tests.refusals import refuse

HALF = Lattice(Fraction(1, 2), 2, ((-2, 2), (0, 3)))
VALUES = (-1.0, 0.0, 0.3, 2.0)


def moments(x):
    """The first two moments of one column."""
    return [x[0], x[0] * x[0]]


def test_the_coordinates_are_the_score_of_a_mean():
    """One score behind both doors: the same levels at every candidate."""
    table = np.random.default_rng(0).normal(size=(30, 2)).round(3)
    table[:4] = [np.nan, 5.0]
    lattice = cube(Fraction(1, 4), 1, 2)
    program = sd.PackingProgram(lambda x: x, 30, 2, 0.75, lattice, reach=4.0)
    other = PackingScore(PackingProblem("identity", 2, 0.75, clip=4.0), lattice, 30)
    first, second = program.score_function().on(table), other.on(table)
    assert all(
        first.level(point) == second.level(point) for point in itertools.islice(lattice.points(), 0, 81, 7)
    )


def worst(score, spoil=lambda table: table):
    """Largest change of a level over all tables of three values, all replacements, all candidates."""
    points = list(score.lattice.points())
    levels = {}
    for table in itertools.combinations_with_replacement(VALUES, 3):
        result = score.on(spoil(np.array(table)[:, None]))
        levels[table] = [result.level(point) for point in points]
    moved = 0
    for table, row in levels.items():
        for place, value in itertools.product(range(3), VALUES):
            other = tuple(sorted([*table[:place], *table[place + 1 :], value]))
            moved = max(moved, *(abs(a - b) for a, b in zip(row, levels[other], strict=True)))
    return moved


def test_levels_move_by_what_is_charged():
    """All tables of three records with four values: two moments, twenty candidates."""
    score = sd.PackingProgram(moments, 3, 1, 0.5, HALF).score_function()
    assert score.sensitivity == 65
    assert 40 < worst(score) <= 65
    # control: features that look at other records
    assert worst(score, lambda table: np.repeat(table.max(axis=0)[None, :], 3, axis=0)) > 65


def test_features_are_functions_of_their_own_record():
    """Bit by bit, wherever the record lies in the table; what overflows or is no number is 0."""
    rows = np.random.default_rng(1).normal(size=(37, 2)) * 10.0 ** np.arange(-18, 19)[:, None]
    features = FeatureMap((((0.1, (0, 0, 1)), (-3.7, ())), ((1e300, (0, 0)),)))
    whole = features.on(rows)
    assert all((features.on(rows[i : i + 1]) == whole[i]).all() for i in range(37))
    assert (features.on(rows[::-1]) == whole[::-1]).all() and np.isfinite(whole).all()
    assert features.on(np.array([[1e200, 1.0]]))[0, 1] == 0.0


def test_no_record_makes_a_score_warn():
    """A product of 50 factors overflows in units of the spacing for one record, and not for another."""
    power = FeatureMap((((1.0, (0,) * 50),),))
    score = PackingScore(PackingProblem(power, 1, 0.3), cube(Fraction(1, 2**30), 2, 1), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for entry in (0.5, 2.0**20):
            score.on([[0.1], [0.2], [entry]])


def test_a_release_and_its_plan():
    """Mean and mean square of a column of which a tenth is wrong: certified, near the truth."""
    lattice = Lattice(Fraction(1, 128), 2, ((-256, 256), (0, 512)))
    program = sd.PackingProgram(moments, 1000, 1, 1.8, lattice, reach=8.0)
    table = np.random.default_rng(3).normal(loc=0.5, size=(1000, 1))
    table[:100] = 7.0
    fitted = sd.private_estimator(program, epsilon=1.0).fit(table)
    assert fitted.guarantee_.kind == "certified" and fitted.guarantee_.epsilon == 1.0
    assert np.abs(fitted.estimate_ - [0.5, 1.25]).max() < 0.5 < abs(table.mean() - 0.5)
    # ln(513^2 / .05) * 2 * 65 levels of a 64th
    assert 31 <= program.plan(1.0).missing <= 32


@pytest.mark.parametrize(
    ("more", "known"),
    [
        ({"lattice": Lattice(Fraction(1, 3), 2, ((-2, 2), (0, 3)))}, "power of two"),
        ({"lattice": Lattice(Fraction(1, 2), 2)}, "bounded"),
        ({"lattice": Lattice(Fraction(1, 2), 1, ((0, 3),))}, "dimension 1"),
        ({"reach": 2.0**30}, "coarser lattice"),
        ({"features": lambda x: [x[0] ** k for k in range(1, 6)], "reach": 2.0}, "at most 4"),
        ({"features": lambda x: [sd.variables("stranger")]}, "stranger"),
        ({"features": lambda x: []}, "at least one|dimension"),
        ({"spread": 0.0}, "spread"),
        ({"records": 2**22 + 1}, "2\\^22"),
    ],
)
def test_refusals_from_public_numbers(more, known):
    given = {"features": moments, "records": 9, "dimension": 1, "spread": 0.5, "lattice": HALF, "reach": 4.0}
    refuse((lambda: sd.PackingProgram(**{**given, **more}), known))


def test_after_a_scaler_of_a_list_the_estimate_rests_on_its_condition():
    join = pytest.importorskip("sklearn.pipeline").make_pipeline
    lattice = Lattice(Fraction(1, 128), 2, ((-256, 256), (0, 512)))
    program = sd.PackingProgram(moments, 101, 1, 1.8, lattice, reach=8.0)
    for rows, count in (([[0.5]] * 101, 1), (np.full((101, 1), 0.5), 0)):
        made = sd.private_estimator(program, epsilon=1.0)
        join(PrivateScaler(), made).fit(rows)
        assert len(made.guarantee_.conditions) == count
