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

from ..program import Cones, ConicProgram
from ..svec import SQRT2, roots, unstored
from .integers import near_zero

_ROWS = 300  # of a program whose dual is stated: its variables


def dual_program(program: ConicProgram) -> ConicProgram | None:
    """The dual, whose value is minus a lower bound; None where the program is large or has no finite numbers.

    The constant is left out. Where what multiplies an entry of z is not known exactly (off the diagonal,
    numbers of many digits times sqrt(2)), the entry is zero: what the dual vectors left prove is as true.
    """
    return _dual(program, rays=False)


def ray_program(program: ConicProgram) -> ConicProgram | None:
    """The program whose points prove that the given one has none; None and zeros as for the dual."""
    return _dual(program, rays=True)


def _dual(program: ConicProgram, rays: bool) -> ConicProgram | None:
    """Minimise ``b'z`` with ``A'z = -q``, or ask for ``A'z = 0, b'z = -1``, for z in the dual cone, some of
    whose entries are zero."""
    result = _coefficients(program)
    if result is None:
        return None
    A, b, zero = result
    cones, cost, equations, right = program.cones, b, A.T, -program.q
    if rays:
        cost, equations = np.zeros_like(b), np.vstack([A.T, b])
        right = np.append(np.zeros_like(right), -1.0)
    inside = sp.diags_array(-_factors(cones), format="csr")[cones.zero :]
    without = sp.eye_array(cones.rows, format="csr")[zero]
    return ConicProgram(
        q=cost,
        A=sp.csc_matrix(sp.vstack([sp.csr_matrix(equations), without, inside])),
        b=np.concatenate([right, np.zeros(zero.size + cones.rows - cones.zero)]),
        cones=Cones(right.size + zero.size, cones.nonnegative, cones.psd),
    )


def _coefficients(program: ConicProgram) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """A and b with what multiplies the entries of the matrices of z: once on the diagonal, twice off it; and
    the rows of which that is not known."""
    if program.rounded or program.b.size > _ROWS or program.P is not None or not program.q.size:
        return None
    whole = np.column_stack([program.A.toarray(), program.b])
    if not (np.isfinite(whole).all() and np.isfinite(program.q).all()):
        return None
    off = np.flatnonzero(_factors(program.cones) > 1)
    entries, known = unstored(whole[off], np.full((1, 1), SQRT2))
    lost = np.array([near_zero(row) for row in whole[off]], dtype=bool)
    kept = known.all(axis=1) & ~lost
    whole[off] = np.where(kept[:, None], 2 * entries, 0.0)
    return (whole[:, :-1], whole[:, -1], off[~kept]) if np.isfinite(whole).all() else None


def _factors(cones: Cones) -> np.ndarray:
    """What the entries of the matrices are stored times, row by row."""
    factors = np.ones(cones.rows)
    for side, rows in zip(cones.psd, cones.psd_slices(), strict=True):
        factors[rows] = roots(side)
    return factors
