"""Exhaustive privacy of the pure mechanism: all multisets, neighbours and outputs; and what must fail."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.mechanisms.exponential import exact_law, pure_exponential
from sosdp.privacy.scores.depth import RegressionDepth, TukeyDepth
from sosdp.privacy.scores.levels import level_of, rational_base
from sosdp.privacy.scores.location import (
    coordinate_max,
    directional,
    integer_directions,
    l_statistic,
    mean_weights,
    median_weights,
    trimmed_weights,
)
from sosdp.privacy.scores.score import Lattice, cube
from sosdp.privacy.verification.audit import epsilon_between
from tests.neighbours import neighbour_pairs
from tests.refusals import refuse


class Exhaustive:
    """Levels of all multisets of records on all lattice points, and all pairs of neighbours."""

    def __init__(self, score, grid, n, points=None):
        self.points = list(score.lattice.points()) if points is None else points
        data = list(itertools.combinations_with_replacement(grid, n))
        rows = []
        for x in data:
            levels = score.on(np.array(x, dtype=float))
            rows.append([levels.level(p) for p in self.points])
        self.levels = np.array(rows)
        near = set(neighbour_pairs({x: i for i, x in enumerate(data)}, grid))
        self.first, self.second = np.array(sorted(near)).T

    def step(self):
        return int(np.abs(self.levels[self.first] - self.levels[self.second]).max())

    def laws(self, base):
        weights = float(base.ratio) ** self.levels
        return weights / weights.sum(axis=1, keepdims=True)

    def loss(self, base):
        logs = np.log(self.laws(base))
        return float(np.abs(logs[self.first] - logs[self.second]).max())


ONE_DIMENSIONAL = {
    "median": (median_weights(5), 0, 3, (0.829, 0.797, 0.733)),
    "median with slack": (median_weights(5), 1, 3, (0.757, 0.729, 0.677)),
    "second": ((0, 1, 0, 0, 0), 0, 3, (0.829, 0.808, 0.752)),
    "trimmed": (trimmed_weights(5, 1), Fraction(1, 3), 3, (0.808, 0.756, 0.662)),
    "mean": (mean_weights(5), Fraction(1, 5), 3, (0.800, 0.815, 0.838)),
    "trimmed twice": (trimmed_weights(6, 2), 0, 2, (0.793, 0.790, 0.802)),
}


@pytest.mark.parametrize("name", ONE_DIMENSIONAL)
def test_table_in_one_dimension(name):
    weights, slack, reach, printed = ONE_DIMENSIONAL[name]
    score = l_statistic(weights, cube(1, reach, 1), slack=slack)
    cases = Exhaustive(score, range(-reach, reach + 1), len(weights))
    assert cases.step() == 1
    for epsilon, ratio in zip((0.5, 1.0, 2.0), printed):
        assert cases.loss(rational_base(epsilon)) / epsilon == pytest.approx(ratio, abs=6e-4)
        # negative control: lambda = epsilon / Delta instead of epsilon / (2 Delta)
        assert cases.loss(rational_base(2 * epsilon)) > epsilon


@pytest.mark.parametrize(
    ("score", "printed"),
    [
        (TukeyDepth(cube(1, 1, 2), 4), 0.659),
        (directional(trimmed_weights(4, 1), integer_directions(2), cube(1, 1, 2)), 0.727),
        (RegressionDepth(cube(1, 1, 2), 4, largest_x=1, largest_y=1), 0.806),
        (coordinate_max(trimmed_weights(4, 1), cube(1, 1, 2)), None),
    ],
    ids=["tukey", "directional", "regression", "coordinates"],
)
def test_table_in_two_dimensions(score, printed):
    cases = Exhaustive(score, list(itertools.product((-1, 0, 1), repeat=2)), 4)
    assert len(cases.levels) == 495 and cases.step() == 1
    loss = cases.loss(rational_base(1.0))
    assert loss <= 1.0
    if printed is not None:
        assert loss == pytest.approx(printed, abs=1e-3)
    # a sublevel set is convex iff no midpoint has a higher level than both of its ends
    place = {p: i for i, p in enumerate(cases.points)}
    violations = sum(
        int((cases.levels[:, place[middle]] > np.maximum(cases.levels[:, i], cases.levels[:, j])).sum())
        for (p, i), (q, j) in itertools.combinations(place.items(), 2)
        if (middle := tuple((a + b) // 2 for a, b in zip(p, q))) in place
        and all((a + b) % 2 == 0 for a, b in zip(p, q))
    )
    assert (violations == 0) == score.quasi_convex


def test_exact_laws_of_all_neighbours_in_rationals():
    score = l_statistic(median_weights(3), cube(1, 2, 1))
    base = rational_base(1.0)
    laws = {x: exact_law(score, np.array(x, float), base) for x in itertools.product(range(-2, 3), repeat=3)}
    assert all(sum(law.values()) == 1 for law in laws.values())
    assert max(epsilon_between(*near) for near in neighbour_pairs(laws, range(-2, 3))) <= 1.0
    worst = max(law[p] / other[p] for law, other in neighbour_pairs(laws, range(-2, 3)) for p in law)
    assert 1 < worst <= base.inverse**2


def test_concentrated_bound_is_nearly_attained():
    score = l_statistic(median_weights(5), cube(1, 3, 1))
    cases = Exhaustive(score, range(-3, 4), 5)
    for epsilon, printed in ((0.5, 0.0311), (1.0, 0.1233), (2.0, 0.4743)):
        laws = cases.laws(rational_base(epsilon))
        p, q = laws[cases.first], laws[cases.second]
        worst = 0.0
        for order in (1.001, 1.5, 2.0, 4.0, 16.0):
            for a, b in ((p, q), (q, p)):
                divergence = np.log((a**order * b ** (1 - order)).sum(axis=1)) / (order - 1)
                worst = max(worst, float(divergence.max()) / order)
        assert worst <= epsilon**2 / 8
        assert worst == pytest.approx(printed, rel=0.05)


@pytest.mark.parametrize(("reach", "least"), [(10, 0.92), (100, 0.99), (1000, 0.999)])
def test_lopsided_data_nearly_spend_the_budget(reach, least):
    """No constant-factor gain exists for pure epsilon: the loss tends to epsilon."""
    score = l_statistic(median_weights(5), cube(1, reach, 1))
    cases = Exhaustive(score, (-reach, 1 - reach, reach), 5)
    assert least <= cases.loss(rational_base(1.0)) <= 1.0


def test_levels_of_charged_brackets_have_the_promised_step():
    cases = Exhaustive(l_statistic(median_weights(5), cube(1, 3, 1)), range(-3, 4), 5)
    values = [Fraction(k) for k in range(6)]
    for shift in (Fraction(0), Fraction(1, 2)):
        first = np.array([level_of(s + shift, Fraction(3, 2)) for s in values])[cases.levels]
        other = np.array([level_of(s, Fraction(3, 2)) for s in values])[cases.levels]
        assert np.abs(first[cases.first] - other[cases.second]).max() <= 1


def test_release_carries_its_guarantee():
    score = coordinate_max(trimmed_weights(200, 20), cube(Fraction(1, 1000), 10, 3))
    data = np.random.default_rng(0).normal(size=(200, 3)) + 2
    release = pure_exponential(score, data, epsilon=2.0)
    guarantee = release.guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.kind) == (2.0, 0.0, "exact")
    assert guarantee.rho == pytest.approx(0.5) and guarantee.adjacency == "one record (replace)"
    assert np.abs(release.value - 2).max() < 1.0
    seeded = [pure_exponential(score, data, epsilon=2.0, insecure_seed=4) for _ in range(2)]
    assert seeded[0] == seeded[1] and seeded[0].guarantee.kind == "none"
    refuse(
        (
            lambda: pure_exponential(
                coordinate_max(median_weights(3), Lattice(Fraction(1), 1), clip=False), data, epsilon=1.0
            ),
            "bounded lattice",
        )
    )


def test_hostile_data_release_like_any_other():
    score = directional(trimmed_weights(30, 3), integer_directions(2), cube(Fraction(1, 10), 3, 2))
    data = np.random.default_rng(0).normal(size=(30, 2))
    usual = pure_exponential(score, data, epsilon=1.0)
    for value in (math.nan, math.inf, -math.inf, 1e308, 0.0):
        release = pure_exponential(score, np.full((30, 2), value), epsilon=1.0)
        assert release.guarantee == usual.guarantee and release.public == usual.public
        assert release.value.shape == usual.value.shape
