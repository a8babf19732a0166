"""Data frames of edges, for every estimator that takes a graph."""

import numpy as np
import pytest

from problems.cuts import CutRelease, QueryRelease
from problems.sbm import (
    CertificateRecovery,
    EdgeList,
    GraphInputError,
    RandomizedResponseRecovery,
    RoundsRecovery,
    canonical_graph,
    estimate_parameters,
)
from problems.sbm.edges import canonical_edges
from tests.refusals import refusals, refuse

pandas = pytest.importorskip("pandas")
PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def frame(first, second, names=("source", "target"), **more):
    return pandas.DataFrame({names[0]: first, names[1]: second, **more})


@pytest.mark.parametrize("names", [("source", "target"), ("from", "to"), ("u", "v"), ("person", "friend")])
def test_a_path_is_a_path(names):
    graph = canonical_graph(frame([0, 2, 1], [1, 1, 0], names))  # an edge in both directions is one
    assert (graph.adjacency.toarray() == PATH).all() and graph.nodes == (0, 1, 2)
    assert len(canonical_edges(frame([0, 2], [1, 1], names)).first) == 2


def test_names_and_stated_vertices():
    graph = canonical_graph(frame(["b", "c"], ["a", "b"]))
    assert graph.nodes == ("a", "b", "c") and (graph.adjacency.toarray() == PATH).all()
    declared = frame(["b", "c"], ["a", "b"]).astype(pandas.CategoricalDtype(["d", "c", "b", "a"]))
    assert canonical_graph(declared).nodes == ("d", "c", "b", "a")
    # with the vertices stated, losing a vertex's last edge changes no vertex
    assert canonical_graph(declared.iloc[:1]).nodes == ("d", "c", "b", "a")


def test_weights_need_a_public_bound():
    heavy = frame([0, 1, 1], [1, 2, 0], weight=[3.0, np.nan, 1.0])
    refuse((lambda: canonical_graph(heavy), "weight_bound", GraphInputError))
    assert canonical_graph(heavy, 8.0).adjacency.toarray()[0].tolist() == [0.0, 0.5, 0.0]
    release = CutRelease(1.0, weight_bound=8.0, error_share=0.0).fit(heavy)
    assert release.nodes_ == (0, 1, 2) and release.guarantee_.adjacency == "one edge (replace)"


HOSTILE = [
    None,
    -1,
    2,
    float("nan"),
    float("inf"),
    "secret",
    b"x",
    10**30,
    1 << 63,
    (1,),
    [1],
    pytest.param(object(), id="an object"),
    True,
    1 << 23,
]


@pytest.mark.parametrize("end", HOSTILE, ids=repr)
def test_a_row_is_an_edge_or_none(end):
    """Whatever a row holds: neighbours' frames give the same vertices, and nothing is raised."""
    clean = canonical_graph(frame([0, 1, 2, 3], [1, 2, 3, 2])).adjacency.toarray()
    odd = frame(pandas.Series([0, 1, end, 2, 3], dtype=object), pandas.Series([1, 2, 2, 3, 2], dtype=object))
    result = canonical_graph(odd)
    assert result.nodes == (0, 1, 2, 3)
    assert np.array_equal(result.adjacency.toarray(), clean)  # (True, 2) is (1, 2), which is there
    rows = [(0, 1), (1, 2), (2, 3), (3, 2)]
    for kind in (np.uint64, np.uint32, np.uint8, np.int8):
        array = np.array([*rows, (np.iinfo(kind).max, 2)], dtype=kind)
        for graph in (EdgeList(4, array), frame(*np.array(rows, dtype=kind).T)):
            assert np.array_equal(canonical_edges(graph).adjacency().toarray(), clean)
    for graph in (odd, EdgeList(4, [*rows, (end, 2)]), EdgeList(4, [end, *rows])):
        assert np.array_equal(canonical_edges(graph).adjacency().toarray(), clean)


def test_the_vertex_set_is_stated_or_a_condition():
    """With the edge (0, 10) there are 11 vertices, without it 10: then the promise says on what it rests."""
    path = np.arange(9)
    with_it, without = frame([*path, 0], [*(path + 1), 10]), frame(path, path + 1)
    declared = with_it.astype(pandas.CategoricalDtype(range(11)))
    for estimator in (
        CertificateRecovery(1.0, 1e-6),
        RandomizedResponseRecovery(1.0),
        RoundsRecovery(1.0, 1e-6, 0.5, 4),
        CutRelease(1.0, error_share=0.0),
        QueryRelease(1.0, 1e-6),
    ):
        for graph in (with_it, without):
            fitted = estimator.fit(graph)
            assert fitted.guarantee_.kind == "conditional", estimator
            assert "show the same vertices" in fitted.guarantee_.conditions[0]
        fitted = estimator.fit(declared)
        assert not any("same vertices" in text for text in fitted.guarantee_.assumptions)
        assert len(fitted.nodes_) == 11 and fitted.guarantee_.kind != "conditional"
        listed = estimator.fit(EdgeList(11, np.c_[path, path + 1]))  # stated by n
        assert listed.guarantee_.kind == fitted.guarantee_.kind
    parameters = estimate_parameters(with_it, epsilon=1.0).guarantee
    assert "show the same vertices" in parameters.conditions[0]
    state = QueryRelease(1.0, 1e-6).fit(with_it)
    state.cut([0], [1])
    again = QueryRelease.from_state(state.state_dict(), state.private_graph_)
    assert again.guarantee_.kind == "conditional"


def test_estimators_take_frames():
    pairs = frame(*np.nonzero(np.triu(np.ones((8, 8)), 1)))
    for estimator in (CertificateRecovery(1.0, 1e-6), RoundsRecovery(1.0, 1e-6, 0.5, 4)):
        assert estimator.fit(pairs).nodes_ == tuple(range(8))


def test_labels_belong_to_names():
    blocks = [(u, v) for u in range(40) for v in range(u) if (u < 20) == (v < 20)]
    names = [f"p{k:02d}" for k in range(40)]
    pairs = frame([names[u] for u, _ in blocks], [names[v] for _, v in blocks])
    result = (estimator := RandomizedResponseRecovery(8.0).fit(pairs)).labels_by_node()
    assert set(result) == set(names) and len({result[name] for name in names[:20]}) == 1
    assert repr(estimator).endswith("see labels_by_node()") and "#" not in repr(
        RandomizedResponseRecovery(8.0)
    )
    assert CertificateRecovery(0.1, 1e-6).fit(pairs.iloc[:30]).labels_by_node() is None


test_refusals = refusals(
    (lambda: canonical_graph(frame([0], [1]), 8.0), "weight", GraphInputError),
    *(
        (lambda wrong=wrong: canonical_graph(wrong), reason, GraphInputError)
        for wrong, reason in [
            (frame([0], [1], ("a", "b"), c=[1]), "source and target"),
            (frame([0], [1], date=[3]), "drop"),
        ]
    ),
)
