"""Update rules: potentials drop as proven, no adversary makes more updates than B(g), matrix or not is the
same."""

import itertools
import math

import numpy as np
import pytest

from problems.cuts import CutQuery, QueryRelease, RankOneQuery
from problems.cuts.estimators import query_release
from problems.cuts.hypotheses import (
    FriezeKannan,
    ImplicitFriezeKannan,
    Measurement,
    MedianMechanism,
    MultiplicativeWeights,
    median_size,
)
from tests.refusals import refuse

N = 6
PAIRS = N * (N - 1) // 2


def random_graph(rng, density=0.4):
    upper = np.triu(rng.random((N, N)) < density, 1).astype(float)
    return upper + upper.T


def random_cuts(rng, count):
    return [
        CutQuery(N, np.flatnonzero(rng.random(N) < 0.5), np.flatnonzero(rng.random(N) < 0.5))
        for _ in range(count)
    ]


def play(hypothesis, graph, queries, gap, noise, rng, potential=None, drop=0.0):
    """Greedy adversary: the worst query again and again, answered with noise of at most `noise`."""
    updates = 0
    truths = [query.apply(graph) for query in queries]
    while True:
        gaps = [abs(t - hypothesis.answer(q)) for q, t in zip(queries, truths, strict=True)]
        worst = int(np.argmax(gaps))
        if gaps[worst] < gap or updates > 4000:
            return updates
        believed = hypothesis.answer(queries[worst])
        # the worst noise: as far beyond the truth as allowed
        answer = truths[worst] + math.copysign(noise, truths[worst] - believed)
        before = potential(hypothesis) if potential else 0.0
        hypothesis.update(Measurement(queries[worst], answer, noise))
        if potential:
            assert before - potential(hypothesis) >= drop * (1 - 1e-9)
        updates += 1


def distance(graph):
    return lambda hypothesis: float(((hypothesis.matrix() - graph) ** 2).sum() / 2)


def entropy(graph, mass):
    def value(hypothesis):
        p, q = np.triu(graph, 1) / mass, np.triu(hypothesis.matrix(), 1) / mass
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.where(p > 0, p * np.log(p / q), 0.0).sum())

    return value


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_additive_updates(seed, noise):
    rng = np.random.default_rng(seed)
    graph, queries, gap = random_graph(rng), random_cuts(rng, 200), 1.0
    density = float(graph.sum()) / (2 * PAIRS)
    hypothesis = FriezeKannan(N, density, refit=seed % 2)
    start = distance(graph)(hypothesis)
    most = max(query.squared_norm() for query in queries)
    updates = play(hypothesis, graph, queries, gap, noise, rng, distance(graph), gap**2 / most)
    assert 0 < updates <= start * most / gap**2 <= hypothesis.bound(gap)


@pytest.mark.parametrize("seed", range(4))
def test_published_additive_updates(seed):
    rng = np.random.default_rng(seed)
    graph, queries, alpha = random_graph(rng), random_cuts(rng, 200), 1.0
    hypothesis = FriezeKannan(N, 0.0, step=alpha, box=False, refit=0)
    updates = play(hypothesis, graph, queries, alpha, 0.0, rng, distance(graph), alpha**2 / PAIRS)
    assert 0 < updates <= PAIRS * graph.sum() / 2 / alpha**2


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_multiplicative_updates(seed, noise):
    """The target is the near end of the answer's interval: with noise, too, a gap g drops 2 g^2 / m^2."""
    rng = np.random.default_rng(seed)
    graph, queries, gap = random_graph(rng), random_cuts(rng, 200), 1.0
    mass = float(graph.sum() / 2)
    hypothesis = MultiplicativeWeights(N, mass, refit=0)
    drop = 2 * gap**2 / mass**2
    updates = play(hypothesis, graph, queries, gap, noise, rng, entropy(graph, mass), drop)
    assert 0 < updates <= hypothesis.bound(gap) == mass**2 * math.log(PAIRS / mass) / (2 * gap**2)


@pytest.mark.parametrize("seed", range(4))
def test_published_multiplicative_updates(seed):
    rng = np.random.default_rng(seed)
    graph, queries, alpha = random_graph(rng), random_cuts(rng, 200), 1.0
    mass = float(graph.sum() / 2)
    hypothesis = MultiplicativeWeights(N, mass, step=alpha, refit=0)
    updates = play(hypothesis, graph, queries, alpha, 0.0, rng)
    assert 0 < updates <= 4 * mass**2 * math.log(PAIRS) / alpha**2


def test_multiplicative_updates_keep_the_mass():
    rng = np.random.default_rng(1)
    hypothesis = MultiplicativeWeights(N, 7.0)
    for query in [*random_cuts(rng, 5), RankOneQuery(rng.random(N), rng.random(N))]:
        hypothesis.update(Measurement(query, 4.0, 0.1))
        assert hypothesis.matrix().sum() / 2 == pytest.approx(7.0)
        assert (hypothesis.matrix() >= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_median_rule(seed):
    rng = np.random.default_rng(seed)
    n, mass, size = 4, 3.0, 5
    graph = np.zeros((n, n))
    for i, j in [(0, 1), (0, 2), (2, 3)]:
        graph[i, j] = graph[j, i] = 1.0
    queries = [
        CutQuery(n, np.flatnonzero(rng.random(n) < 0.5), np.flatnonzero(rng.random(n) < 0.5))
        for _ in range(9)
    ]
    hypothesis = MedianMechanism(n, mass, size)
    updates = play(hypothesis, graph, queries, 1.5, 0.0, rng)
    assert updates <= hypothesis.bound(1.5) and hypothesis.left >= 1


def test_each_median_update_drops_half():
    hypothesis = MedianMechanism(3, 2.0, 4)
    query = CutQuery(3, [0], [1])
    before = hypothesis.left
    hypothesis.update(Measurement(query, hypothesis.answer(query) + 1, 0.0))
    assert hypothesis.left <= before / 2
    refuse((lambda: MedianMechanism(9, 1.0, 9), "databases"))


def test_the_median_rule_answers_streams(monkeypatch):
    """Every graph on three vertices: answers are within their bounds, and the state goes on."""
    for edges in itertools.product((0, 1), repeat=3):
        graph = np.zeros((3, 3))
        for (i, j), bit in zip(itertools.combinations(range(3), 2), edges, strict=True):
            graph[i, j] = graph[j, i] = bit
        online = QueryRelease(
            9.0, 0.1, construction="median", paid=6, expected_queries=12, density_share=0.5, insecure_seed=1
        ).fit(graph)
        for side in ([0], [1], [2]) * 4:
            rest = [v for v in range(3) if v not in side]
            answer = online.answer(CutQuery(3, side, rest))
            assert abs(answer.value - graph[np.ix_(side, rest)].sum()) <= answer.error_bound
    with pytest.raises(ValueError, match="without a matrix"):
        online.synthetic()
    again = QueryRelease.from_state(online.state_dict(), online.private_graph_)
    assert again.answer(CutQuery(3, [0], [1, 2])).value == online._hypothesis.answer(CutQuery(3, [0], [1, 2]))
    assert [median_size(n) for n in (2, 3, 4, 20)] == [1, 198, 15, 2]
    monkeypatch.setattr(
        query_release, "open_bits", lambda seed: pytest.fail("refused before anything is drawn")
    )
    refuse((lambda: QueryRelease(9.0, 0.1, construction="median").fit(np.zeros((21, 21))), "at most 20"))


@pytest.mark.parametrize("mode", ["pairs", "bilinear"])
def test_with_and_without_a_matrix(mode):
    rng = np.random.default_rng(2)
    for _ in range(20):
        implicit, dense = ImplicitFriezeKannan(N, 0.3), FriezeKannan(N, 0.3, box=False)
        for _ in range(5):
            first, second = np.flatnonzero(rng.random(N) < 0.5), np.flatnonzero(rng.random(N) < 0.6)
            query = CutQuery(N, first, second, count=mode)
            assert implicit.answer(query) == pytest.approx(dense.answer(query), abs=1e-9)
            measured = Measurement(query, float(rng.normal(3, 2)), 0.3)
            implicit.update(measured)
            dense.update(measured)
    refuse((lambda: implicit.answer(RankOneQuery(np.ones(N), np.ones(N))), "cut queries only"))


def test_the_box_is_kept():
    rng = np.random.default_rng(3)
    hypothesis = FriezeKannan(N, 0.5)
    for query in random_cuts(rng, 10):
        hypothesis.update(Measurement(query, 100.0, 0.0))
        assert hypothesis.matrix().min() >= 0 and hypothesis.matrix().max() <= 1
        assert not hypothesis.matrix().diagonal().any()
