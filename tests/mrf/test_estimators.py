"""Estimates of the published models, and budgets without delta."""

from fractions import Fraction as F

import numpy as np
from sklearn.base import clone

import problems.mrf
from tests.refusals import each, refuse


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


def test_symbols_are_public_and_a_number_of_them_is_said_to_begin_at_0():
    """Items coded 1 to 3 were read as 0 to 2, the threes as noughts, and nobody said so."""
    table = problems.mrf.alphabet_grid(2, 2, 3, 0.4, seed=0).sample(500, 1)
    made = [
        problems.mrf.FrankWolfePairwise(1.0, symbols, iterations=20, insecure_seed=1).fit(records)
        for symbols, records in (
            (3, table),
            ((1, 2, 3), table + 1),
            ((-1, 0.5, 4), np.choose(table, (-1, 0.5, 4))),
        )
    ]
    assert all((made[0].weights_ == one.weights_).all() for one in made[1:])
    assert "the symbols 0 to 2" in made[0].advice_ and made[1].advice_ == ""
    assert made[1].get_params()["alphabet"] == (1, 2, 3)
    assert not any(hasattr(problems.mrf.FrankWolfePairwise(1.0, k), "advice_") for k in (3, (1, 2, 3)))

    def fit(symbols):
        return problems.mrf.FrankWolfePairwise(1.0, symbols).fit(table)

    wrong = ((1,), (1, 1.0), (1, float("nan")), 1, "ab", [], [[1, 2]], (1, 2, 10**400), (10**400, 10**500))
    refuse(*each(fit, wrong, "alphabet"))


def test_symbols_are_any_list_of_numbers():
    """A list was refused as no integer, and 10**400 raised an OverflowError."""
    table = problems.mrf.alphabet_grid(2, 2, 3, 0.4, seed=0).sample(300, 1) + 1
    made = [
        problems.mrf.FrankWolfePairwise(1.0, symbols, iterations=9, insecure_seed=1)
        for symbols in (
            (1, 2, 3),
            [1, 2, 3],
            np.array([1, 2, 3]),
            range(1, 4),
            [np.int8(1), 2.0, F(3)],
        )
    ]
    assert made[1].alphabet == clone(made[1]).alphabet == [1, 2, 3]  # kept as it was given, until it is read
    assert len({one.fit(table).weights_.tobytes() for one in made}) == 1


def test_a_graph_that_is_not_released_comes_with_advice():
    """Some estimators had nothing of that name: whoever printed it got an AttributeError."""
    table = np.ones((20, 3))
    for model in (
        problems.mrf.ChowLiuTree(insecure_seed=1),
        problems.mrf.CorrelationGraph(1.0, insecure_seed=1),
        problems.mrf.VotedStructure(1.0, 0.5, blocks=2, insecure_seed=1),
    ):
        fitted = model.fit(table)
        assert not fitted.released_ and "more records" in fitted.advice_
    regression = problems.mrf.PrivateSparseLogistic(iterations=2, insecure_seed=1)
    assert "one class" in regression.fit(table, np.arange(20) % 2).advice_


def test_bounds_that_float64_cannot_halve_are_refused():
    """A feature at the middle of them was no number, -2^63 as an integer, far beyond its sensitivity."""
    X, y = np.zeros((40, 2)), np.arange(40) % 2
    refuse(
        *each(
            lambda high: problems.mrf.PrivateSparseLogistic(
                2.0, epsilon=1.0, delta=1e-6, low=0.0, high=high
            ).fit(X, y),
            (5e-324, 1e-300, [1.0, 5e-324], 0.0, np.inf),
            "low < high",
        )
    )
    whole = problems.mrf.PrivateSparseLogistic(2.0, epsilon=1.0, delta=1e-6, low=-1.7e308, high=1.7e308).fit(
        X, y
    )
    assert np.isfinite(whole.coef_).all() and np.isfinite(whole.intercept_).all()
