"""The other method: values at points where an interior point was asked, and the other way round."""

from __future__ import annotations

from ..candidate import Candidate, State
from ..solve.solve import solve_program
from ..solve.sos_cone.choose import rescues
from ..solve.sos_cone.solve import at_points

_OURS = ("sos_cone", "newton_cg")


def other_method(state: State) -> Candidate | None:
    """The best program so far by another method, where it is worth its time."""
    built, solver = state.best.built, state.best.raw.solver
    options = {**state.options.solving(), "time_limit": state.patience()}
    if solver in _OURS or solver == "scs":
        raw = solve_program(
            built.program, **{**options, "solver": "borrowed" if solver in _OURS else "clarabel"}
        )
        return state.judged("other method", built, raw)
    if not rescues(built.program):
        return None
    del options["solver"]
    result = at_points(built.program, **options)
    return None if result is None else state.judged("other method", built, result)
