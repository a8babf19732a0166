"""Whether the ray that a solver returns shows what the solver says of a program with unknown coefficients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...conic.choose import backend, choose
from ...conic.program import ProblemTooLarge
from ...conic.strategies import is_unbounded
from ...conic.svec import smat
from ..build.diagonal_dominance import least_eigenvalues
from ..build.identity import GramProgram, RawSolution
from ..solve.forms import moment_form
from ..solve.solve import solve_program

_CHECKS = 1e-6  # violation of a ray, relative to the ray, up to which it counts


def provably_unbounded(program: GramProgram) -> bool:
    """Whether it is proven, in exact arithmetic, that the moment program has no finite value: that there are
    moments, and a direction that lowers the objective without end. Cost: some more solves."""
    identity = replace(program.identity, symmetry=None)
    if identity.dominance is not None:
        identity = identity.dominance.reduce(identity)
    form = moment_form(replace(program, identity=identity))
    try:
        return is_unbounded(form.conic, backend(choose(identity.sides)).solve) is True
    except ProblemTooLarge:
        return False


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


def separates(program: GramProgram, raw: RawSolution) -> bool:
    """Whether the moments are non-negative on every Gram matrix, zero on equalities and on what the unknowns
    multiply, and negative on the rest (to 1e-6 relative): no coefficients satisfy the constraints.
    """
    identity, y = program.identity, raw.moments
    if not np.isfinite(y).all():
        return False
    fall = -float(identity.target @ y)
    size = float(np.abs(y).max(initial=0.0))
    missed = [0.0, *(-least for least in least_eigenvalues(identity, y))]
    missed += np.abs(identity.free @ y).tolist() + np.abs(identity.unknown @ y).tolist()
    scale = max(1.0, float(np.abs(identity.target).max(initial=0.0)))
    return fall > _CHECKS * size and max(missed) <= _CHECKS * max(size, fall / scale)


def improves(program: GramProgram, raw: RawSolution) -> bool:
    """Whether the unknowns are a direction that keeps every constraint and improves the objective (to 1e-6
    relative).
    """
    identity = program.identity
    parts = (raw.gram, raw.free, raw.unknowns)
    if not all(np.isfinite(p).all() for p in parts):
        return False
    residual = identity.unknown.T @ raw.unknowns - identity.gram.T @ raw.gram - identity.free.T @ raw.free
    size = max(float(np.abs(p).max(initial=0.0)) for p in parts)
    missed = float(np.abs(residual).max(initial=0.0))
    for block, rows in zip(identity.blocks, identity.slices(), strict=True):
        missed = max(missed, -float(np.linalg.eigvalsh(smat(raw.gram[rows], block.side))[0]))
    gain = float(program.objective @ raw.unknowns)
    return gain > _CHECKS * size and missed <= _CHECKS * size


def verdict(program: GramProgram, raw: RawSolution) -> tuple[str, str]:
    """Status and reason for a solver that found no optimum: ``infeasible``, ``unbounded`` (feasible, and a
    direction improves without end) or ``failed``. Cost: for ``unbounded`` one more solve.
    """
    if raw.status == "unbounded":
        if separates(program, raw):
            return "infeasible", "a functional separates every choice of coefficients from the constraints"
        return "failed", "the solver claims that no coefficients exist, but its ray does not check"
    if not improves(program, raw):
        return "failed", "the solver claims that there is no optimum, but its ray does not check"
    still = GramProgram(program.identity, np.zeros_like(program.objective), program.upper)
    point = solve_program(still)
    if point.status == "unbounded" and separates(still, point):
        return "infeasible", "a functional separates every choice of coefficients from the constraints"
    if point.status not in ("optimal", "inaccurate"):
        return (
            "failed",
            "a direction improves the objective, but nothing that satisfies the constraints was found",
        )
    return "unbounded", "a direction of the unknowns improves the objective without end"
