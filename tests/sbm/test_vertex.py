"""Joint differential privacy of vertices: what all others are told, enumerated; who learns what."""

import copy
import functools
import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import simpson
from scipy.special import ndtr
from scipy.stats import norm

from problems.sbm import StochasticBlockModel, VertexRecovery, vertex
from problems.sbm.rounds import start
from problems.sbm.vertex import VertexPlan, cut_lists, plan_vertex, vertex_counts, vertex_rounds
from sosdp.privacy.randomness.bits import InsecureBits
from tests.refusals import refuse

N, KEY = 4, 5
PAIRS = list(itertools.combinations(range(N), 2))


def graph(bits):
    matrix = np.zeros((N, N), dtype=np.int64)
    for (i, j), bit in zip(PAIRS, bits, strict=True):
        matrix[i, j] = matrix[j, i] = bit
    return matrix


GRAPHS = [graph(bits) for bits in itertools.product((0, 1), repeat=len(PAIRS))]


def vertex_neighbours(v):
    """Ordered pairs of graphs that differ in edges of v alone."""
    rest = {}
    for matrix in GRAPHS:
        rest.setdefault(np.delete(np.delete(matrix, v, 0), v, 1).tobytes(), []).append(matrix)
    return [pair for group in rest.values() for pair in itertools.permutations(group, 2)]


LABELS = list(itertools.product((-1, 1), repeat=N))


def moves(plan):
    """Largest squared move of the others' counts: (public labels, labels in which v's own may differ)."""
    counts = {}
    for matrix in GRAPHS:
        lists = cut_lists(sp.csr_array(matrix), plan.degree, KEY)
        counts[matrix.tobytes()] = np.array([vertex_counts(lists, plan, np.array(z)) for z in LABELS])
    worst = [0, 0]
    for v in range(N):
        others = np.arange(N) != v
        flipped = [LABELS.index(tuple(-s if u == v else s for u, s in enumerate(z))) for z in LABELS]
        for a, b in [*vertex_neighbours(v), *((m, m) for m in GRAPHS)]:
            degrees = np.delete(np.delete(a, v, 0), v, 1).sum(axis=0)
            if degrees.max() >= plan.degree:  # the condition
                continue
            first, second = counts[a.tobytes()][:, others], counts[b.tobytes()][:, others]
            for place, other in enumerate((second, second[flipped])):
                worst[place] = max(worst[place], int(((first - other) ** 2).sum(axis=1).max()))
    return worst


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("mean", [0, 200, 512])
def test_the_others_counts_move_by_what_is_charged(degree, mean):
    """All graphs on four vertices, all changes of one vertex's edges, all labels: attained."""
    one, two = (VertexPlan(N, degree, mean, t, 1.0, 1e-6).squared_sensitivity for t in (1, 2))
    same, flipped = moves(VertexPlan(N, degree, mean, 1, 1.0, 1e-6))
    assert same <= one and max(same, flipped) <= two - one
    assert same == one and max(same, flipped) == two - one or degree == 1


@functools.cache
def both_above(first, second, memory):
    """P(first + X > 0 and second + Y + memory (first + X) > 0), X and Y standard normal."""
    low = -first + np.linspace(0, 12 + abs(first), 4001)
    return float(simpson(norm.pdf(low) * ndtr(second + memory * (first + low)), x=low))


def transcripts(matrix, v, plan, scale):
    """Law of the signs of all rounds at all vertices but v, two rounds; entries by transcript."""
    lists = cut_lists(sp.csr_array(matrix), plan.degree, KEY)
    others, law = [u for u in range(N) if u != v], {}
    first = vertex_counts(lists, plan, start(N, KEY)) / scale

    def both(u, signs, second):
        """Of the two signs of u; mirrored where a sign is -1. Noise is taken as continuous."""
        s, t = signs
        up = both_above(s * first[u], s * second[u], plan.memory)
        return up if s == t else float(ndtr(s * first[u])) - up

    for z in itertools.product((-1, 1), repeat=N):
        second = vertex_counts(lists, plan, np.array(z)) / scale
        own = float(ndtr(z[v] * first[v]))
        for last in itertools.product((-1, 1), repeat=N - 1):
            pairs = [(z[u], t) for u, t in zip(others, last, strict=True)]
            key = tuple(pairs)
            chance = own * math.prod(both(u, pair, second) for u, pair in zip(others, pairs, strict=True))
            law[key] = law.get(key, 0.0) + chance
    assert abs(sum(law.values()) - 1) < 1e-9
    return law


def loss(scale_of, epsilon, plan):
    worst = 0.0
    for v in range(N):
        laws = {m.tobytes(): transcripts(m, v, plan, scale_of(plan)) for m in GRAPHS}
        for a, b in vertex_neighbours(v):
            first, second = laws[a.tobytes()], laws[b.tobytes()]
            worst = max(worst, sum(max(0.0, first[k] - math.exp(epsilon) * second[k]) for k in first))
    return worst


@pytest.mark.parametrize("memory", [0.0, 0.6, 1.0])
def test_hockey_sticks_of_what_all_others_are_told(memory):
    """All 64 graphs, all vertices, all changes of their edges, exact law of the others' signs."""
    plan = VertexPlan(N, 3, 400, 2, 0.01, 0.2, memory)
    assert 0.05 < loss(lambda p: p.scale, 0.01, plan) <= 0.2
    assert loss(lambda p: p.scale / 4, 0.01, plan) > 0.2  # control: a quarter of the noise


def test_what_is_remembered_are_noisy_counts(monkeypatch):
    """All 64 graphs: given its noisy counts a vertex's label is the same whatever the graph is."""
    plan = VertexPlan(N, 3, 400, 4, 1.0, 1e-6, 0.7)
    generator = np.random.default_rng(3)
    for _ in range(5):
        seen = generator.integers(-3000, 3000, size=(plan.rounds, N))
        known = set()
        for matrix in GRAPHS:
            rounds = iter(seen)
            monkeypatch.setattr(vertex.noise, "add", lambda counts, drawn, rounds=rounds: next(rounds))
            known.add(tuple(vertex_rounds(sp.csr_array(matrix), plan, KEY, InsecureBits(1))))
        decay = plan.memory ** np.arange(plan.rounds)[::-1]
        assert known == {tuple(np.sign(decay @ seen).astype(int))}


def test_lists_are_cut_in_a_public_order():
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((30, 30)) < 0.5, 1).astype(np.int64)
    dense += dense.T
    lists = cut_lists(sp.csr_array(dense), 7, KEY).toarray()
    assert (lists <= dense).all() and (lists.sum(axis=1) == np.minimum(dense.sum(axis=1), 7)).all()
    assert (cut_lists(sp.csr_array(dense), 29, KEY).toarray() == dense).all()
    other = dense.copy()
    other[3], other[:, 3] = 0, 0
    assert (
        np.delete(cut_lists(sp.csr_array(other), 29, KEY).toarray() - dense, 3, 0)[:, np.arange(30) != 3] == 0
    ).all()


def test_dense_graphs_are_recovered_and_nothing_of_it_is_published():
    sample = StochasticBlockModel(600, 300, 0.9).sample(1)
    est = VertexRecovery(6.0, 1e-6, 0.9, 300.0, insecure_seed=2).fit(sample.adjacency)
    labels = np.array([est.label_of(v) for v in range(600)])
    assert min((labels != sample.labels).sum(), (labels == sample.labels).sum()) <= 6
    assert est.labels_ is None and est.labels_by_node() is None and est.released_
    shown = est.release_.to_dict()
    assert shown["value"]["labels"] is None and str(labels.tolist())[1:-1] not in str(shown)
    stored = copy.deepcopy(est)
    refuse(
        (lambda: stored.label_of(0), "only the estimator", RuntimeError),
        (lambda: est.label_of(600), "no vertex 600", KeyError),
    )


def test_the_guarantee_says_who_learns_what():
    tiny = sp.csr_array(GRAPHS[-1])
    whole = VertexRecovery(90.0, 1e-6, 1.0, 3.0).fit(tiny).guarantee_
    assert whole.kind == "exact" and "one vertex" in str(whole.adjacency)
    cut = VertexRecovery(90.0, 1e-6, 1.0, 3.0, max_degree=2).fit(tiny).guarantee_
    assert cut.kind == "conditional" and "fewer than 2" in " ".join(cut.assumptions)
    refuse((lambda: VertexRecovery(90.0, 0.0, 1.0, 3.0).fit(tiny),))


def test_labels_near_chance_are_forecast_and_refused():
    """By public numbers alone: what is forecast is what comes out, and near chance nothing is read."""
    hopeless = VertexRecovery(4.0, 1e-6, 0.8, 800.0)
    assert hopeless.plan(10**4).wrong_share > 0.4
    graph = sp.csr_array((10**4, 10**4), dtype=np.int64)
    refuse((lambda: hopeless.fit(graph), "near chance.*nothing was spent"))
    assert not hasattr(hopeless, "plan_")
    est = VertexRecovery(4.0, 1e-6, 0.8, 220.0, insecure_seed=1)
    wrong = []
    for seed in range(3):
        sample = StochasticBlockModel(1000, 220, 0.8).sample(seed)
        est.fit(sample.adjacency)
        labels = np.array([est.label_of(v) for v in range(1000)]) != sample.labels
        wrong.append(min(labels.mean(), 1 - labels.mean()))
    assert abs(np.mean(wrong) - est.plan(1000).wrong_share) < 0.12  # chance is .5


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64])
def test_degrees_of_numpy_pay_as_python_s(kind):
    """4 D 1024^2 is beyond an int32 from D = 512 on: the charged sensitivity wrapped around."""
    plain, other = (plan_vertex(10_000, (1.0, 1e-6), 0.8, 1000.0, D) for D in (5000, kind(5000)))
    assert plain == other and plain.squared_sensitivity == other.squared_sensitivity
    assert plain.scale == other.scale and type(other.degree) is int
