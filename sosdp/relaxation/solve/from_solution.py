"""Solves that begin at a solution: of the same program, for multipliers inside their cone, or of one near by.

What our Newton-CG method returns are projections: their Gram matrices are singular wherever they may be, and
where the system bounds nothing there is no other way to pay for what absorbing the residual takes from their
eigenvalues. Asking for Gram matrices >= epsilon I is the same program with another objective, and the method
can begin at the solution. It costs about epsilon times the trace of the moment matrices.

A sweep of one structure (another objective each time, or another number in a constraint) can begin every
solve at the solution before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...conic import newton_cg
from ...conic.program import ConicSolution
from ...conic.svec import svec
from ..assemble.identity import GramProgram, RawSolution
from .forms import MomentForm, moment_form, read_moment_form

if TYPE_CHECKING:
    from ..assemble.scaling import Scaling
    from ..pseudoexpectation import PseudoExpectation

_PAID = 3e-7  # of the value, or of one
_TOLERANCE = 1e-10


def inward(
    program: GramProgram, raw: RawSolution, time_limit: float | None = None, size: float = 1.0
) -> RawSolution | None:
    """Multipliers with every eigenvalue of every Gram matrix positive, near a solution of ``newton_cg``;
    ``size``: what differences of values are relative to, unless a value is larger.

    None where the solution is of a reduced program, or where there are none so near.
    """
    identity = program.identity
    if (
        raw.solver != newton_cg.NAME
        or identity.symmetry
        or identity.dominance
        or program.quadratic is not None
    ):
        return None
    form = moment_form(program)
    conic = form.conic
    start = _conic_solution(program, form, raw)
    unit = conic.cones.unit
    trace = float(unit @ start.s)
    epsilon = _PAID * max(size, abs(raw.value)) / max(1.0, trace)
    shifted = replace(conic, q=conic.q + epsilon * (conic.A.T @ unit))
    found = newton_cg.solve(shifted, tolerance=_TOLERANCE, time_limit=time_limit, start=start)
    if found.status not in ("optimal", "inaccurate"):
        return None
    return read_moment_form(program, form, replace(found, z=found.z + epsilon * unit))


def nearby(
    program: GramProgram,
    scaling: Scaling,
    near: PseudoExpectation,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> RawSolution | None:
    """The solution of a program by Newton's method from the result ``near`` of one of the same structure.

    None where that does not end in a solution, or where the solver gets a reduced program. Raises ValueError
    where the structures differ, and for equations that are no rewriting rules.
    """
    start = _raw(program, scaling, near)
    identity = program.identity
    if identity.symmetry or identity.dominance or program.quadratic is not None:
        return None
    form = moment_form(program)
    found = newton_cg.solve(
        form.conic,
        tolerance=tolerance,
        time_limit=time_limit,
        verbose=verbose,
        start=_conic_solution(program, form, start),
    )
    return read_moment_form(program, form, found) if found.status == "optimal" else None


def _raw(program: GramProgram, scaling: Scaling, near: PseudoExpectation) -> RawSolution:
    """The scaled solution that a result was read from, after its residual was absorbed."""
    identity = program.identity
    if identity.free.shape[0]:
        raise ValueError("near= is for systems without equations other than rewriting rules")
    if near.moments is None:
        raise ValueError(f"near= must be a solution; that result is {near.status}")
    same = near.identity.sides == identity.sides and np.array_equal(near.identity.columns, identity.columns)
    if not same or near.program.objective.size != program.objective.size:
        raise ValueError("near= must be of the same structure: its blocks or its moments are others")
    unknowns = np.zeros(program.objective.size)
    unknowns[0] = near.dual.bound * scaling.value
    return RawSolution(
        status="optimal",
        gram=np.concatenate([svec(block.gram) for block in near.dual.blocks]) * scaling.gram * scaling.value,
        free=np.zeros(0),
        unknowns=unknowns,
        moments=near.moments / scaling.column,
        value=near.dual.bound * scaling.value,
        solver=newton_cg.NAME,
        iterations=0,
        seconds=0.0,
        message="",
    )


def _conic_solution(program: GramProgram, form: MomentForm, raw: RawSolution) -> ConicSolution:
    """The solution of the moment form that ``read_moment_form`` read."""
    x = raw.moments[form.kept]
    limits = program.upper[form.limit_rows] - raw.unknowns[form.limit_rows]
    z = [-raw.free, raw.unknowns[form.equal_rows], limits, raw.gram[form.scalar], raw.gram[form.matrix]]
    return ConicSolution(
        status=raw.status,
        x=x,
        s=form.conic.b - form.conic.A @ x,
        z=np.concatenate(z),
        value=raw.value,
        iterations=raw.iterations,
        solver=raw.solver,
        seconds=raw.seconds,
    )
