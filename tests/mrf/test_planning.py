"""Choices from public numbers, and the constants they rest on."""

import math

import numpy as np
import pytest

from problems.mrf import FrankWolfePairwise, recommend, theory
from problems.mrf.planning import choose_iterations
from sosdp.privacy.calibrate import zcdp_rho
from tests.refusals import refuse

# medians of section 9 of the paper notes at (1, 1e-6): (p, width, n) -> error
MEASURED = {
    (8, 1.2, 10000): {"GradientIsing": 0.039, "MomentsIsing": 0.029, "FrankWolfeIsing": 0.092},
    (8, 1.2, 100000): {"GradientIsing": 0.010, "MomentsIsing": 0.009, "FrankWolfeIsing": 0.032},
    (12, 2.0, 10000): {"GradientIsing": 0.083, "MomentsIsing": 0.038, "FrankWolfeIsing": 0.119},
    (12, 2.0, 30000): {"GradientIsing": 0.032, "MomentsIsing": 0.021, "FrankWolfeIsing": 0.075},
    (9, 0.8, 30000): {"GradientIsing": 0.020, "MomentsIsing": 0.014, "FrankWolfeIsing": 0.056},
    # measured here, docs/mrf.md: Frank-Wolfe was forecast best at half its error
    (144, 0.8, 20000): {"MomentsIsing": 0.139, "FrankWolfeIsing": 0.200},
    (256, 0.8, 20000): {"MomentsIsing": 0.198, "FrankWolfeIsing": 0.206},
    (200, 0.4, 50000): {"MomentsIsing": 0.092, "FrankWolfeIsing": 0.170},
    (100, 0.8, 100000): {"MomentsIsing": 0.028, "FrankWolfeIsing": 0.074},
}


@pytest.mark.parametrize("case", MEASURED)
def test_forecasts_are_near_what_was_measured(case):
    p, width, n = case
    result = recommend(n, p, width=width, smallest=0.2, epsilon=1.0, delta=1e-6)
    assert result[0].estimator == "MomentsIsing"
    forecasts = {forecast.estimator: forecast.error for forecast in result}
    for estimator, measured in MEASURED[case].items():
        assert 1 / 1.5 < forecasts[estimator] / measured < 1.5
    assert all(forecast.edges == (forecast.error < 0.1) for forecast in result)


def test_trees_are_recommended_where_they_will_be_released():
    options = {"width": 3.0, "smallest": 0.5, "epsilon": 1.0, "delta": 1e-6, "tree": True}
    assert recommend(1000, 100, **options)[0].error == 0.0
    assert math.isinf(recommend(200, 100, **options)[0].error)


def test_iterations_and_blocks():
    assert choose_iterations(100, 2.0, 0.01, 20) == 20 and choose_iterations(10**9, 2.0, 1.0, 20) == 2000


@pytest.mark.parametrize("ball", ["l1", "groups"])
def test_outlooks_of_frank_wolfe_know_the_iterations_and_noise_of_the_ball(ball):
    """T is what the fit takes; a group and its direction have half the budget each (proof page, 4a)."""
    table, options = np.zeros((2000, 4)), {"epsilon": 1.0, "delta": 1e-6, "ball": ball}
    made = FrankWolfePairwise(1.0, 3, **options)
    taken = made.fit(table).release_.public["iterations"]
    error = made.outlook(2000, d=4).error
    assert FrankWolfePairwise(1.0, 3, iterations=taken, **options).outlook(2000, d=4).error == error
    rho = zcdp_rho(1.0, 1e-6) / (4 * 2)
    radius, choices = (2.0 * 3, 2 * 10) if ball == "l1" else (2.0 * math.sqrt(3), 2 * 4)
    scale = theory.noise_scale(radius, 2000, taken, rho, "tight") * (1 if ball == "l1" else math.sqrt(2))
    noise = theory.utility_bound(0.0, taken, scale, choices, 0.5) + (
        ball == "groups"
    ) * 2 * scale * math.sqrt(3)
    assert error == pytest.approx(noise + theory.utility_bound(radius, taken, 0.0, choices, 0.5) / 100)


def test_the_balance_minimises_the_bound():
    radius, n, rho, candidates = 2.4, 10**5, 0.05, 16

    def bound(iterations):
        scale = theory.noise_scale(radius, n, iterations, rho, "tight") / theory.gradient_sensitivity(
            radius, n
        )
        noise = scale * theory.gradient_sensitivity(radius, n)
        return 2 * radius**2 / (iterations + 1) + noise * math.log(candidates / 0.05)

    best = theory.balanced_iterations(radius, n, rho, candidates)
    assert bound(best) <= min(bound(max(2, best // 2)), bound(2 * best))


def test_loss_to_parameters_is_a_bound():
    """The lemma on random two-node models: excess loss of one regression against the error of its weight."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        weight, other = rng.uniform(-0.4, 0.4, size=2)
        # z_1 given z_2, both fair: loss of regressing with 2 w z_2
        chance = 1 / (1 + math.exp(-2 * weight))

        def loss(w, chance=chance):
            return chance * math.log1p(math.exp(-2 * w)) + (1 - chance) * math.log1p(math.exp(2 * w))

        gamma = loss(other) - loss(weight)
        assert abs(weight - other) <= theory.parameter_error(0.4, max(gamma, 0.0))
    assert math.isinf(theory.parameter_error(1.0, 1.0))
    refuse((lambda: theory.parameter_error(1.0, -1.0),))
