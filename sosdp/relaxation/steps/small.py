"""Small solvers: CVXOPT and SDPA end early on other programs than Clarabel. They take no time limit."""

from __future__ import annotations

from ..candidate import Candidate, State
from ..solve.solve import small_solvers, solve_program


def small(state: State) -> Candidate | None:
    """The best answer of the small solvers that are installed."""
    built = state.best.built
    result: list[Candidate] = []
    for name in small_solvers(built.program):
        result.append(state.judged("small", built, solve_program(built.program, solver=name)))
        if not result[-1].doubtful:
            break
    return max(result, key=lambda c: c.worth, default=None)
