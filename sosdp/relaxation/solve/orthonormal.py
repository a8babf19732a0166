"""The same program in orthonormal bases: what a solver gets when monomials are too nearly dependent.

On an interval such as [1, 8] the monomials 1, x, ..., x^4 are almost parallel, and an interior-point method
in double precision ends with whatever its linear algebra happens to round to. Here every Gram matrix is
written in a basis that is orthonormal for the uniform distribution on the box that the system implies (a
congruence by the root of a reference moment or localizing matrix), and the equations are replaced by
orthonormal combinations of them. Both changes are invertible, so that the program is the same; what comes
back is certified in the monomials like any other answer, so rounding here can cost accuracy, never truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from ...conic.svec import SQRT2, smat, triangle
from ...reduction.bounds import VariableBounds
from ..build.identity import GramProgram, Identity, RawSolution
from .solve import solve_program

_LARGEST = 700  # columns, and rows of all Gram matrices times 8: dense factorisations below about a second
_FLOOR = 1e-13  # eigenvalues of a reference matrix below this multiple of the largest are raised to it
_RANK = 1e-13
_OVERFLOW = 1e150  # beyond it factorisations may overflow


@dataclass(frozen=True, eq=False)
class OrthonormalBases:
    """Inverse roots of the reference matrices, one a block, and the triangle R of ``A' = Q R``, where A are
    the equations (columns x multipliers) after the congruence."""

    roots: tuple[np.ndarray, ...]
    triangular: np.ndarray
    program: GramProgram

    def lift(self, whole: GramProgram, raw: RawSolution) -> RawSolution:
        """A solution of ``program`` as one of the original program."""
        identity = whole.identity
        parts = [np.zeros(0)]
        for root, rows in zip(self.roots, identity.slices(), strict=True):
            parts.append(_congruence(root.T, raw.gram[rows][:, None])[:, 0])
        moments = la.solve_triangular(self.triangular, raw.moments)
        return replace(raw, gram=np.concatenate(parts), moments=moments, value=whole.value(raw.unknowns))


def solve_orthonormal(
    program: GramProgram, bounds: VariableBounds, time_limit: float | None = None
) -> RawSolution | None:
    """The program solved in orthonormal bases, or None where it is too large or has dependent equations.

    Cost: a dense factorisation of the equations and one solve.
    """
    identity = program.identity
    if identity.hermitian:
        return None
    smaller = identity.symmetry or identity.dominance
    if smaller is not None:
        raw = solve_orthonormal(replace(program, identity=smaller.reduce(identity)), bounds, time_limit)
        return None if raw is None else smaller.lift(program, raw)
    changed = _changed(program, bounds)
    if changed is None:
        return None
    return changed.lift(program, solve_program(changed.program, solver="clarabel", time_limit=time_limit))


def _changed(program: GramProgram, bounds: VariableBounds) -> OrthonormalBases | None:
    identity = program.identity
    if not 0 < identity.columns.shape[0] <= _LARGEST or identity.gram.shape[0] > 8 * _LARGEST:
        return None
    moments = _reference(identity, bounds)
    for data in (moments, identity.gram.data, identity.free.data, identity.gram @ moments):
        if not np.abs(data).max(initial=0.0) < _OVERFLOW:
            return None
    roots, parts = [], [np.zeros((0, identity.columns.shape[0]))]
    for block, rows in zip(identity.blocks, identity.slices(), strict=True):
        gram = identity.gram[rows]
        values, vectors = la.eigh(smat(gram @ moments, block.side))
        size = np.abs(values)
        size = np.maximum(size, _FLOOR * size.max(initial=0.0))
        root = (vectors / np.sqrt(np.where(size > 0, size, 1.0))).T
        roots.append(root)
        parts.append(_congruence(root, gram.toarray()))
    rows_of = np.concatenate([*parts, identity.free.toarray()])
    orthonormal, triangular = la.qr(rows_of, mode="economic")
    size = np.abs(np.diag(triangular))
    if triangular.shape[0] < triangular.shape[1] or size.min() <= _RANK * size.max():
        return None

    def changed(values: np.ndarray) -> np.ndarray:
        return la.solve_triangular(triangular, values, trans="T")

    height = identity.gram.shape[0]
    unknown = changed(identity.unknown.T.toarray()).T if identity.unknown.shape[0] else identity.unknown
    dense = replace(
        identity,
        gram=sp.csr_matrix(orthonormal[:height]),
        free=sp.csr_matrix(orthonormal[height:]),
        target=changed(identity.target),
        unknown=sp.csr_matrix(unknown),
    )
    return OrthonormalBases(tuple(roots), triangular, replace(program, identity=dense))


def _reference(identity: Identity, bounds: VariableBounds) -> np.ndarray:
    """Moments of independent uniform variables on the box (on [-1, 1] where the system gives none)."""
    ids = np.unique(identity.columns[identity.columns > 0])
    moments = np.ones(identity.columns.shape[0])
    for variable in ids.tolist():
        low, high = bounds.ranges.get(variable, (-1.0, 1.0))
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            low, high = -1.0, 1.0
        power = (identity.columns == variable).sum(axis=1)
        moments *= (high ** (power + 1.0) - low ** (power + 1.0)) / ((power + 1.0) * (high - low))
    return moments


def _congruence(root: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Vector forms of ``root M root'`` for the matrices M whose vector forms are the columns."""
    side = root.shape[0]
    row, column = triangle(side)
    scale = np.where(row == column, 1.0, SQRT2)[:, None]
    full = np.empty((side, side, columns.shape[1]))
    full[row, column] = full[column, row] = columns / scale
    turned = np.einsum("ai,ijk,bj->abk", root, full, root, optimize=True)
    return turned[row, column] * scale
