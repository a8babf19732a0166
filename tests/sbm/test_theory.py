"""Planning formulas against the reviewed tables, and the model and data sets they speak about."""

import numpy as np
import pytest

from problems.sbm import (
    CertificateRecovery,
    StochasticBlockModel,
    digits_graph,
    exact_recovery_possible,
    lower_bound_epsilon,
    predict_error,
    projection_threshold,
    randomised_response_threshold,
    release_probability,
    required_slack,
    theory,
    weak_recovery_possible,
)
from problems.sbm.datasets import neighbour_graph
from tests.refusals import each, refusals


def test_gaussian_multipliers_of_the_table():
    for epsilon, tight, paper in [
        (0.25, 15.41, 21.55),
        (0.5, 8.058, 10.77),
        (1, 4.225, 5.387),
        (4, 1.194, 1.347),
    ]:
        assert theory.gaussian_multiplier(epsilon, 1e-6) == pytest.approx(tight, rel=1e-3)
        assert theory.gaussian_multiplier(epsilon, 1e-6, "paper") == pytest.approx(paper, rel=1e-3)


def test_thresholds():
    for epsilon, tight, paper, flips in [
        (0.25, 475, 5572, 3.99),
        (0.5, 130, 1393, 1.98),
        (1, 36, 348, 0.960),
    ]:
        assert projection_threshold(epsilon, 1e-6, lam=1) == pytest.approx(tight, rel=0.01)
        assert projection_threshold(epsilon, 1e-6, lam=1, calibration="paper") == pytest.approx(
            paper, rel=0.01
        )
        assert randomised_response_threshold(10_000, epsilon) == pytest.approx(100 * flips, rel=0.01)


def test_predicted_error():
    assert predict_error(1000, 200, 0.5, 1, 1e-6, lam=0.77) == pytest.approx(0.208, abs=1e-3)
    assert predict_error(1000, 400, 0.5, 1, 1e-6, lam=0.87) == pytest.approx(0.036, abs=1e-3)
    assert predict_error(1000, 20, 0.5, 0.5, 1e-6) == 0.5
    errors = [predict_error(1000, d, 0.5, 1, 1e-6) for d in (50, 100, 200, 400, 600)]
    assert errors == sorted(errors, reverse=True)
    assert predict_error(1000, 200, 0.5, 1, 1e-6, calibration="paper") > predict_error(
        1000, 200, 0.5, 1, 1e-6
    )


def test_required_slack_and_release_probability():
    assert required_slack(1.0, 1e-6, 0.5, tau0=0.0) == pytest.approx(2 + 2 * np.log(5e5), abs=5e-3)
    for epsilon, delta, failure in [(1.0, 1e-6, 0.01), (0.5, 1e-8, 0.1), (3.0, 0.1, 0.3)]:
        slack = required_slack(epsilon, delta, failure)
        assert release_probability(slack + 1e-5, epsilon, delta) >= 1 - failure
        assert release_probability(slack - 1e-3, epsilon, delta) < 1 - failure
    # At slack 2 + 2 tau0 (f_used = 1) a release has probability at most delta.
    assert release_probability(4.0, 1.0, 1e-3, tau0=1.0) <= 1e-3
    assert release_probability(1.9, 1.0, 1e-3, tau0=1.0) == 0.0


def test_the_estimator_uses_the_planned_threshold():
    """The planning formula and the estimator's own rule give the same release probability."""
    from problems.sbm.program import STATISTIC_ERROR
    from sosdp.privacy.mechanisms.propose_test_release.stability import stability_rule

    rule = stability_rule(1.0, 1e-6, error=STATISTIC_ERROR, shift=CertificateRecovery(1.0, 1e-6).tau0)
    for slack in (20.0, 33.0, 36.0, 50.0):
        assert rule.release_probability(slack / 2) == pytest.approx(
            release_probability(slack, 1.0, 1e-6), rel=1e-3
        )


@pytest.mark.parametrize(
    "n, d, gamma, exact, weak",
    [
        (1000, 20, 0.5, 0.172, 0.0195),
        (1000, 100, 0.5, 0.0395, 0.0040),
        (1000, 50, 0.8, 0.0489, 0.0050),
        (500, 20, 0.5, 0.160, None),
        (2000, 20, 0.5, 0.184, None),
    ],
)
def test_lower_bound_table(n, d, gamma, exact, weak):
    assert lower_bound_epsilon(n, d, gamma) == pytest.approx(exact, abs=1e-3)
    if weak is not None:
        assert lower_bound_epsilon(n, d, gamma, error=0.1) == pytest.approx(weak, abs=1e-4)
    assert lower_bound_epsilon(n, 2 * d, gamma) < lower_bound_epsilon(n, d, gamma)
    assert lower_bound_epsilon(n, d, gamma, failure=0.1) < lower_bound_epsilon(n, d, gamma)


def test_recovery_conditions():
    assert weak_recovery_possible(5, 0.5) and not weak_recovery_possible(3.9, 0.5)
    assert exact_recovery_possible(1000, 60, 0.5) and not exact_recovery_possible(1000, 40, 0.5)


def test_sampler():
    model = StochasticBlockModel(400, 40, 0.6)
    sample = model.sample(7)
    adjacency = sample.adjacency.toarray()
    assert np.array_equal(adjacency, adjacency.T) and not adjacency.diagonal().any()
    assert sample.labels.sum() == 0 and set(adjacency.ravel()) == {0, 1}
    same = np.equal.outer(sample.labels, sample.labels)
    for inside, probability in ((True, model.p_in), (False, model.p_out)):
        chosen = np.triu(same == inside, 1)
        expected, spread = chosen.sum() * probability, np.sqrt(chosen.sum() * probability * (1 - probability))
        assert abs(adjacency[chosen].sum() - expected) < 6 * spread
    assert np.array_equal(model.sample(np.random.default_rng(7)).adjacency.toarray(), adjacency)
    assert abs(StochasticBlockModel(101, 5, 0.5).sample(0).labels.sum()) == 1
    graph = sample.to_networkx()
    assert graph.number_of_edges() * 2 == adjacency.sum() and graph.nodes[3]["label"] == sample.labels[3]


def test_neighbour_graphs_do_not_depend_on_rounding():
    """Ties go to the smaller position, on any processor; distances that would be rounded are refused."""
    square = neighbour_graph(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), 1).toarray()
    assert np.array_equal(square, [[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]])
    assert int((digits_graph().adjacency.toarray() * np.arange(360) ** 2).sum() % 1_000_003) == 346_066


test_refusals = refusals(
    *each(
        lambda call: call(),
        (
            lambda: lower_bound_epsilon(11, 5, 0.5),
            lambda: lower_bound_epsilon(10, 5, 0.5, failure=0.0),
            lambda: lower_bound_epsilon(10, 5, 0.5, error=0.7),
            lambda: predict_error(1, 5, 0.5, 1, 1e-6),
            lambda: predict_error(10, -5, 0.5, 1, 1e-6),
            lambda: required_slack(0.0, 1e-6),
            lambda: required_slack(1.0, 1e-6, failure=0.0),
        ),
    ),
    *each(
        lambda arguments: StochasticBlockModel(*arguments),
        [(1, 1, 0.5), (10, 0, 0.5), (10, 8, 0.5), (10, 2, 0.0), (10, 2, 1.5), (3.5, 1, 0.5)],
    ),
    (lambda: digits_graph(6, 6), "digits"),
    (lambda: neighbour_graph(np.array([[0.5], [1.0]]), 1), "integers"),
)
