"""The stochastic block model with two communities, and its sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


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
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from((vertex, {"label": int(label)}) for vertex, label in enumerate(self.labels))
        rows, columns = sp.triu(self.adjacency).nonzero()
        graph.add_edges_from(zip(rows.tolist(), columns.tolist()))
        return graph


@dataclass(frozen=True)
class StochasticBlockModel:
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

    def sample(self, generator: np.random.Generator | int | None = None) -> SampledGraph:
        """Draw labels and a graph; generator: a numpy Generator or a seed. O(n^2) time, memory one row
        block.
        """
        rng = np.random.default_rng(generator)
        n = int(self.n)
        if self.balanced:
            labels = np.where(np.arange(n) < (n + 1) // 2, 1, -1)
            rng.shuffle(labels)
        else:
            labels = rng.choice(np.array([-1, 1]), size=n)
        rows, columns = [], []
        block = max(1, 2_000_000 // n)
        for first in range(0, n, block):
            part = np.arange(first, min(first + block, n))
            same = labels[part][:, None] == labels[None, :]
            chosen = rng.random((len(part), n)) < np.where(same, self.p_in, self.p_out)
            i, j = np.nonzero(chosen)
            above = j > part[i]
            rows.append(part[i[above]])
            columns.append(j[above])
        i, j = np.concatenate(rows), np.concatenate(columns)
        data = np.ones(2 * len(i), dtype=np.int64)
        adjacency = sp.csr_array((data, (np.r_[i, j], np.r_[j, i])), shape=(n, n))
        return SampledGraph(adjacency, labels)


@dataclass(frozen=True)
class PlantedPartition:
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

    def sample(self, generator: np.random.Generator | int | None = None) -> SampledGraph:
        """Draw labels (n,) of 0..k-1 and a graph; generator: a numpy Generator or a seed. O(n^2)."""
        rng = np.random.default_rng(generator)
        labels = np.arange(self.n) % self.communities
        rng.shuffle(labels)
        same = labels[:, None] == labels[None, :]
        chosen = np.triu(rng.random((self.n, self.n)) < np.where(same, self.p_in, self.p_out), 1)
        return SampledGraph(sp.csr_array((chosen | chosen.T).astype(np.int64)), labels)
