"""Certified boxes around polytopes: any nonnegative multipliers bound a linear function, in integers.

If factor * A t <= b and |t_j| <= B_j then for every y >= 0: max <c, t> <= (<y, b> / factor) + sum_j |c - A^T
y|_j B_j. The multipliers come from a floating-point linear program; whatever they are, the bound is true.

Proof: docs/proofs/samplers.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sosdp.privacy.scores.score import Box

Halfspaces = Sequence[tuple[tuple[int, ...], int]]

_BITS = 40


def polytope_box(rows: Halfspaces, factor: int, box: Box | None) -> Box | None:
    """A box, inside `box`, that contains all its integer points t with factor * <u, t> <= b in every row.

    None if `box` is. A solver that fails costs tightness only. Cost: 2d linear programs.
    """
    if box is None or not rows:
        return box
    bounds = [max(abs(low), abs(high)) for low, high in box]
    result = []
    for i, (low, high) in enumerate(box):
        ends = []
        for sign in (1, -1):
            target = [sign * int(j == i) for j in range(len(box))]
            ends.append(
                certified_maximum(target, rows, factor, bounds, _multipliers(target, rows, factor, box))
            )
        result.append((max(low, -ends[1]), min(high, ends[0])))
    return tuple(result)


def polytope_is_empty(rows: Halfspaces, factor: int, box: Box) -> bool:
    """Whether it is certified that no real t in `box` satisfies every row; False proves nothing."""
    solution = _solve(np.zeros(len(box) + 1), rows, factor, box, shift=True)
    if solution is None or not solution[1] > 0:
        return False
    scaled = [max(0, round(float(y) * (1 << _BITS))) for y in solution[0]]
    bounds = [max(abs(low), abs(high)) for low, high in box]
    total = sum(y * b for y, (_, b) in zip(scaled, rows, strict=True))
    for j, bound in enumerate(bounds):
        total += factor * abs(sum(y * u[j] for y, (u, _) in zip(scaled, rows, strict=True))) * bound
    return total < 0


def certified_maximum(
    target: Sequence[int],
    rows: Halfspaces,
    factor: int,
    bounds: Sequence[int],
    multipliers: Sequence[float] | None,
) -> int:
    """floor of a true upper bound of <target, t>, from any multipliers (negative ones count as 0)."""
    scaled = [max(0, round(float(y) * (1 << _BITS))) for y in multipliers or []]
    total = sum(y * b for y, (_, b) in zip(scaled, rows, strict=False))
    for j, bound in enumerate(bounds):
        rest = (target[j] << _BITS) - sum(y * u[j] for y, (u, _) in zip(scaled, rows, strict=False))
        total += factor * abs(rest) * bound
    return total // (factor << _BITS)


def _multipliers(target: Sequence[int], rows: Halfspaces, factor: int, box: Box) -> list[float] | None:
    solution = _solve(np.array(target, dtype=float), rows, factor, box)
    return None if solution is None else list(solution[0])


def _solve(
    target: np.ndarray, rows: Halfspaces, factor: int, box: Box, shift: bool = False
) -> tuple[Any, float] | None:
    """Multipliers of max <target, t>, or, with `shift`, of the least s with A t - b <= s."""
    from scipy.optimize import linprog

    matrix = np.array([u for u, _ in rows], dtype=float)
    right = np.array([b / factor for _, b in rows])
    limits: list[tuple[float | None, float | None]] = [(float(low), float(high)) for low, high in box]
    cost = -target
    if shift:
        matrix = np.hstack([matrix, -np.ones((len(rows), 1))])
        limits = [*limits, (None, None)]
        cost = np.zeros(len(limits))
        cost[-1] = 1.0
    done = linprog(cost, A_ub=matrix, b_ub=right, bounds=limits, method="highs")
    if done.status != 0 or done.ineqlin is None or not np.isfinite(done.ineqlin.marginals).all():
        return None
    return -done.ineqlin.marginals, float(done.fun)
