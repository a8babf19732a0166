"""Conic programs as SDPA sparse files (`.dat-s`), the format that SDPA, CSDP, DSDP and most others read.

The format states  minimise c'x  subject to  sum_i F_i x_i - F_0  positive semidefinite, block by block; our
rows b - A x in K are its blocks with F_i = -A_i and F_0 = -b.  It has no equations: a row of the zero cone
becomes two diagonal entries of opposite sign, which interior-point solvers accept but like less than a
program without them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from .program import SQRT2, ConicProgram, triangle


def write_sdpa(
    program: ConicProgram, path: str | Path, *, constant: float = 0.0, comment: str = "sosdp"
) -> None:
    """Write a linear conic program; its value is the file's optimal value plus `constant` (noted in the
    file).

    Numbers are written in full (17 digits).  Raises ValueError for a program with a quadratic objective.
    """
    if program.P is not None and program.P.nnz:
        raise ValueError("the SDPA format has linear objectives only; this program has a quadratic one")
    cones = program.cones
    scalars = 2 * cones.zero + cones.nonnegative
    blocks = ([-scalars] if scalars else []) + list(cones.psd)
    number, block, row, column, value = _entries(program)
    lines = [
        f'"{" ".join(comment.split())}: add {constant!r} to the optimal value"',
        f"{program.q.size} = mDIM",
        f"{len(blocks)} = nBLOCK",
        " ".join(str(side) for side in blocks) + " = bLOCKsTRUCT",
        " ".join(repr(float(c)) for c in program.q),
    ]
    lines += [
        f"{m} {k} {i} {j} {v!r}"
        for m, k, i, j, v in zip(
            number.tolist(), block.tolist(), row.tolist(), column.tolist(), value.tolist(), strict=True
        )
    ]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii", errors="replace")


def _entries(program: ConicProgram) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Matrix number (0: F_0), block, row, column (from 1) and value of every entry, in the file's order."""
    cones = program.cones
    block = np.ones(cones.rows, dtype=np.int64)
    row = np.arange(1, cones.rows + 1)
    column = row.copy()
    scale = np.ones(cones.rows)
    # equations take two places on the diagonal; the second copy is added below
    row[cones.zero : cones.zero + cones.nonnegative] += cones.zero
    column[cones.zero : cones.zero + cones.nonnegative] += cones.zero
    first = 1 if cones.zero + cones.nonnegative else 0
    for k, (side, rows) in enumerate(zip(cones.psd, cones.psd_slices(), strict=True)):
        i, j = triangle(side)
        block[rows] = k + 1 + first
        row[rows], column[rows] = i + 1, j + 1
        scale[rows] = np.where(i == j, 1.0, 1.0 / SQRT2)
    stacked = sp.hstack([-sp.csc_matrix(program.b[:, None]), -program.A], format="coo")
    stacked.sum_duplicates()
    place, number = stacked.row, stacked.col
    value = stacked.data * scale[place]
    twin = place < cones.zero
    found = (
        np.concatenate([number, number[twin]]),
        np.concatenate([block[place], block[place[twin]]]),
        np.concatenate([row[place], row[place[twin]] + cones.zero]),
        np.concatenate([column[place], column[place[twin]] + cones.zero]),
        np.concatenate([value, -value[twin]]),
    )
    kept = np.flatnonzero(found[4])
    order = kept[np.lexsort([found[3][kept], found[2][kept], found[1][kept], found[0][kept]])]
    return found[0][order], found[1][order], found[2][order], found[3][order], found[4][order]
