"""A released graph: weights for all pairs, what is known of their error, and ways out (networkx, edges,
rounding)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.extras import need
from sosdp.privacy.randomness.bits import open_bits

from .queries import CutQuery, Query
from .reconstruction import NoisyGraph


@dataclass(frozen=True, eq=False)
class SyntheticGraph:
    """Public weights of all pairs, and a bound on the error of cuts.

    Attributes:
        weights: (n, n) symmetric, zero diagonal, in the units of the private weights.
        nodes: the vertices in the order of the rows.
        error_bound: with probability `confidence` (over the release), every cut between two disjoint sets
        of vertices
            is within this of the private one; None where no bound was released.
        weight_bound: largest weight of a pair (1 for a simple graph).
        noisy: the released noisy graph that it was made from, on weights over the weight bound.
    """

    weights: np.ndarray
    nodes: tuple[Hashable, ...]
    error_bound: float | None = None
    confidence: float | None = None
    weight_bound: float = 1.0
    noisy: NoisyGraph | None = None

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.nodes)

    def query(self, query: Query) -> tuple[float, float | None]:
        """(answer, bound on its error or None): disjoint cuts are within the released bound, overlapping
        ones within
        four times it; other queries have no bound.
        """
        value = query.apply(self.weights)
        if self.error_bound is None or not isinstance(query, CutQuery):
            return value, None
        return value, self.error_bound * (4.0 if len(query.both) >= 2 else 1.0)

    def cut(
        self, first: Iterable[Hashable], second: Iterable[Hashable], *, count: str = "pairs"
    ) -> tuple[float, float | None]:
        """`query` of the edges between two lists of vertices, by their names.

        Raises:
            ValueError: a name that is no vertex.
        """
        place = {node: position for position, node in enumerate(self.nodes)}
        sides = [list(first), list(second)]
        for node in [*sides[0], *sides[1]]:
            if node not in place:
                raise ValueError(f"{node!r} is no vertex of this graph")
        places = [[place[node] for node in side] for side in sides]
        return self.query(CutQuery(self.n, places[0], places[1], count=count))

    def edges(self, least: float = 0.0) -> list[list[Any]]:
        """[[u, v, weight], ...] of the pairs whose weight exceeds `least`."""
        rows, columns = np.nonzero(np.triu(self.weights, 1) > least)
        return [[self.nodes[i], self.nodes[j], float(self.weights[i, j])] for i, j in zip(rows, columns)]

    def to_dict(self) -> dict[str, Any]:
        """Edges with positive weight, nodes and the error bound, ready for json."""
        error = (
            None if self.error_bound is None else {"bound": self.error_bound, "confidence": self.confidence}
        )
        return {"edges": self.edges(), "nodes": list(self.nodes), "cut_error": error}

    def to_networkx(self, least: float = 0.0) -> Any:
        """A networkx Graph on all the vertices with the attribute "weight"."""
        need("networkx", "a networkx graph")
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_weighted_edges_from(self.edges(least))
        return graph

    def round(self, insecure_seed: int | None = None) -> sp.csr_array:
        """A simple graph: every pair an edge with its weight (over the weight bound) as probability; (n, n)
        int64.

        The expected cuts are those of the weights; a cut between S and T moves by at most
        sqrt(|S| |T| ln(2 k / beta) / 2) for k fixed cuts at once, with probability 1 - beta. Free
        post-processing.
        """
        upper = np.triu_indices(self.n, 1)
        chance = np.clip(self.weights[upper] / self.weight_bound, 0.0, 1.0)
        bits = open_bits(insecure_seed)
        drawn = np.concatenate(
            [bits.u64(min(1 << 15, len(chance) - at)).copy() for at in range(0, len(chance), 1 << 15)]
        )
        # 53 random bits: a multiple of 2^-53 below the weight
        chosen = (drawn >> np.uint64(11)).astype(float) * 2.0**-53 < chance
        rows, columns = upper[0][chosen], upper[1][chosen]
        ones = np.ones(len(rows), dtype=np.int64)
        half = sp.csr_array((ones, (rows, columns)), shape=(self.n, self.n))
        return sp.csr_array(half + half.T)
