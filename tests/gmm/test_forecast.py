"""Forecasts against what blocks do: unequal weights, long axes, failing solvers, refusals that advise."""

import contextlib
import io

import numpy as np
import pytest

from problems.gmm import PrivateGaussianMixture, SphericalMixture, aggregate_plan, forecast, planning
from problems.gmm.blocks import block_solver, check_solver
from problems.gmm.forecast import agreements, before_trial, try_solver
from problems.gmm.model import Facts, simulated_answers
from problems.gmm.plan import after_refusal
from sosdp import progress
from tests.refusals import refuse


def test_light_and_long_clusters_are_forecast():
    """Smaller weights and longer axes scatter answers more, as they do in simulated data."""
    plain = Facts(3, 3, 12.0, 1.0 / 3.0, 1.0)
    light, long = Facts(3, 3, 12.0, 0.1, 1.0), Facts(3, 3, 12.0, 1.0 / 3.0, 3.0)
    radii = [agreements(f, 90, before_trial(f), None)[1].radius for f in (plain, light, long)]
    assert radii[1] > 1.4 * radii[0] and radii[2] > 1.4 * radii[0]
    assert light.mixture().weights == pytest.approx((0.1, 0.1, 0.8))


def test_simulated_answers_have_the_covariance_of_cluster_means():
    facts = Facts(2, 2, 10.0, 0.2, 3.0)
    answers, full = simulated_answers(facts.mixture(), 200, 4000, 0, (1.0, 1.0))
    errors = answers - facts.mixture().means()
    trace = np.sum(errors**2, axis=2).mean(axis=0)
    assert full.all()
    assert trace == pytest.approx([10.0 / 40.0, 10.0 / 160.0], rel=0.12)


def test_trials_see_failing_solvers_and_inefficient_ones():
    facts = Facts(2, 2, 12.0, 0.5, 1.0)

    def sometimes(points):
        if points[0, 0] > points[1, 0]:
            raise RuntimeError("no")
        return block_solver("kmeans", facts)(points)

    def half(points):
        return block_solver("kmeans", facts)(points[: len(points) // 2])

    good, bad, slow = (try_solver(s, facts, 80) for s in (block_solver("kmeans", facts), sometimes, half))
    assert good.failed < 0.05 and 0.25 < bad.failed < 0.75
    assert max(good.efficiency) < 1.5 < 1.6 < max(slow.efficiency)
    assert try_solver(lambda points: "nonsense", facts, 80).failed == 1.0
    refuse(
        (lambda: check_solver("magic"), "solver"),
        (lambda: block_solver("auto", facts), "decides"),
    )


@pytest.mark.slow
def test_a_solver_that_fails_shows_in_the_plan():
    plan = aggregate_plan(20000, 2, 2, 10.0, 2.0, 1e-6, solver=lambda points: None)
    assert not plan.feasible and plan.pass_probability < 0.01
    assert plan.advice and plan.solver == "given"


SETTINGS = [
    # k, d, n, separation, weights
    (3, 2, 4000, 14.0, (0.6, 0.3, 0.1)),
    (2, 2, 900, 8.0, None),
]


@pytest.mark.slow
@pytest.mark.parametrize(("k", "d", "n", "separation", "weights"), SETTINGS)
def test_predicted_pass_probability_is_the_observed_one(k, d, n, separation, weights):
    """Twenty runs of each of two settings; unequal weights, and one with too few records."""
    promises = {"least_weight": 1.0 / k if weights is None else min(weights), "solver": "kmeans"}
    mixture = SphericalMixture(k, d, separation, weights=weights)
    plan = aggregate_plan(n, d, k, separation, 8.0, 1e-3, **promises)
    passed = 0
    for seed in range(20):
        est = PrivateGaussianMixture(k, 8.0, 1e-3, separation, force=True, insecure_seed=seed, **promises)
        passed += est.fit(mixture.sample(n, seed).points).released_
    assert abs(passed / 20 - plan.pass_probability) <= 0.1


@pytest.mark.slow
def test_unequal_weights_and_long_axes_are_released():
    """.05 of the records in one cluster; axes 1 : 3."""
    for weights, elongation, separation in (((0.05, 0.95), 1.0, 14.0), (None, 3.0, 24.0)):
        light = 0.5 if weights is None else 0.05
        mixture = SphericalMixture(2, 2, separation, weights=weights, elongation=elongation)
        est = PrivateGaussianMixture(
            2, 8.0, 1e-3, separation, least_weight=light, elongation=elongation, insecure_seed=1
        )
        est.fit(mixture.sample(6000, 1).points)
        assert est.plan_.feasible and est.released_ and est.advice_ == ""


@pytest.mark.slow
def test_a_paid_refusal_gives_advice_from_public_facts():
    sample = SphericalMixture(3, 2, 12.0, weights=(0.9, 0.07, 0.03)).sample(5000, 0)
    est = PrivateGaussianMixture(3, 8.0, 1e-3, 12.0, least_weight=1.0 / 3.0).fit(sample.points)
    assert not est.released_ and est.guarantee_.epsilon == pytest.approx(8.0)
    assert "least_weight" in est.advice_ and est.advice_ == after_refusal(est.plan_)
    assert est.plan_.seconds > 0.0


def test_a_plan_says_what_it_does_and_tries_each_block_size_once(monkeypatch):
    """It was silent for half a minute, and every part of the budget tried the same blocks again."""
    lines = []

    def trial(solver, facts, size):
        lines.append(progress._current.get().text)
        return before_trial(facts)

    class Terminal(io.StringIO):
        isatty = staticmethod(lambda: True)

    def planned(search, solver):
        return [forecast.trial(solver, search.facts, size).seconds for size in (80, 120, 80)]

    monkeypatch.setattr(forecast, "try_solver", trial)
    monkeypatch.setattr(planning, "_planned", planned)
    forecast.trial.cache_clear()
    try:
        with contextlib.redirect_stderr(Terminal()):
            planning.aggregate_plan(900, 1, 2, 12.0, 1.0, 1e-6, solver="kmeans")
    finally:
        forecast.trial.cache_clear()
    assert lines == [f"plan of a mixture: made-up blocks of {size} records" for size in (80, 120)]
