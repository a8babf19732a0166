"""A point well inside every cone, which judging asks for: one more solve, of the program with a margin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...conic.svec import units
from ..assemble.identity import GramProgram, RawSolution
from ..candidate import Ran
from ..solve.solve import solve_program, with_margin

NAME = "inside"


def centre(
    program: GramProgram, unknowns: np.ndarray | None = None, ran: list[Ran] | None = None
) -> tuple[RawSolution, float] | None:
    """Multipliers well inside the cone, at fixed unknowns or at any: maximise t <= 1 with every Gram matrix
    >= t I.

    Returns the solution (Gram matrices with t I added back) and t, or None when the solver did not converge.
    ``ran``: what was done so far, to which this solve is added. Cost: about that of the first solve.
    """
    identity = program.identity
    if unknowns is None:
        cost = np.append(np.zeros(program.objective.size), 1.0)
        wider = GramProgram(with_margin(identity, keep_unknowns=True), cost, np.append(program.upper, 1.0))
    else:
        fixed = replace(with_margin(identity), target=identity.target + identity.unknown.T @ unknowns)
        wider = GramProgram(fixed, np.ones(1), np.ones(1))
    raw = solve_program(wider)
    if ran is not None:
        ran.append(Ran(NAME, raw.solver, raw.seconds, raw.status))
    if not raw.has_values:
        return None
    t = float(raw.unknowns[-1])
    result = raw.unknowns[:-1] if unknowns is None else unknowns
    return replace(raw, gram=raw.gram + t * units(identity.sides), unknowns=result), t
