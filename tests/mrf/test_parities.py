"""Parities by multiplicative weights and by oracle; t-wise models; sparse logistic regression."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from problems.mrf import FrankWolfeTWise, PrivateSparseLogistic, TWise, grid, random_t_wise
from sosdp.privacy.calibrate import zcdp_rho
from sosdp.privacy.mechanisms import parities
from sosdp.privacy.mechanisms.parities import parity_points, parity_weights
from sosdp.structured.parities import mask
from sosdp.structured.parity_oracle import best_point, mixed_integer_point
from tests.refusals import each, refuse


@pytest.fixture(scope="module")
def table():
    return grid(2, 3, 0.5).sample(4000, 1)


def largest_error(released, table, order):
    p = table.shape[1]
    sets = [s for size in range(1, order + 1) for s in itertools.combinations(range(p), size)]
    return max(abs(released.parity(s) - table[:, list(s)].prod(axis=1).mean()) for s in sets)


def test_both_approach_the_data(table):
    weights = parity_weights(table, 2, rounds=30, rho=2.0, insecure_seed=1)
    assert largest_error(weights.value, table, 2) < 0.12
    points = parity_points(table, 2, rounds=60, points=8, perturbation=4.0, rho=2.0, insecure_seed=1)
    assert largest_error(points.value, table, 2) < 0.25
    assert weights.value.probabilities.sum() == pytest.approx(1.0)
    assert points.value.probabilities.sum() == pytest.approx(1.0)
    uniform = max(abs(table[:, list(s)].prod(axis=1).mean()) for s in itertools.combinations(range(6), 2))
    assert uniform > 0.4  # so that the bounds above say something


def test_guarantees_and_refusals(table):
    release = parity_weights(table, 2, rounds=3, epsilon=1.0, delta=1e-6)
    assert release.guarantee.rho == zcdp_rho(1.0, 1e-6) and release.guarantee.kind == "exact"
    assert release.guarantee.epsilon_at(1e-6) <= 1.0
    release.to_dict()
    refuse(
        *each(
            lambda wrong: parity_weights(table, 2, **{"rho": 1.0, **wrong}),
            ({"rounds": 0}, {"rounds": 2, "rho": 1.0, "epsilon": 1.0}, {"rounds": 2, "rho": -1.0}),
        ),
        *each(
            lambda refused: refused(),
            (
                lambda: parity_weights(table, 7, rounds=1, rho=1.0),
                lambda: parity_weights(np.ones((2, 25), np.int8), 1, rounds=1, rho=1.0),
                lambda: parity_points(table, 2, rounds=2, points=0, perturbation=1.0, rho=1.0),
            ),
        ),
    )


def recorded(monkeypatch, run):
    """Rates of the choices and variances of the measurements of a run."""
    rates, variances = [], []
    softmax, gaussian = parities.softmax_rows, parities.exact.discrete_gaussian
    monkeypatch.setattr(
        parities, "softmax_rows", lambda s, rate, **k: rates.append(rate) or softmax(s, rate, **k)
    )
    monkeypatch.setattr(
        parities.exact, "discrete_gaussian", lambda v, b: variances.append(v) or gaussian(v, b)
    )
    run()
    return rates, variances


def test_costs_add_up_to_the_budget(table, monkeypatch):
    """Theorems 1 and 2 with the sensitivity measured by brute force."""
    rho, rounds, points = 0.8, 5, 7
    records = np.array(list(itertools.product((-1, 1), repeat=4)), dtype=np.int8)
    sums = np.array([parities._sums(record[None] < 0, parities._masks(4, 3)) for record in records])
    moved = int((sums.max(axis=0) - sums.min(axis=0)).max())
    assert moved == 2
    rates, variances = recorded(monkeypatch, lambda: parity_weights(table, 2, rounds=rounds, rho=rho))
    assert len(rates) == len(variances) == rounds
    cost = sum((2 * moved * rate) ** 2 / 8 for rate in rates) + sum(moved**2 / (2 * v) for v in variances)
    assert Fraction(rho) * Fraction(999999, 10**6) <= cost <= Fraction(rho)
    rates, variances = recorded(
        monkeypatch, lambda: parity_points(table, 2, rounds=rounds, points=points, perturbation=1.0, rho=rho)
    )
    assert variances == []
    cost = sum((2 * moved * points * rate) ** 2 / 8 for rate in rates)
    assert Fraction(rho) * Fraction(999999, 10**6) <= cost <= Fraction(rho)


def test_the_first_choice_has_the_law_of_the_theorem():
    table = np.array([[1, 1], [1, -1], [1, 1]], dtype=np.int8)
    rho, runs = 8.0, 1500
    rate = math.sqrt(8 * rho / 2) / 4
    scores = np.abs([3, 1, 1])  # sums of z0, z1, z0 z1, against answers 0
    law = np.exp(rate * scores) / np.exp(rate * scores).sum()
    result = np.zeros(3)
    for seed in range(runs):
        place = parity_weights(table, 2, rounds=1, rho=rho, refit=False, insecure_seed=seed).value.measured[
            0
        ][0]
        result[[1, 2, 3].index(place)] += 1
    assert (np.abs(result - runs * law) < 5 * np.sqrt(runs * law * (1 - law)) + 1).all()


def test_the_oracle_listed_and_as_an_integer_program():
    rng = np.random.default_rng(0)
    for _ in range(8):
        weights = {
            mask(s): float(rng.normal()) for s in itertools.combinations(range(6), 3) if rng.random() < 0.5
        }
        weights |= {1 << i: float(rng.normal()) for i in range(6)}

        def value(code, weights=weights):
            return sum(w * (-1) ** (code & place).bit_count() for place, w in weights.items())

        best = max(value(code) for code in range(64))
        assert value(best_point(6, weights)) == pytest.approx(best)
        assert value(mixed_integer_point(6, weights)) == pytest.approx(best)
    assert best_point(25, {1 << 24: -1.0}) >> 24 == 1
    refuse((lambda: best_point(3, {9: 1.0}),))


@pytest.mark.parametrize(
    "target, answers", [("all", "gaussian"), ("maximal", "gaussian"), ("maximal", "multiplicative weights")]
)
def test_a_model_of_triples(target, answers):
    model = TWise(5, {(0, 1, 2): 0.5, (2, 3, 4): -0.4, (0, 4): 0.3})
    fitted = FrankWolfeTWise(
        model.width,
        3,
        target=target,
        parities=answers,
        epsilon=4.0,
        iterations=60,
        threshold=0.15,
        insecure_seed=2,
    ).fit(model.sample(200000, 1))
    for monomial, value in model.coefficients.items():
        if model.is_maximal(monomial):
            assert fitted.coefficients_[monomial] == pytest.approx(value, abs=0.12)
    assert {(0, 1), (1, 2), (2, 3), (3, 4)} <= set(fitted.edges_)


def test_halves_get_the_whole_budget():
    table = random_t_wise(5, 3, 0.4, 3, seed=1).sample(200, 1)
    for target in ("all", "maximal"):
        fitted = FrankWolfeTWise(1.0, 3, target=target, iterations=4).fit(table)
        assert (fitted.guarantee_.epsilon, fitted.guarantee_.delta) == (1.0, 1e-6)
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: FrankWolfeTWise(1.0, 6, iterations=4).fit(table),
                lambda: FrankWolfeTWise(1.0, 3, target="some").fit(table),
            ),
        )
    )


# ------------------------------------------------------------------------------------------------------------
# Sparse logistic regression


def sparse_problem(n, d, seed):
    rng = np.random.default_rng(seed)
    records = rng.uniform(0.0, 10.0, size=(n, d))
    logits = 0.8 * (records[:, 0] - 5) - 0.6 * (records[:, 1] - 5)
    return records, np.where(rng.random(n) < 1 / (1 + np.exp(-logits)), "yes", "no")


def test_sparse_logistic_regression_finds_the_two_features():
    records, labels = sparse_problem(20000, 40, 1)
    model = PrivateSparseLogistic(
        8.0, epsilon=1.0, low=0.0, high=10.0, classes=("no", "yes"), insecure_seed=1
    )
    model.fit(records, labels)
    assert model.coef_.shape == (1, 40) and set(np.argsort(-np.abs(model.coef_[0]))[:2]) == {0, 1}
    assert model.score(records, labels) > 0.82
    np.testing.assert_allclose(model.predict_proba(records).sum(axis=1), 1.0)
    assert not model.guarantee_.is_private


class RudeText(str):
    """A text that holds a label, and whose comparison raises."""

    def __eq__(self, other):
        raise RuntimeError("secret")

    __hash__ = None


class Rude:
    """A label whose every conversion and comparison raises."""

    def __array__(self, *a, **k):
        raise RuntimeError("secret")

    def __eq__(self, other):
        raise RuntimeError("secret")


def test_hostile_labels_count_as_the_first_class():
    records, labels = sparse_problem(40, 3, 3)
    for classes, plain in (
        (("no", "yes"), labels.tolist()),
        ((0, 1), (labels == "yes").astype(int).tolist()),
    ):
        hostile, fixed = list(plain), list(plain)
        for row, entry in enumerate((Rude(), None, np.nan, [1], 1j, b"yes", -(10**400))):
            hostile[row], fixed[row] = entry, classes[0]
        hostile[7], fixed[7] = (RudeText(classes[1]), classes[1]) if classes[1] == "yes" else (True, 1)
        options = {"low": 0.0, "high": 10.0, "classes": classes, "iterations": 4, "insecure_seed": 1}
        first = PrivateSparseLogistic(**options).fit(records, hostile).coef_
        assert (first == PrivateSparseLogistic(**options).fit(records, fixed).coef_).all()


def test_sparse_logistic_regression_is_a_classifier():
    records, labels = sparse_problem(3000, 5, 2)
    model = PrivateSparseLogistic(6.0, epsilon=2.0, low=0.0, high=10.0, classes=("no", "yes"))
    assert cross_val_score(model, records, labels, cv=3).mean() > 0.75
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: model.fit(records),
                lambda: model.fit(records, labels[:-1]),
                lambda: PrivateSparseLogistic(classes=(1, 1)).fit(records, labels),
                lambda: PrivateSparseLogistic(low=1.0, high=0.0).fit(records, labels),
            ),
        ),
        (lambda: PrivateSparseLogistic().predict(records), "call fit first", AttributeError),
    )
