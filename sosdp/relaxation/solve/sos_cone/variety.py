"""Points on the variety of the equations that are left as rows: Gauss and Newton's steps from all sides."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .points import NotSampled, monomial_values

_STEPS = 30
_ON = 1e-14
_ENOUGH = 0.9  # part of the candidates that must arrive before the steps end
_RANK = 1e-6  # a double zero is only met to 1e-7: what it adds must not count


def on_variety(
    candidates: np.ndarray, exponents: np.ndarray, free: sp.csr_matrix, equations: sp.csr_matrix
) -> np.ndarray:
    """As many real points as there are functionals that vanish on the rows of ``free``.

    ``exponents``: those of the columns, shape (columns, n); ``equations``: the rows of ``free`` that the
    others are multiples of. Raises NotSampled when real points span fewer (the multiples of the equations up
    to this degree miss something that vanishes on the real variety).
    """
    points = _project(candidates, exponents, equations)
    if not points.shape[0]:
        raise NotSampled("no real point on the variety was found")
    values = monomial_values(points, exponents)
    scale = np.abs(values).max(axis=0)
    _, r, pivots = la.qr((values / np.where(scale > 0, scale, 1.0)).T, mode="economic", pivoting=True)
    size = np.abs(r.diagonal())
    rank = int((size > _RANK * size[0]).sum())
    triangular = la.qr(free.toarray(), mode="r", pivoting=True)[0]
    diagonal = np.abs(triangular.diagonal())
    wanted = exponents.shape[0] - int((diagonal > _RANK * diagonal.max(initial=0.0)).sum())
    if rank != wanted:
        raise NotSampled(f"points on the variety span {rank} functionals of {wanted}")
    return points[pivots[:rank]]


def _project(points: np.ndarray, exponents: np.ndarray, equations: sp.csr_matrix) -> np.ndarray:
    """Gauss-Newton from every point at once, until nearly all arrive; only those are returned."""
    used = np.flatnonzero(equations.getnnz(axis=0))
    rows, powers = equations[:, used].toarray(), exponents[used]
    count, n = points.shape
    x = points.copy()
    size = np.abs(rows).sum(axis=1)
    done = np.zeros(count, dtype=bool)
    for _ in range(_STEPS):
        h = monomial_values(x, powers) @ rows.T
        room = size * np.maximum(1.0, np.abs(x).max(axis=1, initial=0.0))[:, None] ** int(
            powers.sum(axis=1).max()
        )
        done = (np.abs(h) <= _ON * room).all(axis=1)
        if done.mean() > _ENOUGH:
            break
        jacobian = np.empty((count, rows.shape[0], n))
        for j in range(n):
            lowered = powers.copy()
            lowered[:, j] = np.maximum(lowered[:, j] - 1, 0)
            jacobian[:, :, j] = (monomial_values(x, lowered) * powers[:, j]) @ rows.T
        step = np.einsum("kij,kj->ki", np.linalg.pinv(jacobian, rcond=1e-10), h)
        length = np.linalg.norm(step, axis=1, keepdims=True)
        x = x - step * np.minimum(1.0, 1.0 / np.maximum(length, 1e-300))
    return x[done]
