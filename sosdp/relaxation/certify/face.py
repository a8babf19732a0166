"""A sum-of-squares proof on a face: Gram matrices W R W' with integer W and positive definite R.

On the face the coefficients of ``<R, W'b b'W>`` do not fill the whole space: every exact zero z of p gives
functionals (evaluation at z, derivatives at z) that vanish on all of them. Let A be the integer matrix that
takes R to coefficients and N the integer rows of those functionals, N A = 0. If ``A A' + N'N`` is proven
positive definite, with least eigenvalue at least s, the range of A is exactly the kernel of N; p lies in it
(checked in integers), so the float error r of ``p - A R`` does too, and some R' within |r| / sqrt(s) of R is
exact. If the least eigenvalue of R exceeds that, p is proven a sum of squares. Proof: the range of A and
that of N' are orthogonal and together everything, so on the first A A' is at least s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.polynomial import Polynomial
from ...conic.exact.guesses import independent_columns
from ...conic.rigorous import UNIT, least_eigenvalue_bound, norm
from ...conic.svec import SQRT2, roots, svec, svec_length, triangle, units
from ...reduction.facial import face, functionals
from ..assemble.identity import ONE, Block, GramProgram, Identity, RawSolution
from ..solve.solve import with_margin

_LARGEST = 2000  # monomials up to which the dense test of the range is made (seconds)
_EXACT = 2.0**53  # integer arithmetic in floats is exact below


@dataclass(frozen=True, eq=False)
class Face:
    """An identity on the face of its zeros: ``bases`` W of each block, ``produced`` A, ``vanishing`` N."""

    identity: Identity
    bases: tuple[np.ndarray, ...]
    produced: sp.csr_matrix
    vanishing: np.ndarray
    zeros: int

    @property
    def sides(self) -> list[int]:
        """Sides of the Gram matrices on the face."""
        return [w.shape[1] for w in self.bases if w.shape[1]]

    def program(self) -> GramProgram:
        """Maximise t <= 1 with every R >= t I."""
        # the coefficients are linearly dependent on the face: drop what follows from the rest
        kept = independent_columns(self.produced.toarray())
        reduced = replace(
            self.identity,
            blocks=tuple(Block("sos", (), mono.constant(n), ONE) for n in self.sides),
            equalities=(),
            columns=self.identity.columns[kept],
            gram=sp.csr_matrix(sp.diags_array(self.weights()) @ self.produced[:, kept]),
            free=sp.csr_matrix((0, kept.size)),
            target=self.identity.target[kept],
        )
        return GramProgram(with_margin(reduced), np.ones(1), np.ones(1))

    def weights(self) -> np.ndarray:
        """From entries of R, the rows of ``produced``, to vector form."""
        return 1 / np.concatenate([np.ones(0), *map(roots, self.sides)])

    def prove(self, raw: RawSolution) -> np.ndarray | None:
        """Vector form of Gram matrices (of the whole identity) near a proven exact decomposition, or None."""
        if raw.status not in ("optimal", "inaccurate") or not np.isfinite(raw.gram).all():
            return None
        dense = np.asarray(self.produced.T.todense())
        spread = dense @ dense.T + self.vanishing.T @ self.vanishing
        size = np.abs(dense) @ np.abs(dense).T + np.abs(self.vanishing).T @ np.abs(self.vanishing)
        if not size.max(initial=0.0) < _EXACT:
            return None
        smallest = least_eigenvalue_bound(spread)
        if not smallest > 0:
            return None
        entries = (raw.gram + float(raw.unknowns[0]) * units(self.sides)) * self.weights()
        target = self.identity.target
        for _ in range(2):
            entries = entries + dense.T @ np.linalg.solve(spread, target - dense @ entries)
        residual = target - dense @ entries
        size = np.abs(dense) @ np.abs(entries) + np.abs(target)
        error = np.abs(residual) + (np.count_nonzero(dense, axis=1) + 8) * UNIT * size
        # an entry off the diagonal stands twice in its matrix
        distance = 2.0 * norm(error) / np.sqrt(smallest) * (1 + 1e-9)
        lifted, cursor = [], 0
        for w in self.bases:
            side = w.shape[1]
            if side == 0:
                lifted.append(np.zeros(svec_length(w.shape[0])))
                continue
            matrix = np.zeros((side, side))
            row, column = triangle(side)
            matrix[row, column] = matrix[column, row] = entries[cursor : cursor + row.size]
            if not least_eigenvalue_bound(matrix) > distance:
                return None
            lifted.append(svec(w @ matrix @ w.T))
            cursor += row.size
        return np.concatenate(lifted)


def find_face(identity: Identity, p: Polynomial, zeros: np.ndarray) -> Face | None:
    """The face of a plain identity (no constraints, no rewriting) for exact zeros of ``p``, or None.

    None when the identity has constraints, when the numbers are too large to be exact in floats, or when a
    zero tells nothing. Cost: elimination of (zeros x side), products of dense W.
    """
    plain = all(b.kind == "sos" for b in identity.blocks) and not identity.equalities
    if identity.rounded:
        return None
    if not plain or not identity.quotient.trivial or identity.columns.shape[0] > _LARGEST or not len(zeros):
        return None
    ids = np.asarray(p.variable_ids, dtype=mono.MONOMIAL)
    bases = [face(b.basis, ids, zeros) for b in identity.blocks]
    vanishing = functionals(identity.columns, ids, zeros)
    if vanishing is None or any(w is None for w in bases):
        return None
    found = [w for w in bases if w is not None]
    if all(w.shape[0] == w.shape[1] for w in found):
        return None
    parts = []
    for block, rows, w in zip(identity.blocks, identity.slices(), found, strict=True):
        if not w.shape[1]:
            continue
        row, column = triangle(block.side)
        # monomials of b b', one a row, coefficient 1: undo the factor sqrt(2) of the vector form exactly
        local = sp.csr_matrix(identity.gram[rows])
        local.data = np.round(
            local.data / np.repeat(np.where(row == column, 1.0, SQRT2), np.diff(local.indptr))
        )
        a, b = triangle(w.shape[1])
        mixed = w[row][:, a] * w[column][:, b]
        mixed += np.where(row == column, 0.0, 1.0)[:, None] * w[column][:, a] * w[row][:, b]
        mixed *= np.where(a == b, 1.0, 2.0)[None, :]
        parts.append(sp.csr_matrix(mixed.T) @ local)
    width = identity.columns.shape[0]
    produced = sp.csr_matrix(sp.vstack(parts)) if parts else sp.csr_matrix((0, width))
    produced.eliminate_zeros()
    size = np.abs(vanishing) @ abs(produced).T
    if not size.max(initial=0.0) < _EXACT or not max(map(_largest, found)) < _EXACT:
        return None
    if np.abs(vanishing @ produced.T).max(initial=0.0) != 0:
        return None
    return Face(identity, tuple(found), produced, vanishing, len(zeros))


def _largest(w: np.ndarray) -> float:
    """A bound on every partial sum in the products of ``find_face``."""
    return 4.0 * w.shape[0] ** 2 * float(np.abs(w).max(initial=0.0)) ** 2
