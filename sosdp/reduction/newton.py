"""Diagonal consistency: drop basis monomials whose Gram row is forced to zero.

If 2b is neither in the support that the identity must match nor a product of two other basis elements, then
the coefficient of 2b says Q_bb = 0, and positive semidefiniteness makes the whole row zero. Iterated, this
contains most of the Newton polytope and needs no hull. It is a facial reduction: without it solvers report a
finite bound for the Motzkin polynomial, which has none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..algebra import monomials as mono
from ..algebra.products import Products
from ..algebra.terms import distinct_ids

Normal = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def prune(bases: list[np.ndarray], support: np.ndarray, normal_form: Normal) -> list[np.ndarray]:
    """Masks of the basis rows that survive, one per block.

    Parameters
    ----------
    bases
        Monomial rows of each plain block; the same monomial may stand in several.
    support
        Monomials (in normal form) that something else than a plain block can produce: objective, constant,
        unknowns, products of every constraint block and equality.
    normal_form
        The rewriting of the quotient.

    Cost: one sort of all pairwise products, then cheap passes.
    """
    flat = mono.concatenate(bases)
    owner = np.repeat(np.arange(len(bases)), [b.shape[0] for b in bases])
    coefs, squares = normal_form(np.repeat(flat, 2, axis=1))
    targets, target_of_square = mono.unique(squares)
    index = mono.Index(targets)
    supported = np.zeros(targets.shape[0], dtype=bool)
    place = index.find(support)
    supported[place[place >= 0]] = True
    anchored = supported[target_of_square] | (coefs == 0)
    if anchored.all():
        return [np.ones(b.shape[0], dtype=bool) for b in bases]
    # distinct blocks may share a monomial: it survives or falls in all of them together
    _, label = mono.group(flat)
    left, right, position = _off_diagonal(flat, owner, normal_form, index)
    alive = np.ones(flat.shape[0], dtype=bool)
    while True:
        reach = np.zeros(targets.shape[0], dtype=bool)
        reach[position] = True
        keep = alive & (anchored | reach[target_of_square])
        dead_labels = np.unique(label[alive & ~keep])
        if dead_labels.size == 0:
            break
        alive &= ~np.isin(label, dead_labels)
        live_pair = alive[left] & alive[right]
        left, right, position = left[live_pair], right[live_pair], position[live_pair]
    return np.split(alive, np.cumsum([b.shape[0] for b in bases])[:-1])


def _off_diagonal(
    flat: np.ndarray, owner: np.ndarray, normal_form: Normal, targets: mono.Index
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs i < j inside a block whose product is a target in normal form, and which one."""
    lefts, rights = [], []
    sides = np.bincount(owner)
    starts = np.cumsum(sides) - sides
    for side in np.unique(sides).tolist():
        i, j = np.triu_indices(side, 1)
        here = starts[sides == side][:, None]
        lefts.append((here + i).reshape(-1))
        rights.append((here + j).reshape(-1))
    left = np.concatenate(lefts) if lefts else np.zeros(0, dtype=np.int64)
    right = np.concatenate(rights) if rights else np.zeros(0, dtype=np.int64)
    products = Products(distinct_ids(flat))
    products.add(flat, left, flat, right, mono.constant(1))
    distinct, inverse = products.distinct()
    coefs, normal = normal_form(distinct)
    position = np.where(coefs != 0, targets.find(normal), -1)[inverse]
    keep = position >= 0
    return left[keep], right[keep], position[keep]
