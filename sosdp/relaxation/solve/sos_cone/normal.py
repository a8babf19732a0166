"""The Schur matrix ``sum_i (V_i V_i')**2`` and its Cholesky factor.

Symmetric products of whole blocks: half the operations of general ones, and squared and added in contiguous
passes they are faster than panels that stay in the cache, at every size measured (U = 81 to 1001).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.linalg.blas import dsymv, dtrsv
from scipy.linalg.lapack import dpotrf

from .sampled import SampledBlock

_FIRST_REGULARISATION = 1e-15  # 1e-14 already stops refinement
_LAST_REGULARISATION = 1e-4


class NotDefinite(ArithmeticError):
    """A matrix that must be positive definite is not: the end of accuracy."""


def squares(points: int, pairs: Iterable[tuple[SampledBlock, np.ndarray]]) -> np.ndarray:
    """``sum_i A_i Lambda_i`` in the metric of each block's rows, shape (U, U): the lower triangle, in Fortran
    order; what is above it means nothing. Cost: ``U**2 sum L``."""
    total = np.zeros((points, points), order="F")
    for block, rows in pairs:
        block.add_squares(total, rows)
    return total


class Factored:
    """A symmetric positive definite matrix and its Cholesky factor, for solves refined once.

    ``lower``: Fortran order (else it is copied), lower triangle. ``regularise``: multiply the diagonal by a
    little more than one until it has a factor. Raises NotDefinite when it has none.
    """

    def __init__(self, lower: np.ndarray, regularise: bool = True) -> None:
        self.lower = np.asfortranarray(lower)
        side = lower.shape[0]
        extra = _FIRST_REGULARISATION if regularise else 0.0
        while True:
            work = self.lower.copy(order="F")
            # the transpose is in C order, so that its diagonal is a view
            work.T.reshape(-1)[:: side + 1] *= 1 + extra
            self.factor, info = dpotrf(work, lower=1, overwrite_a=1, clean=0)
            if info == 0:
                return
            extra *= 100
            if not 0 < extra <= _LAST_REGULARISATION:
                raise NotDefinite

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution, refined once; ``right``: shape (U,) or (U, k)."""
        if right.ndim > 1:  # one by one: a single triangular solve is ten times as fast as LAPACK's
            return (
                np.stack([self.solve(column) for column in right.T], axis=1) if right.size else right.copy()
            )
        result = self._once(right)
        return result + self._once(dsymv(-1.0, self.lower, result, beta=1.0, y=right, lower=1))

    def _once(self, right: np.ndarray) -> np.ndarray:
        half = dtrsv(self.factor, right, lower=1, trans=0)
        return dtrsv(self.factor, half, lower=1, trans=1, overwrite_x=1)
