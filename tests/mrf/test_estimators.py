"""Estimates of the published models, and budgets without delta."""

import numpy as np

import problems.mrf


def test_estimates_improve_with_records():
    model = problems.mrf.diamond(6)
    errors = []
    for n in (2000, 200000):
        result = problems.mrf.FrankWolfeIsing(model.width, iterations=60, insecure_seed=1).fit(
            model.sample(n, 2)
        )
        errors.append(np.abs(result.weights_ - model.weights).max())
    assert errors[1] < 0.05 < errors[0] and result.advice_ == ""
    assert "columns: 0, 1, 2;" in problems.mrf.MomentsIsing(0.5).fit(np.full((5000, 3), 2)).advice_


def test_pairs_of_symbols_are_learnt():
    model = problems.mrf.alphabet_grid(2, 2, 3, 0.4, seed=0)
    fitted = problems.mrf.FrankWolfePairwise(
        model.width, 3, epsilon=4.0, delta=1e-6, threshold=0.2, iterations=80, insecure_seed=1
    ).fit(model.sample(60000, 1))
    assert fitted.edges_ == model.edges
    assert np.abs(fitted.weights_ - model.weights).max() < 0.2
