"""The estimators: scikit-learn's contract, planted graphs, and nothing but the release gets out."""

import json

import networkx as nx
import numpy as np
import pytest
import sklearn.base

from problems.sbm import (
    CertificateRecovery,
    EdgeList,
    LinearProgramRecovery,
    ProjectionRecovery,
    RandomizedResponseRecovery,
    RoundsRecovery,
    SpectralRecovery,
    StarsRecovery,
    StochasticBlockModel,
    VertexRecovery,
    VotingRecovery,
    certificate,
    digits_graph,
    error_rate,
)
from problems.sbm.estimators import (
    certificate as certificate_recovery,
)
from problems.sbm.estimators import (
    output_perturbation as projection_recovery,
)
from sosdp.structured import ElliptopeOptimum
from tests.refusals import refuse

ESTIMATORS = [
    CertificateRecovery(1.0, 1e-6),
    ProjectionRecovery(1.0, 1e-6, 0.8, 10.0),
    RandomizedResponseRecovery(1.0),
    VotingRecovery(1.0, 1e-6, 0.8, 10.0),
    VotingRecovery(1.0, 1e-6, 0.8, 10.0, split=0.5),
]
NAMES = ["certificate", "projection", "randomized", "voting", "split"]


def planted(n=60, d=30, gamma=0.9, seed=0):
    return StochasticBlockModel(n, d, gamma).sample(seed)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
class TestContract:
    def test_fit_sets_the_public_attributes(self, estimator):
        sample = planted()
        fitted = sklearn.base.clone(estimator)
        assert fitted.fit(sample.adjacency) is fitted
        assert fitted.nodes_ == tuple(range(60))
        assert fitted.released_ == (fitted.labels_ is not None)
        if fitted.released_:
            assert fitted.labels_.shape == (60,) and set(fitted.labels_) <= {-1, 1} and fitted.labels_[0] == 1
        assert fitted.guarantee_.adjacency == "one edge" and fitted.guarantee_.epsilon == 1.0
        assert not hasattr(estimator, "labels_")

    def test_json_form(self, estimator):
        fitted = sklearn.base.clone(estimator).fit(nx.relabel_nodes(nx.path_graph(12), lambda v: f"v{v:02}"))
        data = json.loads(json.dumps(fitted.release_.to_dict()))
        assert data["format"] == "sosdp-release/1"
        assert set(data["value"]) == {"labels", "nodes", "method", "released"}
        assert data["value"]["nodes"] == [f"v{v:02}" for v in range(12)]
        assert (data["value"]["labels"] is None) == (not data["value"]["released"])

    def test_json_form_with_numpy_integers_and_tuples_as_nodes(self, estimator):
        graph = nx.relabel_nodes(nx.path_graph(5), {i: np.int64(i * 10) for i in range(5)})
        fitted = sklearn.base.clone(estimator).fit(graph)
        assert json.loads(json.dumps(fitted.release_.to_dict()))["value"]["nodes"] == [0, 10, 20, 30, 40]
        fitted = sklearn.base.clone(estimator).fit(nx.grid_2d_graph(1, 3))
        assert fitted.nodes_ == ((0, 0), (0, 1), (0, 2))
        assert json.loads(json.dumps(fitted.release_.to_dict()))["value"]["nodes"] == [
            "(0, 0)",
            "(0, 1)",
            "(0, 2)",
        ]

    def test_matrices_networkx_and_edge_lists_agree(self, estimator):
        sample = planted()
        pairs = np.argwhere(np.triu(sample.adjacency.toarray()))[:, ::-1]
        repeated = np.vstack([np.random.default_rng(0).permutation(pairs), pairs[:5, ::-1]])
        seeded = sklearn.base.clone(estimator).set_params(insecure_seed=3)
        one = seeded.fit(sample.adjacency.toarray()).labels_
        for same in (sample.to_networkx(), EdgeList(60, repeated)):
            assert np.array_equal(one, seeded.fit(same).labels_)


HOSTILE = {
    "two vertices": nx.empty_graph(2),
    "one edge": nx.path_graph(2),
    "empty": nx.empty_graph(30),
    "complete": nx.complete_graph(30),
    "star": nx.star_graph(29),
    "disconnected": nx.disjoint_union(nx.complete_graph(15), nx.complete_graph(15)),
    "bipartite": nx.complete_bipartite_graph(15, 15),
    "isolated and clique": nx.disjoint_union(nx.complete_graph(29), nx.empty_graph(1)),
    "path": nx.path_graph(30),
    "random": nx.gnp_random_graph(30, 0.2, seed=1),
    "big empty": nx.empty_graph(160),
    "big matching": nx.from_edgelist([(2 * i, 2 * i + 1) for i in range(80)]),
}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_graphs_never_raise_and_leak_nothing(estimator, name, recwarn, capfd, caplog):
    """No exception, warning, log line or print; guarantee and public facts depend on n only."""
    graph = HOSTILE[name]
    fitted = sklearn.base.clone(estimator).fit(graph)
    reference = sklearn.base.clone(estimator).fit(nx.empty_graph(len(graph)))
    assert fitted.guarantee_ == reference.guarantee_
    assert fitted.release_.public == reference.release_.public
    assert not recwarn.list and not caplog.records
    assert capfd.readouterr() == ("", "")
    allowed = {"release_", "guarantee_", "nodes_", "labels_", "released_", "noisy_matrix_", "noisy_graph_"}
    allowed |= {"rough_labels_"}
    assert set(vars(fitted)) - set(fitted.get_params()) <= allowed
    shown = repr(fitted.release_) + json.dumps(fitted.release_.to_dict())
    assert not [key for key in fitted.release_.private_diagnostics if f'"{key}":' in shown]


def test_two_cliques_are_too_small_to_release_and_big_ones_are_released():
    small = CertificateRecovery(1.0, 1e-6).fit(HOSTILE["disconnected"])
    assert not small.released_ and small.labels_ is None and "without edges" in small.advice_
    big = nx.disjoint_union(nx.complete_graph(80), nx.complete_graph(80))
    fitted = CertificateRecovery(1.0, 1e-6).fit(big)  # slack about 80, needed 38
    assert fitted.released_
    assert fitted.labels_.tolist() == [1] * 80 + [-1] * 80 and fitted.advice_ == ""


@pytest.mark.slow
@pytest.mark.parametrize("failure", ["raises", "out of memory", "not certified", "bad point"])
def test_solver_failure_is_invisible(monkeypatch, failure, recwarn):
    """A solver that fails changes neither the guarantee nor the shape of what is returned."""
    sample = planted(n=40, d=8, gamma=0.2)

    def projection(*args, **kwargs):
        if failure == "raises":
            raise np.linalg.LinAlgError("no convergence")
        if failure == "out of memory":
            raise MemoryError
        result = original(*args, **kwargs)
        changes = {"certified": False, "distance": np.inf}
        return type(result)(**{**{f: getattr(result, f) for f in result.__dataclass_fields__}, **changes})

    def ladder(*args):
        return certificate.UNRESOLVED

    def elliptope(matrix, *, tolerance):
        if failure == "raises":
            raise np.linalg.LinAlgError("no convergence")
        if failure == "out of memory":
            raise MemoryError
        n = matrix.shape[0]
        return ElliptopeOptimum(np.eye(n), np.zeros(n), 0.0, np.inf, False, "none")

    original = projection_recovery.nearest_correlation
    estimators = [
        CertificateRecovery(1.0, 1e-6, insecure_seed=1),
        ProjectionRecovery(1.0, 1e-6, 0.8, 10.0, insecure_seed=1),
        VotingRecovery(1.0, 1e-6, 0.8, 10.0, split=0.5, insecure_seed=1),
    ]
    healthy = [sklearn.base.clone(estimator).fit(sample.adjacency) for estimator in estimators]
    monkeypatch.setattr(projection_recovery, "nearest_correlation", projection)
    monkeypatch.setattr(certificate, "maximise_over_elliptope", elliptope)
    rescued = CertificateRecovery(1.0, 1e-6, insecure_seed=1).fit(sample.adjacency)
    assert rescued.release_ == healthy[0].release_  # the ladder settles what the solver left open
    assert rescued.release_.private_diagnostics["resolved"] is True
    monkeypatch.setattr(certificate_recovery, "settled_by_ladder", ladder)
    failed = [sklearn.base.clone(estimator).fit(sample.adjacency) for estimator in estimators]
    for before, after in zip(healthy, failed):
        assert before.guarantee_ == after.guarantee_ and before.release_.public == after.release_.public
    assert not failed[0].released_
    assert failed[0].release_.private_diagnostics["resolved"] is False
    assert failed[1].released_ and failed[1].release_.private_diagnostics["fallback_used"] is True
    # Same noise around the identity instead of the projection: the difference is the projection itself.
    difference = healthy[1].noisy_matrix_.values() - failed[1].noisy_matrix_.values()
    assert np.abs(difference).max() <= 1 + 1e-6 and np.abs(difference).max() > 0.1
    assert not recwarn.list


@pytest.mark.parametrize("gamma, average_degree, tolerance", [(1e-10, 1.0, 1e-6), (1e-9, 1e-6, 1e-12)])
def test_projection_reaches_its_tolerance_for_extreme_public_parameters(gamma, average_degree, tolerance):
    """solver_complete is stated for all of them."""
    for graph in (
        nx.star_graph(11),
        nx.disjoint_union_all([nx.complete_graph(3)] * 4),
        nx.complete_graph(12),
    ):
        fitted = ProjectionRecovery(1.0, 1e-6, gamma, average_degree, tolerance=tolerance).fit(graph)
        assert fitted.release_.private_diagnostics["fallback_used"] is False


def test_unresolved_search_releases_nothing_even_with_a_good_candidate(monkeypatch):
    sample = StochasticBlockModel(300, 120, 0.9).sample(0)
    assert CertificateRecovery(1.0, 1e-6).fit(sample.adjacency).released_

    def broken(*args):
        raise ValueError("anything numerical")

    monkeypatch.setattr(certificate_recovery, "certified_bisection", broken)
    monkeypatch.setattr(certificate_recovery, "CERTIFIED_UP_TO", 200)
    assert CertificateRecovery(1.0, 1e-6).fit(sample.adjacency).guarantee_.kind == "conditional"
    assert not CertificateRecovery(1.0, 1e-6).fit(sample.adjacency).released_


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 10))])
def test_planted_graph_is_recovered_exactly(seed):
    """n = 500, d = 200, gamma = .8, eps = .5: every seed succeeds, so at least 9 of 10 do."""
    sample = StochasticBlockModel(500, 200, 0.8).sample(seed)
    fitted = CertificateRecovery(0.5, 1e-6, insecure_seed=seed).fit(sample.adjacency)
    assert fitted.released_ and error_rate(fitted.labels_, sample.labels) == 0


def test_planted_graph_with_real_randomness():
    sample = StochasticBlockModel(500, 200, 0.8).sample(100)
    fitted = CertificateRecovery(epsilon=0.5, delta=1e-6).fit(sample.to_networkx())
    assert fitted.guarantee_.kind == "certified"
    assert any("ball arithmetic" in line for line in fitted.guarantee_.assumptions)
    assert fitted.released_ and error_rate(fitted.labels_, sample.labels) == 0  # fails with probability 1e-7


def test_digits_are_told_apart_privately():
    data = digits_graph()
    fitted = CertificateRecovery(1.0, 1e-6, insecure_seed=0).fit(data.adjacency)
    assert fitted.released_ and error_rate(fitted.labels_, data.labels) == 0


def test_projection_noise_has_the_stated_size():
    sample = planted(n=80, d=30)
    fitted = ProjectionRecovery(1.0, 1e-6, 0.9, 30.0, insecure_seed=0).fit(sample.adjacency)
    noisy = fitted.noisy_matrix_
    values = noisy.values()
    assert np.array_equal(values, values.T) and np.allclose(values.diagonal(), 1.0)
    expected = 4.225 * np.sqrt(2 * 80 / (0.9 * 30))  # tight sigma in scaled space, delta = 1e-6
    assert noisy.scale == pytest.approx(expected, rel=5e-3)
    assert np.std(values[np.triu_indices(80, 1)]) == pytest.approx(noisy.scale, rel=0.1)
    paper = ProjectionRecovery(1.0, 1e-6, 0.9, 30.0, calibration="paper", insecure_seed=0).fit(
        sample.adjacency
    )
    assert paper.noisy_matrix_.scale / noisy.scale == pytest.approx(3.12, abs=0.03)


def test_projection_recovers_when_the_signal_is_strong():
    sample = StochasticBlockModel(300, 140, 0.9).sample(0)
    fitted = ProjectionRecovery(4.0, 1e-6, 0.9, 140.0, insecure_seed=1).fit(sample.adjacency)
    assert error_rate(fitted.labels_, sample.labels) < 0.02
    weak = ProjectionRecovery(0.05, 1e-6, 0.9, 140.0, insecure_seed=1).fit(sample.adjacency)
    assert error_rate(weak.labels_, sample.labels) > 0.3


WEIGHTED = [
    CertificateRecovery(2.0, 1e-6, average_degree=160.0, weight_bound=4.0, insecure_seed=0),
    ProjectionRecovery(6.0, 1e-6, 0.9, 160.0, weight_bound=4.0, insecure_seed=0),
    VotingRecovery(6.0, 1e-6, 0.9, 160.0, weight_bound=4.0, insecure_seed=0),
    SpectralRecovery(160.0, weight_bound=4.0),
    LinearProgramRecovery(weight_bound=4.0),
]


@pytest.mark.parametrize("estimator", WEIGHTED, ids=lambda e: type(e).__name__)
def test_weighted_graphs(estimator):
    """Weights 4 on every edge, bound 4: the unweighted graph; smaller weights: the same promise."""
    sample = StochasticBlockModel(140, 60, 0.9).sample(1)
    fitted = estimator.fit(4.0 * sample.adjacency)
    assert error_rate(fitted.labels_, sample.labels) < 0.05
    assert fitted.guarantee_.adjacency == "one edge (replace)"
    graph = sample.to_networkx()
    nx.set_edge_attributes(graph, {edge: 3.0 + 0.01 * (sum(edge) % 100) for edge in graph.edges}, "weight")
    again = estimator.fit(graph)
    assert again.guarantee_ == fitted.guarantee_
    assert error_rate(again.labels_, sample.labels) < 0.1
    # out of bounds, missing and negative weights are values like others
    graph.add_weighted_edges_from([(0, 1, 1e300), (0, 2, float("nan")), (0, 3, -5.0), (0, 4, 10**400)])
    assert estimator.fit(graph).guarantee_ == fitted.guarantee_


def test_weighted_and_unweighted_noise_agree():
    sample = planted(n=80, d=30)
    plain = ProjectionRecovery(1.0, 1e-6, 0.9, 30.0, insecure_seed=0).fit(sample.adjacency)
    scaled = ProjectionRecovery(1.0, 1e-6, 0.9, 90.0, weight_bound=3.0, insecure_seed=0).fit(
        3 * sample.adjacency
    )
    assert scaled.noisy_matrix_.scale == plain.noisy_matrix_.scale
    assert np.array_equal(scaled.labels_, plain.labels_)
    tau = CertificateRecovery(1.0, 1e-6, average_degree=90.0, weight_bound=3.0).public_tau(80)
    assert tau == pytest.approx(CertificateRecovery(1.0, 1e-6, average_degree=30.0).public_tau(80))
    refuse((lambda: CertificateRecovery(1.0, 1e-6, weight_bound=0.0).fit(sample.adjacency), "weight_bound"))


@pytest.mark.parametrize(
    "estimator", [SpectralRecovery(), SpectralRecovery(rounds=5), LinearProgramRecovery()]
)
def test_baselines_have_the_same_interface_and_promise_nothing(estimator):
    sample = planted(n=100, d=40)
    fitted = sklearn.base.clone(estimator).fit(sample.to_networkx())
    assert error_rate(fitted.labels_, sample.labels) == 0
    assert fitted.guarantee_.kind == "none" and fitted.guarantee_.epsilon is None
    if isinstance(fitted, LinearProgramRecovery):
        assert fitted.certified_ and fitted.gap_ < 0.25


@pytest.mark.parametrize("made", [ProjectionRecovery, VotingRecovery, VertexRecovery, RoundsRecovery])
@pytest.mark.parametrize("gamma", [0.0, 1.001, 80.0])
def test_a_contrast_is_a_share(made, gamma):
    refuse(
        (lambda: made(1.0, 1e-6, gamma, 10.0).fit(planted().adjacency), r"gamma must lie in \(0, 1\]"),
        (lambda: StarsRecovery(1.0, gamma, 10.0).fit(planted().adjacency), "gamma"),
    )
