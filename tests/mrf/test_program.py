"""What the regressions ask and what is read off them, on exact conditionals and distributions."""

import itertools

import numpy as np
import pytest

from problems.mrf import alphabet_grid, diamond, random_t_wise
from problems.mrf.model import Pairwise, TWise
from problems.mrf.program import (
    centre,
    combine_l1,
    combine_maximal,
    derivatives,
    grouped,
    ising_parameters,
    ising_regressions,
    pairwise_parameters,
    pairwise_regressions,
    signs,
    symbol_pairs,
    symbols,
    t_wise_monomials,
)
from sosdp.structured.parities import mask, walsh_hadamard


def test_records_have_a_fixed_meaning():
    assert signs(np.array([[1.0, 0.0, -1.0, 0.5, -7.0]])).tolist() == [[1, -1, -1, 1, -1]]
    assert symbols(np.array([[0.0, 2.0, 3.0, 1.5, -1.0]]), range(3)).tolist() == [[0, 2, 0, 0, 0]]
    assert symbols(np.array([[0.0, 2.0, 3.0, 1.5, -1.0]]), (3, 1.5, 2)).tolist() == [[0, 2, 0, 1, 0]]


def test_grouping_counts_distinct_records():
    table = diamond(5).sample(500, 1)
    distinct, counts = grouped(table)
    assert counts.sum() == 500 and len(np.unique(distinct, axis=0)) == len(distinct)
    with_all = np.ones((4, 30), dtype=np.int8)
    assert grouped(with_all)[0] is with_all


def test_ising_coefficients_are_twice_the_parameters():
    model = diamond(5, 0.3)
    coefficients = np.concatenate([2 * model.weights, 2 * model.field[:, None]], axis=1)
    weights, field = ising_parameters(coefficients)
    assert (weights == model.weights).all() and (field == model.field).all()
    data = ising_regressions(model.sample(100, 1))
    logits = np.array([coefficients[i] @ data.points for i in range(5)])
    np.testing.assert_allclose(logits, [model.logit(i, data.points[:5].T) for i in range(5)])


def exact_coefficients(model):
    """Coefficients of all (i, u < v), each shifted by a constant at every node: the same predictions."""
    p, k = model.nodes, model.alphabet
    rng = np.random.default_rng(0)
    rows = []
    for i in range(p):
        for u, v in symbol_pairs(k):
            blocks = model.weights[i, :, u] - model.weights[i, :, v]
            shift = rng.normal(size=p)
            shift[i] = 0.0
            constant = model.field[i, u] - model.field[i, v] - shift.sum()
            rows.append(np.append((blocks + shift[:, None]).ravel(), constant))
    return np.array(rows)


def test_centring_keeps_predictions():
    model = alphabet_grid(2, 2, 3, 0.4, seed=2)
    states = model.probabilities[0]
    data = pairwise_regressions(states, 3)
    rows = exact_coefficients(model)
    for r, (i, (u, v)) in enumerate(itertools.product(range(4), symbol_pairs(3))):
        np.testing.assert_allclose(rows[r] @ data.points, model.logit(i, u, v, states), atol=1e-12)
        blocks, constant = centre(rows[r], 4, 3)
        np.testing.assert_allclose(
            np.append(blocks.ravel(), constant) @ data.points, rows[r] @ data.points, atol=1e-12
        )
        assert np.abs(blocks.sum(axis=1)).max() < 1e-12


@pytest.mark.parametrize("seed", [0, 1])
def test_exact_conditionals_give_the_centred_weights_back(seed):
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=(4, 4, 3, 3))
    raw = raw + raw.transpose(1, 0, 3, 2)
    raw[range(4), range(4)] = 0.0
    model = Pairwise(raw, rng.normal(size=(4, 3))).centred()
    weights, field = pairwise_parameters(exact_coefficients(model), 4, 3)
    np.testing.assert_allclose(weights, model.weights, atol=1e-12)
    np.testing.assert_allclose(field, model.field - model.field.mean(axis=1, keepdims=True), atol=1e-12)


def exact_derivatives(model):
    """d_i h with all its monomials of at most t - 1 nodes."""
    out = []
    for i in range(model.nodes):
        known = model.derivative(i)
        monomials = [m for m in t_wise_monomials(model.nodes, model.degree - 1) if i not in m]
        out.append({m: known.get(m, 0.0) for m in monomials})
    return out


def test_algorithm_4_from_exact_derivatives():
    model = random_t_wise(5, 3, 0.4, 5, seed=1)
    result = combine_l1(exact_derivatives(model), 3)
    assert {m: v for m, v in result.items() if v} == pytest.approx(dict(model.coefficients))


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_algorithm_5_is_exact_on_maximal_monomials_for_the_parities_of_any_distribution(degree):
    p = 5
    rng = np.random.default_rng(degree)
    coefficients = {m: float(rng.normal()) for m in t_wise_monomials(p, degree)[1:] if rng.random() < 0.35}
    model = TWise(p, {**coefficients, tuple(range(degree)): 0.7})
    moments = walsh_hadamard(rng.dirichlet(np.ones(1 << p)))
    for most in (degree - 1, max(degree - 2, 0)):
        parities = {m: float(moments[mask(m)]) for m in t_wise_monomials(p, most)[1:]}
        result = combine_maximal(exact_derivatives(model), parities, degree)
        maximal = [m for m in t_wise_monomials(p, degree)[1:] if model.is_maximal(m)]
        for monomial in maximal:
            if len(monomial) >= 2 or most == degree - 1:
                assert result[monomial] == pytest.approx(model.coefficients.get(monomial, 0.0), abs=1e-9)


def test_derivatives_are_half_the_coefficients():
    monomials = t_wise_monomials(3, 1)
    parts = derivatives(np.arange(12.0).reshape(3, 4), monomials)
    assert parts[0] == {(): 0.0, (1,): 1.0, (2,): 1.5} and (1,) not in parts[1]
