"""Diagonal consistency of all blocks together: Gram entries that the identity forces to zero.

A column whose coefficient is wanted to be zero, whatever the unknowns, and to which nothing contributes but
diagonal entries of Gram matrices, all times numbers of one sign, says that a sum of numbers >= 0 with such
weights is zero: each of them is, and with it, since the matrices are positive semidefinite, its row. Without
the row other columns come into the same position, until there are none. That is facial reduction by
functionals that read one coefficient (Permenter and Parrilo 2018): no certificate is lost, and what remains
may have an interior. Of squares alone `reduction.newton` decides it before anything is assembled; here are
the blocks of inequalities: at an equilibrium inside the set, where a Lyapunov function's decrease vanishes,
multipliers have no constant term, and on a half line none is of higher degree than the polynomial needs.

Only signs count, and entries are exact sums, rounded once.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...conic.svec import triangle
from ...reduction.newton import survivors
from .identity import Identity
from .splitting import cut


def without_forced_zeros(identity: Identity) -> Identity:
    """The identity without the basis elements whose Gram entries must be zero. Cost: a few passes over the
    entries."""
    smaller = consistent(identity)[0]
    return identity if smaller.sides == identity.sides else smaller


def consistent(identity: Identity) -> tuple[Identity, np.ndarray]:
    """The same for plain squares too (of words there is no Newton polytope), and which columns are left:
    those that nothing has any more are dropped."""
    gram = sp.csr_matrix(identity.gram)
    elements, diagonal, one, other = _places(identity)
    row = np.repeat(np.arange(gram.shape[0]), np.diff(gram.indptr))
    entries = row, gram.indices, np.sign(gram.data)
    alive = survivors(elements, one, other, entries, diagonal, identity.wanted())
    members = [np.flatnonzero(part) for part in np.split(alive, np.cumsum(identity.sides)[:-1])]
    return cut(identity, [[part] if part.size else [] for part in members]).trimmed()


def _places(identity: Identity) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Number of basis elements of all blocks; by row of ``gram`` whether it is an entry on a diagonal that is
    known to be >= 0, and its two elements."""
    diagonal, one, other, start = [], [], [], 0
    for block in identity.blocks:
        row, column = triangle(block.side)
        # free directions of a for-all block add matrices of any kind; a number that multiplies a constraint
        # in expectation is asked for even where it is zero
        diagonal.append((row == column) & (block.null is None and block.kind != "expectation"))
        one.append(start + row)
        other.append(start + column)
        start += block.side
    empty = np.zeros(0, dtype=np.int64)
    return (
        start,
        np.concatenate([np.zeros(0, dtype=bool), *diagonal]),
        np.concatenate([empty, *one]),
        np.concatenate([empty, *other]),
    )
