"""Solves that begin at the solution of a program near by.

A sweep of one structure (another objective each time, or another number in a constraint) can begin every
solve at the solution before.
"""

from __future__ import annotations

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
    result = newton_cg.solve(
        form.conic,
        tolerance=tolerance,
        time_limit=time_limit,
        verbose=verbose,
        start=_conic_solution(program, form, start),
    )
    return read_moment_form(program, form, result) if result.status == "optimal" else None


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
