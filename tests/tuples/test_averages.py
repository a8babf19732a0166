"""Averages at a private radius: exact laws on all neighbours, sensitivities, order, refusals, the table."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy import calibrate
from sosdp.privacy.mechanisms.propose_test_release import tuple_averages as averages
from sosdp.privacy.mechanisms.propose_test_release import tuple_geometry as geometry
from sosdp.privacy.mechanisms.propose_test_release.block_vote import agreement_rule, h_score
from sosdp.privacy.mechanisms.propose_test_release.friendly_core import around_one_sensitivity
from sosdp.privacy.mechanisms.propose_test_release.tuple_averages import (
    RadiusGrid,
    averages_guarantee,
    radius_losses,
    release_tuple_averages,
    tuple_budget,
)
from sosdp.privacy.randomness.bits import InsecureBits
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refuse


@pytest.mark.parametrize(
    ("epsilon", "delta", "reach", "minimum"),
    [(1.0, math.exp(-28), 99, 200), (1.0, 1e-6, 52, 106), (0.5, 1e-6, 99, 200), (2.0, 1e-6, 27, 56)],
)
def test_table_of_the_notes(epsilon, delta, reach, minimum):
    """Section 4.2: the h-score test with .3 of epsilon, half of delta, failure .025, no plateau."""
    rule = agreement_rule(0.3 * epsilon, delta / 2.0, Fraction(1, 40))
    assert (rule.reach, rule.minimum) == (reach, minimum)
    with_plateau = agreement_rule(0.3 * epsilon, delta / 2.0, Fraction(1, 40), 3)
    assert (with_plateau.reach, with_plateau.minimum) == (reach + 3, minimum + 6)


def scores_at(line: tuple[int, ...], radii: tuple[int, ...]) -> list[int]:
    x = np.array(line)
    return [h_score(np.abs(x[:, None] - x[None, :]) <= r) for r in radii]


def test_exact_law_of_radius_and_test_on_all_neighbours():
    """All sets of six one-point tuples, three radii; a choice at eight times the rate is not private."""
    radii, n = (1, 2, 4), 6
    budget = tuple_budget(2.0, 0.2, plateau=0, failure=0.025)
    rule = agreement_rule(1.5, 0.1, Fraction(1, 40))
    curve = [float(rule.curve.probability(h)) for h in range(n + 1)]

    def law(line, rate):
        losses = np.array(radius_losses(scores_at(line, radii), n, budget), dtype=float)
        chosen = np.exp(-rate * losses)
        chosen /= chosen.sum()
        passing = np.array([curve[h] for h in scores_at(line, radii)])
        return np.concatenate([chosen * passing, chosen * (1.0 - passing)])

    epsilon = budget.epsilon_radius
    places = (0, 1, 2, 4, 9)
    sets = list(itertools.combinations_with_replacement(places, n))
    for factor, holds in ((0.5, True), (4.0, False)):
        near = neighbour_pairs({c: law(c, factor * epsilon) for c in sets}, places)
        worst = max(np.maximum(p - math.exp(1.5 + epsilon) * q, 0.0).sum() for p, q in near)
        assert (worst <= 0.1) == holds and worst > 0.0


def test_losses_move_by_at_most_one():
    budget = tuple_budget(2.0, 0.2, plateau=0)
    places, n = (0, 1, 3, 6, 20), 5
    known = {
        c: radius_losses(scores_at(c, (1, 2, 4, 8)), n, budget)
        for c in itertools.combinations_with_replacement(places, n)
    }
    moved = (abs(a - b) for near in neighbour_pairs(known, places) for a, b in zip(*near, strict=True))
    assert max(moved) <= 1


@pytest.mark.parametrize("average", ["members", "center"])
def test_averages_around_one_tuple_move_within_their_bounds(average):
    """All sets of seven tuples on a line; over half of the bound of the tuple itself is attained."""
    n, radius, worst = 7, 2, 0.0

    def around(line):
        x = np.array(line)
        near = np.abs(x[:, None] - x[None, :]) <= radius
        best = int(np.argmax(near.sum(axis=1)))
        return h_score(near), float(x[near[best]].mean() if average == "members" else x[best])

    places = (0, 1, 2, 3, 4, 9)
    known = {c: around(c) for c in itertools.combinations_with_replacement(places, n)}
    for (h, value), (other, moved) in neighbour_pairs(known, places):
        if n >= 2 * max(h, other) + 2:
            bound = float(around_one_sensitivity(n, max(h, other), average)) * radius
            worst = max(worst, abs(value - moved) / bound)
    assert 0.2 < worst <= 1.0


CENTRES = 64.0 * np.eye(3)
BUDGET = {"epsilon": 4.0, "delta": 1e-3}


def clustered(n: int, seed: int, scatter: float = 0.2) -> list:
    generator = np.random.default_rng(seed)
    return [
        (CENTRES + scatter * generator.standard_normal((3, 3)))[generator.permutation(3)] for _ in range(n)
    ]


def error(centers) -> float:
    result = np.array(centers)
    return float(np.linalg.norm(result[:, None] - CENTRES[None], axis=2).min(axis=1).max())


def test_release_at_any_scale():
    for scale in (1e-4, 1.0, 1e4):
        tuples = [scale * t for t in clustered(90, 1)]
        release = release_tuple_averages(tuples, 3, 3, **BUDGET, failure=1e-6)
        value = release.value
        assert value["released"] and error(np.array(value["centers"]) / scale) < 3.0
        assert scale / 2.0 < value["radius"] < 6.0 * scale
    assert release.guarantee.kind == "conditional" and release.guarantee.epsilon == pytest.approx(4.0)
    assert release.guarantee.delta == pytest.approx(1e-3) and "disagreements" not in str(release.to_dict())
    for average in averages.AVERAGES:
        release_tuple_averages(clustered(90, 2), 3, 3, **BUDGET, average=average)
    noise = {
        a: release_tuple_averages(clustered(90, 2), 3, 3, **BUDGET, average=a).public["scale"]
        for a in averages.AVERAGES
    }
    assert noise["friends"] < noise["members"] / 4.0


def test_what_is_not_clustered_is_refused_and_nothing_is_raised():
    generator = np.random.default_rng(0)
    uniform = [generator.uniform(-30, 30, (3, 3)) for _ in range(60)]
    hostile: list = [
        None,
        math.nan,
        [[math.inf] * 3] * 3,
        "abc",
        np.full((3, 3), 1e300),
        [[object()] * 3] * 3,
    ]
    same = [np.zeros((3, 3))] * 60
    for tuples in (uniform, hostile * 10, same):
        value = release_tuple_averages(tuples, 3, 3, **BUDGET).value
        assert value["released"] is False and value["centers"] is None
    refuse(
        *each(
            lambda bad: release_tuple_averages(clustered(60, 1), 3, 3, **{**BUDGET, **bad}),
            ({"epsilon": 0.0}, {"grid": RadiusGrid(0.5, 3), "average": "mode"}, {"failure": 0.0}),
            r"[a-z]",
        ),
        (lambda: release_tuple_averages(clustered(20, 1), 3, 3, **BUDGET), "reach"),
        (lambda: RadiusGrid(1.0, 0), "radi"),
    )


def test_refusals_are_as_frequent_as_the_curve_says():
    """Perfect tuples are refused with the test's failure probability, and the choice's; 400 runs."""
    tuples = [np.array([[0.0], [100.0]])] * 40
    budget = tuple_budget(6.0, 1e-2, plateau=0, failure=0.2)
    grid = RadiusGrid(0.25, 4)
    bits = InsecureBits(5)
    runs = 400
    refused = sum(
        averages.draw_averages(tuples, 2, 1, grid, budget, bits).centres is None for _ in range(runs)
    )
    assert abs(refused / runs - 0.2) < 5 * math.sqrt(0.16 / runs)


@pytest.mark.slow
def test_the_order_of_points_and_tuples_does_not_show():
    """Other orders inside the tuples, same random bits: the same centres up to the order they come out in."""
    tuples = clustered(90, 4)
    generator = np.random.default_rng(9)
    turned = [tuples[0], *(t[generator.permutation(3)] for t in tuples[1:])]
    one, two = (release_tuple_averages(t, 3, 3, **BUDGET, insecure_seed=3).value for t in (tuples, turned))
    assert one["centers"] == two["centers"] and one["centers"] is not None
    # the order of the release is random, not that of the first tuple
    firsts = {
        int(
            np.argmax(
                release_tuple_averages(tuples, 3, 3, **BUDGET, insecure_seed=s, failure=1e-6).value[
                    "centers"
                ][0]
            )
        )
        for s in range(12)
    }
    assert len(firsts) > 1


def test_the_budget_adds_up_and_grids_are_exact():
    budget = tuple_budget(1.0, 1e-6, then=0.5)
    guarantee = averages_guarantee(budget, tuple_budget)
    assert guarantee.epsilon <= 1.0 and guarantee.delta <= 1e-6 and guarantee.kind == "exact"
    from dataclasses import replace

    refuse(
        (lambda: averages_guarantee(replace(budget, rho_then=2.0 * budget.rho_then), tuple_budget), "zCDP")
    )
    spent = budget.epsilon_radius**2 / 8 + budget.rho_mean + budget.rho_then
    assert calibrate.zcdp_epsilon(spent, budget.delta_then) <= budget.epsilon_then
    grid = RadiusGrid(2.0**-20, 20)
    assert grid.radii[8] == 16 * grid.radii[0] and len(grid.radii) == 22
    # the largest radius of a group stays exact in many coordinates
    assert (geometry.SEPARATION * averages.STEPS[-1]) ** 2 * 200 < 2**53
    # steps are sqrt(2) apart, to a part in ten thousand
    ratios = np.array(averages.STEPS[1:]) / np.array(averages.STEPS[:-1])
    assert np.abs(ratios - math.sqrt(2.0)).max() < 1e-4 * math.sqrt(2.0)
