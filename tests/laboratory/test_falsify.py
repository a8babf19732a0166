"""The sensitivity of every exact score and of every projection that estimators rest on, attacked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from problems.gaussian import PackingProblem, PackingScore
from problems.gaussian.published.coordinates import CoordinateScore, Search
from problems.gaussian.published.line import Candidates, LineScore
from problems.gaussian.published.spectral import SpectralScore
from problems.sbm.estimators.communities import partition_program
from problems.sbm.estimators.output_perturbation import projection_program
from sosdp.laboratory import fits
from sosdp.privacy.scores import coordinate_max, median_weights
from sosdp.privacy.scores.depth import RegressionDepth, TukeyDepth
from sosdp.privacy.scores.score import ScoreFunction, cube

F = Fraction
N = 4


def drawn(dimension):
    """Tables in clusters at a few marks, and such marks as replacements."""

    def draw(generator):
        marks = [-9.0, -1.0, 0.0, 0.5, 1.0, 9.0]
        records = [[generator.choice(marks) for _ in range(dimension)] for _ in range(6)]
        few = records[: generator.choice([1, 2, 6])]
        return np.array([generator.choice(few) for _ in range(N)]), [np.array(r) for r in records]

    return draw


SCORES = {
    "median": (coordinate_max(median_weights(N), cube(1, 2, 1)), 1),
    "median in the plane": (coordinate_max(median_weights(N), cube(1, 2, 2)), 2),
    "Tukey depth": (TukeyDepth(cube(1, 2, 2), N), 2),
    "regression depth": (RegressionDepth(cube(1, 2, 2), N, largest_x=2.0, largest_y=2.0), 2),
    "consensus": (fits.linear(N, tolerance=F(1, 2), spacing=F(1, 2)).score_function(), 2),
    "packing": (PackingScore(PackingProblem("identity", 1, 0.5, clip=9.0), cube(F(1, 2), 2, 1), N), 1),
    "mean of a line": (LineScore(Candidates("mean", F(1)), N, F(5, 2)), 1),
    "variance of a line": (LineScore(Candidates("variance"), N, F(5, 2)), 1),
    "covariance": (SpectralScore(2, N, F(5, 2), condition=F(2), spacing=F(1, 2)), 2),
    "coordinates": (CoordinateScore(Search(N, 1, 2, F(4), 1, 2.0)), 1),
}


@pytest.mark.parametrize("name", SCORES)
def test_no_score_moves_by_more_than_it_says(name):
    score, dimension = SCORES[name]
    report = sd.falsify(score, draw=drawn(dimension), attempts=6, steps=3)
    assert not report.refuted and report.largest <= score.sensitivity


class Doubled(ScoreFunction):
    """A score that says half of what it moves by."""

    def __init__(self, score):
        super().__init__(lattice=score.lattice, records=score.records)
        object.__setattr__(self, "score", score)

    def on(self, data):
        levels = self.score.on(data)
        once = levels.level
        levels.level = lambda point: 2 * once(point)
        return levels


def test_programs_make_up_their_own_data():
    """A packing and a consensus program as they are; a packing program that says 40 levels for 65."""
    lattice = cube(F(1, 2), 2, 1)
    packing = sd.PackingProgram(lambda x: [x[0] * x[0]], N, 1, 0.5, lattice, reach=2.0)
    for program in (packing, fits.location(N, dimension=2, tolerance=F(1, 2), spacing=F(1, 4))):
        assert not sd.falsify(program, attempts=4, steps=2).refuted
    object.__setattr__(packing.score_function(), "sensitivity", 40)
    assert sd.falsify(packing).refuted


@pytest.mark.parametrize("name", ["median", "Tukey depth", "consensus"])
def test_a_score_that_moves_by_more_is_refuted(name):
    score, dimension = SCORES[name]
    assert sd.falsify(Doubled(score), draw=drawn(dimension), attempts=20).refuted
    with pytest.raises(TypeError, match="draw"):
        sd.falsify(score)


@pytest.mark.parametrize("program", [partition_program(0.5), projection_program(4, 2.0, 0.5)])
def test_projections_move_by_at_most_what_is_said(program):
    """Onto the box alone, whose projection is exact; one edge moves two symmetric entries by one step."""
    step = program.shift_l1 / 2

    def draw(generator):
        bits = [generator.choice([0.0, 1.0]) for _ in range(6)]
        return bits, [0.0, 1.0]

    def solve(bits):
        matrix = np.zeros((4, 4))
        matrix[np.triu_indices(4, 1)] = np.array(bits) * step
        return np.clip(matrix + matrix.T - step / 2, program.low, program.high), 0.0

    right = replace(program, solve=solve)
    assert not sd.falsify(right, draw=draw, attempts=3, steps=3).refuted
    wrong = replace(right, shift_l1=step / 100, shift_frobenius=step / 100)
    assert sd.falsify(wrong, draw=draw, attempts=3, steps=3).refuted
