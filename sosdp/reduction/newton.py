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
    square_keys = mono.keys(squares)
    anchored = mono.contains(np.sort(mono.keys(support)), square_keys) | (coefs == 0)
    if anchored.all():
        return [np.ones(b.shape[0], dtype=bool) for b in bases]
    # distinct blocks may share a monomial: it survives or falls in all of them together
    _, label = np.unique(mono.keys(flat), return_inverse=True)
    left, right, product = _off_diagonal(flat, owner, normal_form)
    targets, target_of_square = np.unique(square_keys, return_inverse=True)
    position = np.searchsorted(targets, product)
    position[position == targets.size] = 0
    relevant = targets[position] == product
    left, right, position = left[relevant], right[relevant], position[relevant]
    alive = np.ones(flat.shape[0], dtype=bool)
    while True:
        reach = np.zeros(targets.size, dtype=bool)
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
    flat: np.ndarray, owner: np.ndarray, normal_form: Normal
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs i < j inside a block and the key of each product's normal form."""
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
    raw = mono.keys(flat)
    raw_keys = raw[left] + raw[right]
    first, inverse = mono.group(raw_keys)
    coefs, products = normal_form(mono.multiply(flat[left[first]], flat[right[first]]))
    keys = mono.keys(products)
    keep = (coefs != 0)[inverse]
    return left[keep], right[keep], keys[inverse][keep]
