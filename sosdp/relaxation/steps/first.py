"""The first step: the centre of the deduced box, lighter parts, units, one solver by sizes."""

from __future__ import annotations

from ..candidate import Candidate, State
from ..change import Change, build, centre_of_bounds
from ..solve.solve import solve_program, unproducible


def first(state: State) -> Candidate:
    """The statement as it is solved first."""
    statement = state.statement
    plain = "box" in state.without or state.solve is not None
    built = build(statement, Change.none(statement) if plain else centre_of_bounds(statement))
    state.stage("solve", "build")
    raw = unproducible(built.program.identity) if statement.kind in ("bound", "feasible") else None
    if raw is None and state.solve is not None:
        raw = state.solve(built)
    raw = raw or solve_program(built.program, **state.options.solving())
    return state.judged("first", built, raw)
