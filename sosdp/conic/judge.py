"""What an answer to a conic program is worth: the status follows from what is proven, whoever answered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .brackets import Bracket, upper_bound
from .program import ConicProgram, ConicSolution
from .strategies import Solve, bracket, is_unbounded

AGREE = 1e-5  # relative width of the proven bounds up to which a program counts as solved


def judged(
    program: ConicProgram,
    solution: ConicSolution,
    solve: Solve,
    largest: float | None = None,
) -> ConicSolution:
    """A solver's answer with what is proven of it."""
    if program.P is not None and program.P.nnz:
        return solution
    if solution.status == "unbounded":
        return _unbounded(program, solution, solve)
    proven = bracket(program, solution, solve, AGREE, largest)
    if proven.empty:
        return replace(solution, status="infeasible", lower=np.inf, upper=np.inf, reason="")
    status = "optimal" if proven.agrees(AGREE) else "failed" if solution.status == "failed" else "inaccurate"
    return _between(replace(solution, status=status, reason=proven.reason), proven)


def _between(solution: ConicSolution, proven: Bracket) -> ConicSolution:
    """The answer with these bounds, its value between them."""
    value = float(np.clip(solution.value, proven.lower, proven.upper))
    if solution.status == "optimal" and not value == solution.value:
        value = proven.middle
    return replace(solution, value=value, lower=proven.lower, upper=proven.upper)


def _unbounded(program: ConicProgram, solution: ConicSolution, solve: Solve) -> ConicSolution:
    """An unbounded program: a point that is proven feasible, and a direction that is proven to improve it."""
    # the exact direction near x, and the rounding of q'x: both are in the bound
    improves = upper_bound(replace(program, b=np.zeros_like(program.b), constant=0.0), solution.x) < 0
    still = solve(replace(program, q=np.zeros_like(program.q)))
    point = still.status in ("optimal", "inaccurate") and np.isfinite(upper_bound(program, still.x))
    proven = improves and point or is_unbounded(program, solve)
    if proven:
        return replace(solution, lower=-np.inf, upper=-np.inf)
    if proven is None:
        return replace(solution, status="infeasible", lower=np.inf, upper=np.inf, reason="")
    reason = "a feasible point and an improving direction could not both be proven"
    return replace(solution, status="inaccurate", reason=reason)


def better(first: ConicSolution, second: ConicSolution) -> ConicSolution:
    """The answer that proves more, with the better of the bounds of both."""
    lower, upper = max(first.lower, second.lower), min(first.upper, second.upper)
    ranks = {"optimal": 0, "infeasible": 0, "unbounded": 0, "inaccurate": 1, "failed": 2}
    widths = [
        s.upper - s.lower if s.lower > -np.inf and s.upper < np.inf else np.inf for s in (first, second)
    ]
    keys = [(ranks[s.status], w) for s, w in zip((first, second), widths)]
    chosen = second if keys[1] < keys[0] else first
    if chosen.status == "infeasible":
        return chosen
    both = Bracket(lower, upper)
    if both.agrees(AGREE):
        chosen = replace(chosen, status="optimal", reason="")
    return _between(chosen, both)
