"""The stochastic block model with two communities, and its sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.extras import need

from .edges import pair_at
from .graph_input import EdgeList


@dataclass(frozen=True, eq=False)
class SampledGraph:
    """One draw of the model: adjacency (n, n) sparse 0/1, symmetric, zero diagonal; labels (n,) of +-1."""

    adjacency: sp.csr_array
    labels: np.ndarray

    def __repr__(self) -> str:
        return f"SampledGraph({self.labels.size} vertices, {self.adjacency.nnz // 2} edges)"

    def to_networkx(self) -> Any:
        """The graph as a networkx Graph on the vertices 0..n-1, with the true labels as node attribute
        `label`.
        """
        graph = need("networkx", "a networkx graph").Graph()
        graph.add_nodes_from((vertex, {"label": int(label)}) for vertex, label in enumerate(self.labels))
        rows, columns = sp.triu(self.adjacency).nonzero()
        graph.add_edges_from(zip(rows.tolist(), columns.tolist()))
        return graph


@dataclass(frozen=True, eq=False)
class SampledEdges:
    """One draw of a large model: edges as an `EdgeList`, labels (n,)."""

    edges: EdgeList
    labels: np.ndarray

    def __repr__(self) -> str:
        return f"SampledEdges({self.labels.size} vertices, {len(self.edges.edges)} edges)"


def chosen_positions(count: int, probability: float, rng: np.random.Generator) -> np.ndarray:
    """Positions in 0..count-1, each chosen with this probability, ascending: by geometric skips.

    Time and memory proportional to the number chosen.
    """
    if probability <= 0 or count <= 0:
        return np.empty(0, dtype=np.int64)
    if probability >= 1:
        return np.arange(count)
    pieces, last = [], -1
    while last < count:
        wanted = (count - last) * probability
        skips = rng.geometric(probability, int(wanted + 4 * np.sqrt(wanted) + 20))
        # A skip may be huge; beyond the end it does not matter how far.
        places = last + np.cumsum(np.minimum(skips, count + 1))
        pieces.append(places[places < count])
        last = int(places[-1])
    return np.concatenate(pieces)


def planted_edges(
    labels: np.ndarray, p_in: float, p_out: float, rng: np.random.Generator, weights: np.ndarray | None = None
) -> EdgeList:
    """Edges of a graph in which pairs with one label are joined with probability p_in, others with p_out.

    labels: (n,); weights: (n,) in (0, 1], or None: a pair is kept with the product of its two weights (uneven
    degrees). Time and memory linear in the edges.
    """
    n = len(labels)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    pairs = []
    for a, first in enumerate(groups):
        size = len(first)
        inside = chosen_positions(size * (size - 1) // 2, p_in, rng)
        column, row = pair_at(inside)
        pairs.append((first[row], first[column]))
        for second in groups[a + 1 :]:
            across = chosen_positions(size * len(second), p_out, rng)
            pairs.append((first[across // len(second)], second[across % len(second)]))
    u = np.concatenate([pair[0] for pair in pairs])
    v = np.concatenate([pair[1] for pair in pairs])
    if weights is not None:
        kept = rng.random(len(u)) < weights[u] * weights[v]
        u, v = u[kept], v[kept]
    return EdgeList(n, np.column_stack([u.astype(np.int32), v.astype(np.int32)]))


def planted_graph(labels: np.ndarray, p_in: float, p_out: float, rng: np.random.Generator) -> SampledGraph:
    """A graph in which pairs with one label are joined with probability p_in, others with p_out.

    Pair by pair: O(n^2) time, memory of one block of rows.
    """
    n, rows, columns = len(labels), [], []
    block = max(1, 2_000_000 // n)
    for first in range(0, n, block):
        part = np.arange(first, min(first + block, n))
        chosen = rng.random((len(part), n)) < np.where(labels[part][:, None] == labels, p_in, p_out)
        i, j = np.nonzero(np.triu(chosen, first + 1))
        rows.append(part[i])
        columns.append(j)
    i, j = np.concatenate(rows), np.concatenate(columns)
    data = np.ones(2 * len(i), dtype=np.int64)
    return SampledGraph(sp.csr_array((data, (np.r_[i, j], np.r_[j, i])), shape=(n, n)), labels)


class Planted:
    """What draws labels (`_labels`), then edges by p_in inside a community and p_out across."""

    def sample(self: Any, generator: np.random.Generator | int | None = None) -> SampledGraph:
        """Draw labels and a graph; generator: a numpy Generator or a seed. O(n^2) time, memory one row
        block.
        """
        rng = np.random.default_rng(generator)
        return planted_graph(self._labels(rng), self.p_in, self.p_out, rng)

    def sample_edges(self: Any, generator: np.random.Generator | int | None = None) -> SampledEdges:
        """As `sample`, in time and memory linear in the edges; other draws than `sample` makes."""
        rng = np.random.default_rng(generator)
        labels = self._labels(rng)
        return SampledEdges(planted_edges(labels, self.p_in, self.p_out, rng), labels)


@dataclass(frozen=True)
class StochasticBlockModel(Planted):
    """SBM_n(d, gamma): every pair {i, j} is an edge with probability (1 + gamma x_i x_j) d / n,
    independently.

    n: vertices (>= 2); average_degree: d > 0; gamma: contrast in (0, 1]; balanced: labels with sum zero (or
    one, for odd n) in random order, else independent fair signs. Raises ValueError unless d (1 + gamma) <= n.
    Source: the model of the paper (arXiv 2301.04822, section 5).
    """

    n: int
    average_degree: float
    gamma: float
    balanced: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or int(self.n) != self.n or self.n < 2:
            raise ValueError(f"n must be an integer >= 2, got {self.n!r}")
        if not 0 < self.gamma <= 1:
            raise ValueError(f"gamma must be in (0, 1], got {self.gamma}")
        if not 0 < self.average_degree * (1 + self.gamma) <= self.n:
            raise ValueError(
                f"need 0 < d (1 + gamma) <= n for edge probabilities, got d = {self.average_degree}, "
                f"gamma = {self.gamma}, n = {self.n}"
            )

    @property
    def p_in(self) -> float:
        """Edge probability inside a community."""
        return (1 + self.gamma) * self.average_degree / self.n

    @property
    def p_out(self) -> float:
        """Edge probability between the communities."""
        return (1 - self.gamma) * self.average_degree / self.n

    def _labels(self, rng: np.random.Generator) -> np.ndarray:
        if not self.balanced:
            return rng.choice(np.array([-1, 1]), size=self.n)
        labels = np.where(np.arange(self.n) < (self.n + 1) // 2, 1, -1)
        rng.shuffle(labels)
        return labels


@dataclass(frozen=True)
class PlantedPartition(Planted):
    """A pair is an edge with probability p_in inside one of k equal communities, with p_out across them.

    n: vertices; communities: k >= 2; 0 <= p_out < p_in <= 1. Labels 0..k-1, sizes as equal as can be, in
    random order. Raises ValueError for parameters out of range.
    """

    n: int
    communities: int
    p_in: float
    p_out: float

    def __post_init__(self) -> None:
        for name, least in (("n", 2), ("communities", 2)):
            value = getattr(self, name)
            if isinstance(value, bool) or int(value) != value or value < least:
                raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
        if not 0 <= self.p_out < self.p_in <= 1:
            raise ValueError(f"need 0 <= p_out < p_in <= 1, got p_in = {self.p_in}, p_out = {self.p_out}")

    def _labels(self, rng: np.random.Generator) -> np.ndarray:
        labels = np.arange(self.n) % self.communities
        rng.shuffle(labels)
        return labels
