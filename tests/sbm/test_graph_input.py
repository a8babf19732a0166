"""Graph input: everything sensible is accepted and canonical, everything else gets a clear error."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from problems.sbm import CertificateRecovery, GraphInputError, canonical_graph, digits_graph
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


def test_weight_one_is_no_weight():
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=1.0)
    graph.add_edge(1, 2)
    assert canonical_graph(graph).adjacency.nnz == 4


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
