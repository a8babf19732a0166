"""Conjugate gradients: a linear system, and Newton's step with the shorter steps on the way to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_ACCURACY, _PRODUCTS = 1e-6, 30
_FLAT = 1e-14  # of a direction's square: its curvature is then rounding (columns have norm one)
_NEWTON_ACCURACY = 0.05
_FURTHER = 1.25  # so much more products has each step that is kept


def conjugate_gradients(
    operator: Callable[[np.ndarray], np.ndarray], right: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Solve ``operator(x) = right`` (symmetric, positive definite), from a solution near by."""
    path = newton_path(operator, operator(start) - right, _PRODUCTS, _ACCURACY * float(np.linalg.norm(right)))
    return start + path[-1].step if path else start


@dataclass(frozen=True, eq=False)
class Leg:
    """A step, the (negative) change of L that its quadratic model predicts, and its number of products."""

    step: np.ndarray
    change: float
    products: int


def newton_path(
    hessian: Callable[[np.ndarray], np.ndarray], gradient: np.ndarray, most: int, enough: float | None = None
) -> list[Leg]:
    """Steps of conjugate gradients towards the minimiser of the quadratic model, kept at products 1, 2, 3, 4,
    5, 7, 9, ...: where the whole step is too long, an earlier one is better than a shorter one. ``enough``:
    the norm of a residual that ends it; it also ends, after fewer products, at a direction without
    curvature."""
    step, image = np.zeros_like(gradient), np.zeros_like(gradient)
    residual = -gradient
    direction, square = residual.copy(), float(residual @ residual)
    goal = _NEWTON_ACCURACY**2 * square if enough is None else enough**2
    path: list[Leg] = []
    for count in range(1, most + 1):
        if enough is not None and square <= goal:
            break
        product = hessian(direction)
        bend = float(direction @ product)
        if enough is not None and not bend > _FLAT * float(direction @ direction):
            break  # dependent columns: nothing to solve for
        length = square / bend
        step = step + length * direction
        image += length * product
        residual -= length * product
        new = float(residual @ residual)
        last = new <= goal or count == most
        if last or enough is not None or not path or count >= _FURTHER * path[-1].products:
            path.append(Leg(step, float(gradient @ step + step @ image / 2), count))
        if last:
            break
        direction = residual + (new / square) * direction
        square = new
    return path
