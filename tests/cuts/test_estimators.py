"""CutRelease and QueryRelease: what is released, what it promises, and that the data are read no more than
said."""

import json
import math

import networkx as nx
import numpy as np
import pytest

from problems.cuts import (
    CutQuery,
    CutRelease,
    OfflineRelease,
    PrivateGraph,
    QueryRelease,
    RankOneQuery,
    recommend,
)
from problems.cuts.estimators import cut_release
from problems.cuts.model import block_graph, block_queries, random_queries, sparse_graph
from problems.cuts.reconstruction import METHODS, NoisyGraph, reconstruct
from problems.cuts.theory import (
    MAX_CUT_OF_NOISE,
    default_gap,
    flip_deviation,
    laplace_deviation,
)
from sosdp.privacy.mechanisms.edge_noise import flip_edges, flip_rule, noisy_weights
from sosdp.privacy.randomness.bits import open_bits
from sosdp.structured.disjoint_cut import bound_disjoint_cut
from tests.refusals import each, refuse

GRAPH, LABELS = block_graph([20, 20, 20], 0.6, 0.1, 3)


def error_of(release, graph=GRAPH):
    return bound_disjoint_cut(graph.toarray() - release.graph_.weights, gap=1.0)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "lp"])
def test_every_method_releases_a_graph(method):
    release = CutRelease(2.0, method=method, insecure_seed=1).fit(GRAPH)
    weights = release.graph_.weights
    assert weights.shape == (60, 60) and (weights == weights.T).all() and not weights.diagonal().any()
    assert weights.min() >= 0 and weights.max() <= 1
    assert error_of(release).attained <= release.cut_error_["bound"]


def test_the_exponential_program_is_for_small_graphs():
    small = block_graph([6, 6], 0.9, 0.1, 1)[0]
    release = CutRelease(3.0, method="lp", insecure_seed=2).fit(small)
    assert error_of(release, small).attained <= release.cut_error_["bound"]
    refuse((lambda: CutRelease(3.0, method="lp").fit(GRAPH), "cut_sdp"))


def test_the_guarantee_and_the_file_format():
    release = CutRelease(1.0).fit(nx.path_graph(12))
    promise = release.guarantee_
    assert (promise.epsilon, promise.delta, promise.kind) == (1.0, 0.0, "certified")
    assert promise.adjacency == "one edge" and len(promise.composition) == 2
    shown = json.loads(json.dumps(release.release_.to_dict()))
    assert set(shown["value"]["cut_error"]) == {"bound", "confidence"}
    assert all(len(edge) == 3 for edge in shown["value"]["edges"])
    assert not release.release_.private_diagnostics
    alone = CutRelease(1.0, error_share=0).fit(nx.path_graph(12))
    assert alone.guarantee_.kind == "exact" and alone.cut_error_ is None
    assert CutRelease(1.0, insecure_seed=3).fit(nx.path_graph(12)).guarantee_.kind == "none"


def test_the_error_bound_holds_as_often_as_promised():
    """60 releases at confidence .8: at least 48 expected to hold, 42 is two standard deviations below."""
    graph, _ = block_graph([6, 6], 0.8, 0.2, 1)
    held = 0
    for seed in range(60):
        release = CutRelease(1.0, error_share=0.5, confidence=0.8, insecure_seed=seed).fit(graph)
        held += error_of(release, graph).attained <= release.cut_error_["bound"]
    assert held >= 42


@pytest.fixture
def broken_ascent(monkeypatch):
    def fails(*arguments, **options):
        raise np.linalg.LinAlgError("secret")

    monkeypatch.setattr(cut_release, "bound_disjoint_cut", fails)


def test_what_the_solver_leaves_open_is_settled_in_ball_arithmetic(broken_ascent):
    release = CutRelease(1.0, confidence=0.999, gap=0.5).fit(nx.path_graph(10))
    assert release.guarantee_.kind == "certified" and release.release_.public["gap"] == 0.5
    settled = cut_release.settle_disjoint_cut
    with pytest.MonkeyPatch.context() as patch:  # what is released is made of the ends of the last resort
        patch.setattr(
            cut_release, "settle_disjoint_cut", lambda *a, **b: seen.append(settled(*a, **b)) or seen[-1]
        )
        seen: list = []
        CutRelease(1.0, gap=0.5).fit(nx.path_graph(10))
    assert len(seen) == 1 and 0 <= seen[0][1] - seen[0][0] <= 0.5


def test_above_the_certified_size_the_bound_is_public(broken_ascent, monkeypatch):
    monkeypatch.setattr(cut_release, "CERTIFIED_UP_TO", 9)
    monkeypatch.setattr(
        cut_release, "settle_disjoint_cut", lambda *a, **b: pytest.fail("no last resort here")
    )
    public = CutRelease(1.0).fit(nx.path_graph(10))
    assert public.guarantee_.kind == "exact" and public.guarantee_.epsilon == 1.0
    assert public.cut_error_ == {"bound": 25.0, "confidence": 1.0}
    wanted = CutRelease(1.0, conditional=True, confidence=0.999).fit(nx.path_graph(10))
    assert wanted.guarantee_.kind == "conditional" and wanted.cut_error_["bound"] == 25.0


def test_weighted_graphs():
    weights = GRAPH.toarray() * 2.5
    release = CutRelease(4.0, weight_bound=5.0, insecure_seed=1).fit(weights)
    assert release.guarantee_.kind == "none" and release.graph_.weights.max() <= 5.0
    error = bound_disjoint_cut(weights - release.graph_.weights, gap=5.0)
    assert error.attained <= release.cut_error_["bound"]
    refuse((lambda: CutRelease(1.0, noise="rr", weight_bound=5.0).fit(weights), "simple graphs"))


def test_laplace_noise_has_its_law():
    graph = block_graph([3, 2], 1.0, 0.5, 1)[0]
    n, draws = 5, []
    for seed in range(400):
        draws.append(noisy_weights(graph, 1.0, 1, open_bits(seed)) - graph.toarray())
    draws = np.array(draws)
    upper = np.triu_indices(n, 1)
    assert (draws == draws.transpose(0, 2, 1)).all() and not draws[:, range(n), range(n)].any()
    values = draws[:, upper[0], upper[1]].ravel()
    assert abs(values.mean()) < 4 * laplace_deviation(1.0) / math.sqrt(len(values))
    assert values.std() == pytest.approx(laplace_deviation(1.0), rel=0.05)
    a = math.exp(-1.0)
    assert (values == 0).mean() == pytest.approx((1 - a) / (1 + a), abs=0.03)


def test_constants_of_the_noise():
    """Largest cut and norm of the noise of flips against their limits, at n = 300."""
    n = 300
    empty = block_graph([n], 0.0, 0.0, 1)[0]
    rule = flip_rule(1.0)
    flip = float(rule.probability)
    noise = (flip_edges(empty, rule, open_bits(5)) - flip) / (1 - 2 * flip)
    np.fill_diagonal(noise, 0.0)
    sigma = flip_deviation(1.0)
    assert noise[np.triu_indices(n, 1)].std() == pytest.approx(sigma, rel=0.01)
    assert 0.95 < np.linalg.norm(noise, 2) / (2 * sigma * math.sqrt(n)) < 1.03
    result = bound_disjoint_cut(noise, gap=5.0)
    assert 0.7 < result.attained / (MAX_CUT_OF_NOISE * sigma * n**1.5) < 1.15
    assert result.upper < 1.35 * MAX_CUT_OF_NOISE * sigma * n**1.5


def test_reconstruction_sees_released_numbers_only():
    release = CutRelease(1.0, insecure_seed=4).fit(GRAPH)
    again = reconstruct(release.graph_.noisy, "posterior")
    np.testing.assert_array_equal(again, release.graph_.weights)
    strange = NoisyGraph(np.full((4, 4), 1e300) * (1 - np.eye(4)), 1.0)
    assert np.isfinite(reconstruct(strange, "constant")).all()


def test_rounding_and_exports():
    release = CutRelease(2.0, insecure_seed=4).fit(GRAPH)
    simple = release.graph_.round(insecure_seed=1)
    assert set(np.unique(simple.toarray())) <= {0, 1} and (simple != simple.T).nnz == 0
    assert simple.sum() == pytest.approx(release.graph_.weights.sum(), rel=0.15)
    assert release.graph_.to_networkx(0.2).number_of_nodes() == 60
    value, bound = release.graph_.query(CutQuery(60, range(20), range(20, 60)))
    truth = PrivateGraph(GRAPH).count(CutQuery(60, range(20), range(20, 60)))
    assert abs(value - truth) <= bound == release.cut_error_["bound"]
    assert release.graph_.query(CutQuery(60, range(20), range(20)))[1] == 4 * bound
    assert release.graph_.query(RankOneQuery(np.ones(60), np.ones(60)))[1] is None


# ------------------------------------------------------------------------------------------------------------


def test_answers_are_within_their_bounds():
    queries = block_queries(LABELS, 200, 5)
    for construction in ("mw", "fk", "implicit"):
        online = QueryRelease(
            20.0, 1e-6, construction=construction, expected_queries=200, beta=0.001, insecure_seed=6
        ).fit(GRAPH)
        for query in queries:
            answer = online.answer(query)
            if not answer.exhausted:
                assert abs(answer.value - query.apply(GRAPH.toarray().astype(float))) <= answer.error_bound
        assert online.budget_["used"] > 0


def test_nothing_is_read_after_the_last_paid_answer():
    online = QueryRelease(5.0, 1e-6, paid=1, expected_queries=5, insecure_seed=1).fit(GRAPH)
    queries = iter(block_queries(LABELS, 400, 2, noise=0.0))
    while not online.answer(next(queries)).exhausted:
        pass
    reads = online.private_graph_.accesses
    after = [online.answer(query) for query in list(queries)[:20]]
    assert online.private_graph_.accesses == reads
    assert all(
        a.exhausted and not a.updated and a.error_bound == math.inf and a.remaining == 0 for a in after
    )


def test_constant_queries_read_nothing():
    online = QueryRelease(1.0, 1e-6).fit(GRAPH)
    reads = online.private_graph_.accesses
    assert online.cut([3], [3]).value == 0.0
    assert online.private_graph_.accesses == reads and online.budget_["asked"] == 0


def test_a_stored_state_goes_on_where_it_stopped():
    online = QueryRelease(5.0, 1e-6, expected_queries=10, insecure_seed=1).fit(GRAPH)
    queries = block_queries(LABELS, 30, 8)
    online.answers(queries)
    state = json.loads(json.dumps(online.state_dict()))
    assert "insecure_seed" not in json.dumps(state["parameters"])
    again = QueryRelease.from_state(state, online.private_graph_)
    assert again.budget_ == online.budget_ and again.guarantee_.kind == "none"
    np.testing.assert_array_equal(again.synthetic().weights, online.synthetic().weights)
    again.answer(queries[0])
    refuse(
        (lambda: online.answer(queries[0]), "twice"),
        (lambda: QueryRelease.from_state(state, online.private_graph_), "newest"),
        (lambda: QueryRelease.from_state(state, GRAPH), "only_copy"),
    )
    assert QueryRelease.from_state(state, GRAPH, only_copy=True).budget_ == online.budget_
    refuse(
        (lambda: QueryRelease.from_state(state, nx.path_graph(3), only_copy=True), "vertices"),
        (lambda: QueryRelease.from_state({"format": "else"}, GRAPH), "format"),
    )


def test_the_guarantee_of_all_answers():
    online = QueryRelease(1.0, 1e-6).fit(GRAPH)
    before = online.guarantee_
    online.answers(block_queries(LABELS, 50, 1))
    assert online.guarantee_ == before and before.kind == "exact"
    assert before.epsilon <= 1.0 and before.delta == 1e-6 and before.renyi
    assert before.epsilon_at(1e-6) <= 1.0


def test_names_of_vertices():
    graph = nx.relabel_nodes(nx.karate_club_graph(), lambda v: f"v{v:02d}")
    nx.set_edge_attributes(graph, 1, "weight")
    online = QueryRelease(1.0, 1e-6).fit(graph)
    assert online.cut(["v00", "v01"], ["v05"]).remaining <= 20
    refuse(
        (lambda: online.cut(["nobody"], ["v00"]), "nobody"),
        (lambda: online.answer(CutQuery(5, [0], [1])), "vertices"),
    )


def test_a_weighted_stream():
    weights = GRAPH.toarray() * 2.5
    online = QueryRelease(30.0, 1e-6, weight_bound=2.5, expected_queries=50, insecure_seed=1).fit(weights)
    for query in [*block_queries(LABELS, 40, 3), RankOneQuery(np.linspace(0, 1, 60), np.linspace(1, 0, 60))]:
        answer = online.answer(query)
        if not answer.exhausted:
            assert abs(answer.value - query.apply(weights)) <= answer.error_bound + 1e-3


def test_the_noise_of_a_weighted_stream(monkeypatch):
    """One unit of weight is 2^20 grid steps: the noise of a cut has scale b times that."""
    from sosdp.privacy.mechanisms.interaction import online as module

    wanted = []
    monkeypatch.setattr(module.exact, "discrete_laplace", lambda scale, bits: wanted.append(scale) or 0)
    stream = QueryRelease(1.0, 1e-6, weight_bound=2.5).fit(GRAPH.toarray() * 2.5)
    stream.cut([0, 1], [2])
    assert wanted[-1] == stream._interaction.rounds.scale * 2**20


def test_noise_of_weights_scales_with_their_unit(monkeypatch):
    import sosdp.privacy.mechanisms.edge_noise as module

    wanted = []
    monkeypatch.setattr(
        module.noise,
        "laplace",
        lambda count, scale, grid, source: wanted.append(scale) or np.zeros(count, int),
    )
    noisy_weights(GRAPH, 0.5, 1 << 20)
    assert wanted == [2.0 * 2**20]


def test_a_large_graph_needs_no_matrix():
    graph = sparse_graph(20_000, 60_000, 1)
    online = QueryRelease(1.0, 1e-6, insecure_seed=1).fit(graph)
    assert online.release_.public["construction"] == "ImplicitFriezeKannan"
    answers = online.answers(random_queries(20_000, 20, 1))
    assert all(abs(a.value) < 60_000 * 1.2 for a in answers)
    refuse((lambda: online.synthetic(), "without a matrix"))


# ------------------------------------------------------------------------------------------------------------


def test_recommendations():
    # two communities: 1845 and 1886 measured, where one density has 2991 and 3129
    assert recommend(400, 12_000, 1.0).forecasts[0].error == pytest.approx(1850, rel=0.15)
    assert recommend(1000, 2_000, 0.1).best.mechanism == "constant"
    few = recommend(1000, 50_000, 1.0, 1e-6, queries=5, adaptive=False)
    assert few.best.mechanism == "gaussian"
    many = recommend(100_000, 1_000_000, 1.0, 1e-6, queries=3000)
    assert many.best.mechanism == "online" and isinstance(many.estimator(), QueryRelease)
    assert isinstance(recommend(400, 20_000, 1.0).estimator(), CutRelease)
    refuse(
        (lambda: few.estimator(), "release_vector"),
        *each(
            lambda wrong: recommend(**({"n": 10, "edges": 5, "epsilon": 1.0} | wrong)),
            ({"n": 1}, {"edges": 0}, {"contrast": 2.0}),
        ),
    )


def test_theory():
    assert flip_deviation(1.0) ** 2 == pytest.approx(0.921, abs=1e-3)
    assert laplace_deviation(1.0) == pytest.approx(math.sqrt(2 * math.exp(-1)) / (1 - math.exp(-1)))
    assert laplace_deviation(1.0, 1 << 20) == pytest.approx(math.sqrt(2), rel=1e-6)
    assert default_gap(4) == 0.5 and default_gap(400) == pytest.approx(400**1.5 / 4096)


def test_errors_within_the_tails():
    """The proven tail of sums of flips holds for the largest of 300 cuts, and is within 3 of it."""
    noisy = CutRelease(1.0, error_share=0, insecure_seed=9).fit(GRAPH).graph_.noisy
    queries = random_queries(60, 300, 1)
    result = [abs(q.apply(noisy.values - GRAPH.toarray())) for q in queries]
    hoeffding = math.sqrt(math.log(2 * 300 / 0.05) / 2) / math.tanh(0.5)
    bounds = [hoeffding * math.sqrt(len(q.first) * len(q.second)) for q in queries]
    worst = max(f / b for f, b in zip(result, bounds, strict=True))
    assert 1 / 3 < worst <= 1


def test_cuts_of_the_released_graph_by_names():
    from problems.cuts.synthetic import SyntheticGraph

    weights = np.array([[0, 1.0, 0.5], [1.0, 0, 0.25], [0.5, 0.25, 0]])
    graph = SyntheticGraph(weights, ("a", "b", "c"), 2.0, 0.95)
    assert graph.cut(["a"], ["b", "c"]) == (1.5, 2.0) == graph.query(CutQuery(3, [0], [1, 2]))
    refuse((lambda: graph.cut(["a"], ["d"]), "'d' is no vertex"))


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.float32])
def test_budgets_of_numpy_are_spent_as_python_s(kind):
    for made in (CutRelease(kind(1)), CutRelease(kind(1), error_share=kind(0))):
        plain = CutRelease(1, error_share=float(made.error_share))
        assert made._shares(12) == plain._shares(12)
    for kept, plain in (
        (QueryRelease(kind(1), 1e-6), QueryRelease(1, 1e-6)),
        (OfflineRelease(kind(1)), OfflineRelease(1)),
    ):
        assert kept.fit(GRAPH).guarantee_ == plain.fit(GRAPH).guarantee_
