"""A conic program in rows and columns that suit a first-order or Newton-CG method.

Every matrix keeps all its entries (``positive_part``); multiplying the entries (i, j) of one by ``D_i D_j``
is a congruence, so its cone stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .positive_part import Layout
from .program import ConicProgram

_POWER = 0.125  # 0 leaves the rows as they are; 0.25 gives both matrices the same diagonal
_SMALLEST = 1e-6  # of a diagonal, relative to its largest entry
_FILLED = 8  # times the entries of A that A'A may have


@dataclass(frozen=True, eq=False)
class Scaled:
    """A program with all entries of its matrices, rows times ``r`` (a congruence of every matrix), columns,
    q and b of norm one. An iterate (y, z, s) stands for ``(size_b d y, size_q r z, size_b s / r)``.
    ``orthogonal``: no row has two entries, as on sums of squares without constraints, so that A'A = I.
    ``AtA``: where it is sparse."""

    A: sp.csr_matrix
    At: sp.csr_matrix
    q: np.ndarray
    b: np.ndarray
    where: Layout
    r: np.ndarray
    d: np.ndarray
    size_q: float
    size_b: float
    orthogonal: bool
    AtA: sp.csr_matrix | None

    def normal(self, y: np.ndarray) -> np.ndarray:
        """A'A y."""
        if self.AtA is not None:
            return self.AtA @ y
        return y if self.orthogonal else self.At @ (self.A @ y)


def scaled_program(program: ConicProgram, where: Layout, r: np.ndarray) -> Scaled:
    """The program with its rows (all entries of the matrices) multiplied by r."""
    A = sp.csr_matrix(sp.diags_array(r) @ (where.unpack @ program.A))
    b = r * (where.unpack @ program.b)
    norms = np.sqrt(np.bincount(A.indices, weights=A.data**2, minlength=A.shape[1]))
    d = 1.0 / np.where(norms > 0, norms, 1.0)
    A = sp.csr_matrix(A @ sp.diags_array(d))
    size_q, size_b = float(np.linalg.norm(program.q * d)) or 1.0, float(np.linalg.norm(b)) or 1.0
    At = sp.csr_matrix(A.T)
    counts = np.diff(A.indptr).astype(float)
    single = bool((counts <= 1).all())  # then columns have no row in common
    sparse = not single and float(counts @ counts) <= _FILLED * A.nnz
    AtA = sp.csr_matrix(At @ A) if sparse else None
    return Scaled(A, At, program.q * d / size_q, b / size_b, where, r, d, size_q, size_b, single, AtA)


def balancing_rows(where: Layout, s: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Row factors ``D_i D_j`` of every matrix that bring the diagonals of s and z nearer to each other.

    The systems of Newton's method are ill conditioned where z is large and s small; on sums of squares in
    monomials both range over many powers of ten. Columns stay orthogonal where they are.
    """
    r = np.ones(s.size)
    for entries, dual, into in zip(where.matrices(s), where.matrices(z), where.matrices(r), strict=True):
        diagonal = np.arange(entries.shape[1])
        small, large = entries[:, diagonal, diagonal], dual[:, diagonal, diagonal]
        top_s, top_z = small.max(axis=1, keepdims=True), large.max(axis=1, keepdims=True)
        ratio = np.maximum(large, _SMALLEST * top_z) / np.maximum(small, _SMALLEST * top_s)
        factor = np.where((top_s > 0) & (top_z > 0), ratio, 1.0) ** _POWER
        into[:] = factor[:, :, None] * factor[:, None, :]
    return r
