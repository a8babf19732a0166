"""Queries: exact answers, and sensitivities that are attained and never exceeded."""

import itertools

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from problems.cuts import CutQuery, EdgeList, LinearQuery, PrivateGraph, RankOneQuery
from problems.cuts.queries import query_from_dict
from tests.refusals import each, refusals, refuse


def weights_of(query, n):
    matrix = np.zeros((n, n))
    query.add(matrix, 1.0)
    return matrix


def some_queries(rng, n):
    first, second = np.flatnonzero(rng.random(n) < 0.5), np.flatnonzero(rng.random(n) < 0.6)
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    return [
        CutQuery(n, first, second),
        CutQuery(n, first, second, count="bilinear"),
        CutQuery(n, first, np.setdiff1d(np.arange(n), first)),
        RankOneQuery(rng.standard_normal(n), rng.standard_normal(n)),
        LinearQuery(n, pairs, rng.standard_normal(len(pairs))),
    ]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_all_graphs_and_neighbours(n):
    rng = np.random.default_rng(n)
    pairs = list(itertools.combinations(range(n), 2))
    graphs = {}
    for bits in (
        itertools.product((0, 1), repeat=len(pairs)) if n < 5 else rng.integers(0, 2, (60, len(pairs)))
    ):
        matrix = np.zeros((n, n), dtype=np.int64)
        for (i, j), bit in zip(pairs, bits, strict=True):
            matrix[i, j] = matrix[j, i] = bit
        graphs[tuple(bits)] = matrix
    for query in some_queries(rng, n):
        largest = 0
        for matrix in graphs.values():
            count = PrivateGraph(matrix).count(query)
            assert float(count * query.unit) == pytest.approx(
                float((weights_of(query, n) * matrix).sum() / 2)
            )
            assert query.apply(matrix.astype(float)) == pytest.approx(float(count * query.unit), abs=1e-9)
            i, j = pairs[int(rng.integers(len(pairs)))]
            other = matrix.copy()
            other[i, j] = other[j, i] = 1 - other[i, j]
            moved = abs(PrivateGraph(other).count(query) - count)
            assert moved <= query.sensitivity
            largest = max(largest, moved)
        whole = np.abs(weights_of(query, n)).max() / float(query.unit)
        assert query.sensitivity == pytest.approx(whole)  # attained by the heaviest pair
        assert query.squared_norm() == pytest.approx((weights_of(query, n) ** 2).sum() / 2)


def test_the_bilinear_form_needs_twice_the_noise():
    """The negative control: pretending that its sensitivity is 1 is refuted by one edge inside both sets."""
    both = CutQuery(3, [0, 1], [0, 1], count="bilinear")
    edge, none = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), np.zeros((3, 3), dtype=int)
    assert PrivateGraph(edge).count(both) - PrivateGraph(none).count(both) == 2 == both.sensitivity
    assert CutQuery(3, [0, 1], [0, 1]).sensitivity == 1


def test_constant_queries_have_no_sensitivity():
    assert CutQuery(3, [1], [1]).sensitivity == 0
    assert CutQuery(3, [], [1]).sensitivity == 0
    assert CutQuery(3, [1], [1, 2]).sensitivity == 1
    assert LinearQuery(3, [[0, 1]], [0.0]).sensitivity == 0


def test_a_step_of_a_distinguisher_moves_by_root_two():
    rng = np.random.default_rng(0)
    for _ in range(50):
        matrix = np.triu(rng.random((6, 6)) < 0.5, 1).astype(int)
        matrix = matrix + matrix.T
        other = matrix.copy()
        other[1, 4] = other[4, 1] = 1 - other[1, 4]
        signs = rng.choice([-1, 1], 6)
        moved = PrivateGraph(matrix).image(signs) - PrivateGraph(other).image(signs)
        assert (moved**2).sum() == 2


def test_large_rank_one_queries_use_an_upper_bound():
    x = np.zeros(5000)
    x[:2] = 1.0
    assert RankOneQuery(x, x).sensitivity == 2 * (1 << 40)


def test_forms_of_graphs_and_weights():
    graph = nx.path_graph(5)
    cut = CutQuery(5, [0, 1], [2])
    forms = [graph, nx.to_scipy_sparse_array(graph), nx.to_numpy_array(graph), EdgeList(5, list(graph.edges))]
    assert [PrivateGraph(form).count(cut) for form in forms] == [1, 1, 1, 1]
    weighted = PrivateGraph(nx.to_numpy_array(graph) * 1.5, weight_bound=2.0)
    assert float(weighted.count(cut) * weighted.scale) == pytest.approx(1.5, abs=1e-5)
    assert weighted.adjacency == "one edge (replace)"
    clipped = PrivateGraph(nx.to_numpy_array(graph) * 9.0, weight_bound=2.0)
    assert clipped.count(cut) == clipped.unit
    exact = PrivateGraph(sp.csr_array(nx.to_numpy_array(graph) * 0.75), weight_bound=1.0)
    assert float(exact.count(RankOneQuery([1, 1, 0, 0, 0], [0, 0, 1, 0, 0]))) * 2.0**-60 == 0.75


def test_the_handle_is_not_copied():
    import copy
    import pickle

    graph = PrivateGraph(nx.path_graph(3))
    refuse(*each(lambda copier: copier(graph), (copy.copy, copy.deepcopy, pickle.dumps), "ledger", TypeError))
    assert "PrivateGraph(n=3" in repr(graph)


def test_stored_queries_are_the_same():
    rng = np.random.default_rng(3)
    for query in some_queries(rng, 5):
        again = query_from_dict(query.to_dict())
        assert again.sensitivity * again.unit == query.sensitivity * query.unit
        np.testing.assert_array_equal(weights_of(again, 5), weights_of(query, 5))


@pytest.mark.parametrize(
    "weights", [[1.0, 1.0, 1.0], [1.0, 3.0, -3.5], [0.5 + 2.0**-40, 0.1, 0.0], [1e-12, 7, 0]]
)
def test_a_query_keeps_its_unit_through_its_dict(weights):
    """Repeated pairs add up before the grid is chosen, and numbers on a grid find it again."""
    query = LinearQuery(4, [[0, 1], [1, 0], [2, 3]], weights)
    again = query_from_dict(query.to_dict())
    assert (again.unit, again.sensitivity) == (query.unit, query.sensitivity)
    adjacency = sp.csr_array(np.ones((4, 4), dtype=np.int64) - np.eye(4, dtype=np.int64))
    assert again.count(adjacency) == query.count(adjacency)
    rank = RankOneQuery(weights, weights[::-1])
    same = query_from_dict(rank.to_dict())
    assert (same.unit, same.sensitivity) == (rank.unit, rank.sensitivity)


test_refusals = refusals(
    (lambda: query_from_dict({"kind": "nothing"}), "kind"),
    *each(
        lambda make: make(),
        [
            lambda: CutQuery(3, [3], [0]),
            lambda: CutQuery(3, [0.5], [1]),
            lambda: CutQuery(3, [0], [1], count="twice"),
            lambda: RankOneQuery([1, 2], [1]),
            lambda: RankOneQuery([1, float("nan")], [1, 2]),
            lambda: LinearQuery(3, [[0, 0]], [1.0]),
            lambda: LinearQuery(3, [[0, 1]], [1.0, 2.0]),
        ],
    ),
)
