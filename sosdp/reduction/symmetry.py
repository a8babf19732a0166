"""Sign symmetries: sign flips of variables under which the whole problem is invariant split every block.

A flip set s in {0,1}^n (flip x_i when s_i = 1) is a symmetry iff every monomial that occurs in the data has
even degree in the flipped variables, that is iff s is orthogonal over GF(2) to every parity vector in the
data. Averaging a pseudo-expectation over the flips keeps it feasible and keeps the objective, so moments of
monomials that are not in the span of the data's parities may be taken to be zero: two basis elements
interact only if their parities agree modulo that span. The bound is unchanged (Gatermann and Parrilo 2004;
Löfberg 2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra import monomials as mono


@dataclass(frozen=True)
class SignSymmetry:
    """Row-reduced basis over GF(2) of the parities that occur in the data (rows, as bytes of bits, with
    pivots)."""

    ids: np.ndarray
    rows: np.ndarray
    pivots: np.ndarray

    @property
    def trivial(self) -> bool:
        """Whether no sign flip is a symmetry."""
        return self.rows.shape[0] == self.ids.size

    def signature(self, monos: np.ndarray) -> np.ndarray:
        """Class of each monomial, shape (m,), uint64 hash; the class of invariant monomials is 0."""
        parity = parities(monos, self.ids)
        for row, pivot in zip(self.rows, self.pivots, strict=True):
            parity ^= np.outer(parity[:, pivot], row)
        weights = mono.weights(self.ids.size)[1 : self.ids.size + 1]
        return (parity.astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64)


def parities(monos: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Exponents modulo 2, shape (m, len(ids)), uint8."""
    return (mono.exponents(monos, ids) & 1).astype(np.uint8)


def find_sign_symmetry(support: np.ndarray, ids: np.ndarray) -> SignSymmetry:
    """Sign symmetries of data whose monomials are the rows of ``support``."""
    matrix = np.unique(parities(support, ids), axis=0)
    rows: list[np.ndarray] = []
    pivots: list[int] = []
    for column in range(ids.size):
        hits = np.flatnonzero(matrix[:, column])
        if hits.size == 0:
            continue
        row = matrix[hits[0]].copy()
        matrix[hits] ^= row
        matrix = matrix[matrix.any(axis=1)]
        for k, other in enumerate(rows):
            if other[column]:
                rows[k] = other ^ row
        rows.append(row)
        pivots.append(column)
    stacked = np.array(rows, dtype=np.uint8).reshape(len(rows), ids.size)
    return SignSymmetry(ids, stacked, np.array(pivots, dtype=np.int64))


def split(classes: np.ndarray) -> list[np.ndarray]:
    """Index sets of equal classes, in order of first appearance."""
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [np.flatnonzero(inverse == k) for k in order]
