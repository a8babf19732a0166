"""Cut norm of a matrix between a found cut and a proven bound: low-rank ascent with a dual certificate.

``max_{S,T} |sum_{i in S, j in T} A_ij|`` is NP-hard; the semidefinite relaxation of Alon and Naor (2006) is
within
a factor 1.7822 of it, and a dual vector proves a bound on every cut without trust in the ascent.

Statement and proofs: docs/proofs/cuts_cut_norm.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse.linalg as sla

from sosdp.conic.eigenvalues import eigenvalues_between
from sosdp.conic.rigorous import UNIT, shifted_least_eigenvalue

from .correlation_gap import normalised_rows, scattered

_SMALL = 150

EXACT_SIDE = 18
"""Up to this many rows (or columns) `cut_norm_exact` enumerates all subsets."""


@dataclass(frozen=True, eq=False)
class CutNorm:
    """lower <= ||A||_C <= upper.

    lower: |A(S, T)| of the sets found, summed afresh from the entries; rows, columns: S and T, sorted
    indices;
    upper: the certified bound; row_weights (m+1,), column_weights (n+1,): the positive dual vectors y, z of
    the
    padded matrix that prove it; sdp_value: value of the relaxation reached by the ascent, divided by 4;
    iterations: of the ascent.
    """

    lower: float
    rows: np.ndarray
    columns: np.ndarray
    upper: float
    row_weights: np.ndarray
    column_weights: np.ndarray
    sdp_value: float
    iterations: int

    @property
    def gap(self) -> float:
        """Relative distance between the certified bound and the value of the relaxation."""
        return (self.upper - self.sdp_value) / self.upper if self.upper > 0 else 0.0


def padded(matrix: np.ndarray) -> np.ndarray:
    """A' = [[A, -A 1], [-1'A, 1'A 1]], shape (m+1, n+1): rows and columns sum to 0 and ||A'||_{inf->1} = 4
    ||A||_C."""
    rows, total = matrix.sum(axis=1), matrix.sum()
    return np.block([[matrix, -rows[:, None]], [-matrix.sum(axis=0)[None, :], np.array([[total]])]])


def dual_bound(matrix: np.ndarray, row_weights: np.ndarray, column_weights: np.ndarray) -> float:
    """A proven bound on max x'Ay over x, y in {-1, 1}: sqrt(sum y sum z) sigma_max(Y^-1/2 A Z^-1/2),
    rounded up.

    matrix: (m, n); weights: y (m,) and z (n,), any positive numbers (infinite bound otherwise). One product
    of
    the matrix with its transpose and one Cholesky factorisation a trial; sigma_max is never trusted, only the
    factorisation.
    """
    y, z = np.asarray(row_weights, dtype=float), np.asarray(column_weights, dtype=float)
    if not (np.isfinite(matrix).all() and (y > 0).all() and (z > 0).all() and np.isfinite(y.sum() + z.sum())):
        return math.inf
    if matrix.shape[0] < matrix.shape[1]:
        matrix, y, z = matrix.T, z, y
    scaled = matrix / np.sqrt(y)[:, None] / np.sqrt(z)
    gram = scaled.T @ scaled
    largest = _spectral_guess(gram)
    if largest <= 0.0:
        return 0.0 if not matrix.any() else math.inf
    m, n = scaled.shape
    # error of the product and of the scaling against the trace (the Frobenius norm squared)
    error = 1.1 * (m + 20) * UNIT * float(gram.trace())
    first = 1e-10 if n <= _SMALL else 3e-6
    for k in range(12):
        shift = largest * (1.0 + first * 8.0**k) + error
        low = shifted_least_eigenvalue(-gram, -shift)
        if low > -math.inf:
            bound = math.sqrt(error - low) * math.sqrt(float(y.sum())) * math.sqrt(float(z.sum()))
            return bound * (1.0 + 4.0 * (m + n + 10) * UNIT)
    return math.inf


def _spectral_guess(gram: np.ndarray) -> float:
    """Largest eigenvalue of a positive semidefinite matrix, to about 1e-6: a guess that is verified."""
    n = gram.shape[0]
    if n <= _SMALL:
        return float(la.eigvalsh(gram)[-1])
    start = scattered(n, 1)[:, 0]
    try:  # only the size of the largest values, which cluster at the optimum, is wanted
        return float(sla.eigsh(gram, 1, v0=start, tol=1e-6, maxiter=50, return_eigenvectors=False)[0])
    except sla.ArpackError:
        return float(eigenvalues_between(gram, n - 1, n - 1)[0])


def _ascent(matrix: np.ndarray, rank: int, momentum: float) -> Any:
    """Yield (U, V, image A V, image A'U) for ever: exact block steps with momentum (a generator)."""
    m, n = matrix.shape
    right = normalised_rows(scattered(n, rank) - 0.5)
    previous, transposed = right, np.ascontiguousarray(matrix.T)
    while True:
        left = normalised_rows(matrix @ (right + momentum * (right - previous)))
        image = transposed @ left
        previous, right = right, normalised_rows(image)
        yield left, right, image


def cut_norm(
    matrix: Any,
    *,
    tolerance: float = 1e-3,
    rank: int | None = None,
    max_iterations: int = 3000,
    roundings: int = 60,
) -> CutNorm:
    """Bracket the cut norm of a dense (m, n) matrix; `gap` of the result is below `tolerance` when it
    converged.

    Args:
        matrix: finite real numbers, shape (m, n), at least (1, 1).
        tolerance: relative gap between the certified bound and the relaxation's value.
        rank: of the ascent; default the least r with r (r+1) / 2 > m + n, at most 40 (all that was ever
        needed).
        max_iterations: of the ascent (four matrix products of width `rank` each).
        roundings: random hyperplanes, each improved to a local optimum.

    Deterministic. Never raises because of the values, except for entries that are not finite.

    Raises:
        ValueError: not a matrix, empty, or entries that are not finite.

    Cost: 0.02 s at n = 300, seconds at n = 2000. Source: Alon and Naor 2006; docs/proofs/cuts_cut_norm.md.
    """
    array = np.asarray(matrix, dtype=float)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"cut_norm needs a matrix with at least one entry, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("the matrix has entries that are not finite; replace NaN and infinities first")
    if not 0.0 < tolerance < 1.0:
        raise ValueError(f"tolerance must lie in (0, 1), got {tolerance}")
    scale = float(np.abs(array).max())
    if scale == 0.0:
        ones = [np.ones(size + 1) for size in array.shape]
        none = np.zeros(0, dtype=int)
        return CutNorm(0.0, none, none, 0.0, ones[0], ones[1], 0.0, 0)
    big = padded(array / scale)
    m, n = big.shape
    width = rank or min(40, math.ceil(math.sqrt(2 * (m + n))) + 1)
    best, weights = math.inf, (np.ones(m), np.ones(n))
    value = last = 0.0
    check, iteration = 12, 0
    left = right = np.zeros((0, 0))
    ascent = _ascent(big, width, 0.9)
    for iteration in range(1, max_iterations + 1):
        left, right, image = next(ascent)
        if iteration != check and iteration < max_iterations:
            continue
        z = np.linalg.norm(image, axis=1)
        value = float(z.sum())
        # the bound is worth its price when the ascent has nearly stopped
        if iteration >= max_iterations or value - last <= 0.3 * tolerance * value:
            y = np.linalg.norm(big @ right, axis=1)
            y, z = (np.maximum(side, 1e-9 * side.mean() + 1e-300) for side in (y, z))
            bound = dual_bound(big, y, z)
            if bound < best:
                best, weights = bound, (y, z)
            if best - value <= tolerance * best or iteration >= max_iterations:
                break
            check = iteration + max(12, iteration // 2)
        else:
            check = iteration + max(8, iteration // 4)
        last = value
    x, y_signs = _round(big, left, right, roundings)
    rows, columns = (_side(signs) for signs in (x, y_signs))
    lower = abs(float(array[np.ix_(rows, columns)].sum()))
    # the division, the sums of the padding and the final product are rounded
    rounding = 4.0 * (m + n + 4) * UNIT * float(np.abs(array).sum())
    upper = max(best / 4.0 * scale * (1.0 + 4.0 * UNIT) + rounding, lower)
    return CutNorm(lower, rows, columns, upper, *weights, value / 4.0 * scale, iteration)


def _side(signs: np.ndarray) -> np.ndarray:
    """The vertices with sign +1, or those with -1 if the pad (the last entry) is among the former."""
    chosen = signs[:-1] > 0 if signs[-1] < 0 else signs[:-1] < 0
    return np.flatnonzero(chosen)


def _signs(values: np.ndarray) -> np.ndarray:
    return np.where(values >= 0.0, 1.0, -1.0)


def _round(
    matrix: np.ndarray, left: np.ndarray, right: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Signs x, y with a large x'Ay: hyperplanes through the vectors, then alternating best responses."""
    rank = right.shape[1]
    y = _signs(right @ scattered(rank, count))
    for _ in range(100):
        x = _signs(matrix @ y)
        renewed = _signs(matrix.T @ x)
        if np.array_equal(renewed, y):
            break
        y = renewed
    x = _signs(matrix @ y)
    best = int(np.argmax((x * (matrix @ y)).sum(axis=0)))
    return x[:, best], y[:, best]


def cut_norm_exact(matrix: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """(||A||_C, S, T) by enumerating the subsets of the shorter side; at most 18 of them.

    Raises:
        ValueError: not a matrix, or both sides above 18.
    """
    array = np.asarray(matrix, dtype=float)
    if array.ndim != 2 or min(array.shape) > EXACT_SIDE or array.size == 0:
        raise ValueError(f"needs a matrix with a side of at most {EXACT_SIDE}, got shape {array.shape}")
    if array.shape[0] > EXACT_SIDE:
        value, columns, rows = cut_norm_exact(array.T)
        return value, rows, columns
    m = array.shape[0]
    subsets = (np.arange(1 << m)[:, None] >> np.arange(m)) & 1
    sums = subsets @ array
    positive = np.maximum(sums, 0.0).sum(axis=1)
    negative = np.maximum(-sums, 0.0).sum(axis=1)
    best = np.maximum(positive, negative)
    at = int(np.argmax(best))
    columns = np.flatnonzero(sums[at] > 0 if positive[at] >= negative[at] else sums[at] < 0)
    return float(best[at]), np.flatnonzero(subsets[at]), columns


def largest_normalised_cut(matrix: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """(|A(S, T)| / sqrt(|S| |T|), S, T) by level sets of the top singular pair of a dense (m, n) matrix.

    At least sigma_1 / (2 (1 + H / 4)), H the harmonic number of max(m, n) - 1: within that factor of the
    largest.
    Cost: one singular value decomposition and O(m n). Source: docs/proofs/cuts_cut_norm.md, section 4.
    """
    array = np.asarray(matrix, dtype=float)
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError("needs a matrix of finite numbers with at least one entry")
    left, _, right = np.linalg.svd(array, full_matrices=False)
    m, n = array.shape
    lengths = np.sqrt(np.outer(np.arange(1, m + 1), np.arange(1, n + 1)))
    best: tuple[float, np.ndarray, np.ndarray] = (-1.0, np.zeros(0, int), np.zeros(0, int))
    for rows in (np.argsort(-left[:, 0], kind="stable"), np.argsort(left[:, 0], kind="stable")):
        for columns in (np.argsort(-right[0], kind="stable"), np.argsort(right[0], kind="stable")):
            sums = np.abs(array[np.ix_(rows, columns)].cumsum(axis=0).cumsum(axis=1)) / lengths
            at = np.unravel_index(int(np.argmax(sums)), sums.shape)
            if sums[at] > best[0]:
                chosen = np.sort(rows[: at[0] + 1]), np.sort(columns[: at[1] + 1])
                best = (float(sums[at]), *chosen)
    return best
