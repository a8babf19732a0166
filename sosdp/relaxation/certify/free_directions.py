"""Gram matrices of for-all blocks, made provably orthogonal to the free directions.

No point of the set gives the free directions a value, so a multiplier that leaves a residual on their
moments proves nothing. The Gram matrices are projected onto the subspace without such residual, moved along
a positive definite element of that subspace until they are positive semidefinite with room to spare, and
what rounding leaves is bounded: some exact solution lies within ``distance`` of the floats, because the
matrix of the conditions has no singular value below ``floor``. (Each condition has an entry of the Gram
matrices to itself, so that the sum of the squares of those entries is a lower bound.) Proof:
docs/proofs/for_all.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ...conic.rigorous import UNIT, least_eigenvalue_bound, norm
from ...conic.svec import smat, svec
from ..assemble.forall import interior_matrix
from ..assemble.identity import Identity

_ROOM = 1e3  # how many times the rounding error a Gram matrix is moved into the cone
_TRIES = 8


@dataclass(frozen=True, eq=False)
class NullConditions:
    """What the Gram matrices of for-all blocks must satisfy exactly.

    ``rows``: their rows of ``gram``; ``matrix``: conditions on them, shape (moments of free directions,
    rows); ``weight``: for every column of the identity the norm of its coefficients on these rows.
    """

    rows: np.ndarray
    blocks: tuple[int, ...]
    matrix: sp.csr_matrix
    floor: float
    weight: np.ndarray

    def settle(self, identity: Identity, gram: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Gram vector near the given one whose for-all blocks are provably within ``distance`` of exact ones
        in the cone, and that distance; None when none was found."""
        if self.floor <= 0:
            return None
        gram = gram.copy()
        slices = identity.slices()
        for _ in range(2):
            residual = self.matrix @ gram[self.rows]
            gram[self.rows] -= self.matrix.T @ splu(sp.csc_matrix(self.matrix @ self.matrix.T)).solve(
                residual
            )
        room = 0.0
        for _ in range(_TRIES):
            distance = self._distance(gram)
            lowest = {
                k: self._least(gram, slices[k], identity.blocks[k].side) - distance for k in self.blocks
            }
            if min(lowest.values()) >= 0:
                return gram, distance
            room = max(_ROOM * distance, 10 * room)
            for k in (k for k, least in lowest.items() if least < 0):
                inside = interior_matrix(identity.blocks[k])
                step = (room - lowest[k]) / float(np.linalg.eigvalsh(inside)[0])
                gram[slices[k]] += step * svec(inside)
        return None

    @staticmethod
    def _least(gram: np.ndarray, rows: slice, side: int) -> float:
        rounding = 4 * UNIT * norm(gram[rows])
        return least_eigenvalue_bound(smat(gram[rows], side)) - rounding

    def _distance(self, gram: np.ndarray) -> float:
        """How far from the floats exact Gram matrices are at most."""
        here = gram[self.rows]
        rounding = (self.matrix.getnnz(axis=1) + 8) * UNIT * (abs(self.matrix) @ np.abs(here))
        missed = np.abs(self.matrix @ here) + rounding
        return norm(missed) / self.floor * (1 + 1e-9)


def null_conditions(identity: Identity) -> NullConditions | None:
    """The conditions of an identity; None when it has no for-all block with free directions."""
    columns = identity.null_columns()
    if not columns.any():
        return None
    slices = identity.slices()
    blocks = tuple(k for k, b in enumerate(identity.blocks) if b.has_free_directions)
    rows = np.concatenate([np.arange(slices[k].start, slices[k].stop) for k in blocks])
    part = sp.csr_matrix(identity.gram[rows])
    matrix = sp.csr_matrix(part[:, columns].T)
    alone = np.flatnonzero(part[:, columns].getnnz(axis=1) == 1)
    squares = sp.csc_matrix(matrix[:, alone]).power(2)
    floor = float(np.sqrt(np.asarray(squares.sum(axis=1)).min(initial=np.inf))) * (1 - 1e-9)
    weight = np.sqrt(np.asarray(part.power(2).sum(axis=0)).ravel()) * (1 + 1e-9)
    weight[columns] = 0.0
    return NullConditions(rows, blocks, matrix, floor, weight)
