"""Whether the ray that a solver returns shows what the solver says, and whether that can be proven.

A ray in floats is a reason to look for a proof, and never a verdict: what is said rests on points and
directions in exact arithmetic (``conic.strategies``), for entries that are those stated (``stated``).
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ...conic.choose import opinion
from ...conic.exact.integers import shortened
from ...conic.program import ConicProgram
from ...conic.strategies import is_dual_infeasible, is_unbounded
from ...conic.svec import SQRT2, smat, triangle
from ..assemble.diagonal_dominance import least_eigenvalues
from ..assemble.identity import GramProgram, RawSolution
from ..solve.forms import gram_form, moment_form
from .stated import Stated

_CHECKS = 1e-6  # violation of a ray, relative to the ray, up to which it counts
_PATIENCE = 10.0  # seconds that a proof or a second solver gets at least
_IMPOSSIBLE = (
    "a functional separates every choice of coefficients from the constraints at this degree, proven exactly"
)


def patience(raw: RawSolution, deadline: float = np.inf) -> float:
    """Seconds that a second solver, or a proof, gets: some times what the first took, within the time limit
    (``deadline`` of time.perf_counter); not positive where that is over."""
    return min(max(_PATIENCE, 3 * raw.seconds), deadline - time.perf_counter())


def provably_unbounded(program: GramProgram, time_limit: float = _PATIENCE) -> bool:
    """Whether it is proven, in exact arithmetic, that the moment program has no finite value: that there are
    moments, and a direction that lowers the objective without end. Cost: some more solves."""
    conic = moment_form(_whole(program)).conic
    with opinion(conic, time_limit) as solve:
        return is_unbounded(conic, solve) is True


def provably_without_multipliers(stated: Stated, time_limit: float = _PATIENCE) -> bool:
    """Whether it is proven that no Gram matrices, multipliers and unknowns satisfy the identity: a direction
    of the moments says so. Cost: some more solves."""
    conic = moment_form(_whole(stated.program)).conic
    with opinion(conic, time_limit) as solve:
        return is_dual_infeasible(conic, solve, stated.off)


def provably_improvable(program: GramProgram, time_limit: float = _PATIENCE) -> bool | None:
    """Whether it is proven that some unknowns satisfy the identity and that others improve the objective
    without end; None where it is proven that none satisfy it. Cost: some more solves."""
    conic = _plain(_whole(program))
    if conic is None:
        return False
    with opinion(conic, time_limit) as solve:
        return is_unbounded(conic, solve)


def _whole(program: GramProgram) -> GramProgram:
    """The program without symmetry, whose entries are no short numbers, its smaller cones stated."""
    identity = replace(program.identity, symmetry=None)
    if identity.dominance is not None:
        identity = identity.dominance.reduce(identity)
    return replace(program, identity=identity)


def _plain(program: GramProgram) -> ConicProgram | None:
    """The Gram form in the entries of the matrices, which exact arithmetic can read (no factors sqrt(2) in
    the equations); None where the numbers do not show what they are."""
    identity, conic = program.identity, gram_form(program)
    sides = [np.not_equal(*triangle(n)) for n in identity.sides]
    off = np.flatnonzero(np.concatenate([*sides, np.zeros(0, dtype=bool)]))
    factors = identity.gram[off].data
    exact = shortened(factors / SQRT2)
    if not (exact * SQRT2 == factors).all():
        return None
    columns = sp.csc_matrix(conic.A, copy=True)  # its pattern is sorted in place by whoever reads it
    inside = np.repeat(np.isin(np.arange(columns.shape[1]), off), np.diff(columns.indptr))
    equation = columns.indices < conic.cones.zero
    data = columns.data.copy()
    data[inside & equation] = 2 * shortened(data[inside & equation] / SQRT2)
    data[inside & ~equation] *= SQRT2
    return replace(conic, A=sp.csc_matrix((data, columns.indices, columns.indptr), shape=columns.shape))


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


def verdict(
    program: GramProgram, raw: RawSolution, stated: Stated, time_limit: float = _PATIENCE
) -> tuple[str, str]:
    """Status and reason for a solver that found no optimum: ``infeasible`` and ``unbounded`` (feasible, and a
    direction improves without end) with a proof, ``inaccurate`` where there is none, ``failed`` where the
    solver's ray does not even check. Cost: some more solves.
    """
    if raw.status == "unbounded":
        if not separates(program, raw):
            return (
                "failed",
                "the solver claims that no coefficients exist at this degree, but its ray does not check",
            )
        if time_limit > 0 and provably_without_multipliers(stated, time_limit):
            return "infeasible", _IMPOSSIBLE
        told = unproven(time_limit, not stated.exact)
        return "inaccurate", f"the solver claims that no coefficients exist at this degree; {told}"
    if not improves(program, raw):
        return "failed", "the solver claims that there is no optimum, but its ray does not check"
    if time_limit > 0:
        proven = provably_improvable(stated.program, time_limit) if stated.exact else False
        if proven:
            return (
                "unbounded",
                "a direction of the unknowns improves the objective without end, proven exactly",
            )
        if proven is None or provably_without_multipliers(stated, time_limit):
            return "infeasible", _IMPOSSIBLE
    return (
        "inaccurate",
        f"the solver claims that there is no optimum; {unproven(time_limit, not stated.exact)}",
    )


def unproven(time_limit: float, rounded: bool = False) -> str:
    """Why a solver's claim, its ray having been checked, is not repeated."""
    if rounded:
        return (
            "that could not be proven, since coefficients had to be rounded to floats: give them as fractions"
        )
    return "that could not be proven" if time_limit > 0 else "the time limit ended before it could be proven"
