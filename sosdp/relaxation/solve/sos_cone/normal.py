"""The Schur matrix ``sum_i (V_i V_i')**2``: assembled in panels that stay in the cache, then factored.

Squares of one block touch the whole matrix once, so that many blocks of small sides would cost passes through
memory, not arithmetic; a panel of rows is therefore finished for all blocks before the next one is begun.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.blas import dsymv, dtrsv
from scipy.linalg.lapack import dpotrf, dpotrs

from .sampled import SampledProgram

_PANEL = 128  # rows
_FEW = 4  # right sides that are solved one by one: a single triangular solve is ten times as fast as LAPACK's
_FIRST_REGULARISATION = 1e-15  # 1e-14 already stops refinement
_LAST_REGULARISATION = 1e-4


class NotDefinite(ArithmeticError):
    """A matrix that must be positive definite is not: the end of accuracy."""


def squares(program: SampledProgram, rows: Sequence[np.ndarray], out: np.ndarray | None = None) -> np.ndarray:
    """``sum_i A_i Lambda_i`` in the metric of the rows, shape (U, U): the lower triangle, in C order; what is
    above it means nothing. Cost: ``U**2 sum L``."""
    points = program.points
    total = np.zeros((points, points)) if out is None else out
    total.fill(0.0)
    simple = [
        (b.interval, b.sign, p) for b, p in zip(program.blocks, rows, strict=True) if b.interval is not None
    ]
    for start in range(0, points, _PANEL):
        stop = min(start + _PANEL, points)
        for (low, high), sign, p in simple:
            a, b = max(start, low), min(stop, high)
            if a >= b:
                continue
            product = p[a - low : b - low] @ p[: b - low].T
            product *= product
            if sign is not None:
                product *= sign[a - low : b - low, None] * sign[: b - low]
            total[a:b, low:b] += product
    for block, p in zip(program.blocks, rows, strict=True):
        if block.interval is None:
            block.add_squares(total, p)
    return total


class Factored:
    """A symmetric positive definite matrix and its Cholesky factor, for solves refined once.

    ``lower``: C order, lower triangle. ``regularise``: multiply the diagonal by a little more than one until
    it has a factor. Raises NotDefinite when it has none.
    """

    def __init__(self, lower: np.ndarray, regularise: bool = True, out: np.ndarray | None = None) -> None:
        self.lower = lower
        side = lower.shape[0]
        work = np.empty_like(lower) if out is None else out
        extra = _FIRST_REGULARISATION if regularise else 0.0
        while True:
            np.copyto(work, lower)
            work.flat[:: side + 1] *= 1 + extra
            # the lower triangle in C order is the upper one in Fortran's, which LAPACK then need not copy
            self.factor, info = dpotrf(work.T, lower=0, overwrite_a=1, clean=0)
            if info == 0:
                return
            extra *= 100
            if not 0 < extra <= _LAST_REGULARISATION:
                raise NotDefinite

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution, refined once; ``right``: shape (U,) or (U, k)."""
        if right.ndim == 1:
            found = self._once(right)
            return found + self._once(right - dsymv(1.0, self.lower.T, found, lower=0))
        if right.shape[1] <= _FEW:
            return (
                np.stack([self.solve(column) for column in right.T], axis=1) if right.size else right.copy()
            )
        found = dpotrs(self.factor, right, lower=0)[0]
        left = right - np.stack([dsymv(1.0, self.lower.T, y, lower=0) for y in found.T], axis=1)
        return found + dpotrs(self.factor, left, lower=0)[0]

    def _once(self, right: np.ndarray) -> np.ndarray:
        half = dtrsv(self.factor, right, lower=0, trans=1)
        return dtrsv(self.factor, half, lower=0, trans=0, overwrite_x=1)
