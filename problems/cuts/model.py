"""Random graphs and queries to try the mechanisms on: the only place here that uses a pseudo-random
generator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from .queries import CutQuery


def block_graph(
    sizes: Sequence[int], inside: float, between: float, seed: int
) -> tuple[sp.csr_array, np.ndarray]:
    """A stochastic block graph: (adjacency (n, n) int64, block of each vertex (n,)).

    sizes: of the blocks. inside, between: edge probabilities.
    """
    generator = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(labels[:, None] == labels, inside, between)
    upper = np.triu(generator.random(chance.shape) < chance, 1)
    return sp.csr_array((upper | upper.T).astype(np.int64)), labels


def sparse_graph(n: int, edges: int, seed: int) -> sp.csr_array:
    """About `edges` uniformly random pairs on n vertices, without a dense matrix: adjacency (n, n) int64."""
    generator = np.random.default_rng(seed)
    ends = generator.integers(0, n, size=(edges, 2))
    low, high = ends.min(axis=1), ends.max(axis=1)
    keep = low < high
    upper = sp.csr_array((np.ones(keep.sum(), dtype=np.int64), (low[keep], high[keep])), shape=(n, n))
    upper.sum_duplicates()
    upper.data[:] = 1
    return sp.csr_array(upper + upper.T)


def block_queries(labels: np.ndarray, count: int, seed: int, *, noise: float = 0.1) -> list[CutQuery]:
    """Cut queries between noisy unions of blocks: every block goes to S, T or neither, then a share of the
    vertices moves at random.
    """
    generator = np.random.default_rng(seed)
    n = len(labels)
    result: list[CutQuery] = []
    blocks = int(labels.max()) + 1
    while len(result) < count:
        side = generator.integers(0, 3, size=blocks)[labels]
        moved = generator.random(n) < noise
        side[moved] = generator.integers(0, 3, size=int(moved.sum()))
        first, second = np.flatnonzero(side == 0), np.flatnonzero(side == 1)
        if len(first) and len(second):
            result.append(CutQuery(n, first, second))
    return result


def random_queries(n: int, count: int, seed: int) -> list[CutQuery]:
    """Cut queries between structureless random thirds."""
    return block_queries(np.zeros(n, dtype=int), count, seed, noise=1.0)
