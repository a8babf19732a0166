"""Correlative sparsity: cliques of variables that occur together (Waki, Kim, Kojima, Muramatsu 2006).

One moment block per maximal clique of a chordal extension, instead of one block over all variables. The
bound of a given degree may be weaker than the dense one; it converges all the same when every clique carries
a ball constraint.
"""

from __future__ import annotations

import numpy as np

from ..algebra import monomials as mono


def variable_cliques(groups: list[np.ndarray], ids: np.ndarray) -> list[np.ndarray]:
    """Maximal cliques of a chordal extension of the graph in which each group of ids is a clique.

    Minimum-degree elimination; the cliques come in an order with the running intersection property.
    """
    neighbours: dict[int, set[int]] = {int(v): set() for v in ids}
    for group in groups:
        members = [int(v) for v in group]
        for v in members:
            neighbours[v].update(members)
    for v in neighbours:
        neighbours[v].discard(v)
    cliques: list[set[int]] = []
    containing: dict[int, list[set[int]]] = {v: [] for v in neighbours}
    remaining = dict(neighbours)
    buckets: dict[int, set[int]] = {}
    for v, near in remaining.items():
        buckets.setdefault(len(near), set()).add(v)
    while remaining:
        degree = min(d for d, members in buckets.items() if members)
        v = min(buckets[degree])
        buckets[degree].discard(v)
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
                buckets[before].discard(u)
                buckets.setdefault(len(remaining[u]), set()).add(u)
    return [np.array(sorted(c), dtype=mono.MONOMIAL) for c in reversed(cliques)]


def monomial_groups(monos: np.ndarray) -> list[np.ndarray]:
    """The set of variables of each monomial with at least two of them, without repetitions."""
    seen: dict[tuple[int, ...], None] = {}
    for row in monos:
        members = tuple(sorted(set(row[row > 0].tolist())))
        if len(members) > 1:
            seen.setdefault(members)
    return [np.array(members) for members in seen]
