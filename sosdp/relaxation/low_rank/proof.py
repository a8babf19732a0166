"""What multipliers of the diagonal blocks prove, whatever they are.

For every block-diagonal symmetric L: <C, X> = <L, X> + <C - L, X> >= <L, X> + trace(X) l, l a proven lower
bound on lambda_min(C - L). <L, X> and trace(X) are known from the diagonal blocks of X, and
summed exactly; what C is off by as doubles, and the rounding of C - L, are charged.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...conic.rigorous import UNIT, shifted_least_eigenvalue, sparse_least_eigenvalue
from .structure import UnitBlocks

_DENSE, _FULL = 2500, 12  # side beyond which, entries a row below which a sparse factor is tried first
_LARGEST_DENSE = 12_000
_TRIES = 12


def proven_value(program: UnitBlocks, dual: np.ndarray, least: float, slack: float) -> Fraction | None:
    """A lower bound on ``constant`` + <C, X>; None where nothing is proven.

    ``dual``: L, shape (blocks, side, side), symmetric; ``least``: about lambda_min(C - L); ``slack``: what
    the bound may lose by asking for less than that.
    """
    if not np.isfinite(dual).all():
        return None
    matrix, rounding = slack_of(program, dual)
    total = sum(program.levels, Fraction(0))
    scale = float(abs(matrix).sum(axis=1).max())
    margin = max(0.25 * slack / float(total), 4 * matrix.shape[0] * UNIT * scale)
    low = _proven_least(matrix, least, margin)
    if not np.isfinite(low):
        return None
    diagonal = np.diagonal(dual, axis1=1, axis2=2).reshape(-1).tolist()
    paid = sum((a * Fraction(y) for a, y in zip(program.levels, diagonal, strict=True)), Fraction(0))
    return program.constant + paid + total * (Fraction(low) - Fraction(rounding)) - program.error


def slack_of(program: UnitBlocks, dual: np.ndarray) -> tuple[sp.csr_array, float]:
    """C - L, and how much its eigenvalues may be off."""
    count, side, _ = dual.shape
    blocks = sp.bsr_array((dual, np.arange(count), np.arange(count + 1)), shape=program.matrix.shape)
    matrix = sp.csr_array(program.matrix - blocks)
    return matrix, 2 * UNIT * side * float(abs(matrix).max())


def _proven_least(matrix: sp.csr_array, guess: float, margin: float) -> float:
    side = matrix.shape[0]
    if not matrix.count_nonzero():
        return 0.0
    sparse = side > _DENSE and matrix.nnz < _FULL * side
    whole = None
    for _ in range(_TRIES):
        result = sparse_least_eigenvalue(matrix, guess - margin) if sparse else -np.inf
        if result == -np.inf and side <= _LARGEST_DENSE:
            whole = matrix.toarray() if whole is None else whole
            result = shifted_least_eigenvalue(whole, guess - margin)
        if result > -np.inf:
            return result
        margin *= 3
    return -np.inf
