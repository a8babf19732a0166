"""The dual of a small conic program as a conic program itself, exactly: its points are proven like any.

    minimise  b'z   subject to  A'z = -q,  z in K*      (z free where K is zero),

in the entries of the matrices of z, without their sqrt(2). Where the dual has no interior (dependent columns,
free directions, multipliers forced to a face) no dual vector in floats proves a bound, and exact points of
this program do: its upper bounds are minus lower bounds. With ``A'z = 0, b'z = -1`` they prove that the given
program has no point.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .exact_data import shortened
from .exact_numbers import near_zero
from .program import Cones, ConicProgram
from .svec import SQRT2, triangle

_ROWS = 300  # of a program whose dual is stated: its variables


def dual_program(program: ConicProgram) -> ConicProgram | None:
    """The dual, whose value is minus a lower bound; None where the program is large, or its entries are not
    exact. The constant is left out."""
    entries = _entries(program)
    return None if entries is None else _stated(program.cones, entries[1], entries[0].T, -program.q)


def ray_program(program: ConicProgram) -> ConicProgram | None:
    """The program whose points prove that the given one has none; None as for the dual."""
    entries = _entries(program)
    if entries is None:
        return None
    A, b = entries
    equations = sp.vstack([A.T, sp.csr_matrix(b)], format="csr")
    return _stated(program.cones, np.zeros(b.size), equations, np.append(np.zeros(program.q.size), -1.0))


def _entries(program: ConicProgram) -> tuple[sp.csr_matrix, np.ndarray] | None:
    """A and b with what multiplies the entries of the matrices of z: once on the diagonal, twice off it."""
    if program.b.size > _ROWS or program.P is not None or not program.q.size:
        return None
    factor = np.ones(program.b.size)
    for side, rows in zip(program.cones.psd, program.cones.psd_slices(), strict=True):
        factor[rows] = np.where(np.equal(*triangle(side)), 1.0, SQRT2)
    A = sp.csr_matrix(program.A)
    off = np.repeat(factor, np.diff(A.indptr)) > 1
    found = []
    for stored, twice in ((A.data, off), (program.b, factor > 1)):
        short = shortened(stored[twice] / SQRT2)
        if not (short * SQRT2 == stored[twice]).all() or near_zero(stored[twice]):
            return None
        entries = stored.copy()
        entries[twice] = 2 * short
        found.append(entries)
    if not all(np.isfinite(v).all() for v in (*found, program.q)):
        return None
    return sp.csr_matrix((found[0], A.indices, A.indptr), shape=A.shape), found[1]


def _stated(cones: Cones, cost: np.ndarray, equations: sp.csr_matrix, right: np.ndarray) -> ConicProgram:
    """Minimise ``cost'z`` with equations for z in the dual cone."""
    factor = np.ones(cones.rows)
    for side, rows in zip(cones.psd, cones.psd_slices(), strict=True):
        factor[rows] = np.where(np.equal(*triangle(side)), 1.0, SQRT2)
    inside = sp.diags_array(-factor, format="csr")[cones.zero :]
    return ConicProgram(
        q=cost,
        A=sp.csc_matrix(sp.vstack([equations, inside])),
        b=np.append(right, np.zeros(cones.rows - cones.zero)),
        cones=Cones(right.size, cones.nonnegative, cones.psd),
    )
