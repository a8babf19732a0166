"""Correlative sparsity: cliques of variables that occur together (Waki, Kim, Kojima, Muramatsu 2006).

One moment block per maximal clique of a chordal extension, instead of one block over all variables. The
bound of a given degree may be weaker than the dense one; it converges all the same when every clique carries
a ball constraint. At degree 2 it is the same (``relaxation.assemble.cliques``).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

_STEP = 5e-10  # seconds an entry of the cubes of an interior-point method, all its iterations together
_BLOCK = 2e4  # what a block costs beside the cube of its entries
_FIRST_ORDER = 40  # side from which on a first-order method may be faster


def work(side: int) -> float:
    """What a matrix block of this side costs an interior-point method: R^3, R = N(N+1)/2, and a little."""
    return (side * (side + 1) / 2) ** 3 + _BLOCK


def seconds(sides: list[int]) -> float:
    """Rough time of the best solver on blocks of these sides: where one is large, eigendecompositions cost
    N^3."""
    interior = _STEP * sum(map(work, sides))
    if max(sides) <= _FIRST_ORDER:
        return interior
    return min(interior, 0.1 + 1e-3 * len(sides) + 1e-6 * sum(float(n) ** 3 for n in sides))


def adjacency(monos: list[np.ndarray], groups: list[np.ndarray], ids: np.ndarray) -> sp.csr_matrix:
    """Graph on ``ids`` (by position): variables that meet in a monomial (rows of ``monos``) or in a group of
    ids."""
    rows, columns, start = [], [], 0
    place = np.zeros(int(ids.max(initial=0)) + 1, dtype=np.int64)
    place[ids] = np.arange(ids.size)
    for table in monos:
        row, column = np.nonzero(table)
        rows.append(row + start)
        columns.append(place[table[row, column]])
        start += table.shape[0]
    for group in groups:
        rows.append(np.full(group.size, start))
        columns.append(place[group])
        start += 1
    if not rows:
        return sp.csr_matrix((ids.size, ids.size), dtype=bool)
    row, column = np.concatenate(rows), np.concatenate(columns)
    incidence = sp.csr_matrix((np.ones(row.size, dtype=np.int32), (row, column)), shape=(start, ids.size))
    return sp.csr_matrix(incidence.T @ incidence) > 0


def variable_cliques(graph: sp.csr_matrix, ids: np.ndarray, widest: float = np.inf) -> list[np.ndarray]:
    """Maximal cliques (of ids) of a chordal extension of the graph on the positions of ``ids``; none as soon
    as one has more than ``widest`` elements.

    Minimum-degree elimination; the cliques come in an order with the running intersection property.
    """
    graph = sp.csr_matrix(graph)
    neighbours: dict[int, set[int]] = {
        v: set(graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()) - {v} for v in range(ids.size)
    }
    cliques: list[set[int]] = []
    containing: dict[int, list[set[int]]] = {v: [] for v in neighbours}
    remaining = dict(neighbours)
    heap = [(len(near), v) for v, near in remaining.items()]
    heapq.heapify(heap)
    while remaining:
        degree, v = heapq.heappop(heap)
        if v not in remaining or len(remaining[v]) != degree:
            continue  # an entry that a later one replaced
        if degree >= widest:
            return []
        near = remaining.pop(v)
        clique = near | {v}
        if not any(clique <= other for other in containing[v]):
            cliques.append(clique)
            for u in clique:
                containing[u].append(clique)
        for u in near:
            before = len(remaining[u])
            remaining[u] |= near
            remaining[u] -= {u, v}
            if len(remaining[u]) != before:
                heapq.heappush(heap, (len(remaining[u]), u))
    return [ids[np.array(sorted(c))] for c in reversed(cliques)]


def merged(cliques: list[np.ndarray], cost: Callable[[int], float]) -> list[np.ndarray]:
    """Neighbours in a clique tree merged, the best pair first, while that lowers the total of ``cost(size)``.

    Any union of neighbours is a clique of a chordal extension again; the order has the running intersection
    property. Garstka, Cannon and Goulart 2020, with the work of an interior-point method as the cost.
    """
    sets = [set(c.tolist()) for c in cliques]
    near = _clique_tree(cliques)
    stamp = [0] * len(sets)

    def entry(a: int, b: int) -> tuple[float, int, int, int, int]:
        change = cost(len(sets[a] | sets[b])) - cost(len(sets[a])) - cost(len(sets[b]))
        return change, a, b, stamp[a], stamp[b]

    heap = [entry(a, b) for a in range(len(sets)) for b in near[a] if a < b]
    heapq.heapify(heap)
    while heap and heap[0][0] < 0:
        _, a, b, *seen = heapq.heappop(heap)
        if [stamp[a], stamp[b]] != seen:
            continue  # an entry that a later one replaced
        sets[a] |= sets[b]
        stamp[a], stamp[b] = stamp[a] + 1, -1  # b is gone
        for c in near.pop(b) - {a}:
            near[c] ^= {a, b}
            near[a].add(c)
        near[a].discard(b)
        for c in near[a]:
            heapq.heappush(heap, entry(a, c))
    return [np.array(sorted(sets[a]), dtype=cliques[0].dtype) for a in _preorder(near)]


def _clique_tree(cliques: list[np.ndarray]) -> dict[int, set[int]]:
    """Neighbours in a spanning forest of largest intersections."""
    ids, place = np.unique(np.concatenate(cliques), return_inverse=True)
    rows = np.repeat(np.arange(len(cliques)), [c.size for c in cliques])
    shape = (len(cliques), ids.size)
    incidence = sp.csr_matrix((np.ones(rows.size), (rows, place)), shape=shape)
    tree = csgraph.minimum_spanning_tree(-sp.triu(incidence @ incidence.T, 1).tocsr()).tocoo()
    near: dict[int, set[int]] = {k: set() for k in range(len(cliques))}
    for a, b in zip(tree.row.tolist(), tree.col.tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)
    return near


def _preorder(near: dict[int, set[int]]) -> list[int]:
    """The vertices of a forest, each after its parent."""
    result: dict[int, None] = {}
    for root in near:
        waiting = [root]
        while waiting:
            a = waiting.pop()
            if a not in result:
                result[a] = None
                waiting += sorted(near[a])
    return list(result)
