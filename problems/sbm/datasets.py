"""Real graphs with a known bisection, from installed packages (no download)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """A graph with known labels: adjacency (n, n) sparse 0/1, labels (n,) of +-1, name, and what an edge
    means.
    """

    adjacency: sp.csr_array = field(repr=False)
    labels: np.ndarray = field(repr=False)
    name: str
    edge_meaning: str

    def to_networkx(self) -> Any:
        """The graph as a networkx Graph on the vertices 0..n-1."""
        import networkx

        return networkx.from_scipy_sparse_array(self.adjacency, edge_attribute=None)


def neighbour_graph(points: np.ndarray, neighbours: int) -> sp.csr_array:
    """Symmetrised k-nearest-neighbour graph: an edge where either point is among the other's k nearest.

    points: (n, d) integers; 1 <= neighbours < n. Euclidean distance; squared distances are exact integers and
    ties go to the smaller position, so the graph is the same on every processor. O(n^2) memory. Raises
    ValueError for points that are not integers of at most 2^24 in absolute value.
    """
    exact = np.asarray(points).astype(np.int64)
    if not np.array_equal(exact, points) or np.abs(exact).max(initial=0) > 1 << 24:
        raise ValueError("the points must be integers: rounded distances would decide ties by the processor")
    squares = (exact * exact).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * (exact @ exact.T)
    np.fill_diagonal(distances, -1)  # a point comes first in its own list, and is left out
    nearest = np.argsort(distances, axis=1, kind="stable")[:, 1 : neighbours + 1]
    n = len(exact)
    places = (np.repeat(np.arange(n), neighbours), nearest.ravel())
    directed = sp.csr_array((np.ones(n * neighbours, dtype=np.int64), places), shape=(n, n))
    return sp.csr_array(directed.maximum(directed.T))


def digits_graph(first: int = 6, second: int = 7, neighbours: int = 100) -> LabelledGraph:
    """Nearest-neighbour graph of two classes of scikit-learn's handwritten digits; first class is +1.

    Edge privacy protects a single similarity relation of this graph, not the image of a digit: changing one
    image changes up to n - 1 edges. It is a realistic graph to show the estimator on, not a protected data
    set.
    """
    from sklearn.datasets import load_digits

    if first == second or not {first, second} <= set(range(10)):
        raise ValueError(f"expected two different digits 0..9, got {first} and {second}")
    digits = load_digits()
    chosen = np.isin(digits.target, (first, second))
    labels = np.where(digits.target[chosen] == first, 1, -1)
    return LabelledGraph(
        neighbour_graph(digits.data[chosen], neighbours),
        labels,
        f"digits {first} against {second}, {neighbours} nearest neighbours",
        "two images are among each other's nearest neighbours",
    )


def karate_club() -> LabelledGraph:
    """Zachary's karate club (34 people, 78 friendships) with the two clubs after the split; Mr. Hi's is
    +1.
    """
    import networkx

    graph = networkx.karate_club_graph()
    clubs = networkx.get_node_attributes(graph, "club")
    nodes = sorted(graph.nodes)
    adjacency = networkx.to_scipy_sparse_array(
        graph, nodelist=nodes, weight=None, dtype=np.int64, format="csr"
    )
    labels = np.array([1 if clubs[node] == "Mr. Hi" else -1 for node in nodes])
    return LabelledGraph(sp.csr_array(adjacency), labels, "karate club", "two people met outside the club")
