"""Term sparsity (TSSOS): basis elements share a Gram matrix only if the terms of the problem ask for it.

Vertices of the graph are the basis elements of every block. Two of them, b and c, are joined when a monomial
of ``multiplier * b * c`` lies in the support: the monomials of the data and the squares of the plain bases.
Each step completes the graph, to unions of connected components (``term``) or to a chordal graph
(``chordal``), and adds to the support what the completed graph produces. Steps end when the support is
stable, or earlier on request.

Every choice of blocks gives valid bounds. Completed to components and iterated until stable, the bound is
that of the blocks one began with; stopped early or completed chordally it may be weaker (Wang, Magron,
Lasserre, SIAM J. Optim. 31, 2021, two papers: TSSOS and Chordal-TSSOS; with cliques: CS-TSSOS, 2022).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..algebra import monomials as mono
from ..conic.svec import triangle
from .sparsity import variable_cliques


@dataclass(frozen=True, eq=False)
class TermSparsity:
    """Index sets (into each basis) of the Gram matrices, which rows of the equalities are kept, boolean, and
    the number of steps made."""

    members: list[list[np.ndarray]]
    rows: np.ndarray
    steps: int


def term_sparsity(
    sides: Sequence[int],
    gram: sp.csr_matrix,
    equalities: sp.csr_matrix,
    support: np.ndarray,
    *,
    chordal: bool = False,
    steps: int | None = None,
    whole: Collection[int] = (),
) -> TermSparsity:
    """Split Gram matrices by term sparsity, whatever kind of letters they are about.

    Parameters
    ----------
    sides
        Of the Gram matrices before the split.
    gram
        Nonzero where an entry of a Gram matrix has a moment: shape (entries, moments), upper triangles column
        by column.
    equalities
        The same of the multiples of equalities; one none of whose moments is in the support says nothing
        about the rest.
    support
        The moments of the data, boolean.
    chordal
        Complete the graph to a chordal one, not to unions of components.
    steps
        At most so many steps (None: until the support is stable).
    whole
        Numbers of the blocks that are not split.

    Cost: a few passes over the entries a step.
    """
    offsets = np.cumsum([0, *sides])
    inner = [np.stack(triangle(side)) + start for side, start in zip(sides, offsets.tolist())]
    pairs = np.concatenate([np.zeros((2, 0), dtype=np.int64), *inner], axis=1)
    block = np.repeat(np.arange(len(sides)), np.diff(offsets))
    kept = (pairs[0] == pairs[1]) | np.isin(block, list(whole))[pairs[0]]
    entries, rows = (
        sp.csr_matrix((np.ones(m.nnz), m.indices, m.indptr), m.shape) for m in (gram, equalities)
    )
    made = 0
    while True:
        joined = kept | (entries @ support.astype(float) > 0)
        members, together = _complete(pairs, joined, int(offsets[-1]), chordal)
        made += 1
        alive = rows @ support.astype(float) > 0
        grown = support | (entries.T @ together > 0) | (rows.T @ alive > 0)
        if (steps is not None and made >= steps) or np.array_equal(grown, support):
            break
        support = grown
    split: list[list[np.ndarray]] = [[] for _ in sides]
    for group in members:
        home = int(block[group[0]])
        split[home].append(np.sort(group) - offsets[home])
    return TermSparsity(split, alive, made)


def _complete(
    pairs: np.ndarray, joined: np.ndarray, vertices: int, chordal: bool
) -> tuple[list[np.ndarray], np.ndarray]:
    """The Gram matrices (sets of vertices) and which pairs i <= j of vertices in one block, the columns of
    ``pairs``, lie together in one of them."""
    left, right = pairs[:, joined]
    graph = sp.csr_matrix((np.ones(left.size, dtype=bool), (left, right)), shape=(vertices, vertices))
    _, label = connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    components = sorted(np.split(order, cuts), key=lambda c: int(c[0])) if vertices else []
    same = label[pairs[0]] == label[pairs[1]]
    if not chordal:
        return components, same
    graph = sp.csr_matrix(graph + graph.T)
    groups: list[np.ndarray] = []
    filled: list[tuple[np.ndarray, np.ndarray]] = []
    for component in components:
        if component.size == 1:
            cliques = [component]
        else:
            cliques = variable_cliques(graph[component][:, component], component)
        for clique in cliques:
            groups.append(clique)
            a, b = np.triu_indices(clique.size)
            filled.append((clique[a], clique[b]))
    codes = np.concatenate([np.minimum(a, b) * vertices + np.maximum(a, b) for a, b in filled])
    return groups, mono.contains(np.unique(codes), pairs[0] * vertices + pairs[1])
