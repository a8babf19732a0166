"""min <C, X> over X psd whose diagonal blocks are identities, by low-rank factors X = Y Y'.

The rows of Y come in blocks of orthonormal ones, so that Y lies in a product of spheres or Stiefel manifolds.
A Riemannian trust region with truncated conjugate gradients finds a critical point; where the dual slack
C - L, L_i = sym(Y_i (C Y)_i'), has a negative eigenvalue, its vector is one more column of Y that leads down
(Burer and Monteiro 2003; Boumal, Voroninski and Bandeira 2016; Rosen, Carlone, Bandeira and Leonard 2019).
Nothing here is proven. For any block-diagonal L whatever

    <C, X> >= tr L + trace(X) min(0, lambda_min(C - L)),

so a caller has the last word with one Cholesky factorisation (`rigorous.shifted_least_eigenvalue`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

_SMALL = 200  # side up to which a whole spectrum is as fast as one eigenvalue
_RESTARTS = 12  # accuracies that are tried, each a fifth of the one before
_INNER = 200  # conjugate gradients of one step
_SHARE = 0.5  # of the tolerance that an estimated gap may take


@dataclass(frozen=True, eq=False)
class LowRankPoint:
    """A feasible X = Y Y' and multipliers: ``factor`` Y, shape (blocks, side, rank), ``dual`` L, shape
    (blocks, side, side), ``value`` <C, X>, and ``least``, an estimate of the least eigenvalue of C - L."""

    factor: np.ndarray
    dual: np.ndarray
    value: float
    least: float

    @property
    def rows(self) -> np.ndarray:
        """The factor as a matrix, shape (blocks * side, rank)."""
        return self.factor.reshape(-1, self.factor.shape[2])

    @property
    def gap(self) -> float:
        """An estimate of value - dual bound."""
        side = self.factor.shape[0] * self.factor.shape[1]
        return self.value - float(np.trace(self.dual, axis1=1, axis2=2).sum()) + side * max(0.0, -self.least)


def staircase(
    matrix: Any,
    side: int,
    tolerance: Callable[[float], float],
    *,
    deadline: float = math.inf,
    iterations: int = 400,
) -> Iterator[LowRankPoint]:
    """Points that are ever more accurate, from the first on whose estimated gap is at most half of
    ``tolerance(value)``; the last is the best there is.

    ``matrix``: C, symmetric, dense, scipy sparse or with ``@`` and ``shape``; ``side``: of the diagonal
    blocks; ``deadline``: of ``time.perf_counter``; ``iterations``: steps of a trust region. Deterministic.
    """
    count = matrix.shape[0] // side
    scale = _norm(matrix)
    if not np.isfinite(scale):
        return
    factor = _start(matrix, count, side)
    vector: np.ndarray | None = None
    for k in range(_RESTARTS):
        accuracy = 1e-4 * 5.0**-k * scale * math.sqrt(count)
        factor = _trust_region(matrix, factor, accuracy, (iterations, deadline))
        image = _product(matrix, factor)
        dual = _sym(image @ np.swapaxes(factor, 1, 2))
        value = float((image * factor).sum())
        if not math.isfinite(value):
            return
        enough = tolerance(value)
        least, vector = _least(matrix, dual, enough / max(1, count * side), vector)
        least = min(least, 0.0)  # <Y, (C - L) Y> = 0, whatever an iteration that did not end says
        result = LowRankPoint(factor, dual, value, least)
        late = time.perf_counter() > deadline
        if result.gap <= _SHARE * enough or late or k == _RESTARTS - 1:
            yield result
        if late:
            return
        if least * count * side < -0.1 * enough and factor.shape[2] < count * side:
            factor = _escaped(matrix, result, vector)


def _sym(blocks: np.ndarray) -> np.ndarray:
    return 0.5 * (blocks + np.swapaxes(blocks, -1, -2))


def _product(matrix: Any, factor: np.ndarray) -> np.ndarray:
    return np.asarray(matrix @ factor.reshape(matrix.shape[0], -1)).reshape(factor.shape)


def _norm(matrix: Any) -> float:
    """The largest absolute row sum, or something of that size."""
    if isinstance(matrix, np.ndarray) or sp.issparse(matrix):
        return float(abs(matrix).sum(axis=1).max())
    vector = np.random.default_rng(1).choice([-1.0, 1.0], (matrix.shape[0], 8))
    return float(np.abs(matrix @ vector).max())


def _retracted(factor: np.ndarray) -> np.ndarray:
    """The nearest point with orthonormal rows in every block."""
    if factor.shape[1] == 1:
        lengths = np.linalg.norm(factor, axis=2, keepdims=True)
        return np.divide(
            factor, lengths, out=np.eye(1, factor.shape[2])[None] + 0.0 * factor, where=lengths > 0
        )
    left, _, right = np.linalg.svd(factor, full_matrices=False)
    return left @ right


def _tangent(factor: np.ndarray, direction: np.ndarray) -> np.ndarray:
    if factor.shape[1] == 1:
        return direction - (direction * factor).sum(axis=2, keepdims=True) * factor
    return direction - _sym(direction @ np.swapaxes(factor, 1, 2)) @ factor


def _start(matrix: Any, count: int, side: int) -> np.ndarray:
    """Random directions, pushed once through the matrix where blocks are rows."""
    rank = max(side + 2, 4 + math.isqrt(2 * count) // 4) if side == 1 else side + 2
    rng = np.random.default_rng(0)
    factor = _retracted(rng.standard_normal((count, side, min(count * side, rank))))
    pushed = _product(matrix, factor)
    length = float(np.linalg.norm(pushed)) / math.sqrt(count)
    return _retracted(factor - 2 * pushed / length) if side == 1 and 0 < length < math.inf else factor


def _trust_region(matrix: Any, factor: np.ndarray, accuracy: float, most: tuple[int, float]) -> np.ndarray:
    """A point where the Riemannian gradient is at most ``accuracy``; ``most``: steps, and the deadline."""
    iterations, deadline = most
    image = _product(matrix, factor)
    value = float((image * factor).sum())
    radius = largest = 2 * math.sqrt(factor.shape[0])
    radius /= 8
    for _ in range(iterations):
        dual = _sym(image @ np.swapaxes(factor, 1, 2))
        slope = image - dual @ factor
        length = float(np.linalg.norm(slope))
        if not length > accuracy or radius < 1e-12 or time.perf_counter() > deadline:
            break

        def bend(v: np.ndarray, dual: np.ndarray = dual, at: np.ndarray = factor) -> np.ndarray:
            return _tangent(at, _product(matrix, v) - dual @ v)

        step, model = _truncated(bend, slope, radius, length * min(0.1, length / max(1.0, abs(value)) + 1e-3))
        if not math.isfinite(model):
            break
        after = _retracted(factor + step)
        image_after = _product(matrix, after)
        reached = float((image_after * after).sum())
        noise = 1e-14 * max(abs(value), 1e-300)
        ratio = (0.5 * (reached - value) - noise) / (model - noise)
        radius = 0.25 * radius if not ratio >= 0.25 else min(2 * radius, largest) if ratio > 0.75 else radius
        if ratio > 0.05 or reached <= value and ratio > 0:
            factor, image, value = after, image_after, reached
    return factor


def _truncated(
    bend: Callable[[np.ndarray], np.ndarray], slope: np.ndarray, radius: float, goal: float
) -> tuple[np.ndarray, float]:
    """A step within the radius that lowers <slope, v> + <v, bend v> / 2, by conjugate gradients (Steihaug),
    and the model's value there."""
    step, bent = np.zeros_like(slope), np.zeros_like(slope)
    residual, direction = slope, -slope
    size = float((residual * residual).sum())
    for _ in range(_INNER):
        image = bend(direction)
        curvature = float((direction * image).sum())
        distant = (
            float((step * step).sum()),
            float((step * direction).sum()),
            float((direction * direction).sum()),
        )
        a = size / curvature if curvature > 0 else math.inf
        if curvature <= 0 or distant[0] + 2 * a * distant[1] + a * a * distant[2] >= radius**2:
            a = (
                -distant[1] + math.sqrt(max(distant[1] ** 2 + distant[2] * (radius**2 - distant[0]), 0.0))
            ) / distant[2]
            step, bent = step + a * direction, bent + a * image
            break
        step, bent = step + a * direction, bent + a * image
        residual = residual + a * image
        size, before = float((residual * residual).sum()), size
        if math.sqrt(size) <= goal:
            break
        direction = -residual + size / before * direction
    return step, float((slope * step).sum()) + 0.5 * float((step * bent).sum())


def _least(
    matrix: Any, dual: np.ndarray, budget: float, vector: np.ndarray | None
) -> tuple[float, np.ndarray]:
    """About the least eigenvalue of C - L, and its vector."""
    side = matrix.shape[0]

    def slack(v: np.ndarray) -> np.ndarray:
        blocks = v.reshape(dual.shape[0], dual.shape[1], -1)
        return np.asarray(matrix @ v) - (dual @ blocks).reshape(v.shape)

    if side <= _SMALL:
        values, vectors = np.linalg.eigh(_sym(slack(np.eye(side))))
        return float(values[0]), vectors[:, 0]
    operator = sla.LinearOperator((side, side), matvec=slack, matmat=slack, dtype=float)
    scale = max(float(np.abs(dual).max(initial=0.0)), 1e-300)
    start = np.random.default_rng(2).standard_normal(side) if vector is None else vector
    options: dict[str, Any] = {"k": 1, "which": "SA", "v0": start, "ncv": min(side - 1, 40), "maxiter": 200}
    try:
        values, vectors = sla.eigsh(operator, tol=max(1e-9, min(1e-3, 0.1 * budget / scale)), **options)
    except sla.ArpackError:  # one value is asked for, and it is not found
        return float(start @ slack(start[:, None])[:, 0]) / float(start @ start), start
    return float(values[0]), vectors[:, 0]


def _escaped(matrix: Any, point: LowRankPoint, vector: np.ndarray) -> np.ndarray:
    """The factor with one more column, along the vector of negative curvature, where that leads down."""
    count, side, rank = point.factor.shape
    wider = np.zeros((count, side, rank + 1))
    wider[:, :, :rank] = point.factor
    along = np.zeros_like(wider)
    along[:, :, rank] = vector.reshape(count, side)
    length = 0.5 * math.sqrt(count)
    for _ in range(30):
        result = _retracted(wider + length * along)
        if float((_product(matrix, result) * result).sum()) < point.value - 1e-14 * abs(point.value):
            return result
        length /= 2
    return point.factor
