"""From what a user has (networkx graph, sparse matrix, dense array) to one canonical adjacency matrix.

Why the checks below may raise although the graph is private: the inputs accepted here are exactly the simple
undirected graphs on a given vertex set, and adding or removing one edge turns such a graph into another
one. So on neighbouring inputs either both are accepted or the input is not a graph of the promised type at
all; an error tells nothing about any edge. What would tell something is avoided: the order of the nodes
never depends on the order in which edges were inserted.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


class GraphInputError(ValueError):
    """The input is not a simple, undirected, unweighted graph with at least two vertices."""


@dataclass(frozen=True, eq=False)
class CanonicalGraph:
    """adjacency: (n, n) csr matrix of 0/1 int64, symmetric, zero diagonal; nodes: the public vertex set,
    ordered.
    """

    adjacency: sp.csr_array
    nodes: tuple[Hashable, ...]

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.nodes)


def canonical_graph(graph: Any) -> CanonicalGraph:
    """Read a networkx Graph, a scipy sparse matrix or a dense array (n, n) as a simple undirected graph.

    The vertex set is public. Nodes of a networkx graph are sorted (numbers, then text; anything else by
    type and representation), because their insertion order usually comes from an edge list, which is
    private; rows of a matrix keep their order. Raises GraphInputError (a ValueError) for directed, weighted
    and multi-graphs, self loops, fewer than two vertices, NaN, wrong shapes or matrices that are not
    symmetric; TypeError for other types.
    """
    if hasattr(graph, "is_directed") and hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return _from_networkx(graph)
    if sp.issparse(graph):
        return _from_sparse(graph)
    if hasattr(graph, "to_networkx"):
        raise TypeError(
            f"expected a graph, got {type(graph).__name__}, which also knows the labels; "
            "pass its .adjacency or .to_networkx()"
        )
    if isinstance(graph, (str, bytes)):
        raise TypeError("expected a graph, got text; read the file first (networkx.read_edgelist)")
    try:
        array = np.asarray(graph)
    except ValueError as error:
        raise GraphInputError(f"the adjacency matrix is not a rectangular array: {error}") from None
    if array.ndim == 0 and array.dtype == object:
        raise TypeError(
            f"expected a networkx graph, a scipy sparse matrix or a square array, got {type(graph).__name__}"
        )
    return _from_dense(array)


def _require_two(n: int) -> None:
    if n == 0:
        raise GraphInputError("the graph has no vertices; there is nothing to label")
    if n == 1:
        raise GraphInputError("the graph has a single vertex; two communities need at least two")


def _require_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphInputError(f"an adjacency matrix must be square, got shape {tuple(shape)}")
    _require_two(shape[0])


def _require_numeric(dtype: np.dtype) -> None:
    if dtype.kind not in "biuf":
        raise GraphInputError(f"an adjacency matrix must hold 0 and 1, got entries of type {dtype}")


_LOOPS = "the graph has self loops, which edge privacy does not speak of; remove them first ({how})"
_WEIGHTS = (
    "the graph is weighted or has multiple edges (entries other than 0 and 1); decide publicly what counts "
    "as an edge and pass the 0/1 graph, for example {how}"
)
_EVERY_EDGE = "networkx.set_edge_attributes(G, 1, 'weight') if every edge counts once"


def _from_sparse(matrix: Any) -> CanonicalGraph:
    _require_square(matrix.shape)
    _require_numeric(matrix.dtype)
    adjacency = sp.csr_array(matrix, copy=True)  # the next line works in place
    adjacency.sum_duplicates()
    data = adjacency.data
    if data.dtype.kind == "f" and not np.all(np.isfinite(data)):
        raise GraphInputError("the adjacency matrix has NaN or infinite entries")
    if not np.all((data == 0) | (data == 1)):
        raise GraphInputError(_WEIGHTS.format(how="(weights > threshold)"))
    adjacency = sp.csr_array(adjacency.astype(np.int64))
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


def _from_dense(array: np.ndarray) -> CanonicalGraph:
    _require_square(array.shape)
    _require_numeric(array.dtype)
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise GraphInputError("the adjacency matrix has NaN or infinite entries")
    return _from_sparse(sp.csr_array(array))


def _sorted_nodes(nodes: list[Any]) -> list[Any]:
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


def _from_networkx(graph: Any) -> CanonicalGraph:
    if graph.is_multigraph():
        raise GraphInputError("the graph is a multigraph; pass networkx.Graph(G) if parallels count once")
    if graph.is_directed():
        raise GraphInputError("the graph is directed; pass G.to_undirected() if direction means nothing")
    nodes = _sorted_nodes(list(graph.nodes))
    _require_two(len(nodes))
    index = {node: position for position, node in enumerate(nodes)}
    rows, columns = [], []
    for u, v, weight in graph.edges(data="weight", default=1):
        if u == v:
            raise GraphInputError(_LOOPS.format(how="G.remove_edges_from(networkx.selfloop_edges(G))"))
        if isinstance(weight, (int, float, np.number)) and weight == 1:
            rows.append(index[u])
            columns.append(index[v])
        else:
            raise GraphInputError(_WEIGHTS.format(how=_EVERY_EDGE))
    ones = np.ones(2 * len(rows), dtype=np.int64)
    adjacency = sp.csr_array((ones, (rows + columns, columns + rows)), shape=(len(nodes), len(nodes)))
    adjacency.sort_indices()
    return CanonicalGraph(adjacency, tuple(nodes))
