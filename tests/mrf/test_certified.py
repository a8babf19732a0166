"""Certificates about small models: below the truth found by sampling, and close to it."""

import numpy as np
from scipy.optimize import minimize as local

from problems.mrf import FrankWolfeIsing, Ising, grid, matching
from problems.mrf.certified import excess_loss, features, least_loss, population_loss, strong_convexity
from tests.refusals import each, refusals

MODEL = Ising([[0, 0.3, 0], [0.3, 0, -0.2], [0, -0.2, 0]], [0.0, 0.1, 0.0])
RADIUS = 1.3


def curvature(node, w, v):
    points, _, weights = features(MODEL, node)
    slope = 1 / (4 * np.cosh(points @ w / 2) ** 2)
    return float(weights @ (slope * (points @ v) ** 2)) / float(v @ v)


def test_strong_convexity_is_below_every_curvature_and_positive():
    result = strong_convexity(MODEL, 1, RADIUS)
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(4000):
        w = rng.dirichlet(np.ones(3)) * rng.choice((-1, 1), 3) * RADIUS
        seen.append(curvature(1, w, rng.normal(size=3)))
    assert 0.02 < result.value <= min(seen)
    assert not strong_convexity(MODEL, 1, 8.0).value > 0  # the bound says nothing that far


def test_least_loss_is_below_the_minimum_and_close():
    result = least_loss(MODEL, 1, RADIUS).value
    truth = np.append(2 * MODEL.weights[1, [0, 2]], 2 * MODEL.field[1])
    best = local(lambda w: population_loss(MODEL, 1, w), np.zeros(3), tol=1e-12)
    np.testing.assert_allclose(best.x, truth, atol=1e-4)
    assert best.fun - 0.01 < result <= best.fun


def test_a_private_release_is_certified_close():
    fitted = FrankWolfeIsing(MODEL.width, epsilon=2.0, iterations=40, insecure_seed=1).fit(
        MODEL.sample(200000, 1)
    )
    released = np.append(2 * fitted.weights_[1, [0, 2]], 2 * fitted.field_[1])
    truth = np.append(2 * MODEL.weights[1, [0, 2]], 2 * MODEL.field[1])
    kappa, gamma = strong_convexity(MODEL, 1, RADIUS).value, excess_loss(MODEL, 1, released, RADIUS).value
    assert gamma >= population_loss(MODEL, 1, released) - population_loss(MODEL, 1, truth)
    assert np.linalg.norm(released - truth) <= np.sqrt(2 * gamma / kappa) < 1.0


test_refusals = refusals(
    *each(
        lambda refused: refused(),
        (
            lambda: features(grid(3, 3), 0),
            lambda: features(matching(2), 5),
        ),
    ),
)
