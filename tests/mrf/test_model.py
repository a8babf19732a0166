"""Models against the list of their states, and samplers against the models."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

from problems.mrf import (
    Ising,
    Pairwise,
    TWise,
    alphabet_grid,
    cycle,
    diamond,
    grid,
    matching,
    random_t_wise,
    random_tree,
)
from sosdp.structured.parities import code_signs, state_codes, walsh_hadamard
from tests.refusals import each, refusals


def listed(heights):
    weights = np.exp(np.asarray(heights) - max(heights))
    return weights / weights.sum()


def fits(states, probabilities):
    counts = np.bincount(state_codes(states), minlength=len(probabilities))
    return chisquare(counts, len(states) * probabilities).pvalue


def test_walsh_hadamard_and_codes():
    values = np.random.default_rng(0).normal(size=16)
    direct = [sum(values[s] * (-1) ** bin(s & i).count("1") for s in range(16)) for i in range(16)]
    np.testing.assert_allclose(walsh_hadamard(values), direct)
    np.testing.assert_allclose(walsh_hadamard(walsh_hadamard(values)) / 16, values)
    assert (state_codes(code_signs(np.arange(16), 4)) == np.arange(16)).all()


def test_ising_probabilities_widths_and_conditionals():
    rng = np.random.default_rng(1)
    upper = np.triu(rng.normal(size=(4, 4)), 1)
    model = Ising(upper + upper.T, rng.normal(size=4))
    states = np.array(list(itertools.product((-1, 1), repeat=4)))
    heights = [z @ upper @ z + model.field @ z for z in states]
    np.testing.assert_allclose(model.probabilities[state_codes(states)], listed(heights))
    assert model.width == max(np.abs(model.weights[i]).sum() + abs(model.field[i]) for i in range(4))
    for i in range(4):
        up = states.copy()
        up[:, i] = 1
        down = states.copy()
        down[:, i] = -1
        odds = model.probabilities[state_codes(up)] / model.probabilities[state_codes(down)]
        np.testing.assert_allclose(model.logit(i, states), np.log(odds))
        chance = model.conditional(i, states)
        assert min(chance.min(), 1 - chance.max()) >= model.unbiased
    assert diamond(8).smallest == 0.2 and Ising(np.zeros((2, 2))).smallest == math.inf


def test_t_wise_models():
    model = random_t_wise(5, 3, 0.4, 4, seed=2)
    states = np.array(list(itertools.product((-1, 1), repeat=5)))
    heights = [sum(v * np.prod(z[list(m)]) for m, v in model.coefficients.items()) for z in states]
    np.testing.assert_allclose(model.probabilities[state_codes(states)], listed(heights))
    assert model.degree == 3 and all(model.is_maximal(m) for m in model.coefficients)
    assert not TWise(3, {(0, 1, 2): 1.0, (0, 1): 1.0}).is_maximal((0, 1))
    exponent, z = model.log_density()
    point = dict(zip(z, states[11].tolist(), strict=True))
    assert float(
        exponent.evaluate(point) if hasattr(exponent, "evaluate") else exponent(point)
    ) == pytest.approx(heights[11])


def test_pairwise_models_and_centring():
    model = alphabet_grid(2, 2, 3, 0.4, seed=1)
    rng = np.random.default_rng(0)
    raw = rng.normal(size=model.weights.shape)
    raw = raw + raw.transpose(1, 0, 3, 2)
    raw[range(4), range(4)] = 0.0
    full = Pairwise(raw, rng.normal(size=(4, 3)))
    centred = full.centred()
    assert np.abs(centred.weights.sum(axis=2)).max() < 1e-12
    np.testing.assert_allclose(centred.probabilities[1], full.probabilities[1])
    states = full.probabilities[0]
    for i, (u, v) in itertools.product(range(4), itertools.combinations(range(3), 2)):
        np.testing.assert_allclose(centred.logit(i, u, v, states), full.logit(i, u, v, states))
        first, second = states.copy(), states.copy()
        first[:, i], second[:, i] = u, v
        code = np.array([27, 9, 3, 1])
        odds = np.log(full.probabilities[1][first @ code] / full.probabilities[1][second @ code])
        np.testing.assert_allclose(full.logit(i, u, v, states), odds, atol=1e-9)


@pytest.mark.parametrize("method", ["list", "elimination", "past", "gibbs"])
def test_samplers_have_the_law_of_the_model(method):
    model = grid(2, 3, 0.3, 0.1)
    assert fits(model.sample(20000, 7, method=method), model.probabilities) > 1e-4


@pytest.mark.parametrize("model", [diamond(7), random_tree(7, 3), cycle(7, -0.5), matching(6, 0.7)])
def test_elimination_is_exact(model):
    assert fits(model.sample(20000, 5, method="elimination"), model.probabilities) > 1e-4
    heights = walsh_hadamard(np.log(model.probabilities))[0] / len(model.probabilities)
    assert model.elimination.log_partition == pytest.approx(-heights, abs=1e-9)


def test_elimination_of_symbols():
    model = alphabet_grid(2, 2, 3, 0.5, seed=4)
    counts = np.bincount(model.sample(20000, 3) @ np.array([27, 9, 3, 1]), minlength=81)
    assert chisquare(counts, 20000 * model.probabilities[1]).pvalue > 1e-4


def test_large_models_can_be_sampled():
    assert grid(8, 8).sample(100, 1).shape == (100, 64)
    assert Ising(0.01 * (np.ones((40, 40)) - np.eye(40))).sample(20, 1).shape == (20, 40)


test_refusals = refusals(
    (lambda: walsh_hadamard([1.0, 2.0, 3.0]), None),
    *each(Ising, ([[0, 1], [0, 0]], [[1, 0], [0, 0]], [[0, np.inf], [np.inf, 0]], np.zeros((2, 3)))),
    *each(
        lambda refused: refused(),
        (
            lambda: TWise(3, {(1, 0): 1.0}),
            lambda: TWise(3, {(1, 3): 1.0}),
            lambda: Pairwise(np.ones((2, 2, 2, 2)), np.zeros((2, 2))),
            lambda: diamond(4).sample(3, 1, method="magic"),
        ),
    ),
    (lambda: grid(30, 30).sample(2, 1, method="elimination"), None),
    (lambda: cycle(5, -0.5).sample(10, 1, method="past"), None),
)
