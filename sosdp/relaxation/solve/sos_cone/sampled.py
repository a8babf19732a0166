"""A sum-of-squares program evaluated at points: every constraint matrix has rank one (or a few).

    maximise c'u   subject to   f - H u = sum_i A_i(S_i),  S_i positive semidefinite      (Gram side)
    minimise f'x   subject to   H'x = c,  Lambda_i(x) positive semidefinite               (moment side)

Component t of ``A_i(S)`` is the sum, over the rows p of block i that belong to point t, of ``w_p p'Sp`` with
signs w; ``Lambda_i`` is its adjoint. A plain block has one row a point, a matrix constraint as many as the
rank of its value there. Docs: docs/proofs/sos_cone.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.blas import dsyrk


@dataclass(frozen=True, eq=False)
class SampledBlock:
    """One Gram matrix. ``rows``, shape (R, L), has orthonormal columns; ``owner``, shape (R,), ascending, is
    the point of each row; ``sign``, shape (R,), is +-1 or None where all are 1."""

    rows: np.ndarray
    owner: np.ndarray
    sign: np.ndarray | None = None

    @property
    def side(self) -> int:
        """Side of the Gram matrix."""
        return int(self.rows.shape[1])

    def moment(self, x: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """``Lambda(x)``, shape (L, L); with other ``rows`` (R, k) in their basis, shape (k, k)."""
        p = self.rows if rows is None else rows
        weight = x[self.owner] if self.interval is None else x[self.interval[0] : self.interval[1]]
        if self.sign is not None:
            weight = weight * self.sign
        return np.asarray((p.T * weight) @ p)

    def spread(self, values: np.ndarray, points: int) -> np.ndarray:
        """One number a row summed into one a point, signs included, shape (points,)."""
        signed = values if self.sign is None else values * self.sign
        if self.interval == (0, points):
            return signed
        return np.bincount(self.owner, weights=signed, minlength=points)

    @cached_property
    def interval(self) -> tuple[int, int] | None:
        """The points from, to, where the block has exactly one row a point there; else None."""
        low, count = int(self.owner[0]), self.owner.size
        one = np.array_equal(self.owner, np.arange(low, low + count))
        return (low, low + count) if one else None

    def add_squares(self, total: np.ndarray, rows: np.ndarray) -> None:
        """Add ``A Lambda`` in the metric of the given rows to the lower triangle of ``total``: entry
        (s, t) is the sum of ``w_p w_q (p'q)**2`` over the rows p of s and q of t."""
        product = rows @ rows.T if self.interval is None else dsyrk(1.0, rows.T, trans=1, lower=1)
        product *= product
        if self.sign is not None:
            product *= self.sign[:, None] * self.sign
        if self.interval is not None:
            here = slice(*self.interval)
            total[here, here] += product
            return
        first = np.flatnonzero(np.diff(self.owner, prepend=-1))
        product = np.add.reduceat(np.add.reduceat(product, first, axis=0), first, axis=1)
        points = self.owner[first]
        total[np.ix_(points, points)] += product


@dataclass(frozen=True, eq=False)
class SampledProgram:
    """``f``, shape (U,); ``H``, shape (U, q); ``c``, shape (q,); the blocks of the module docstring."""

    f: np.ndarray
    H: np.ndarray
    c: np.ndarray
    blocks: tuple[SampledBlock, ...]

    @property
    def points(self) -> int:
        """Number of points."""
        return int(self.f.size)

    def residual(self, grams: Sequence[np.ndarray], unknowns: np.ndarray) -> np.ndarray:
        """What the Gram matrices miss of ``f - H u`` at every point, shape (U,)."""
        result = self.f - self.H @ unknowns
        for block, gram in zip(self.blocks, grams, strict=True):
            result -= block.spread(np.einsum("ij,ij->i", block.rows @ gram, block.rows), self.points)
        return result
