"""The exact sampler: its law by enumeration and chi-square, exact privacy of neighbours, failing controls."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sosdp.laboratory import packing_sampler
from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.laboratory.packing_sampler import PATIENCE, DyadicBoxes, Partition, most_proposals
from sosdp.laboratory.packing_score import QUANTUM, PackingScore
from sosdp.privacy.mechanisms.exponential import exact_law, pure_exponential
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.score import Lattice, box_size
from tests.gaussian.laws import largest_loss, law_inside
from tests.neighbours import p_value
from tests.refusals import refuse


def _score(n, d=1, spacing=Fraction(1, 4), reach=8, lam=1.5, features="identity", domain=None):
    problem = PackingProblem(features, d, lam)
    box = ((-reach, reach),) * problem.size
    return PackingScore(problem, Lattice(spacing, problem.size, box), n, domain=domain)


def _draws(score, data, epsilon, count, seed):
    base = rational_base(epsilon, score.sensitivity)
    levels = score.on(data)
    draw = DyadicBoxes(evaluations=6, boxes=12).prepare(score, levels, base, score.top)
    bits = open_bits(seed, keystream=False)
    return [draw(bits)[0] for _ in range(count)], base


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2])
def test_draws_follow_the_law(d):
    n = 8
    data = np.random.default_rng(0).standard_normal((n, d))
    score = _score(n, d, spacing=Fraction(1, 2), reach=6 if d == 1 else 2)
    points, base = _draws(score, data, 4.0, 3000, 7)
    assert p_value(points, exact_law(score, data, base)) > 1e-6
    # the control: the law of another data set is told apart
    assert p_value(points, exact_law(score, data + 1.5, base)) < 1e-12


def test_the_partition_is_one_and_its_bounds_are_below_the_levels():
    n, d = 10, 2
    data = np.random.default_rng(1).standard_normal((n, d))
    score = _score(n, d, reach=3)
    base = rational_base(2.0, score.sensitivity)
    levels = score.on(data)
    tree = Partition(score, levels, base.rate, 12, 40)
    entries = tree.refreshed()
    assert sum(box_size(box) for box, _ in entries) == score.lattice.size
    seen = set()
    for box, low in entries:
        for point in product(*(range(a, b + 1) for a, b in box)):
            assert point not in seen
            seen.add(point)
            assert low <= levels.level(point)
    assert any(low > 0 for _, low in entries)
    weight = sum(box_size(box) * math.exp(-base.rate * low) for box, low in entries)
    points = product(*(range(a, b + 1) for a, b in score.lattice.box))
    assert 0.05 < sum(math.exp(-base.rate * levels.level(point)) for point in points) / weight <= 1.0


@pytest.mark.parametrize("n", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_exact_laws_of_neighbours_differ_by_at_most_epsilon(n):
    """All data sets over a small alphabet up to order, all replacements, exact ratios of the whole law."""
    score = _score(n, reach=4, spacing=Fraction(1, 2), lam=1.0)
    assert 0.1 < largest_loss(score, [[-2.0], [0.0], [0.5], [9.0]], 1.0) <= 1.0


def test_the_domain_is_respected_and_the_law_is_the_restricted_one():
    n = 6
    data = np.random.default_rng(2).standard_normal((n, 1)) * 1.2
    score = _score(n, features="covariance", lam=3.0, reach=12, domain=(0.5, 2.0))
    points, base = _draws(score, data, 3.0, 1500, 3)
    values = np.array([score.lattice.value(p)[0] for p in points])
    assert values.min() >= 0.5 and values.max() <= 2.0
    for p, q in law_inside(score, data, base).items():
        assert abs(points.count(p) - 1500 * float(q)) < 6 * np.sqrt(1500 * float(q)) + 3


@pytest.mark.parametrize("domain", [None, (0.5, 1.0)])
def test_a_draw_ends_and_the_points_listed_then_have_the_law(monkeypatch, domain):
    """Every proposal is rejected: a draw makes the public number of them, and lists what is in the domain."""
    data = np.random.default_rng(4).standard_normal((6, 1))
    score = _score(6, features="covariance", lam=3.0, reach=8, domain=domain)
    base, levels = rational_base(6.0, score.sensitivity), score.on(data)
    law = law_inside(score, data, base)
    draw = DyadicBoxes(evaluations=6, boxes=12).prepare(score, levels, base, score.top)
    monkeypatch.setattr(type(levels), "in_level", lambda self, point, k: False)
    monkeypatch.setattr(packing_sampler, "most_proposals", lambda size: min(3, most_proposals(size)))
    bits = open_bits(5, keystream=False)
    drawn = [draw(bits) for _ in range(2000)]
    assert {trials for _, trials in drawn} == {4} and {p for p, _ in drawn} <= law.keys()
    counts = Counter(p for p, _ in drawn)
    for p, q in law.items():
        mean = 2000 * float(q)
        assert abs(counts[p] - mean) < 6 * np.sqrt(mean) + 3
    assert most_proposals(17) == 8 * PATIENCE and most_proposals(10**6) == 10**6


def test_the_release_carries_what_was_promised():
    data = np.random.default_rng(3).standard_normal((20, 1))
    score = _score(20)
    release = pure_exponential(score, data, epsilon=0.7, sampler=DyadicBoxes(), insecure_seed=1)
    assert release.guarantee.kind == "none"  # seeded
    private = pure_exponential(score, data, epsilon=0.7, sampler=DyadicBoxes())
    assert private.guarantee.kind == "certified" and private.guarantee.epsilon == 0.7
    assert private.guarantee.rho == pytest.approx(0.7**2 / 8)
    assert any("width" in text for text in private.guarantee.assumptions)
    assert score.sensitivity == 65 and QUANTUM * 65 >= 1


def test_what_it_cannot_serve_is_refused_before_any_data():
    refuse((lambda: DyadicBoxes().check(_score(5, 5)), "at most 4"))
    with pytest.raises(ValueError, match="completion"):
        problem = PackingProblem("identity", 1, 1.0, "second moment")
        DyadicBoxes().check(PackingScore(problem, Lattice(Fraction(1), 1, ((-1, 1),)), 5))
    unbounded = PackingScore(PackingProblem("identity", 1, 1.0), Lattice(Fraction(1), 1), 5)
    refuse((lambda: DyadicBoxes().check(unbounded), "bounded"))
