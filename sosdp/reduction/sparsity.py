"""Correlative sparsity: cliques of variables that occur together (Waki, Kim, Kojima, Muramatsu 2006).

One moment block per maximal clique of a chordal extension, instead of one block over all variables. The
bound of a given degree may be weaker than the dense one; it converges all the same when every clique carries
a ball constraint.
"""

from __future__ import annotations

import heapq

import numpy as np
import scipy.sparse as sp

_DENSE = 500  # variables up to which the graph is kept as a dense matrix


def adjacency(monos: list[np.ndarray], groups: list[np.ndarray], ids: np.ndarray) -> sp.csr_matrix:
    """Graph on ``ids`` (by position): variables that meet in a monomial (rows of ``monos``) or in a group of
    ids."""
    if ids.size <= _DENSE and not groups:
        return _small_adjacency(monos, ids)
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


def _small_adjacency(monos: list[np.ndarray], ids: np.ndarray) -> sp.csr_matrix:
    """The same for few variables, without sparse matrices."""
    meet = np.eye(ids.size, dtype=bool)
    place = np.zeros(int(ids.max(initial=0)) + 1, dtype=np.int64)
    place[ids] = np.arange(ids.size)
    for table in monos:
        # the last two columns hold a pair of variables of every monomial of degree two or more
        for right in range(table.shape[1] - 1, 0, -1):
            for left in range(right - 1, -1, -1):
                both = table[:, left] > 0
                meet[place[table[both, left]], place[table[both, right]]] = True
                if (meet | meet.T).all():
                    return sp.csr_matrix(np.ones_like(meet))
    return sp.csr_matrix(meet | meet.T)


def variable_cliques(graph: sp.csr_matrix, ids: np.ndarray) -> list[np.ndarray]:
    """Maximal cliques (of ids) of a chordal extension of the graph on the positions of ``ids``.

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
