"""Records chosen by an adversary against the promised width of the packing scores' brackets."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sosdp.laboratory import packing_score as scores
from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.laboratory.packing_score import WIDTH, PackingScore
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.score import Lattice

EPSILON = 1.0


def score_for(records: int, dimension: int) -> PackingScore:
    lattice = Lattice(Fraction(1), dimension, ((-1, 1),) * dimension)
    return PackingScore(PackingProblem("identity", dimension, 1.5), lattice, records)


def far_records(seed: int, records: int, dimension: int, spread: float) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(records, dimension)) * np.exp(spread * generator.normal(size=(records, 1)))


def largest_loss(score: PackingScore, first: np.ndarray, second: np.ndarray) -> float:
    """max over points and both orders of ln P(theta) / P'(theta), for the law r^level."""
    base = rational_base(EPSILON, score.sensitivity)
    laws = []
    for data in (first, second):
        levels = score.on(data)
        result = np.array([levels.level(point) for point in score.lattice.points()], dtype=float)
        weights = -base.rate * result
        laws.append(weights - np.logaddexp.reduce(weights))
    return float(np.abs(laws[0] - laws[1]).max())


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "dimension"), [(2, 2), (5, 2), (11, 2), (2, 3), (5, 3), (8, 3)])
def test_records_of_very_different_lengths_cost_no_more_than_promised(seed, dimension):
    first = far_records(seed, 60, dimension, 8.0)
    score = score_for(60, dimension)
    levels = score.on(first)
    for point in score.lattice.points():
        assert levels.bracket(point).width <= WIDTH
    for replaced in (0, 3):
        second = first.copy()
        second[replaced] = 0.0
        assert largest_loss(score, first, second) <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("spread", [4.0, 9.0])
def test_many_records_of_very_different_lengths(spread):
    levels = score_for(2000, 2).on(far_records(5, 2000, 2, spread))
    for point in ((0, 0), (1, 0)):  # the second is warm from the first
        assert levels.bracket(point).width <= WIDTH


def test_records_too_long_for_any_weight():
    result = score_for(20, 2).on(np.full((20, 2), 2.0**20)).bracket((0, 0))
    assert result.width <= WIDTH and math.isclose(result.high, 20.0, abs_tol=1e-2)


def test_a_panic_of_the_solver_is_the_last_resort(monkeypatch):
    class Panic(BaseException):
        """As compiled extensions raise it."""

    def panics(rows, bound, **rest):
        raise Panic(f"{rows}")

    right = score_for(5, 1).on(np.arange(5.0)[:, None]).bracket((0,))
    monkeypatch.setattr(scores, "solve", panics)
    result = score_for(5, 1).on(np.arange(5.0)[:, None]).bracket((0,))
    assert result.width <= WIDTH and result.low <= right.high and right.low <= result.high
