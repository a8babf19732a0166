"""The other form: the moment form by an interior-point method that was given the Gram form."""

from __future__ import annotations

from ..candidate import Candidate, State
from ..solve.solve import solve_moments


def other_form(state: State) -> Candidate | None:
    """The best program so far in moment form."""
    built = state.best.built
    return state.judged("other form", built, solve_moments(built.program, "clarabel", state.patience()))
