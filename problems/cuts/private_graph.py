"""The only place of this package that reads the private graph: integer arithmetic, counted accesses, a
spend ledger.

Adjacency "one edge": one pair becomes an edge or stops being one. With a public weight bound w, weights are
multiples of w 2^-20 in [0, w] and neighbours differ in the weight of one pair; everything here is in units of
w 2^-20 (of one edge where there are no weights), so one changed pair moves one pair of entries by at most
`unit`.

Proof: docs/proofs/cuts_online.md, section "Data access"
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from problems.sbm.graph_input import WEIGHT_UNITS, canonical_graph
from sosdp.privacy.calibrate import check_positive
from sosdp.privacy.guarantee.adjacency import Adjacency
from sosdp.privacy.guarantee.ledger import OneProcess
from sosdp.privacy.mechanisms.interaction.online import SpendLedger

from .queries import Query


class PrivateGraph(OneProcess):
    """A private graph on a public vertex set, read only through the methods below.

    Args:
        graph: networkx Graph, `EdgeList`, data frame of edges, scipy sparse matrix or dense (n, n) array.
        weight_bound: None for a simple graph; else the public bound w of the weights, which are clipped to
        it.

    Attributes:
        n: number of vertices (public); nodes: the vertices in order (public); unit: what one pair can move
        by, in
        grid units (1, or 2^20 for weights); weight_bound; ledger: what interactions with this graph have
        spent; assumptions: what a release rests on because of how the vertices are known;
        accesses: how often the data were read.

    Raises:
        ValueError, TypeError: not a simple undirected graph on at least two vertices, as `canonical_graph`.
    """

    _what = "a private graph with its ledger"

    def __init__(self, graph: Any, weight_bound: float | None = None) -> None:
        if weight_bound is not None:
            weight_bound = check_positive(weight_bound, "weight_bound")
        canonical = canonical_graph(graph, weight_bound)
        self.nodes: tuple[Hashable, ...] = canonical.nodes
        self.assumptions = canonical.assumptions
        self.weight_bound = weight_bound
        self.unit = 1 if weight_bound is None else WEIGHT_UNITS
        scaled = canonical.adjacency if weight_bound is None else canonical.adjacency * WEIGHT_UNITS
        self._adjacency = sp.csr_array(scaled.astype(np.int64))
        self.ledger = SpendLedger()
        self.accesses = 0

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.nodes)

    @property
    def adjacency(self) -> Adjacency:
        """What neighbours are."""
        return Adjacency("one edge" if self.weight_bound is None else "one edge (replace)")

    @property
    def scale(self) -> Fraction:
        """The weight of one grid unit."""
        return Fraction(1) if self.weight_bound is None else Fraction(self.weight_bound) / WEIGHT_UNITS

    def count(self, query: Query) -> int:
        """The query's value, exact, in its own grid units times those of the weights."""
        self.accesses += 1
        return query.count(self._adjacency)

    def total(self) -> int:
        """Sum of the weights of all pairs, in grid units (the number of edges of a simple graph)."""
        self.accesses += 1
        return int(self._adjacency.data.sum()) // 2

    def matrix(self) -> sp.csr_array:
        """The adjacency matrix in grid units, for a mechanism that perturbs every pair or bounds an error."""
        self.accesses += 1
        return self._adjacency

    def image(self, vectors: np.ndarray) -> np.ndarray:
        """A times integer vectors (n,) or (n, k), exact int64 (a step of a private distinguisher)."""
        self.accesses += 1
        return self._adjacency @ vectors

    def __repr__(self) -> str:
        return f"PrivateGraph(n={self.n}, weight_bound={self.weight_bound})"
