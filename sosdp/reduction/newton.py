"""Diagonal consistency: drop basis monomials whose Gram row is forced to zero.

If 2b is neither in the support that the identity must match nor a product of two other basis elements, then
the coefficient of 2b says Q_bb = 0, and positive semidefiniteness makes the whole row zero. Iterated, this
contains most of the Newton polytope and needs no hull. It is a facial reduction: without it solvers report a
finite bound for the Motzkin polynomial, which has none.
"""

from __future__ import annotations

import numpy as np

from ..algebra import monomials as mono
from ..algebra.products import NormalForm, Products
from ..algebra.terms import distinct_ids
from ..conic.svec import triangle


def prune(bases: list[np.ndarray], support: np.ndarray, normal_form: NormalForm) -> list[np.ndarray]:
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
    flat, sides = mono.concatenate(bases), np.array([b.shape[0] for b in bases])
    known = mono.Index(support)
    coefs, squares = normal_form(np.repeat(flat, 2, axis=1))
    if ((known.find(squares) >= 0) | (coefs == 0)).all():  # where a square vanishes, nothing is known
        return [np.ones(n, dtype=bool) for n in sides]
    ends, pairs = np.cumsum(sides), []
    for side in np.unique(sides).tolist():
        starts = (ends - sides)[sides == side][:, None]
        pairs.append([(starts + k).reshape(-1) for k in triangle(side)])
    one, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
    products = Products(distinct_ids(flat), normal_form)
    products.add(flat, one, flat, other, mono.constant(1))
    _, column, factor, columns = products.placed()
    row = np.flatnonzero(column >= 0)
    entries = row, column[row], np.ones(row.size) if factor is None else factor[row]
    alive = survivors(flat.shape[0], one, other, entries, one == other, known.find(columns) >= 0)
    return np.split(alive, ends[:-1])


def survivors(
    count: int,
    one: np.ndarray,
    other: np.ndarray,
    entries: tuple[np.ndarray, np.ndarray, np.ndarray],
    diagonal: np.ndarray,
    anchored: np.ndarray,
) -> np.ndarray:
    """Which of so many elements, with the Gram entries between them, are not forced to zero.

    Parameters
    ----------
    one, other
        The two elements of each Gram entry.
    entries
        Gram entry, column and sign of everything that is not zero in the identity.
    diagonal
        The Gram entries that are known to be >= 0, of one element each.
    anchored
        The columns in which something else stands, too.
    """
    row, column, _ = entries
    width = anchored.size
    open_columns = ~anchored & (np.bincount(column[diagonal[row]], minlength=width) > 0)
    row, column, sign = (part[open_columns[column]] for part in entries)
    alive, kept = np.ones(count, dtype=bool), np.ones(one.size, dtype=bool)
    while True:
        square, product = (kept & diagonal)[row], (kept & ~diagonal)[row]
        every = np.bincount(column[square], minlength=width)
        total = np.bincount(column[square], weights=sign[square], minlength=width)
        alike = (np.abs(total) == every) & (every > 0)
        zero = alike & (np.bincount(column[product], minlength=width) == 0)
        rows = row[square & zero[column]]
        if not rows.size:
            return alive
        alive[one[rows]] = False
        kept = alive[one] & alive[other]
