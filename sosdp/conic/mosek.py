"""MOSEK: a commercial interior-point method (free academic licences); its task is built directly, in numpy.

The task is the dual program in bar variables, which is how MOSEK wants matrix cones: the multipliers of
``b - A x in K`` are its variables (free, nonnegative, positive semidefinite), the columns of A its
constraints. For a moment program these variables are the Gram matrices, and x is read off the multipliers of
the constraints.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .breakdown import Breakdown, call
from .program import ConicProgram, ConicSolution, SolverUnavailable
from .reformulate import constant_program, linear_objective, unsolved
from .svec import SQRT2, svec_length, triangle

FORM = "moment"

_GET = "the other solvers need no licence: try solver='auto'"


def memory(program: ConicProgram) -> float:
    """Estimated peak memory in bytes: a dense Schur complement and its factor, a few copies of the blocks."""
    columns = float(program.q.size)
    return 16.0 * columns**2 + 64.0 * program.A.nnz + 80.0 * sum(n * n for n in program.cones.psd)


def _module() -> Any:
    try:
        import mosek
    except (ImportError, OSError) as error:  # OSError: a library of its own is missing
        raise SolverUnavailable(
            f"MOSEK's Python module cannot be loaded ({error}); try: pip install mosek, or solver='auto'"
        ) from error
    return mosek


def build_task(program: ConicProgram) -> Any:
    """The ``mosek.Task`` of a program with linear objective; needs the module, not a licence.

    Constraint i is column i of A; scalar variables are the rows of the zero and nonnegative cones, bar
    variables the matrix cones. Minimising the task gives minus the value of the program, less its constant.
    Raises SolverUnavailable without the module, ValueError for a quadratic objective.
    """
    mosek = _module()
    if program.P is not None and program.P.nnz:
        raise ValueError("build_task takes a linear objective; use sosdp.conic.reformulate.linear_objective")
    cones = program.cones
    columns, scalars = program.q.size, cones.zero + cones.nonnegative
    task = mosek.Task()
    task.putobjsense(mosek.objsense.minimize)
    task.appendcons(columns)
    task.putconboundslice(0, columns, [mosek.boundkey.fx] * columns, -program.q, -program.q)
    task.appendvars(scalars)
    keys = [mosek.boundkey.fr] * cones.zero + [mosek.boundkey.lo] * cones.nonnegative
    nothing = np.zeros(scalars)
    task.putvarboundslice(0, scalars, keys, nothing, nothing)
    task.putcslice(0, scalars, program.b[:scalars])
    rows = sp.csr_matrix(program.A)
    linear = rows[:scalars].tocoo()
    if linear.nnz:
        task.putaijlist(linear.col.astype(np.int32), linear.row.astype(np.int32), linear.data)
    if cones.psd:
        task.appendbarvars(list(cones.psd))
        block, low, high, weight = _places(program)
        matrix = rows[scalars:].tocoo()
        at = matrix.row
        if matrix.nnz:
            task.putbarablocktriplet(
                matrix.col.astype(np.int32), block[at], high[at], low[at], matrix.data * weight[at]
            )
        cost = program.b[scalars:]
        at = np.flatnonzero(cost)
        if at.size:
            task.putbarcblocktriplet(block[at], high[at], low[at], cost[at] * weight[at])
    return task


def _places(program: ConicProgram) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Bar variable, row <= column and weight of every entry of the matrix cones, in our order."""
    block, low, high = [], [], []
    for k, side in enumerate(program.cones.psd):
        i, j = triangle(side)
        block.append(np.full(i.size, k, dtype=np.int32))
        low.append(i.astype(np.int32))
        high.append(j.astype(np.int32))
    i, j = np.concatenate(low), np.concatenate(high)
    return np.concatenate(block), i, j, np.where(i == j, 1.0, 1.0 / SQRT2)


def _licence_error(mosek: Any, error: Any) -> SolverUnavailable | None:
    name = str(error.errno).rsplit(".", maxsplit=1)[-1]
    if "license" not in name:
        return None
    return SolverUnavailable(
        f"MOSEK has no usable licence here ({name}); put mosek.lic where MOSEK looks for it, or name it in "
        f"the environment variable MOSEKLM_LICENSE_FILE (trial and academic licences: mosek.com); {_GET}"
    )


def solve(
    program: ConicProgram,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    verbose: bool = False,
) -> ConicSolution:
    """Solve with MOSEK; ``tolerance`` is its relative gap and feasibility tolerance (default 1e-8).

    Raises SolverUnavailable, in one sentence, when the module or a licence is missing.
    """
    mosek = _module()
    known = constant_program(program, "mosek")
    if known is not None:
        return known
    lifted = linear_objective(program)
    started = time.perf_counter()

    def run() -> ConicSolution:
        return _optimized(mosek, lifted.program, tolerance, time_limit, max_iterations, verbose)

    try:
        answer = call("MOSEK", lifted.program, run)
    except Breakdown as error:
        return unsolved(program, "failed", message=str(error), solver="mosek")
    return lifted.restore(replace(answer, seconds=time.perf_counter() - started))


def _optimized(
    mosek: Any,
    program: ConicProgram,
    tolerance: float | None,
    time_limit: float | None,
    max_iterations: int | None,
    verbose: bool,
) -> ConicSolution:
    with build_task(program) as task:
        task.putintparam(mosek.iparam.num_threads, 1)
        if tolerance is not None:
            for parameter in ("rel_gap", "pfeas", "dfeas"):
                task.putdouparam(getattr(mosek.dparam, f"intpnt_co_tol_{parameter}"), float(tolerance))
        if time_limit is not None:
            task.putdouparam(mosek.dparam.optimizer_max_time, float(time_limit))
        if max_iterations is not None:
            task.putintparam(mosek.iparam.intpnt_max_iterations, int(max_iterations))
        if verbose:
            task.set_Stream(mosek.streamtype.log, lambda text: print(text, end="", flush=True))
        try:
            ended = task.optimize()
        except mosek.Error as error:
            missing = _licence_error(mosek, error)
            raise (error if missing is None else missing) from None
        return _read(mosek, task, program, str(ended))


def _read(mosek: Any, task: Any, program: ConicProgram, ended: str) -> ConicSolution:
    """MOSEK's solution in our terms: its primal is our dual."""
    cones = program.cones
    which = mosek.soltype.itr
    verdict = task.getsolsta(which)
    status = {
        mosek.solsta.optimal: "optimal",
        mosek.solsta.prim_infeas_cer: "unbounded",
        mosek.solsta.dual_infeas_cer: "infeasible",
    }.get(verdict, "failed")
    scalars = cones.zero + cones.nonnegative
    z = np.zeros(cones.rows)
    z[:scalars] = np.asarray(task.getxxslice(which, 0, scalars)) if scalars else 0.0
    for k, (side, rows) in enumerate(zip(cones.psd, cones.psd_slices(), strict=True)):
        # MOSEK stacks the lower triangle by columns, that is our upper one by rows
        full = np.zeros((side, side))
        upper = np.triu_indices(side)
        full[upper] = np.asarray(task.getbarxj(which, k))
        i, j = triangle(side)
        z[rows] = full[i, j] * np.where(i == j, 1.0, SQRT2)
        assert rows.stop - rows.start == svec_length(side)
    x = np.asarray(task.getyslice(which, 0, program.q.size))
    ray = status == "unbounded"
    return ConicSolution(
        status=status,
        x=x,
        s=(0.0 if ray else 1.0) * program.b - program.A @ x,
        z=z,
        value=float("nan") if status != "optimal" else -float(task.getprimalobj(which)) + program.constant,
        iterations=int(task.getintinf(mosek.iinfitem.intpnt_iter)),
        solver="mosek",
        seconds=0.0,
        message=f"{verdict} ({ended})".replace("solsta.", "").replace("rescode.", ""),
    )
