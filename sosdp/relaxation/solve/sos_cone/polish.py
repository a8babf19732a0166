"""Multipliers that satisfy the identity to the last bit and lie inside the cone, without a second solve.

The method ends with a residual of about 1e-9 of the range of f. ``centre`` writes the constant 1 as
``sum_i A_i(S1_i)`` with S1_i well inside the cone, once; ``polish`` removes the residual in the metric of the
multipliers themselves, so that hardly anything is lost where they are singular; lowering the bound by delta
and adding ``delta S1`` pays for the rest. Proof: docs/proofs/sos_cone.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from .normal import Factored, NotDefinite, squares
from .sampled import SampledProgram

_EPSILONS = (1e-7, 1e-8, 1e-6, 1e-9, 1e-5, 1e-10)
_NOTHING = 1e-9  # a need that is so much of the bound (or of 1) is not worth another metric
_PASSES = 2
_NEED = 1.2
_ROUNDING = 3e-14


@dataclass(frozen=True, eq=False)
class Centre:
    """``sum_i A_i(S1_i) = 1`` at every point: the factor of ``sum_i A_i Lambda_i``, y with
    ``S1_i = Lambda_i(y)``, S1, and its least eigenvalue."""

    factor: Factored
    point: np.ndarray
    grams: list[np.ndarray]
    least: float

    def correct(
        self, program: SampledProgram, grams: list[np.ndarray], unknowns: np.ndarray
    ) -> list[np.ndarray]:
        """The Gram matrices with their residual taken away, the shortest way."""
        y = self.factor.solve(program.residual(grams, unknowns))
        return [s + block.moment(y) for block, s in zip(program.blocks, grams, strict=True)]


def centre(program: SampledProgram, direction: np.ndarray) -> Centre | None:
    """The centre of a direction (values at the points, the constant: ones), or None when it has none."""
    lower = squares(program.points, ((b, b.rows) for b in program.blocks))
    try:
        factor = Factored(lower, regularise=False)
    except NotDefinite:
        return None
    y = factor.solve(direction)
    grams = [b.moment(y) for b in program.blocks]
    least = _least(grams)
    return Centre(factor, y, grams, least) if least > 0 else None


def polish(
    program: SampledProgram, at: Centre, grams: list[np.ndarray], unknowns: np.ndarray
) -> tuple[list[np.ndarray], float]:
    """Gram matrices with residual about 1e-16 of the range of f, and how far they are outside the cone.

    Cost: a Cholesky factorisation of side U for each of the metrics tried.
    """
    norm = max(float(np.linalg.norm(g)) for g in grams)
    enough = _NOTHING * max(1.0, float(np.abs(unknowns).max(initial=0.0)))
    moved = at.correct(program, grams, unknowns)
    best = (moved, max(0.0, -_least(moved)))
    if not np.isfinite(best[1]):
        raise OverflowError("the residual is not finite")
    for epsilon in _EPSILONS:
        if best[1] <= enough:
            break
        metric = [g + epsilon * norm * np.eye(g.shape[0]) for g in grams]
        try:
            halves = [np.linalg.cholesky(z) for z in metric]
            rows = ((b, b.rows @ h) for b, h in zip(program.blocks, halves, strict=True))
            factor = Factored(squares(program.points, rows), regularise=False)
        except (la.LinAlgError, NotDefinite):
            continue
        moved = grams
        for _ in range(_PASSES):
            y = factor.solve(program.residual(moved, unknowns))
            moved = [
                s + z @ block.moment(y) @ z for block, s, z in zip(program.blocks, moved, metric, strict=True)
            ]
        moved = at.correct(program, moved, unknowns)
        need = max(0.0, -_least(moved))
        if need < best[1]:
            best = (moved, need)
    return best


def inside(
    program: SampledProgram, at: Centre, polished: tuple[list[np.ndarray], float]
) -> tuple[list[np.ndarray], float]:
    """Gram matrices inside the cone at a bound lowered by the delta that is returned."""
    grams, need = polished
    delta = (_NEED * need + _ROUNDING * float(np.abs(program.f).max(initial=0.0))) / at.least
    return [s + delta * c for s, c in zip(grams, at.grams, strict=True)], delta


def _least(grams: list[np.ndarray]) -> float:
    """The least eigenvalue of all; minus infinity where they are not finite."""
    if not all(np.isfinite(g).all() for g in grams):
        return -np.inf
    return min(float(np.linalg.eigvalsh(g)[0]) for g in grams)
