"""Forecasts against measured tables, exact laws against enumeration, and a simulation of the advice."""

import math
import warnings

import networkx
import numpy as np
import pytest

from problems.sbm import (
    AutoRecovery,
    EdgeList,
    GraphInputError,
    StochasticBlockModel,
    achieved_epsilon,
    error_rate,
    lower_bound_epsilon,
    recommend,
    vote_error,
)
from problems.sbm.forecasts import (
    predicted_resistance,
    predicted_slack,
)
from tests.refusals import each, refusals, refuse


@pytest.mark.parametrize(
    "n, d, gamma, measured",
    [(500, 50, 0.8, 18.7), (500, 200, 0.8, 130), (1000, 100, 0.8, 48.7), (1000, 400, 0.8, 279),
     (2000, 50, 0.8, 15.0), (2000, 200, 0.8, 111), (1000, 200, 0.5, 57.0), (2000, 400, 0.5, 135)],
)  # fmt: skip
def test_predicted_slack_against_measured_graphs(n, d, gamma, measured):
    values, chances = predicted_slack(n, d, gamma)
    assert chances.sum() == pytest.approx(1, abs=1e-6)
    assert abs(values @ chances - measured) < 4


def test_vote_error_by_enumeration():
    """n = 6, one wrong label on either side: all edges at one vertex, all noise."""
    n, d, gamma, epsilon, wrong = 6, 2.0, 0.5, 0.8, 1 / 3
    truth = np.array([1, 1, 1, -1, -1, -1])
    expected = 0.0
    scale = 2 / epsilon
    a = math.exp(-1 / scale)
    # vertex 0 has two vertices beside it; round(2 / 3) = 1 of them is wrong, and 1 of the 3 across
    guess = np.array([0, -1, 1, 1, -1, -1])
    chance = np.where(truth[1:] == 1, (1 + gamma) * d / n, (1 - gamma) * d / n)
    for code in range(2**5):
        edges = (code >> np.arange(5)) & 1
        probability = np.where(edges, chance, 1 - chance).prod()
        y = int(edges @ guess[1:])
        below = a ** (y + 1) / (1 + a) if y >= 0 else 1 - a**-y / (1 + a)
        tie = (1 - a) / (1 + a) * a ** abs(y)
        expected += probability * (below + wrong * tie)
    assert vote_error(n, d, gamma, wrong, epsilon) == pytest.approx(expected, rel=1e-9)


# Shares of exact recovery over graphs and noise, measured: (certificate, edge flips).
@pytest.mark.parametrize(
    "n, d, epsilon, certificate, flips",
    [(500, 50, 2.0, 0.99, 1), (500, 100, 0.5, 0.71, 0), (500, 100, 1.0, 1, 0.88), (500, 200, 0.5, 1, 0.75),
     (1000, 100, 0.5, 0.47, 0), (1000, 100, 1.0, 1, 0), (1000, 200, 0.5, 1, 0), (1000, 400, 0.5, 1, 1)],
)  # fmt: skip
def test_forecast_of_exact_recovery(n, d, epsilon, certificate, flips):
    result = {f.method: f.exact for f in recommend(n, d, 0.8, epsilon, 1e-6).forecasts}
    assert abs(result["certificate"] - certificate) < 0.2 and abs(result["edge flips"] - flips) < 0.2


def test_the_recommended_estimator_does_what_was_forecast():
    advice = recommend(200, 80, 0.9, 1.0, 1e-6)
    assert advice.best.exact > 0.95
    for seed in range(3):
        sample = StochasticBlockModel(200, 80, 0.9).sample(seed)
        fitted = advice.estimator(insecure_seed=seed).fit(sample.adjacency)
        assert error_rate(fitted.labels_, sample.labels) == 0
    for forecast in advice.forecasts:
        made = advice.estimator(forecast.method)
        assert made.epsilon == 1.0 and getattr(made, "delta", 1e-6) == 1e-6
    tiny = recommend(16, 8, 1.0, 1.0)
    sample = StochasticBlockModel(16, 8, 1.0).sample(0)
    wrong = [
        error_rate(tiny.estimator(insecure_seed=s).fit(sample.adjacency).labels_, sample.labels)
        for s in range(20)
    ]
    assert tiny.best.method == "exponential" and np.mean(wrong) < 0.05


def test_achieved_epsilon_stands_above_the_lower_bound():
    for method in ("certificate", "edge flips", "voting"):
        reached = achieved_epsilon(method, 1000, 200, 0.8, 1e-6)
        assert 0.2 < reached < 2
        assert reached > lower_bound_epsilon(1000, 200, 0.8)
    assert math.isinf(achieved_epsilon("certificate", 1000, 5, 0.5, 1e-6))


def test_the_statistic_of_the_certificate_is_forecast():
    for n, d, gamma, measured in [(500, 50, 0.8, 10.2), (500, 200, 0.8, 66.7), (1000, 100, 0.8, 26.3),
                                  (1000, 400, 0.8, 143.4), (1000, 400, 0.5, 76.6)]:  # fmt: skip
        values, chances = predicted_resistance(n, d, gamma)
        assert values @ chances == pytest.approx(measured, rel=0.07)


def test_auto_chooses_from_public_facts_and_runs_what_it_chose():
    sample = StochasticBlockModel(120, 60, 0.9).sample(0)
    with_model = AutoRecovery(2.0, 1e-6, gamma=0.9, average_degree=60, insecure_seed=1).fit(sample.adjacency)
    assert error_rate(with_model.labels_, sample.labels) == 0
    assert with_model.chosen_ in ("CertificateRecovery", "RoundsRecovery")
    plain = AutoRecovery(2.0, 1e-6).fit(sample.adjacency)
    assert plain.chosen_ == "CertificateRecovery" and plain.guarantee_.kind == "certified"
    assert AutoRecovery(2.0).fit(sample.adjacency).chosen_ == "RandomizedResponseRecovery"
    weighted = AutoRecovery(4.0, 1e-6, gamma=0.9, average_degree=120, weight_bound=2.0, insecure_seed=1).fit(
        2.0 * sample.adjacency
    )
    assert weighted.chosen_ != "RandomizedResponseRecovery"
    assert error_rate(weighted.labels_, sample.labels) == 0
    large = AutoRecovery(1.0, 1e-6, gamma=0.8, average_degree=100).choose(100_000)
    assert type(large).__name__ == "RoundsRecovery"
    refuse((lambda: AutoRecovery(1.0, goal="luck").fit(sample.adjacency), "goal"))


def odd_graphs():
    """Graphs as users have them, each with what is said about it, or None where it gets an answer."""
    plain = networkx.planted_partition_graph(2, 8, 0.9, 0.1, seed=1)
    looped, isolated, weighted = plain.copy(), plain.copy(), plain.copy()
    looped.add_edge(0, 0)
    isolated.add_nodes_from(range(100, 105))
    for place, (u, v) in enumerate(weighted.edges):
        weighted[u][v]["weight"] = [-1, math.nan, math.inf, 0.5, "heavy"][place % 5]
    names = networkx.relabel_nodes(plain, {v: f"n{v}" if v % 2 else v for v in plain})
    return [
        ("names and numbers", names, {}, None),
        ("isolated", isolated, {}, None),
        (
            "in two parts",
            networkx.disjoint_union(networkx.complete_graph(8), networkx.complete_graph(8)),
            {},
            None,
        ),
        ("empty", networkx.empty_graph(16), {}, None),
        ("repeated pairs", EdgeList(16, [(0, 1), (1, 0), (0, 1)]), {}, None),
        ("hostile weights", weighted, {"weight_bound": 1.0}, None),
        ("weights without a bound", weighted, {}, "weighted"),
        ("directed", networkx.DiGraph(plain), {}, "directed"),
        ("multiple", networkx.MultiGraph(plain), {}, "multigraph"),
        ("loops", looped, {}, "self loops"),
        ("one vertex", networkx.empty_graph(1), {}, "single vertex"),
        ("three ends", EdgeList(5, np.zeros((2, 3), dtype=int)), {}, "array, of integers"),
    ]


@pytest.mark.parametrize("name, graph, options, message", odd_graphs(), ids=lambda value: str(value)[:24])
@pytest.mark.parametrize("known", [{}, {"gamma": 0.8, "average_degree": 6.0}], ids=["unknown", "known"])
def test_auto_answers_or_says_what_is_wrong(name, graph, options, message, known):
    made = AutoRecovery(1.0, 1e-6, **known, **options)
    if message is not None:
        refuse((lambda: made.fit(graph), message, GraphInputError))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.fit(graph)
    assert len(made.nodes_) >= 16 and made.guarantee_.epsilon == 1.0
    assert made.labels_ is None or len(made.labels_) == len(made.nodes_)


test_refusals = refusals(
    *each(
        lambda arguments: recommend(*arguments),
        [(1, 1, 0.5, 1.0), (10, 8, 0.5, 1.0), (10, 2, 1.5, 1.0), (10, 2, 0.5, 0.0), (10, 2, 0.5, 1.0, 2.0)],
    ),
    *each(
        lambda arguments: recommend(10, 2, 0.5, 1.0, goal="luck"),
        [(1, 1, 0.5, 1.0), (10, 8, 0.5, 1.0), (10, 2, 1.5, 1.0), (10, 2, 0.5, 0.0), (10, 2, 0.5, 1.0, 2.0)],
        "goal",
    ),
    *each(
        lambda bad: bad.choose(100_000),
        (AutoRecovery(1.0, 1e-6), AutoRecovery(1.0, 1e-6, gamma=0.8)),
        "average_degree",
    ),
    (lambda: AutoRecovery(1.0, weight_bound=1.0).choose(100), "weighted"),
    *each(
        lambda n: recommend(n, 5, 0.5, 1.0),
        [math.nan, math.inf, "10", None, True, 2.5, 1],
        "n must be an integer",
    ),
)
