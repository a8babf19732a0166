"""Points on the variety of the equations that are left as rows: Gauss and Newton's steps from all sides."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .points import NotSampled, monomial_values

_STEPS = 30
_ON = 1e-13
_RANK = 1e-9


def on_variety(candidates: np.ndarray, exponents: np.ndarray, free: sp.csr_matrix) -> np.ndarray:
    """As many real points as there are functionals that vanish on the rows of ``free``.

    ``exponents``: those of the columns, shape (columns, n). Raises NotSampled when real points span fewer
    (the multiples of the equations up to this degree miss something that vanishes on the real variety).
    """
    equations = _lowest(free, exponents)
    points = _project(candidates, exponents, equations)
    values = monomial_values(points, exponents)
    if not points.shape[0]:
        raise NotSampled("no real point on the variety was found")
    scale = np.abs(values).max(axis=0)
    _, r, pivots = la.qr((values / np.where(scale > 0, scale, 1.0)).T, mode="economic", pivoting=True)
    size = np.abs(r.diagonal())
    rank = int((size > _RANK * size[0]).sum())
    wanted = exponents.shape[0] - np.linalg.matrix_rank(free.toarray())
    if rank != wanted:
        raise NotSampled(f"points on the variety span {rank} functionals of {wanted}")
    return points[pivots[:rank]]


def _lowest(free: sp.csr_matrix, exponents: np.ndarray) -> sp.csr_matrix:
    """The rows of least degree that the others are multiples of: enough of them to cut out the variety."""
    degree = np.array(
        [int(exponents[free[k].indices].sum(axis=1).max(initial=0)) for k in range(free.shape[0])]
    )
    return sp.csr_matrix(
        free[np.argsort(degree, kind="stable")[: min(free.shape[0], 4 * exponents.shape[1] + 8)]]
    )


def _project(points: np.ndarray, exponents: np.ndarray, equations: sp.csr_matrix) -> np.ndarray:
    """Gauss-Newton from every point at once; only those that arrive are returned."""
    count, n = points.shape
    x = points.copy()
    for _ in range(_STEPS):
        h = (equations @ monomial_values(x, exponents).T).T
        jacobian = np.empty((count, equations.shape[0], n))
        for j in range(n):
            lowered = exponents.copy()
            lowered[:, j] = np.maximum(lowered[:, j] - 1, 0)
            jacobian[:, :, j] = (equations @ (monomial_values(x, lowered) * exponents[:, j]).T).T
        step = np.einsum("kij,kj->ki", np.linalg.pinv(jacobian, rcond=1e-10), h)
        length = np.linalg.norm(step, axis=1, keepdims=True)
        x = x - step * np.minimum(1.0, 0.5 / np.maximum(length, 1e-300))
    h = np.abs((equations @ monomial_values(x, exponents).T).T).max(axis=1, initial=0.0)
    size = np.abs(equations).max() * np.maximum(1.0, np.abs(x).max(axis=1)) ** int(
        exponents.sum(axis=1).max()
    )
    good = np.isfinite(h) & (h <= _ON * size)
    return x[good]
