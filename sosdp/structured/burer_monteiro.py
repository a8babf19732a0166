"""Low-rank starting points on the elliptope: unit rows V, C = V V^T, by L-BFGS on the normalised rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .correlation_gap import normalised_rows, scattered
from .matrix_input import MatrixLike


def default_rank(n: int) -> int:
    """ceil(1.2 sqrt(n)) + 5, above the rank of the nearest correlation matrix of a centred graph in
    practice.
    """
    return min(n, int(np.ceil(1.2 * np.sqrt(n))) + 5)


def start_iterations(n: int) -> int:
    """max(35, .055 n): the cheapest start for Newton's method, measured up to n = 4000.

    An iteration is cheap beside an eigendecomposition, the more so the larger n; 110 of them instead of 35
    save two of four decompositions at n = 2000.
    """
    return max(35, int(0.055 * n))


def start_rows(n: int, rank: int, matrix: MatrixLike) -> np.ndarray:
    """A fixed start: scattered directions pushed once through the matrix (a step of power iteration)."""
    rows = normalised_rows(scattered(n, rank))
    pushed = matrix @ rows
    scale = float(np.sqrt((pushed**2).sum() / n))
    return normalised_rows(rows + 2.0 * pushed / scale) if np.isfinite(scale) and scale > 0 else rows


def minimise_over_rows(
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    *,
    gradient_tolerance: float,
    max_iterations: int,
) -> np.ndarray:
    """Minimise a function of unit rows V by L-BFGS over unnormalised U, V_i = U_i / |U_i|.

    value_and_gradient takes V (n, r) and returns the value and its Euclidean gradient in V. Deterministic;
    any failure inside the optimiser ends it early and the best rows so far are returned.
    """
    shape = start.shape

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        unnormalised = flat.reshape(shape)
        lengths = np.linalg.norm(unnormalised, axis=1)[:, None]
        rows = unnormalised / lengths
        value, gradient = value_and_gradient(rows)
        gradient = (gradient - (gradient * rows).sum(axis=1)[:, None] * rows) / lengths
        return value, gradient.ravel()

    import scipy.optimize  # most of what importing this package would cost

    result = scipy.optimize.minimize(
        objective,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "gtol": gradient_tolerance, "ftol": 0.0, "maxcor": 12},
    )
    rows = normalised_rows(np.asarray(result.x).reshape(shape))
    return rows if np.all(np.isfinite(rows)) else start


def low_rank_projection(
    matrix: MatrixLike,
    *,
    target: np.ndarray | None = None,
    rank: int | None = None,
    gradient_tolerance: float,
    max_iterations: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Approximate the projection by V V^T with |V_i|^2 = target_i (default 1); returns V (n, r) and the dual
    estimate y (n,).

    Minimises (1/2) ||V V^T - B||_F^2 over such rows (Burer-Monteiro); y_i = ((V V^T - B) V V^T)_ii / target_i
    is the multiplier of the diagonal. No dense (n, n) matrix is formed. By default `start_iterations`
    of L-BFGS. One evaluation costs a product of B with (n, r) and O(n r^2).
    """
    n = matrix.shape[0]

    lengths = np.ones((n, 1)) if target is None else np.sqrt(target)[:, None]

    def value_and_gradient(unit: np.ndarray) -> tuple[float, np.ndarray]:
        rows = lengths * unit
        gram = rows.T @ rows
        image = matrix @ rows
        value = 0.5 * float((gram * gram).sum()) - float((rows * image).sum())
        return value, 2.0 * lengths * (rows @ gram - image)

    start = start_rows(n, rank or default_rank(n), matrix)
    rows = minimise_over_rows(
        value_and_gradient,
        start,
        gradient_tolerance=gradient_tolerance,
        max_iterations=start_iterations(n) if max_iterations is None else max_iterations,
    )
    rows = lengths * rows
    dual = ((rows @ (rows.T @ rows) - matrix @ rows) * rows).sum(axis=1) / lengths[:, 0] ** 2
    return rows, dual
