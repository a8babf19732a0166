"""How far a solver's moments and multipliers are from what they should be: estimates in floats, no proofs."""

from __future__ import annotations

import numpy as np

from ...conic.svec import smat
from ..build.diagonal_dominance import least_eigenvalues
from ..build.identity import GramProgram, RawSolution


def shortfall(program: GramProgram, raw: RawSolution) -> float:
    """Estimate of how far a solver's value is from the optimum of the relaxation, to first order.

    What the moments violate, priced with the multipliers found, plus the difference of the two objectives.
    """
    identity, y = program.identity, raw.moments
    if not np.isfinite(y).all():
        return np.inf
    missed = float(np.abs(raw.free) @ np.abs(identity.free @ y)) if identity.free.shape[0] else 0.0
    least_of = least_eigenvalues(identity, y)
    for block, rows, least in zip(identity.blocks, identity.slices(), least_of, strict=True):
        if least < 0:
            missed -= least * abs(float(np.trace(smat(raw.gram[rows], block.side))))
    if program.quadratic is None and not np.isfinite(program.upper).any():
        missed += abs(float(identity.target @ y) - program.value(raw.unknowns))
    return missed


def misfit(program: GramProgram, raw: RawSolution) -> float:
    """How far the multipliers are from satisfying the identity in their cones, relative to their size."""
    identity = program.identity
    parts = (raw.gram, raw.free, raw.unknowns)
    if not all(np.isfinite(p).all() for p in parts):
        return np.inf
    residual = identity.target + identity.unknown.T @ raw.unknowns
    residual -= identity.gram.T @ raw.gram + identity.free.T @ raw.free
    size = max(1.0, float(np.abs(raw.gram).max(initial=0.0)), float(np.abs(identity.target).max(initial=0.0)))
    worst = float(np.abs(residual).max(initial=0.0))
    for block, rows in zip(identity.blocks, identity.slices(), strict=True):
        worst = max(worst, -float(np.linalg.eigvalsh(smat(raw.gram[rows], block.side))[0]))
    return worst / size if np.isfinite(worst / size) else np.inf


def priced_misfit(program: GramProgram, raw: RawSolution) -> float:
    """How far the multipliers' value may be from what they prove, to first order: what they miss the identity
    by, at the moments found, term by term. (Coefficients of 1e5 hide a residual that a minimum of 0 shows.)
    """
    identity = program.identity
    residual = identity.target + identity.unknown.T @ raw.unknowns
    residual -= identity.gram.T @ raw.gram + identity.free.T @ raw.free
    found = float(np.abs(residual) @ np.abs(raw.moments))
    return found if np.isfinite(found) else np.inf


def violation(program: GramProgram, raw: RawSolution) -> float:
    """How far the moments are from a pseudo-expectation of the (scaled) system: the largest violation."""
    identity, y = program.identity, raw.moments
    constant = identity.constant_column()
    if constant < 0 or not np.isfinite(y).all() or not y[constant] > 0:
        return np.inf
    y = y / y[constant]
    worst = float(np.abs(identity.free @ y).max(initial=0.0))
    return max([worst, *(-least for least in least_eigenvalues(identity, y))]) / max(1.0, np.abs(y).max())


def moment_violation(program: GramProgram, raw: RawSolution) -> float:
    """By how much the moments miss what the moment program asks of them (equations, cones, E[1] = 1 and what
    else the unknowns say), relative to the largest moment, or to one. What a multiplier of zero hides of it
    is not seen in ``shortfall``."""
    identity, y = program.identity, raw.moments
    if not np.isfinite(y).all():
        return np.inf
    slopes = program.objective + identity.unknown @ y
    limited = np.isfinite(program.upper)
    free = ~limited if program.quadratic is None else ~limited & (program.quadratic == 0)
    missed = [np.abs(slopes[free]), -slopes[limited], np.abs(identity.free @ y)]
    worst = max(
        [0.0, *(float(v.max(initial=0.0)) for v in missed), *(-v for v in least_eigenvalues(identity, y))]
    )
    return worst / max(1.0, float(np.abs(y).max(initial=0.0)))
