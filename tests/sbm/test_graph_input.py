"""Graph input: arrays, data frames and labelled files; everything else gets a clear error."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from problems.cuts import CutRelease, QueryRelease
from problems.sbm import (
    CertificateRecovery,
    EdgeList,
    GraphInputError,
    RandomizedResponseRecovery,
    RoundsRecovery,
    canonical_graph,
    digits_graph,
    estimate_parameters,
    labelled_graph,
    mouse_connectome,
    read_gml,
)
from problems.sbm.edges import canonical_edges
from sosdp.algebra.coefficients import object_array
from tests.refusals import each, refusals, refuse

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize(
    "graph",
    [
        PATH,
        PATH.tolist(),
        PATH.astype(bool),
        PATH.astype(np.float32),
        PATH.astype(np.uint8),
        sp.csr_array(PATH),
        sp.coo_matrix(PATH),
        sp.lil_array(PATH.astype(float)),
        sp.csc_matrix(PATH.astype(bool)),
        nx.path_graph(3),
        nx.freeze(nx.path_graph(3)),
    ],
    ids=lambda graph: type(graph).__name__,
)
def test_accepted_kinds_give_the_same_graph(graph):
    canonical = canonical_graph(graph)
    assert canonical.nodes == (0, 1, 2) and canonical.n == 3
    assert np.array_equal(canonical.adjacency.toarray(), PATH)
    assert canonical.adjacency.dtype == np.int64


def test_explicit_zeros_are_no_edges():
    matrix = sp.csr_array((np.array([0.0, 1.0, 1.0]), ([0, 0, 1], [2, 1, 0])), shape=(3, 3))
    assert canonical_graph(matrix).adjacency.nnz == 2


@pytest.mark.parametrize("nodes", [[3, 1, 2, 10], ["b", "a", "z", "aa"], [(1, 2), (0, 5), "x", 4]])
def test_node_order_does_not_depend_on_the_edges(nodes):
    """A networkx graph made from an edge list has its nodes in the order of the (private) edges."""
    first, second = nx.Graph(), nx.Graph()
    a, b, c, d = nodes
    first.add_edges_from([(a, b), (c, d), (b, c)])
    second.add_edges_from([(d, c), (b, c), (b, a)])
    assert list(first.nodes) != list(second.nodes)
    one, two = canonical_graph(first), canonical_graph(second)
    assert one.nodes == two.nodes
    assert np.array_equal(one.adjacency.toarray(), two.adjacency.toarray())


def weighted(value):
    graph = nx.path_graph(3)
    graph.add_edge(0, 2, weight=value)
    return graph


ERRORS = [
    (nx.DiGraph([(0, 1)]), "directed"),
    (nx.MultiGraph([(0, 1), (0, 1)]), "multigraph"),
    (nx.MultiDiGraph([(0, 1)]), "multigraph"),
    (nx.Graph(), "no vertices"),
    (nx.empty_graph(1), "single vertex"),
    (nx.Graph([(0, 0), (0, 1)]), "self loops"),
    (weighted(0.5), "weighted"),
    (weighted(float("nan")), "weighted"),
    (weighted("heavy"), "weighted"),
    (np.zeros((0, 0)), "no vertices"),
    (np.zeros((1, 1)), "single vertex"),
    (np.zeros(4), "square"),
    (np.zeros((2, 3)), "square"),
    (np.zeros((2, 2, 2)), "square"),
    (np.array([[0, 1], [0, 0]]), "not symmetric"),
    (np.eye(3), "self loops"),
    (2 * PATH, "weighted"),
    (-1 * PATH, "weighted"),
    (0.5 * PATH, "weighted"),
    (np.array([[0, np.nan], [np.nan, 0]]), "NaN"),
    (np.array([[0, np.inf], [np.inf, 0]]), "NaN or infinite"),
    (np.array([["a", "b"], ["b", "a"]]), "type"),
    (PATH.astype(complex), "type"),
    ([[0, 1], [1]], "square"),
    (sp.csr_array((3, 4)), "square"),
    (sp.csr_array(np.array([[0.0, np.nan], [np.nan, 0.0]])), "NaN"),
    (sp.coo_array((np.ones(4), ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2)), "multiple edges"),
]


def test_errors_of_the_usual_first_graphs_say_what_to_do():
    club = nx.karate_club_graph()  # carries weights
    refuse(
        (lambda: canonical_graph(club), r"networkx.set_edge_attributes\(G, 1, 'weight'\)", GraphInputError)
    )
    nx.set_edge_attributes(club, 1, "weight")
    assert canonical_graph(club).adjacency.sum() == 2 * 78
    data = digits_graph(6, 7)
    assert len(repr(data)) < 200
    refuse((lambda: canonical_graph(data), r"pass its .adjacency or .to_networkx\(\)", TypeError))


def test_nodes_without_a_public_order_are_refused():
    class Node:
        pass

    refuse((lambda: canonical_graph(nx.Graph([(Node(), Node())])), "relabel", GraphInputError))


def test_validity_is_the_same_for_neighbours():
    """Flipping one pair of a valid graph gives a valid graph: an error never separates two neighbours."""
    generator = np.random.default_rng(0)
    upper = np.triu(generator.random((8, 8)) < 0.4, 1)
    adjacency = (upper | upper.T).astype(int)
    for i in range(8):
        for j in range(i):
            neighbour = adjacency.copy()
            neighbour[i, j] = neighbour[j, i] = 1 - neighbour[i, j]
            assert canonical_graph(neighbour).n == 8


class Quoting:
    """A row, or an entry, whose own code says what it holds."""

    def __array__(self, *_args, **_kinds):
        raise ValueError("secret")

    def __len__(self):
        raise RuntimeError("secret")


class Lazy(Quoting):
    """A computation of Dask."""

    def compute(self):
        raise ValueError("secret")


@pytest.mark.parametrize("bound", [None, 1.0])
def test_no_error_quotes_an_entry_or_runs_its_code(bound):
    for odd in (Quoting(), Lazy(), "secret", [[[Lazy()]]], [Quoting()], b"secret", 1j, 10**400):
        table = [[0, odd, 1], [odd, 0, 0], [1, 0, 0]]
        alike = table, tuple(map(tuple, table)), object_array(table), [*map(object_array, table)]
        for graph in (*alike, [odd, odd], object_array([odd, odd]), [[[odd]]], odd):
            try:
                read = canonical_graph(graph, bound)
            except (GraphInputError, TypeError) as error:
                assert "secret" not in f"{error}{error.__context__}"
                assert bound is None or not any(graph is one for one in alike)
            else:
                assert read.n == 3 and read.adjacency[0, 2] == 1 == bound
    refuse((lambda: canonical_graph(object_array([Lazy()] * 2), bound), "computation", TypeError))
    assert canonical_graph([np.array([0, 1]), range(1, -1, -1)], bound).adjacency[0, 1] == 1


def test_sparse_input_is_left_as_it_was():
    """Unsorted indices and stored zeros are put in order in a copy."""
    matrix = sp.csr_matrix((np.array([1.0, 0.0, 1.0, 0.0]), np.array([1, 0, 0, 1]), np.array([0, 2, 4])))
    before = [matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()]
    canonical_graph(matrix)
    assert all(
        np.array_equal(old, new) for old, new in zip(before, (matrix.data, matrix.indices, matrix.indptr))
    )


test_refusals = refusals(
    *((lambda graph=graph: canonical_graph(graph), message, GraphInputError) for graph, message in ERRORS),
    *((lambda graph=graph: CertificateRecovery(1.0, 1e-6).fit(graph), message) for graph, message in ERRORS),
    *each(
        canonical_graph,
        ["karate", b"karate", None, 3.5, {"a": 1}, object()],
        None,
        (TypeError, GraphInputError),
    ),
    (
        lambda: canonical_graph([("zoe", "adam"), ("adam", "bob"), ("bob", "eve")]),
        "EdgeList",
        GraphInputError,
    ),
)


pandas = pytest.importorskip("pandas")


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


test_refusals_of_frames = refusals(
    (lambda: canonical_graph(frame([0], [1]), 8.0), "weight", GraphInputError),
    *(
        (lambda wrong=wrong: canonical_graph(wrong), reason, GraphInputError)
        for wrong, reason in [
            (frame([0], [1], ("a", "b"), c=[1]), "source and target"),
            (frame([0], [1], date=[3]), "drop"),
        ]
    ),
)


BLOGS = """Creator "somebody [2005]"
# a comment
graph
[
  directed 1
  node [ id 7 label "a [b" value 1 source "x" ]
  node [ id 3 label "c" value 0 ]
  node
  [
    id 9
    value 0
    graphics [ x 1.0 y 2.0 ]
  ]
  node [ id 11 value 1 ]
  edge [ source 7 target 3 ]
  edge [ source 3 target 7 ]
  edge [ source 3 target 7 ]
  edge [ source 9 target 9 ]
  edge [ source 9 target 3 weight 2.5 ]
]
"""


def test_directed_repeated_and_looped_links_become_a_simple_graph(tmp_path):
    path = tmp_path / "blogs.gml"
    path.write_text(BLOGS, encoding="utf-8")
    data = read_gml(path)
    assert data.adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert data.labels.tolist() == [-1, 1, 1, -1] and data.adjacency.dtype == np.int64


@pytest.mark.parametrize(
    "old, new",
    [
        ("value 1 source", "worth 1 source"),
        ("value 1 ]", "value 2 ]"),
        ("id 11", "id 9"),
        ("directed 1", "[ directed 1"),
        ("value 1 ]", "value ]"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, old, new):
    assert old in BLOGS
    path = tmp_path / "blogs.gml"
    path.write_text(BLOGS.replace(old, new), encoding="utf-8")
    refuse((lambda: read_gml(path), None, GraphInputError))


def test_labels_are_two():
    pairs = np.array([[0, 1], [1, 0], [2, 2]])
    assert labelled_graph(3, pairs, ["u", "v", "v"], "g", "e").labels.tolist() == [1, -1, -1]
    refuse(
        *each(
            lambda values: labelled_graph(3, pairs, values, "g", "e"),
            (["u", "v"], ["u", "u", "u"], ["u", "v", "w"]),
            "labels",
            GraphInputError,
        )
    )


def test_a_mouse_from_a_folder(tmp_path):
    folder = tmp_path / "edgelists"
    folder.mkdir()
    (folder / "sub-1.edgelist").write_text(
        "0 1 3000\n1 0 1500\n5 331 1001\n7 8 1000\n9 9 5000\n", encoding="utf-8"
    )
    data = mouse_connectome(folder=tmp_path)
    assert data.adjacency.nnz == 4 and data.adjacency.max() == 1 and data.adjacency[5, 331] == 1
    assert data.labels.sum() == 0 and data.labels[0] == 1
    refuse(
        (lambda: mouse_connectome(1, folder=tmp_path), "subject"),
        (lambda: mouse_connectome(folder=tmp_path / "nowhere"), "graspologic", FileNotFoundError),
    )
