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

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..algebra import monomials as mono
from .sparsity import variable_cliques

Normal = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class TermBlock:
    """Vertices of one block: ``basis`` rows, and ``terms(a, b)``, the monomials of the multiplier between
    entries a and b (``entry`` is None for a scalar multiplier)."""

    plain: bool
    basis: np.ndarray
    terms: Callable[[int, int], np.ndarray]
    entry: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class TermSparsity:
    """Index sets (into the basis of each block) of the Gram matrices, rows of each equality that are kept,
    and the number of steps made."""

    members: list[list[np.ndarray]]
    kept_rows: list[np.ndarray]
    steps: int


@dataclass(frozen=True, eq=False)
class _Pairs:
    """All pairs i <= j inside the blocks, as vertex numbers, and what they produce: support positions."""

    left: np.ndarray
    right: np.ndarray
    pair: np.ndarray  # which pair each product belongs to
    product: np.ndarray  # position of each product among all monomials


@dataclass(frozen=True, eq=False)
class _Rows:
    """What the rows of the equalities produce: row number and support position of each product."""

    row: np.ndarray
    product: np.ndarray
    total: int


def term_sparsity(
    blocks: Sequence[TermBlock],
    equalities: Sequence[tuple[np.ndarray, np.ndarray]],
    support: np.ndarray,
    normal_form: Normal,
    completion: str,
    steps: int | None = None,
) -> TermSparsity:
    """Split blocks by term sparsity.

    Parameters
    ----------
    blocks
        The Gram matrices before the split.
    equalities
        (multiplier monomials, monomials of the polynomial) of each equality.
    support
        Monomials of the data.
    normal_form
        The rewriting of the quotient.
    completion
        ``components`` or ``chordal``.
    steps
        At most so many steps (None: until the support is stable).

    Cost: one sort of all products of all blocks, then a few passes over them a step.
    """
    squares = [np.repeat(b.basis, 2, axis=1) for b in blocks if b.plain]
    pairs, rows, present = _number(blocks, equalities, [support, *squares], normal_form)
    offsets = np.cumsum([0, *(b.basis.shape[0] for b in blocks)])
    vertices = int(offsets[-1])
    made = 0
    while True:
        touched = np.zeros(pairs.left.size, dtype=bool)
        touched[pairs.pair[present[pairs.product]]] = True
        joined = touched | (pairs.left == pairs.right)
        members, together = _complete(pairs, joined, vertices, completion)
        made += 1
        # a row none of whose monomials is in the support says nothing about the rest
        alive = np.zeros(rows.total, dtype=bool)
        alive[rows.row[present[rows.product]]] = True
        grown = present.copy()
        grown[pairs.product[together[pairs.pair]]] = True
        grown[rows.product[alive[rows.row]]] = True
        if (steps is not None and made >= steps) or np.array_equal(grown, present):
            break
        present = grown
    split: list[list[np.ndarray]] = [[] for _ in blocks]
    home = np.searchsorted(offsets, [m[0] for m in members], side="right") - 1
    for block, group in zip(home.tolist(), members, strict=True):
        split[block].append(group - offsets[block])
    kept, cursor = [], 0
    for multipliers, _ in equalities:
        kept.append(np.flatnonzero(alive[cursor : cursor + multipliers.shape[0]]))
        cursor += multipliers.shape[0]
    return TermSparsity(split, kept, made)


def _number(
    blocks: Sequence[TermBlock],
    equalities: Sequence[tuple[np.ndarray, np.ndarray]],
    known: list[np.ndarray],
    normal_form: Normal,
) -> tuple[_Pairs, _Rows, np.ndarray]:
    """All products numbered by their normal forms, and which of the numbers are in the support ``known``."""
    tables: list[np.ndarray] = []
    owners: list[np.ndarray] = []
    lefts, rights = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    offset = count = 0
    for block in blocks:
        i, j = np.triu_indices(block.basis.shape[0])
        lefts.append(i + offset)
        rights.append(j + offset)
        entry = np.zeros(block.basis.shape[0], dtype=np.int64) if block.entry is None else block.entry
        for a in np.unique(entry):
            for b in np.unique(entry):
                here = np.flatnonzero((entry[i] == a) & (entry[j] == b))
                terms = block.terms(int(a), int(b))
                if here.size and terms.shape[0]:
                    products = mono.multiply(block.basis[i[here]], block.basis[j[here]])
                    tables.append(mono.multiply_outer(products, terms))
                    owners.append(np.repeat(here + count, terms.shape[0]))
        offset += block.basis.shape[0]
        count += i.size
    gram_products = sum(t.shape[0] for t in tables)
    rows, height = [np.zeros(0, dtype=np.int64)], 0
    for multipliers, terms in equalities:
        tables.append(mono.multiply_outer(multipliers, terms))
        rows.append(np.repeat(np.arange(multipliers.shape[0]) + height, terms.shape[0]))
        height += multipliers.shape[0]
    produced = sum(t.shape[0] for t in tables)
    stacked = mono.concatenate([*tables, *known])
    first, inverse = mono.group(stacked)
    coefs, normal = normal_form(stacked[first])
    _, number = mono.group(normal)
    number = np.where(coefs != 0, number, -1)[inverse]
    present = np.zeros(int(number.max(initial=-1)) + 1, dtype=bool)
    seeds = number[produced:]
    present[seeds[seeds >= 0]] = True
    owner = np.concatenate([*owners, np.zeros(0, dtype=np.int64)])
    product = number[:gram_products]
    live = product >= 0
    pairs = _Pairs(np.concatenate(lefts), np.concatenate(rights), owner[live], product[live])
    row, product = np.concatenate(rows), number[gram_products:produced]
    live = product >= 0
    return pairs, _Rows(row[live], product[live], height), present


def _complete(
    pairs: _Pairs, joined: np.ndarray, vertices: int, completion: str
) -> tuple[list[np.ndarray], np.ndarray]:
    """The Gram matrices (sets of vertices) and which pairs lie together in one of them."""
    left, right = pairs.left[joined], pairs.right[joined]
    graph = sp.csr_matrix((np.ones(left.size, dtype=bool), (left, right)), shape=(vertices, vertices))
    _, label = connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    components = sorted(np.split(order, cuts), key=lambda c: int(c[0])) if vertices else []
    same = label[pairs.left] == label[pairs.right]
    if completion == "components":
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
    return groups, mono.contains(np.unique(codes), pairs.left * vertices + pairs.right)
