"""Sensitivity of parities and gradients by brute force; fits of exact moments."""

import itertools
import math

import numpy as np
import pytest

from problems.mrf import GradientIsing, Ising, MomentsIsing, diamond, grid, random_tree
from problems.mrf.estimators.moments import fit_moments, moment_sums
from problems.mrf.program import ising_regressions, pairwise_regressions
from problems.mrf.theory import flipped_parities, parity_sensitivity
from sosdp.privacy.calibrate import gaussian_sigma_tight
from sosdp.privacy.mechanisms.projected_gradient import gradient_sensitivity, private_projected_gradient
from sosdp.structured.l1_logistic import (
    MARGINS,
    integer_gradient,
    project_l1,
    projected_gradient,
    residual_table,
)
from sosdp.structured.maximum_entropy import maximum_entropy
from sosdp.structured.parities import walsh_hadamard
from tests.refusals import each, refuse


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("p", [2, 4, 6])
def test_flipped_parities_by_brute_force(p, order):
    sets = [s for size in range(1, order + 1) for s in itertools.combinations(range(p), size)]
    for flips in range(p + 1):
        for flipped in itertools.combinations(range(p), flips):
            changed = sum(len(set(s) & set(flipped)) % 2 for s in sets)
            assert changed == flipped_parities(p, order, flips)


def test_sensitivity_of_moments_is_attained():
    for p in range(2, 9):
        assert parity_sensitivity(p, 2) == 4 * ((p + 1) ** 2 // 4)
        assert parity_sensitivity(p, 2, least=2) == 4 * (p**2 // 4)
    for p in (2, 3, 4):
        records = np.array(list(itertools.product((-1, 1), repeat=p)), dtype=np.int8)
        sums = np.array([moment_sums(record[None]) for record in records])
        assert ((sums[:, None] - sums[None]) ** 2).sum(axis=2).max() == parity_sensitivity(p, 2)
        pairs = sums[:, p:]
        assert ((pairs[:, None] - pairs[None]) ** 2).sum(axis=2).max() == parity_sensitivity(p, 2, least=2)


def test_moments_charge_their_sensitivity():
    """The noise of the release is the analytic Gaussian for exactly that sensitivity, in the data's units."""
    for zero, squared in ((False, 4 * 12), (True, 4 * 9)):
        fitted = MomentsIsing(1.0, zero_field=zero, insecure_seed=1).fit(diamond(6).sample(50, 1))
        noisy = MomentsIsing(1.0, zero_field=zero)._noisy(np.ones((50, 6), np.int8))
        assert noisy.value.scale == pytest.approx(
            gaussian_sigma_tight(1.0, 1e-6) * math.sqrt(squared), rel=1e-4
        )
        assert (noisy.guarantee.kind, noisy.value.counts.size) == ("exact", 15 if zero else 21)
        assert fitted.guarantee_.kind == "none"


def test_gradient_sensitivity_over_all_pairs_of_records():
    """Lemma 2 at random weights: never beyond, beyond half of it, and attained nearly."""
    p, radius = 3, 1.5
    records = np.array(list(itertools.product((-1, 1), repeat=p)), dtype=np.int8)
    rng = np.random.default_rng(0)
    data = [ising_regressions(record[None]) for record in records]
    bound = float(gradient_sensitivity(data[0], radius))
    worst = 0.0
    for trial in range(40):
        whole = rng.integers(-1, 2, size=(p, p + 1)) * (MARGINS // (p + 1))
        if trial == 0:
            whole = np.zeros((p, p + 1), dtype=np.int64)
            whole[:, p] = MARGINS
        parts = []
        for one in data:
            margins = (whole @ one.points.astype(np.int64)) * one.labels
            gradient = integer_gradient(one, margins, MARGINS, residual_table(radius))
            parts.append(np.take_along_axis(gradient, one.columns, axis=1).ravel().astype(float))
        worst = max(worst, *(np.linalg.norm(a - b) for a in parts for b in parts))
    assert bound / 2 < worst <= bound
    assert bound == pytest.approx(2 * p / (1 + math.exp(-radius)) * 2**20, rel=1e-5)


def test_gradient_noise_covers_all_steps(monkeypatch):
    """The scale handed to the sampler is the sensitivity times sqrt(T) times the multiplier."""
    from sosdp.privacy import randomness as noise

    seen = []
    drawn = noise.gaussian
    monkeypatch.setattr(
        noise,
        "gaussian",
        lambda shape, scale, grid, **k: seen.append(scale) or drawn(shape, scale, grid, **k),
    )
    data = ising_regressions(diamond(4).sample(100, 1))
    private_projected_gradient(data, radius=1.0, iterations=9, rho=0.5)
    private_projected_gradient(data, radius=1.0, iterations=4, epsilon=1.0, delta=1e-6)
    moved = float(gradient_sensitivity(data, 1.0))
    assert seen[:9] == [pytest.approx(moved * 3.0, rel=1e-12)] * 9
    assert min(seen[9:]) >= moved * 2.0 * gaussian_sigma_tight(1.0, 1e-6)


def test_a_record_of_pairs_takes_part_in_few_regressions():
    data = pairwise_regressions(np.array([[0, 1, 2]]), 3)
    # at each of 3 nodes a symbol is in 2 of the 3 pairs; 2 * 3 + 1 columns each
    assert float(gradient_sensitivity(data, 1.0)) == pytest.approx(
        2 * math.ceil(2**20 / (1 + math.exp(-1))) * math.sqrt(6 * 7), rel=1e-12
    )


def test_projection_on_the_l1_ball():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(50, 6))
    inside = project_l1(rows, 1.5)
    assert (np.abs(inside).sum(axis=1) <= 1.5 + 1e-12).all()
    small = rows / np.abs(rows).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(project_l1(small, 1.5), small)
    for row, result in zip(rows, inside, strict=True):  # the nearest point: no feasible direction improves
        corners = 1.5 * np.concatenate([np.eye(6), -np.eye(6)])
        assert ((row - result) @ (corners - result).T <= 1e-9).all()


def exact_moments(model):
    moments = walsh_hadamard(model.probabilities)
    p = model.nodes
    means = moments[[1 << i for i in range(p)]]
    return means, np.array([[moments[(1 << i) ^ (1 << j)] for j in range(p)] for i in range(p)])


def test_bethe_is_exact_on_trees_and_nearer_than_mean_field_on_a_grid():
    signs = np.sign(np.arange(9) - 3.5)
    tree = Ising(random_tree(9, 3, 0.7).weights * np.outer(signs, signs), np.linspace(-0.4, 0.6, 9))
    weights, field = fit_moments(*exact_moments(tree), width=3.0, inference="bethe")
    np.testing.assert_allclose(weights, tree.weights, atol=1e-6)
    np.testing.assert_allclose(field, tree.field, atol=1e-6)
    square = grid(3, 3, 0.3, 0.1)
    errors = {
        name: np.abs(fit_moments(*exact_moments(square), width=3.0, inference=name)[0] - square.weights).max()
        for name in ("bethe", "mean field")
    }
    assert errors["bethe"] < 0.5 * errors["mean field"] < 0.05
    broad = MomentsIsing(2.0, insecure_seed=0).fit(random_tree(20, 1, 0.5).sample(20000, 1))
    assert broad.release_.public["inference"] == "bethe"


def test_maximum_entropy_finds_the_model_of_exact_moments():
    model = grid(2, 3, 0.3, 0.1)
    means, pairs = exact_moments(model)
    weights, field = fit_moments(means, pairs, width=model.width, inference="maximum entropy")
    np.testing.assert_allclose(weights, model.weights, atol=1e-6)
    np.testing.assert_allclose(field, model.field, atol=1e-6)
    rough, _ = fit_moments(means, pairs, width=model.width, inference="mean field")
    assert np.abs(rough - model.weights).max() < 0.06


def test_moments_that_no_distribution_has_stay_within_the_bound():
    result = maximum_entropy(3, [1, 2, 3], [1.0, 1.0, -1.0], bound=2.0)
    assert np.abs(result.coefficients).max() <= 2.0
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: maximum_entropy(30, [1], [0.0], bound=1.0),
                lambda: maximum_entropy(3, [0], [0.0], bound=1.0),
            ),
        )
    )


def test_projected_gradient_without_noise_finds_the_parameters():
    model = diamond(6, 0.3)
    data = ising_regressions(model.sample(40000, 1))
    weights = projected_gradient(data, radius=2 * model.width, iterations=300)
    assert np.abs(weights[:, :6] / 2 - model.weights).max() < 0.03


@pytest.mark.parametrize("seed", [0, 1])
def test_private_estimates_of_a_diamond(seed):
    model = diamond(8)
    table = model.sample(30000, seed)
    for estimator in (
        MomentsIsing(model.width, threshold=0.1, insecure_seed=seed),
        GradientIsing(model.width, threshold=0.1, insecure_seed=seed),
    ):
        fitted = estimator.fit(table)
        assert fitted.edges_ == model.edges
        assert np.abs(fitted.weights_ - model.weights).max() < 0.04
