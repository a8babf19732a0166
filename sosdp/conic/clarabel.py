"""Clarabel: an interior-point method, accurate to 1e-8; the default for small and for many small blocks.

It keeps a dense R x R block (R = N(N+1)/2) for every matrix cone of side N: memory grows as N^4 and time per
iteration as N^6, whatever else the program looks like.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from operator import is_
from typing import Any

import numpy as np
import scipy.sparse as sp

from .breakdown import STANDARD_ERROR, Breakdown, call, interruptible
from .program import Cones, ConicProgram, ConicSolution, Kept
from .reformulate import unsolved
from .svec import svec_length

FORM = "gram"  # clean verdicts on infeasible systems; the cost is that of the moment form

_STATUS = {
    "Solved": "optimal",
    "AlmostSolved": "inaccurate",
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
    # stopped on request: the iterate is worth what can be certified of it
    "MaxTime": "inaccurate",
    "MaxIterations": "inaccurate",
    "CallbackTerminated": "inaccurate",
}

_MANY_PAIRS = 20
# what equations miss is priced with multipliers, which may be large (a network of 300 buses: 1e-8 missed the
# value by 8e-6 of it): beyond Clarabel's own tolerance on to where the value moves no more, or progress ends
_SOLVED, _BEYOND, _MOVES = 1e-8, 1e-15, 1e-6
_MANY_ROWS = 1000  # up to which nothing of that was seen
_WORDS = {
    "CallbackTerminated": "interrupted",
    "InsufficientProgress": "its steps became too short",
    "NumericalError": "its linear algebra broke down",
}
# the default step fraction .99 stalls on chains of badly scaled squares (Rosenbrock with 20, 60, 200
# variables: value wrong by 1e-4); .95 with more refinement solves them in as many iterations
_STEP_FRACTION = 0.95
# where an iteration takes 0.3 s and more a run that crawls is stopped (Rosenbrock's polynomial at degree 16
# took 200 iterations): those that end well take 10 to 40
_LONG_WORK, _LONG_ITERATIONS = 1e9, 60
_LIGHT = 2e5  # bytes of a solver that is kept


def memory(program: ConicProgram) -> float:
    """Estimated peak memory in bytes: five dense copies of each cone's R x R block (measured)."""
    return 5 * 8 * float(sum(svec_length(n) ** 2 for n in program.cones.psd)) + 64.0 * program.A.nnz


def solve(
    program: ConicProgram,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    verbose: bool = False,
) -> ConicSolution:
    """Solve with Clarabel; ``tolerance`` is its gap and feasibility tolerance (default 1e-8).

    Without ``max_iterations`` there are at most 200, or 60 where each takes long. A time limit, an iteration
    limit or Ctrl-C is looked at between iterations and ends the solve with the iterate so far (status
    ``inaccurate``; message "interrupted" after Ctrl-C, a second one raises).
    """
    import clarabel

    cones = program.cones
    # many 2 x 2 blocks are cheaper as second-order cones; for a few, the matrix cone is the more accurate one
    # (a nilpotent equation, a single point: values wrong by 1e-4 as second-order cones)
    turning = cones.psd.count(2) > _MANY_PAIRS
    quadratic = program.P if program.P is not None else _nothing(program.q.size)
    turn = _rotation(cones) if turning else None
    A, b = program.A if program.A.has_sorted_indices else program.A.sorted_indices(), program.b
    if turn is not None:
        A, b = sp.csc_matrix(turn @ A), turn @ b
    long = sum(float(svec_length(n)) ** 3 for n in cones.psd) >= _LONG_WORK
    if long and max_iterations is None:
        max_iterations = _LONG_ITERATIONS
    beyond = not long and cones.rows > _MANY_ROWS and tolerance is None
    settings = _settings(tolerance, time_limit, max_iterations, verbose, beyond)
    started = time.perf_counter()
    with interruptible() as interrupted:

        def run() -> Any:
            data, kept = (quadratic, A, cones, settings), program.kept
            kept = kept if memory(program) <= _LIGHT and time_limit is None else None
            solver = None if kept is None else _taken(kept, data, program.q)
            if solver is None:
                solver = clarabel.DefaultSolver(quadratic, program.q, A, b, _blocks(cones, turning), settings)
            if solver.is_data_update_allowed():  # a new one too, whose scaled b may differ in the last digit
                solver.update(b=b)
            solver.set_termination_callback(_Ends(interrupted, beyond))
            result = solver.solve()
            if kept is not None and solver.is_data_update_allowed():
                kept["clarabel"] = data, program.q.tobytes(), solver
            return result

        try:
            answer = call("Clarabel", program, run, None if verbose else STANDARD_ERROR)
        except Breakdown as error:
            return unsolved(program, "failed", message=str(error), solver="clarabel")
    solution = _read(program, answer, time.perf_counter() - started)
    return solution if turn is None else replace(solution, s=turn.T @ solution.s, z=turn.T @ solution.z)


def _taken(kept: Kept, data: tuple[Any, ...], q: np.ndarray) -> Any:
    """The solver that is kept for these objects and this q, for the caller alone; None where there is none.
    It saves the analysis of the matrix, and answers as a new one does, bit for bit."""
    known = kept.pop("clarabel", None)
    if known is None or not (all(map(is_, known[0], data)) and known[1] == q.tobytes()):
        return None
    return known[2]


@lru_cache(maxsize=16)
def _nothing(columns: int) -> sp.csc_matrix:
    return sp.csc_matrix((columns, columns))


def solve_quietly(program: ConicProgram) -> tuple[np.ndarray, np.ndarray] | None:
    """The point x and the multipliers z of a linear program of private records, or None where Clarabel
    panicked or they are not finite: what they are worth is for the caller to prove.

    A panic prints a trace to file descriptor 2 and raises an exception that is no `Exception`; both would
    depend on the records, and neither is seen outside: standard error of the process goes nowhere meanwhile.
    """
    with STANDARD_ERROR.held() as drop:
        drop()
        answer = solve(program, tolerance=1e-9, max_iterations=100)
    usable = answer.iterations and np.isfinite(answer.x).all() and np.isfinite(answer.z).all()
    return (answer.x, answer.z) if usable else None


@lru_cache(maxsize=64)
def _blocks(cones: Cones, turning: bool) -> list[Any]:
    """The cones as Clarabel names them; ``turning``: 2 x 2 matrices as second-order cones."""
    import clarabel

    blocks: list[Any] = [clarabel.ZeroConeT(cones.zero)] if cones.zero else []
    blocks += [clarabel.NonnegativeConeT(cones.nonnegative)] if cones.nonnegative else []
    return blocks + [
        clarabel.SecondOrderConeT(3) if turning and n == 2 else clarabel.PSDTriangleConeT(n)
        for n in cones.psd
    ]


class _Ends:
    """Whether to end after an iteration: asked to, or (``judging``, where Clarabel's own tolerance is beyond
    that) solved and the value moved by next to nothing."""

    def __init__(self, interrupted: Callable[[], bool], judging: bool) -> None:
        self.interrupted, self.judging = interrupted, judging
        self.value = np.nan

    def __call__(self, info: Any) -> bool:
        if not self.judging:
            return self.interrupted()
        before, self.value = self.value, info.cost_primal
        still = abs(self.value - before) <= _MOVES * max(0.1, abs(self.value))
        gap = min(info.gap_abs, info.gap_rel)
        return self.interrupted() or still and max(gap, info.res_primal, info.res_dual) <= _SOLVED


def _status(answer: Any) -> str:
    """How Clarabel ended, in its words; solved is what is right to its own tolerance, whatever ended it."""
    name = str(answer.status)
    if name not in ("AlmostSolved", "CallbackTerminated"):
        return name
    value, dual = answer.obj_val, answer.obj_val_dual
    gap = abs(value - dual) / max(1.0, min(abs(value), abs(dual)))
    return "Solved" if max(gap, answer.r_prim, answer.r_dual) <= _SOLVED else name


def _read(program: ConicProgram, answer: Any, seconds: float) -> ConicSolution:
    """What Clarabel answered, in our words."""
    name = _status(answer)
    return ConicSolution(
        status=_STATUS.get(name, "failed"),
        x=np.asarray(answer.x),
        s=np.asarray(answer.s),
        z=np.asarray(answer.z),
        value=float(answer.obj_val) + program.constant,
        iterations=int(answer.iterations),
        solver="clarabel",
        seconds=seconds,
        message=_WORDS.get(name, name),
    )


def _rotation(cones: Cones) -> sp.csr_matrix:
    """Orthogonal matrix that turns the vector form of 2 x 2 matrices into second-order cones.

    [[a, b], [b, c]] is positive semidefinite iff a + c >= |(a - c, 2 b)|; Clarabel takes half the time so.
    """
    start = np.array([rows.start for n, rows in zip(cones.psd, cones.psd_slices()) if n == 2], dtype=int)
    h = np.sqrt(0.5)
    plain = np.ones(cones.rows)
    plain[start] = h
    plain[start + 1] = 0.0
    plain[start + 2] = 0.0
    row = np.concatenate([start, start + 1, start + 1, start + 2])
    column = np.concatenate([start + 2, start, start + 2, start + 1])
    value = np.repeat([h, h, -h, 1.0], start.size)
    turned = sp.csr_matrix((value, (row, column)), shape=(cones.rows, cones.rows))
    matrix = sp.csr_matrix(sp.diags_array(plain) + turned)
    matrix.eliminate_zeros()
    return matrix


@lru_cache(maxsize=16)
def _settings(
    tolerance: float | None,
    time_limit: float | None,
    max_iterations: int | None,
    verbose: bool,
    beyond: bool,
) -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = verbose
    settings.max_threads = 1
    settings.iterative_refinement_max_iter = 30
    settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = 1e-14
    settings.max_step_fraction = _STEP_FRACTION
    settings.tol_gap_abs = settings.tol_gap_rel = _SOLVED if tolerance is None else tolerance
    settings.tol_feas = _BEYOND if beyond else settings.tol_gap_abs
    if time_limit is not None:
        settings.time_limit = float(time_limit)
    if max_iterations is not None:
        settings.max_iter = int(max_iterations)
    return settings
