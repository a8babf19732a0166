"""Graphs as lists of pairs: memory linear in the edges, and A z without a matrix.

A graph with 10^8 edges takes two arrays of 32-bit numbers (0.8 GB). The counts A z of integer vectors z are
exact: they are sums of integers below 2^53 in float64, in any order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.privacy.edges import VERTICES_STATED, usable

from .graph_input import (
    WEIGHT_UNITS,
    CanonicalGraph,
    EdgeList,
    GraphInputError,
    canonical_graph,
    checked_pairs,
    from_frame,
    is_frame,
)

BLOCK = 1 << 21
"""Edges at a time: what a pass over the edges needs besides the edges themselves."""

LARGEST_N = 1 << 23
"""Most vertices: with it, sums of n entries of size 2^30 (weights times rows) stay below 2^53."""


@dataclass(frozen=True, eq=False)
class CanonicalEdges:
    """A simple undirected graph: every edge once, as (first, second) with first < second.

    first, second: (m,) int32, sorted by (first, second); weights: None, or (m,) float64 whole numbers from 0
    to `WEIGHT_UNITS`; nodes: the vertices, ordered; assumptions: as of a `CanonicalGraph`.
    """

    first: np.ndarray
    second: np.ndarray
    weights: np.ndarray | None
    nodes: Sequence[Hashable]
    assumptions: tuple[str, ...] = (VERTICES_STATED,)

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.nodes)

    @property
    def unit(self) -> int:
        """What a full edge counts: 1, or `WEIGHT_UNITS` where edges have weights."""
        return 1 if self.weights is None else WEIGHT_UNITS

    def blocks(self, chosen: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, ...]]:
        """The edges (where `chosen` is True) in pieces: first, second as int64, and weights if any."""
        for start in range(0, len(self.first), BLOCK):
            part = slice(start, start + BLOCK)
            arrays = [self.first[part], self.second[part]]
            if self.weights is not None:
                arrays.append(self.weights[part])
            if chosen is not None:
                arrays = [array[chosen[part]] for array in arrays]
            yield (arrays[0].astype(np.int64), arrays[1].astype(np.int64), *arrays[2:])

    def counts(self, z: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
        """A z for integer z, (n,) or (n, r), in units of `unit`; of the chosen edges only with a mask.

        Entries of z at most 1024 in absolute value. Returns int64, exact. O(m r) time, memory of one block.
        """
        rows = np.asarray(z).reshape(self.n, -1).astype(np.float64)
        out = np.zeros(rows.shape)
        for first, second, *weights in self.blocks(chosen):
            for column in range(rows.shape[1]):
                z_column = rows[:, column]
                there, back = z_column[second], z_column[first]
                if weights:
                    there, back = there * weights[0], back * weights[0]
                out[:, column] += np.bincount(first, there, self.n)
                out[:, column] += np.bincount(second, back, self.n)
        return out.astype(np.int64).reshape(np.shape(z))

    def adjacency(self) -> sp.csr_array:
        """The float64 csr matrix (n, n), weights as fractions: 24 bytes an edge, twice that at first."""
        data = np.ones(len(self.first)) if self.weights is None else self.weights / WEIGHT_UNITS
        upper = sp.coo_array((data, (self.first, self.second)), shape=(self.n, self.n)).tocsr()
        return sp.csr_array(upper + upper.T)

    def graph(self) -> CanonicalGraph:
        """The same graph as a matrix, for the methods with dense matrices."""
        adjacency = self.adjacency()
        if self.weights is None:
            adjacency = sp.csr_array(adjacency.astype(np.int64))
        adjacency.eliminate_zeros()
        adjacency.sort_indices()
        return CanonicalGraph(adjacency, tuple(self.nodes), self.assumptions)


def position_of(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Number of the pair first < second among all pairs, second (second - 1) / 2 + first, int64."""
    high = second.astype(np.int64)
    return high * (high - 1) // 2 + first


def pair_at(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(first, second) with first < second, int64: the inverse of `position_of`, for positions below 2^50."""
    second = ((1 + np.sqrt(8.0 * position + 1)) / 2).astype(np.int64)
    second -= second * (second - 1) // 2 > position
    second += second * (second + 1) // 2 <= position
    return position - second * (second - 1) // 2, second


def canonical_edges(graph: Any, weight_bound: float | None = None) -> CanonicalEdges:
    """Read what `canonical_graph` reads into a sorted list of edges; an `EdgeList` without any matrix.

    Errors and conventions as for `canonical_graph`. For an unweighted `EdgeList`: O(m log m) time, 16 bytes
    an edge besides the input. Raises GraphInputError for more than `LARGEST_N` vertices.
    """
    if is_frame(graph):
        graph = from_frame(graph, weighted=weight_bound is not None)
    if isinstance(graph, EdgeList) and weight_bound is None and graph.weights is None:
        n, pairs = checked_pairs(graph)
        _check_size(n)
        kept = usable(pairs, n)
        pairs = pairs if kept.all() else pairs[kept]
        keys = np.minimum(pairs[:, 0], pairs[:, 1]).astype(np.int64)
        keys *= n
        keys += np.maximum(pairs[:, 0], pairs[:, 1])
        keys.sort()
        if len(keys):
            keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        first = (keys // n).astype(np.int32)
        keys -= first.astype(np.int64) * n
        return CanonicalEdges(first, keys.astype(np.int32), None, graph.nodes or range(n), graph.assumptions)
    canonical = canonical_graph(graph, weight_bound)
    _check_size(canonical.n)
    upper = sp.triu(canonical.adjacency, k=1).tocsr()
    upper.sort_indices()
    first = np.repeat(np.arange(canonical.n, dtype=np.int32), np.diff(upper.indptr))
    weights = None if weight_bound is None else np.rint(upper.data * WEIGHT_UNITS)
    return CanonicalEdges(
        first, upper.indices.astype(np.int32), weights, canonical.nodes, canonical.assumptions
    )


def _check_size(n: int) -> None:
    if n > LARGEST_N:
        raise GraphInputError(f"at most {LARGEST_N} vertices are supported, got {n}")
