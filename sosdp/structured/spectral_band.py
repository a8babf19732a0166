"""The matrix nearest to a flat one among those within a spectral distance of a given one and inside a box.

Any such X has |x'(X - W)y| <= tau ||x|| ||y|| for all vectors. Dykstra's alternating projections; without
the box
the answer is eigenvalue soft-thresholding. Proofs: docs/proofs/cuts_synthetic_graph.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .matrix_input import as_dense, as_matrix
from .spectrum import eigendecomposition


def soft_threshold(matrix: Any, tau: float, centre: float) -> np.ndarray:
    """centre (J - I) plus the symmetric matrix W - centre (J - I) with its eigenvalues moved by tau towards
    0.

    The nearest to centre (J - I) in Frobenius norm within spectral distance tau of W. One eigendecomposition.
    """
    return _shrunk(matrix, centre, lambda size: np.maximum(size - tau, 0.0))


def _flat(side: int, centre: float) -> np.ndarray:
    """centre (J - I)."""
    return centre * (1.0 - np.eye(side))


def _shrunk(matrix: Any, centre: float, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The flat matrix plus what is beside it, the absolute values of its eigenvalues changed; flat where
    there are no eigenvalues."""
    array = as_dense(as_matrix(matrix))
    flat = _flat(array.shape[0], centre)
    result = eigendecomposition(array - flat)
    if result is None:
        return flat
    values, vectors = result
    size = change(np.abs(values))
    kept = size > 0.0
    beside = (vectors[:, kept] * (np.sign(values) * size)[kept]) @ vectors[:, kept].T
    return flat + 0.5 * (beside + beside.T)


def smoothest_in_band(
    matrix: Any, tau: float, centre: float, *, low: float = 0.0, high: float = 1.0, sweeps: int = 40
) -> np.ndarray:
    """Nearest to centre (J - I) in {X: ||X - W||_op <= tau} and the box, by Dykstra's projections.

    Args:
        matrix: W, symmetric (n, n). tau: spectral radius of the band, >= 0. centre: density of the flat
        matrix.
        low, high: box of the entries off the diagonal, which is 0.
        sweeps: of the two projections; an eigendecomposition each.

    Returns:
        X (n, n), symmetric, exactly in the box with a zero diagonal; in the band up to convergence.

    Raises:
        ValueError: not a finite symmetric matrix, tau < 0 or an empty box.

    Cost: 0.06 s a sweep at n = 400.
    """
    array = as_dense(as_matrix(matrix))
    if not tau >= 0.0 or not low <= high:
        raise ValueError(f"needs tau >= 0 and low <= high, got {tau}, [{low}, {high}]")
    current = np.clip(soft_threshold(array, tau, centre), low, high)
    np.fill_diagonal(current, 0.0)
    # Dykstra from the flat matrix; the corrections make the limit the projection, not just a feasible point
    point, first, second = _flat(array.shape[0], centre), np.zeros_like(array), np.zeros_like(array)
    for _ in range(sweeps):
        result = eigendecomposition(point + first - array)
        if result is None:
            return current
        values, vectors = result
        # only what sticks out of the band is moved: few vectors, a thin product
        out = np.abs(values) > tau
        excess = values[out] - np.clip(values[out], -tau, tau)
        moved = point + first - (vectors[:, out] * excess) @ vectors[:, out].T
        moved = 0.5 * (moved + moved.T)
        first = point + first - moved
        boxed = np.clip(moved + second, low, high)
        np.fill_diagonal(boxed, 0.0)
        second = moved + second - boxed
        change = float(np.abs(boxed - point).max())
        point = boxed
        if change < 1e-5:
            break
    return point


def shrink_spectrum(matrix: Any, noise: float, centre: float) -> np.ndarray:
    """centre (J - I) plus the eigenvectors of W - centre (J - I) that stick out of the noise, their
    eigenvalues
    corrected for it: y becomes (y + sqrt(y^2 - 4 s^2)) / 2 in units where the noise has norm 2 s = 2 noise
    sqrt(n).

    noise: standard deviation of the noise of one entry. What is subtracted is the expected inflation of a
    spike
    x to x + s^2 / x (the shrinker that is optimal for the operator norm). One eigendecomposition. Source:
    Gavish
    and Donoho 2017.
    """

    def corrected(size: np.ndarray) -> np.ndarray:
        edge = 2.0 * noise * np.sqrt(size.size)
        spike = 0.5 * (size + np.sqrt(np.maximum(size**2 - edge**2, 0.0)))
        return np.where(size > 1.02 * edge, spike, 0.0)

    result = _shrunk(matrix, centre, corrected)
    np.fill_diagonal(result, 0.0)
    return result
