"""From what a user has (networkx graph, edge list, sparse matrix, dense array) to one canonical matrix.

Lists of edges (files, frames, `EdgeList`) never raise because of a row: every row is an edge or none
(`sosdp.privacy.edges`). Why the checks of matrices and networkx graphs may raise although the graph is
private: what is accepted are exactly the simple undirected graphs on a given vertex set, and adding or
removing one edge turns such a graph into another one. So on neighbouring inputs either both are accepted or
the input is not a graph of the promised type at all; an error tells nothing about any edge. The order of the
nodes never depends on the order in which edges were inserted.

Weighted graphs have a public bound w: every weight is clipped to [0, w], divided by w and rounded to a
multiple of 2^-20, entry by entry and part by part where a list or a sparse matrix has several of one entry,
so that sums are exact in float64, in any order, and one changed weight changes one pair of entries by at
most 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.privacy.edges import VERTICES_STATED, Edges, pairs_of_rows, read_edges, usable
from sosdp.privacy.entries import entries, length_of, listed, require_computed
from sosdp.privacy.inputs import as_float, floats, members
from sosdp.privacy.silence import contained

WEIGHT_UNITS = 1 << 20
"""A weight equal to its public bound, in the units that weights are rounded to."""


class GraphInputError(ValueError):
    """The input is not a simple, undirected, unweighted graph with at least two vertices."""


@dataclass(frozen=True, eq=False)
class EdgeList:
    """A graph as a list of pairs: n is public, the pairs are not.

    n: number of vertices, which are 0..n-1; edges: a list of pairs or an (m, 2) array of integers, in any
    order; a repeated pair counts once, and what is no pair of two different vertices counts nowhere;
    weights: (m,) numbers for a weighted graph (those of a repeated pair add up), or None; nodes: names of the
    vertices in order, else 0..n-1;
    assumptions: what a release from this list rests on (`sosdp.privacy.edges`).
    """

    n: int
    edges: Any = field(repr=False)
    weights: Any = field(default=None, repr=False)
    nodes: Sequence[Hashable] | None = field(default=None, repr=False)
    assumptions: tuple[str, ...] = (VERTICES_STATED,)

    @classmethod
    def of(cls, read: Edges) -> EdgeList:
        """The list that was read from rows."""
        return cls(len(read.nodes), read.pairs, read.weights, read.nodes, read.assumptions)


ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("node1", "node2"),
    ("id1", "id2"),
)
"""Names of columns that hold the two ends of an edge."""


def is_frame(graph: Any) -> bool:
    """Whether this is a data frame (pandas, polars)."""
    return hasattr(graph, "columns") and hasattr(graph, "to_numpy")


def from_frame(frame: Any, *, weighted: bool = False) -> EdgeList:
    """The edges of a frame with columns source and target (or another pair of `ENDS`).

    Vertices: both columns state them by one categorical type, `frame.astype(pandas.CategoricalDtype(names))`.
    Otherwise they are those that occur (0 to the largest of integers, else the sorted names), and a release
    is conditional on neighbours that show the same ones. A row with a missing or negative end, or two equal
    ones, is no edge; an edge that occurs twice, or in both directions, is one edge; weights of such rows add
    up.

    Args:
        weighted: read the column "weight", which is refused otherwise: nobody said what it means.

    Raises:
        GraphInputError: columns that are no edge list.
    """
    names = [str(name) for name in frame.columns]
    first, second = _ends(names)
    rest = [name for name in names if name not in (first, second)]
    if weighted and rest != ["weight"]:
        raise GraphInputError(f"a weighted edge list has the columns {first}, {second}, weight; got {names}")
    if not weighted and rest:
        raise GraphInputError(
            f"an edge list has the columns {first} and {second} only, got {names}: drop the others, or "
            "give a public weight_bound where the method takes weights"
        )
    by_name = dict(zip(names, frame.columns, strict=True))
    ends = [frame[by_name[first]], frame[by_name[second]]]
    categories = _categories(ends)
    weights = floats(frame[by_name["weight"]]) if weighted else None
    if categories is None:
        return EdgeList.of(read_edges(members(ends[0]), members(ends[1]), weights))
    result = read_edges(ends[0].cat.codes.tolist(), ends[1].cat.codes.tolist(), weights, len(categories))
    return EdgeList.of(replace(result, nodes=categories))


def _ends(names: list[str]) -> tuple[str, str]:
    """The two columns of ends, by their names or because there are only two.

    Raises:
        GraphInputError: they cannot be told.
    """
    for pair in ENDS:
        if set(pair) <= set(names):
            return pair
    if len(names) == 2 and "weight" not in names:
        return names[0], names[1]
    raise GraphInputError(
        f"a frame is read as an edge list with the columns source and target (and weight), got "
        f"{names[:6]}; an adjacency matrix is passed as frame.to_numpy()"
    )


def _categories(ends: list[Any]) -> tuple[Hashable, ...] | None:
    """The vertices that both columns declare, None where they are no categories.

    Raises:
        GraphInputError: the two columns declare different ones.
    """
    declared: list[Any] = [getattr(getattr(end, "cat", None), "categories", None) for end in ends]
    if any(names is None for names in declared):
        return None
    if list(declared[0]) != list(declared[1]):
        raise GraphInputError("both columns of an edge list must declare the same categories, in one order")
    return tuple(declared[0].tolist())


@dataclass(frozen=True, eq=False)
class CanonicalGraph:
    """adjacency: (n, n) csr matrix, symmetric, zero diagonal, entries 0/1 int64 or, for a weighted graph,
    multiples of 2^-20 in [0, 1] as float64; nodes: the vertices, ordered; assumptions: what a release
    rests on because of how they are known.
    """

    adjacency: sp.csr_array
    nodes: tuple[Hashable, ...]
    assumptions: tuple[str, ...] = (VERTICES_STATED,)

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.nodes)


def canonical_graph(graph: Any, weight_bound: float | None = None) -> CanonicalGraph:
    """Read a networkx Graph, an `EdgeList`, a data frame of edges (`from_frame`), a scipy sparse
    matrix or a dense array (n, n) as a simple undirected graph.

    The vertex set is public. Nodes of a networkx graph are sorted (numbers, then text; anything else by
    type and representation), because their insertion order usually comes from an edge list, which is
    private; rows of a matrix keep their order. weight_bound: None for an unweighted graph, else the public
    bound w > 0 of the weights; a missing or negative weight then counts as 0, a larger one as w. Raises
    GraphInputError (a ValueError) for directed and multi-graphs, weights without a bound, self loops, fewer
    than two vertices, NaN in an unweighted matrix, wrong shapes or matrices that are not symmetric; TypeError
    for other types.
    """
    if isinstance(graph, EdgeList):
        return _from_edge_list(graph, weight_bound)
    if is_frame(graph):
        return _from_edge_list(from_frame(graph, weighted=weight_bound is not None), weight_bound)
    if hasattr(graph, "is_directed") and hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return _from_networkx(graph, weight_bound)
    if sp.issparse(graph):
        return _from_sparse(graph, weight_bound)
    if hasattr(graph, "to_networkx"):
        raise TypeError(
            f"expected a graph, got {type(graph).__name__}, which also knows the labels; "
            "pass its .adjacency or .to_networkx()"
        )
    if isinstance(graph, (str, bytes)):
        raise TypeError("expected a graph, got text; read the file first (networkx.read_edgelist)")
    require_computed(graph)
    if _of_objects(graph):
        # an entry is private: whatever it is, it counts as some number; the lengths of the rows are public
        n = len(graph)
        rows = [_entries_of(row, n) for row in graph]
        for row, own in zip(graph, rows, strict=True):
            _require_square((n, n) if own else (n, length_of(row) or 0))
        graph = floats(rows, (n,))
    array = contained(lambda: np.asarray(graph), None)
    if array is None or (array.ndim == 0 and array.dtype == object):
        raise TypeError(
            "expected a networkx graph, an EdgeList, a scipy sparse matrix or a square array, got "
            f"{type(graph).__name__}"
        )
    _require_square(array.shape)
    _require_numeric(array.dtype)
    return _from_sparse(sp.csr_array(array), weight_bound)


def _entries_of(row: Any, n: int) -> list[Any] | None:
    """The n entries of a row, None where it is none; what its own code raises may quote them."""
    require_computed(row)
    return entries(row, n) or contained(lambda: entries(np.asarray(row), n), None)


def _of_objects(values: Any) -> bool:
    """Whether the type says nothing about the entries: a list, a tuple, or rows or a table of objects."""
    if isinstance(values, np.ndarray):
        return values.dtype.kind == "O" and values.ndim in (1, 2)
    return isinstance(values, list | tuple)


def _require_two(n: int) -> None:
    if n == 0:
        raise GraphInputError("the graph has no vertices; there is nothing to label")
    if n == 1:
        raise GraphInputError("the graph has a single vertex; two communities need at least two")


def _require_square(shape: tuple[int, ...]) -> None:
    if len(shape) == 2 and shape[0] != shape[1] and shape[1] in (2, 3):
        raise GraphInputError(
            f"an adjacency matrix must be square, got shape {tuple(shape)}; a list of edges is passed "
            "as pandas.DataFrame(edges, columns=['source', 'target']) or, for numbers,"
            " EdgeList(n, edges)"
        )
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphInputError(f"an adjacency matrix must be square, got shape {tuple(shape)}")
    _require_two(shape[0])


def _require_numeric(dtype: np.dtype) -> None:
    if dtype.kind not in "biuf":
        raise GraphInputError(f"an adjacency matrix must hold 0 and 1, got entries of type {dtype}")


_LOOPS = "the graph has self loops, which edge privacy does not speak of; remove them first ({how})"
_WEIGHTS = (
    "the graph is weighted or has multiple edges (entries other than 0 and 1); decide publicly what counts "
    "as an edge and pass the 0/1 graph, for example {how}; or give a public weight_bound where the method "
    "takes one"
)


def _from_sparse(matrix: Any, bound: float | None) -> CanonicalGraph:
    _require_square(matrix.shape)
    _require_numeric(matrix.dtype)
    parts = sp.coo_array(matrix, copy=True)
    if bound is not None:
        parts.data = scaled_weights(parts.data, bound)
    adjacency = sp.csr_array(parts)  # adds up those of one entry
    if bound is None:
        data = adjacency.data
        if data.dtype.kind == "f" and not np.all(np.isfinite(data)):
            raise GraphInputError("the adjacency matrix has NaN or infinite entries, or others than numbers")
        if not np.all((data == 0) | (data == 1)):
            raise GraphInputError(_WEIGHTS.format(how="(weights > threshold)"))
        adjacency = sp.csr_array(adjacency.astype(np.int64))
    else:
        adjacency.data = np.minimum(adjacency.data, 1.0)
    adjacency.eliminate_zeros()
    adjacency.sort_indices()
    if np.any(adjacency.diagonal() != 0):
        raise GraphInputError(_LOOPS.format(how="A.setdiag(0)"))
    if (adjacency != adjacency.T).nnz:
        raise GraphInputError(
            "the adjacency matrix is not symmetric: this is a directed graph; symmetrise it first, "
            "for example with A.maximum(A.T)"
        )
    return CanonicalGraph(adjacency, tuple(range(adjacency.shape[0])))


def scaled_weights(weights: np.ndarray, bound: float) -> np.ndarray:
    """Weights as fractions of their public bound: in [0, 1], NaN as 0, in multiples of 2^-20."""
    plain = np.nan_to_num(np.asarray(weights, dtype=np.float64), nan=0.0, posinf=bound, neginf=0.0)
    return np.rint(np.clip(plain, 0.0, bound) / bound * WEIGHT_UNITS) / WEIGHT_UNITS


def checked_pairs(graph: EdgeList) -> tuple[int, np.ndarray]:
    """The number of vertices and the (m, 2) integer pairs of an edge list, of which those that are no edge
    join no two vertices; raises GraphInputError for its public form: n, and shape and type of an array."""
    n = graph.n
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise GraphInputError(
            f"the number of vertices of an edge list must be an integer, got {type(n).__name__}"
        )
    n = int(n)
    _require_two(n)
    edges: Any = listed(graph.edges) if hasattr(type(graph.edges), "__len__") else None
    shape = getattr(edges, "shape", ())  # of an array without entries it says nothing more
    if shape in ((0,), (0, 2)) or (_of_objects(edges) and shape[1:] in ((), (2,))):
        edges = pairs_of_rows(edges, n)
    if edges is None or edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise GraphInputError("the edges of an EdgeList must be rows, or an (m, 2) array, of integers")
    # what is no int64 becomes negative, and so no vertex; numpy has no sums of both types
    return n, edges.astype(np.int64) if edges.dtype == np.uint64 else edges


def _from_edge_list(graph: EdgeList, bound: float | None) -> CanonicalGraph:
    n, edges = checked_pairs(graph)
    edges = edges.astype(np.int64)
    if (graph.weights is None) != (bound is None):
        raise GraphInputError(
            "an EdgeList with weights needs a public weight_bound, one without weights none; see the "
            "estimator's parameters"
        )
    if bound is None:
        weights = np.ones(len(edges))
    else:
        weights = floats(graph.weights, ())
        if weights.shape != (len(edges),):
            raise GraphInputError("the weights of an EdgeList must be one number an edge")
        weights = scaled_weights(weights, bound)
    kept = usable(edges, n)
    edges, weights = edges[kept], weights[kept]
    low, high = edges.min(axis=1, initial=n), edges.max(axis=1, initial=0)
    upper = sp.csr_array((weights, (low, high)), shape=(n, n))
    upper.sum_duplicates()
    if bound is None:
        upper.data[:] = 1.0
    result = _from_sparse(upper + upper.T, None if bound is None else 1.0)
    return replace(result, nodes=tuple(graph.nodes or range(n)), assumptions=graph.assumptions)


def sorted_nodes(nodes: list[Any]) -> list[Any]:
    """A deterministic order that depends on the set of nodes alone."""
    if all(isinstance(node, (int, np.integer)) for node in nodes) or all(
        isinstance(node, str) for node in nodes
    ):
        return sorted(nodes)
    keys = [(not isinstance(node, (int, float)), type(node).__qualname__, repr(node)) for node in nodes]
    if len(set(keys)) < len(keys) or any(" at 0x" in key[2] for key in keys):
        raise GraphInputError(
            "the nodes have no order of their own (their representations repeat or are memory addresses); "
            "relabel them, for example with networkx.relabel_nodes to integers in a public order"
        )
    return [node for _, node in sorted(zip(keys, nodes), key=lambda pair: pair[0])]


def _from_networkx(graph: Any, bound: float | None) -> CanonicalGraph:
    if graph.is_multigraph():
        raise GraphInputError("the graph is a multigraph; pass networkx.Graph(G) if parallels count once")
    if graph.is_directed():
        raise GraphInputError("the graph is directed; pass G.to_undirected() if direction means nothing")
    nodes = sorted_nodes(list(graph.nodes))
    _require_two(len(nodes))
    index = {node: position for position, node in enumerate(nodes)}
    rows, columns, weights = [], [], []
    for u, v, weight in graph.edges(data="weight", default=1):
        if u == v:
            raise GraphInputError(_LOOPS.format(how="G.remove_edges_from(networkx.selfloop_edges(G))"))
        value = as_float(weight)  # a weight is private: whatever it is, it counts as some number
        if bound is None and value != 1.0:
            raise GraphInputError(
                _WEIGHTS.format(how="networkx.set_edge_attributes(G, 1, 'weight') if every edge counts once")
            )
        rows.append(index[u])
        columns.append(index[v])
        weights.append(0.0 if value != value else min(max(value, 0.0), bound or 1.0))
    data = np.ones(len(rows), dtype=np.int64) if bound is None else scaled_weights(np.array(weights), bound)
    adjacency = sp.csr_array(
        (np.r_[data, data], (rows + columns, columns + rows)), shape=(len(nodes), len(nodes))
    )
    adjacency.eliminate_zeros()
    adjacency.sort_indices()
    return CanonicalGraph(adjacency, tuple(nodes))
