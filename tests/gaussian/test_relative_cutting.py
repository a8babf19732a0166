"""Boxes are cut relative to their scales: better envelopes, the same law, no admitted point lost."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.laboratory.packing_sampler import DyadicBoxes
from sosdp.laboratory.packing_score import PackingScore
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.score import Lattice
from tests.gaussian.laws import law_inside
from tests.neighbours import p_value


def covariance_score(n, spacing, diagonal, cross, domain):
    problem = PackingProblem("covariance", 2, 2.5, relative=True)
    lattice = Lattice(spacing, 3, (diagonal, (-cross, cross), diagonal))
    return PackingScore(problem, lattice, n, domain=domain)


@pytest.mark.slow
def test_the_law_is_that_of_the_levels_whatever_the_cutting():
    score = covariance_score(6, Fraction(1, 2), (1, 6), 3, (0.4, 3.0))
    records = np.random.default_rng(1).normal(size=(6, 2)) * (0.6, 1.5)
    base = rational_base(4.0, score.sensitivity)
    law = law_inside(score, records, base)
    draw = DyadicBoxes(evaluations=6, boxes=30).prepare(score, score.on(records), base, score.top)
    bits = open_bits(5, keystream=False)
    assert p_value((draw(bits)[0] for _ in range(800)), law) > 1e-6


@pytest.mark.parametrize("domain", [(0.3, 2.0), (0.5, 1.5)])
def test_no_box_with_an_admitted_point_is_thrown_away(domain):
    score = covariance_score(4, Fraction(1, 4), (1, 9), 9, domain)
    generator = np.random.default_rng(2)
    admitted = [p for p in score.lattice.points() if score.admits(p)]
    result = 0
    for _ in range(700):
        low = np.array([generator.integers(1, 9), generator.integers(-9, 9), generator.integers(1, 9)])
        high = low + generator.integers(0, 4, size=3)
        inside = [p for p in admitted if all(a <= x <= b for a, x, b in zip(low, p, high, strict=True))]
        gone = score.excludes(low / 4.0, high / 4.0)
        result += gone
        assert not (gone and inside)
    assert result > 100


def test_candidates_moved_into_the_domain_are_admitted():
    score = covariance_score(50, Fraction(1, 2**12), (82, 30 * 4096), 42 * 4096, (0.02, 30.0))
    for point in product((90, 4096, 100000), (-160000, 0, 9000), (100, 5000)):
        assert score.admits(score.into_domain(point))
