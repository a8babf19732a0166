"""The solver behind ``solver="sos_cone"``: sample, solve, polish, and read the answer back."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ....conic.breakdown import OTHER_UNITS
from ....conic.clock import OutOfTime, within
from ...assemble.identity import GramProgram, Inside, RawSolution, unanswered
from .box_proof import BoxProof
from .interior_point import SampledSolution, solve_sampled
from .points import NotSampled
from .polish import Centre, centre, inside, polish
from .sample import Sample, sample

NAME = "sos_cone"
_GOOD_GAP = (
    1e-6  # what a solution that ended at the floor of accuracy may miss and still count as almost solved
)


def solve_at_points(
    program: GramProgram,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> RawSolution:
    """Solve a Gram program at points; raises NotSampled where it has no such form.

    Where its numbers break down the status is ``failed``, and the message says at what.
    """
    began = time.perf_counter()
    try:
        sampled = sample(program)
        at = _centre(sampled)
        result = solve_sampled(sampled.program, tolerance or 1e-8, within(time_limit), verbose=verbose, at=at)
        if not all(np.isfinite(part).all() for part in (*result.grams, result.unknowns, result.x)):
            raise OverflowError("the iterates are not finite")
        return read_solution(sampled, result, began, at)
    except (ArithmeticError, np.linalg.LinAlgError, OutOfTime) as error:
        late, broken = isinstance(error, OutOfTime), f"the numbers broke down ({error}); {OTHER_UNITS}"
        failed = unanswered(program.identity, "failed", "no time left" if late else broken, NAME)
        return replace(failed, seconds=time.perf_counter() - began)


def at_points(
    program: GramProgram,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> RawSolution | None:
    """``solve_at_points``, or None where the program has no form at points."""
    try:
        return solve_at_points(program, tolerance=tolerance, time_limit=time_limit, verbose=verbose)
    except NotSampled:
        return None


def read_solution(sampled: Sample, solution: SampledSolution, began: float, at: Centre | None) -> RawSolution:
    """The answer in the form of every other solver, with multipliers inside the cone where there are any."""
    status = {"floor": None, "stopped": None}.get(solution.status, solution.status)
    if status is None:
        status = "inaccurate" if max(solution.gap, solution.residual) <= _GOOD_GAP else "failed"
    program = sampled.source
    blocks = len(sampled.factors)
    grams, unknowns = solution.grams, solution.unknowns[: program.objective.size]
    within = None
    if status in ("optimal", "inaccurate") and at is not None:
        within, grams = _inside(sampled, solution, at)
    gram = sampled.gram_vector(grams[:blocks])
    ray = status == "infeasible"
    target = np.zeros_like(program.identity.target) if ray else program.identity.target
    free = sampled.multipliers(gram, unknowns, target)
    return RawSolution(
        status=status,
        gram=gram,
        free=free,
        unknowns=unknowns,
        moments=sampled.moments(solution.x),
        value=program.value(unknowns),
        solver=NAME,
        iterations=solution.iterations,
        seconds=time.perf_counter() - began,
        message=f"{solution.status} at {sampled.program.points} points",
        inside=within,
    )


def _centre(sampled: Sample) -> Centre | None:
    """The centre of the first unknown's part, where it alone is maximised."""
    program = sampled.program
    alone = np.array_equal(program.c > 0, np.arange(program.c.size) == 0)
    return centre(program, program.H[:, 0]) if program.c.size and alone else None


def _inside(sampled: Sample, solution: SampledSolution, at: Centre) -> tuple[Inside, list[np.ndarray]]:
    """Multipliers inside the cone at a lower bound, and those at the bound itself with no residual left."""
    program = sampled.program
    moved = polish(program, at, solution.grams, solution.unknowns)
    grams, delta = inside(program, at, moved)
    unknowns = solution.unknowns[: sampled.source.objective.size].copy()
    unknowns[0] -= delta
    gram = sampled.gram_vector(grams[: len(sampled.factors)])
    free = sampled.multipliers(gram, unknowns, sampled.source.identity.target)
    proof = None
    if sampled.frame is not None:
        chebyshev = [f.gram(g) for f, g in zip(sampled.factors, grams, strict=False)]
        proof = BoxProof(sampled.frame, chebyshev, unknowns)
    unit = sampled.gram_vector(at.grams[: len(sampled.factors)])
    unit_free = sampled.multipliers(
        unit, -np.eye(1, unknowns.size)[0], np.zeros_like(sampled.source.identity.target)
    )
    return Inside(gram, free, unknowns, unit, unit_free, proof), moved[0]


__all__ = ["NAME", "NotSampled", "at_points", "read_solution", "solve_at_points"]
