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
    x = start.copy()
    residual = right - operator(x)
    direction, square = residual.copy(), float(residual @ residual)
    enough = _ACCURACY**2 * float(right @ right)
    for _ in range(_PRODUCTS):
        if square <= enough:
            break
        image = operator(direction)
        bend = float(direction @ image)
        if not bend > _FLAT * float(direction @ direction):  # dependent columns: nothing to solve for
            break
        length = square / bend
        x += length * direction
        residual -= length * image
        new = float(residual @ residual)
        direction = residual + (new / square) * direction
        square = new
    return x


@dataclass(frozen=True, eq=False)
class Leg:
    """A step, the (negative) change of L that its quadratic model foretells, and its number of products."""

    step: np.ndarray
    change: float
    products: int


def newton_path(hessian: Callable[[np.ndarray], np.ndarray], gradient: np.ndarray, most: int) -> list[Leg]:
    """Steps of conjugate gradients towards the minimiser of the quadratic model, kept at products 1, 2, 3, 4,
    5, 7, 9, ...: where the whole step is too long, an earlier one is better than a shorter one."""
    step, image = np.zeros_like(gradient), np.zeros_like(gradient)
    residual = -gradient
    direction, square = residual.copy(), float(residual @ residual)
    enough = _NEWTON_ACCURACY**2 * square
    path: list[Leg] = []
    for count in range(1, most + 1):
        product = hessian(direction)
        length = square / float(direction @ product)
        step = step + length * direction
        image += length * product
        residual -= length * product
        new = float(residual @ residual)
        last = new <= enough or count == most
        if last or not path or count >= _FURTHER * path[-1].products:
            path.append(Leg(step, float(gradient @ step + step @ image / 2), count))
        if last:
            break
        direction = residual + (new / square) * direction
        square = new
    return path
