"""Sign symmetries: sign flips of variables under which the whole problem is invariant split every block.

A flip set s in {0,1}^n (flip x_i when s_i = 1) is a symmetry iff every monomial that occurs in the data has
even degree in the flipped variables, that is iff s is orthogonal over GF(2) to every parity vector in the
data. Averaging a pseudo-expectation over the flips keeps it feasible and keeps the objective, so moments of
monomials that are not in the span of the data's parities may be taken to be zero: two basis elements
interact only if their parities agree modulo that span. The bound is unchanged (Gatermann and Parrilo 2004;
Löfberg 2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..algebra import monomials as mono


@dataclass(frozen=True)
class SignSymmetry:
    """The group of sign flips that leave the data invariant.

    ``codes``: one 64-bit word a variable id (0 for id 0) such that a monomial is invariant under every flip
    iff the exclusive or of the words of its factors vanishes, and two monomials behave alike iff their words
    agree. (With more than 64 independent flips the words are hashes: a collision merges two blocks, which is
    harmless.)
    """

    ids: np.ndarray
    rank: int
    codes: np.ndarray

    @property
    def trivial(self) -> bool:
        """Whether no sign flip is a symmetry."""
        return self.rank == self.ids.size

    def signature(self, monos: np.ndarray) -> np.ndarray:
        """Class of each monomial, shape (m,), uint64; the class of invariant monomials is 0."""
        return np.bitwise_xor.reduce(self.codes[monos], axis=1)


_WORD = 64
_CHUNK = 256  # monomials looked at before the caller may stop


def find_sign_symmetry(support: np.ndarray, ids: np.ndarray) -> SignSymmetry:
    """Sign symmetries of data whose monomials are the rows of ``support``; ends as soon as the span is
    everything."""
    basis: dict[int, int] = {}  # pivot (highest bit) -> row of an echelon form over GF(2)
    for mask in _parities(support, ids):
        while mask:
            pivot = mask.bit_length() - 1
            if pivot not in basis:
                basis[pivot] = mask
                break
            mask ^= basis[pivot]
        if len(basis) == ids.size:
            break
    codes = np.zeros(int(ids.max(initial=0)) + 1, dtype=np.uint64)
    free = [k for k in range(ids.size) if k not in basis]
    words = (
        mono.weights(ids.size)[1:] if len(free) > _WORD else np.uint64(1) << np.arange(_WORD, dtype=np.uint64)
    )
    code = {k: int(words[j]) for j, k in enumerate(free)}
    # the flip of a pivot variable is determined by the lower bits of its row: the row must be invariant
    for pivot in sorted(basis):
        rest, total = basis[pivot] ^ (1 << pivot), 0
        while rest:
            low = rest & -rest
            total ^= code[low.bit_length() - 1]
            rest ^= low
        code[pivot] = total
    codes[ids] = [code[k] for k in range(ids.size)]
    return SignSymmetry(ids, len(basis), codes)


def _parities(monos: np.ndarray, ids: np.ndarray) -> Iterator[int]:
    """Distinct exponent parities as bit masks (bit k belongs to ``ids[k]``), few bits first.

    In a dense polynomial the variables themselves then end the search at once.
    """
    # variables that are not in `ids` (free directions of a for-all constraint) are never flipped
    table = [0] * (int(max(ids.max(initial=0), monos.max(initial=0))) + 1)
    for k, variable in enumerate(ids.tolist()):
        table[variable] = 1 << k
    seen: set[int] = set()
    order = np.argsort(mono.degrees(monos), kind="stable")
    pending: list[int] = []
    for start in range(0, order.size, _CHUNK):
        for row in monos[order[start : start + _CHUNK]].tolist():
            mask = 0
            for variable in row:
                mask ^= table[variable]
            if mask and mask not in seen:
                seen.add(mask)
                if mask & (mask - 1) == 0:
                    yield mask
                else:
                    pending.append(mask)
    yield from sorted(pending, key=int.bit_count)


def split(classes: np.ndarray) -> list[np.ndarray]:
    """Index sets of equal classes, in order of first appearance."""
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [np.flatnonzero(inverse == k) for k in order]
