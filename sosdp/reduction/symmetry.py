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
    """Row-reduced basis over GF(2) of the parities that occur in the data: bit masks with their pivot
    bits."""

    ids: np.ndarray
    rows: tuple[int, ...]
    pivots: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Dimension of the span of the parities; ``len(ids) - rank`` independent flips are symmetries."""
        return len(self.rows)

    @property
    def trivial(self) -> bool:
        """Whether no sign flip is a symmetry."""
        return self.rank == self.ids.size

    def signature(self, monos: np.ndarray) -> np.ndarray:
        """Class of each monomial, shape (m,), uint64 hash; the class of invariant monomials is 0."""
        masks = parity_masks(monos, self.ids)
        for row, pivot in zip(self.rows, self.pivots, strict=True):
            word, bit = divmod(pivot, _WORD)
            hit = ((masks[:, word] >> np.uint64(bit)) & np.uint64(1)).astype(bool)
            masks[hit] ^= _words(row, masks.shape[1])
        if masks.shape[1] == 1:
            return masks[:, 0]
        weights = mono.weights(masks.shape[1])[1 : masks.shape[1] + 1]
        return (masks * weights).sum(axis=1, dtype=np.uint64)


_WORD = 64


def _words(mask: int, count: int) -> np.ndarray:
    return np.array([(mask >> (_WORD * k)) & (2**_WORD - 1) for k in range(count)], dtype=np.uint64)


def parity_masks(monos: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Exponents modulo 2 as bit masks, shape (m, ceil(len(ids) / 64)), uint64; bit k belongs to
    ``ids[k]``."""
    words = max(1, -(-ids.size // _WORD))
    position = np.arange(ids.size)
    masks = np.empty((monos.shape[0], words), dtype=np.uint64)
    for word in range(words):
        table = np.zeros(int(ids.max(initial=0)) + 1, dtype=np.uint64)
        here = position // _WORD == word
        table[ids[here]] = np.uint64(1) << (position[here] % _WORD).astype(np.uint64)
        masks[:, word] = np.bitwise_xor.reduce(table[monos], axis=1)
    return masks


def find_sign_symmetry(support: np.ndarray, ids: np.ndarray) -> SignSymmetry:
    """Sign symmetries of data whose monomials are the rows of ``support``; ends as soon as the span is
    everything."""
    masks = parity_masks(support, ids)
    rows: list[int] = []
    pivots: list[int] = []
    for mask in _distinct(masks):
        for row, pivot in zip(rows, pivots, strict=True):
            if mask >> pivot & 1:
                mask ^= row
        if mask == 0:
            continue
        pivot = mask.bit_length() - 1
        rows = [row ^ mask if row >> pivot & 1 else row for row in rows]
        rows.append(mask)
        pivots.append(pivot)
        if len(rows) == ids.size:
            break
    return SignSymmetry(ids, tuple(rows), tuple(pivots))


def _distinct(masks: np.ndarray) -> Iterator[int]:
    if masks.shape[1] == 1:
        # few bits first: in a dense polynomial the variables themselves end the search at once
        yield from sorted(set(masks[:, 0].tolist()), key=int.bit_count)
        return
    for row in {tuple(r) for r in masks.tolist()}:
        yield sum(word << (_WORD * k) for k, word in enumerate(row))


def split(classes: np.ndarray) -> list[np.ndarray]:
    """Index sets of equal classes, in order of first appearance."""
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [np.flatnonzero(inverse == k) for k in order]
