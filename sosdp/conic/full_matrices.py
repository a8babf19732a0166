"""Programs and answers for solvers that take every entry of a matrix where we keep a triangle."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .program import Cones, ConicProgram
from .svec import SQRT2, triangle, unpacking


def full_rows(program: ConicProgram) -> tuple[sp.csr_matrix, np.ndarray]:
    """A and b of a program without equations, one row for each scalar and for each entry of each matrix."""
    cones, rows = program.cones, sp.csr_matrix(program.A)
    parts, right = [rows[: cones.nonnegative]], [program.b[: cones.nonnegative]]
    for side, here in zip(cones.psd, cones.psd_slices(), strict=True):
        unpack = unpacking(side)
        parts.append(unpack @ rows[here])
        right.append(unpack @ program.b[here])
    return sp.csr_matrix(sp.vstack(parts)), np.concatenate(right)


def vector_form(cones: Cones, full: np.ndarray, *, lower: bool = False) -> np.ndarray:
    """The vector of our cones from all entries, column by column; the mean of both triangles, or the lower
    one where nothing else counts."""
    parts, start = [full[: cones.nonnegative]], cones.nonnegative
    for side in cones.psd:
        block = full[start : start + side * side].reshape(side, side, order="F")
        i, j = triangle(side)
        entries = block[j, i] if lower else (block[i, j] + block[j, i]) / 2
        parts.append(entries * np.where(i == j, 1.0, SQRT2))
        start += side * side
    return np.concatenate(parts)
