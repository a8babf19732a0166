"""Rigorous statements from floating-point matrices: the primitive every certified number rests on.

The only tool is Rump's observation (BIT 46, 2006): if the floating-point Cholesky factorisation of a
symmetric matrix B of side N runs to completion, then B + E is positive semidefinite for some symmetric E
with ``||E|| <= c/(1-c) * trace(B)``, ``c = (N + 1) u``, ``u = 2**-53`` (up to underflow, covered below). So
``lambda_min(B) >= -c/(1-c) trace(B)``. It needs round-to-nearest arithmetic and no more: any order of
summation, blocked or fused, obeys the same bound.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from .eigenvalues import TINY_SIDE, eigenvectors_between, least_eigenvalue

UNIT = 2.0**-53
_UNDERFLOW = 1e-290
_OVERFLOW = 1e150  # beyond it eigenvalue routines may overflow


def _cholesky_succeeds(matrix: np.ndarray) -> bool:
    _, info = la.lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
    return info == 0


def least_eigenvalue_bound(matrix: np.ndarray) -> float:
    """A proven lower bound on the least eigenvalue of a symmetric float matrix, shape (N, N).

    Within about ``8 N u ||matrix||`` of the truth in practice; minus infinity if the matrix has a non-finite
    entry. Never raises because of the values. The lower triangle is what is judged. Cost: one eigenvalue
    computation and one or two Cholesky factorisations (1 ms at side 50, 3 ms at side 100).
    """
    side = matrix.shape[0]
    if side == 0:
        return np.inf
    scale = float(np.abs(matrix).sum(axis=1).max()) + _UNDERFLOW
    if side == 1:
        return float(matrix[0, 0]) if math.isfinite(scale) else -np.inf
    if not scale <= _OVERFLOW:  # nor where it is not a number
        return -np.inf
    guess = _guess(matrix, scale)
    margin = 4.0 * side * UNIT * scale
    for _ in range(60):
        result = shifted_least_eigenvalue(matrix, guess - margin)
        if result > -np.inf:
            return result
        margin *= 4.0
    # Gershgorin: no eigenvalue lies below minus the largest absolute row sum, whose own rounding is paid
    lower = np.abs(np.tril(matrix))
    scale = float((lower.sum(axis=1) + np.tril(lower, -1).sum(axis=0)).max()) + _UNDERFLOW
    return -scale * (1.0 + 2.0 * side * UNIT)


def shifted_least_eigenvalue(matrix: np.ndarray, shift: float) -> float:
    """A proven lower bound on the least eigenvalue, a little below ``shift``, from one Cholesky factorisation
    of ``matrix - shift I``; minus infinity where that does not end, or an entry is not finite. The lower
    triangle is what is judged."""
    side = matrix.shape[0]
    shifted = matrix.copy(order="F")
    shifted.flat[:: side + 1] -= shift
    trace = float(np.abs(shifted.diagonal()).sum())
    if not np.isfinite(shifted).all() or not _cholesky_succeeds(shifted):
        return -np.inf
    c = 1.01 * (side + 1) * UNIT
    # Cholesky's own error, the rounding of the shifted diagonal and of this very sum
    return shift - (c / (1.0 - c) * trace * 1.01 + 3.0 * UNIT * (trace + abs(shift)) + side * _UNDERFLOW)


def sparse_least_eigenvalue(matrix: sp.csr_array, shift: float) -> float:
    """The same of a sparse symmetric matrix, by any factor F of B = ``matrix - shift I`` that was computed:
    lambda_min(B) >= -||B - F F'|| in the norm of row sums, the rounding of that product added."""
    side = matrix.shape[0]
    whole = sp.csc_array(matrix - shift * sp.eye_array(side))
    options = {"SymmetricMode": True}
    try:
        lu = sla.splu(whole, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    except RuntimeError:  # singular
        return -np.inf
    pivots = lu.U.diagonal()
    if not (pivots > 0).all():
        return -np.inf
    factor = sp.csr_array(lu.L @ sp.diags_array(np.sqrt(pivots)))
    order = np.argsort(lu.perm_r)  # of whatever permutation: a wrong one only makes the residual large
    permuted = sp.csr_array(whole)[order][:, order]
    residual, sizes, one = abs(permuted - factor @ factor.T), abs(factor), np.ones(side)
    terms = int(np.diff(factor.indptr).max()) + 2
    rounding = terms * UNIT / (1 - terms * UNIT) * (sizes @ (sizes.T @ one)) * 1.001
    # of the products, the difference, the shifted diagonal and these very sums
    rounding += 3 * UNIT * (abs(permuted) @ one) + 2 * UNIT * abs(shift) + side * _UNDERFLOW
    worst = float((residual @ one * (1 + 2 * side * UNIT) + rounding).max())
    return shift - worst * (1 + 1e-12) if np.isfinite(worst) else -np.inf


def largest_eigenvalue_bounds(matrix: np.ndarray) -> tuple[float, float]:
    """Proven bounds (low, high) of the largest eigenvalue of a symmetric float matrix, shape (N, N), N >= 1.

    High by `least_eigenvalue_bound`, low by the Rayleigh quotient of a computed eigenvector, whose inner
    products err by at most (2N + 2) u times the largest absolute row sum. Cost: that of two eigenvalues.
    """
    side = matrix.shape[0]
    high = -least_eigenvalue_bound(-matrix)
    if not np.isfinite(high):
        return -np.inf, np.inf
    vector = eigenvectors_between(matrix, side - 1, side - 1)[:, 0]
    length = float(vector @ vector)
    if not 0.5 < length < 2.0:
        return -np.inf, high
    scale = float(np.abs(matrix).sum(axis=1).max()) * (1.0 + 2.0 * side * UNIT)
    low = float(vector @ (matrix @ vector)) / length - (4.0 * side + 16.0) * UNIT * scale - _UNDERFLOW
    return low, high


def least_eigenvalue_bounds(stack: np.ndarray) -> np.ndarray:
    """``least_eigenvalue_bound`` of many symmetric matrices of one side, shape (k, N, N) -> (k,).

    Cost: an eigenvalue computation and a Cholesky factorisation each, and what is around them for all
    together. A bound is that of the matrix alone, bit for bit. The lower triangles are what is judged.
    """
    count, side = stack.shape[:2]
    if side <= 1 or side > TINY_SIDE or count < 4:  # then one matrix at a time is as fast
        return np.array([least_eigenvalue_bound(matrix) for matrix in stack], dtype=float).reshape(count)
    scale = np.abs(stack).sum(axis=2).max(axis=1, initial=0.0) + _UNDERFLOW
    good = scale < _OVERFLOW
    guess = [
        _guess(m, s) if able else 0.0 for m, s, able in zip(stack, scale.tolist(), good.tolist(), strict=True)
    ]
    shift, shifted = np.array(guess) - 4.0 * side * UNIT * scale, stack.copy()
    diagonal = shifted.reshape(count, side**2)[:, :: side + 1]
    diagonal -= shift[:, None]
    trace = np.abs(diagonal).sum(axis=1)
    c = 1.01 * (side + 1) * UNIT
    slack = c / (1.0 - c) * trace * 1.01 + 3.0 * UNIT * (trace + np.abs(shift)) + side * _UNDERFLOW
    result = np.where(good, shift - slack, -np.inf)
    for k, matrix in enumerate(shifted):
        if good[k] and not _cholesky_succeeds(matrix):
            result[k] = least_eigenvalue_bound(stack[k])  # the guess was a little too high: the careful way
    return result


def _guess(matrix: np.ndarray, scale: float) -> float:
    """The least eigenvalue, about, or a number below it."""
    try:
        return least_eigenvalue(matrix)
    except (np.linalg.LinAlgError, ValueError):
        return -scale


def is_positive_semidefinite(matrix: np.ndarray) -> bool:
    """Whether positive semidefiniteness is proven (False: not proven, which is not a proof of the
    contrary)."""
    return least_eigenvalue_bound(matrix) >= 0.0


def shift_to_positive_semidefinite(matrix: np.ndarray) -> np.ndarray:
    """The matrix plus the least multiple of the identity that makes it provably positive semidefinite."""
    bound = least_eigenvalue_bound(matrix)
    if bound >= 0.0:
        return matrix
    if not np.isfinite(bound):
        raise ValueError("the matrix has non-finite entries")
    scale = float(np.abs(matrix).max()) + _UNDERFLOW
    extra = -bound
    for _ in range(60):
        candidate = matrix + extra * np.eye(matrix.shape[0])
        if is_positive_semidefinite(candidate):
            return candidate
        extra = 2.0 * extra + 16.0 * matrix.shape[0] * UNIT * scale
    raise ArithmeticError("no multiple of the identity made the matrix provably positive semidefinite")


def norms(rows: np.ndarray) -> np.ndarray:
    """Euclidean norm of each row, shape (..., N) -> (...), up to rounding; squares of small numbers do not
    vanish."""
    largest = np.abs(rows).max(axis=-1, initial=0.0)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    parts = rows / scale[..., None]
    return np.sqrt(np.add.reduce(parts * parts, axis=-1)) * scale


def norm(vector: np.ndarray) -> float:
    """Euclidean norm of all entries, up to rounding; squares of small numbers do not vanish."""
    return float(norms(np.reshape(vector, (1, -1)))[0])


def round_down(value: float, relative: float = 4 * UNIT) -> float:
    """A float not above ``value`` by the given relative margin (for sums whose rounding is bounded by it)."""
    return float(np.nextafter(value - abs(value) * relative, -np.inf))
