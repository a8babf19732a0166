"""CVXOPT: a small, exact-minded interior-point method in Python; slow, but an independent third opinion.

It forms a dense scaled matrix of all rows by all columns in every iteration: useful up to a block of side 40.
Equations with dependent rows, at which CVXOPT fails, are eliminated first.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from .breakdown import Breakdown, call
from .program import ConicProgram, ConicSolution
from .reformulate import Reformulated, constant_program, linear_objective, unsolved, without_equations
from .svec import SQRT2, triangle, unpacking

FORM = "moment"

_STATUS = {
    "optimal": "optimal",
    "primal infeasible": "infeasible",
    "dual infeasible": "unbounded",
}
_NEARLY = 1e-4  # an "unknown" end with smaller relative gap and residuals is called almost, never solved


def memory(program: ConicProgram) -> float:
    """Estimated peak memory in bytes: three dense copies of A, a Schur complement, the dense equations."""
    columns, rows = float(program.q.size), float(program.cones.rows)
    return 24.0 * rows * columns + 16.0 * columns**2 + 32.0 * program.cones.zero * columns


def solve(
    program: ConicProgram,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    verbose: bool = False,
) -> ConicSolution:
    """Solve with CVXOPT; ``tolerance`` is its gap and feasibility tolerance (default 1e-8).

    CVXOPT has no time limit: ValueError when one is asked for.
    """
    if time_limit is not None:
        raise ValueError("CVXOPT cannot stop at a time limit; use max_iterations, or another solver")
    known = constant_program(program, "cvxopt")
    if known is not None:
        return known
    lifted = linear_objective(program)
    reduced = without_equations(lifted.program)
    if isinstance(reduced, ConicSolution):
        return lifted.restore(replace(reduced, solver="cvxopt"))
    known = constant_program(reduced.program, "cvxopt")
    if known is None:
        known = _conelp(reduced, tolerance, max_iterations, verbose)
    return lifted.restore(reduced.restore(known))


def _conelp(
    reduced: Reformulated, tolerance: float | None, max_iterations: int | None, verbose: bool
) -> ConicSolution:
    import cvxopt
    import cvxopt.solvers

    program = reduced.program
    cones = program.cones
    scalars = cones.nonnegative
    rows = sp.csr_matrix(program.A)
    parts, right = [rows[:scalars]], [program.b[:scalars]]
    for side, here in zip(cones.psd, cones.psd_slices(), strict=True):
        unpack = unpacking(side)
        parts.append(unpack @ rows[here])
        right.append(unpack @ program.b[here])
    stacked = sp.vstack(parts).tocoo()
    G = cvxopt.spmatrix(stacked.data, stacked.row.tolist(), stacked.col.tolist(), stacked.shape)
    h = cvxopt.matrix(np.concatenate(right))
    epsilon = 1e-8 if tolerance is None else float(tolerance)
    options = {"show_progress": verbose, "abstol": epsilon, "reltol": epsilon, "feastol": epsilon}
    if max_iterations is not None:
        options["maxiters"] = int(max_iterations)
    dims = {"l": scalars, "q": [], "s": list(cones.psd)}
    started = time.perf_counter()
    cost = cvxopt.matrix(program.q)
    try:  # at a singular scaling or dependent columns CVXOPT raises where others report
        answer = call("CVXOPT", program, lambda: cvxopt.solvers.conelp(cost, G, h, dims, options=options))
    except Breakdown as error:
        return unsolved(program, "failed", message=str(error), solver="cvxopt")
    seconds = time.perf_counter() - started
    name = str(answer["status"])
    status = _STATUS.get(name, "failed")
    if name == "unknown":
        measures = [answer[k] for k in ("relative gap", "primal infeasibility", "dual infeasibility")]
        close = all(m is not None and m <= _NEARLY for m in measures)
        status = "inaccurate" if close else "failed"
    value = answer["primal objective"]
    return ConicSolution(
        status=status,
        x=_vector(answer["x"], program.q.size),
        s=_packed(program, answer["s"]),
        z=_packed(program, answer["z"]),
        value=float("nan") if value is None else float(value) + program.constant,
        iterations=int(answer["iterations"]),
        solver="cvxopt",
        seconds=seconds,
        message=name,
    )


def _vector(found: object, size: int) -> np.ndarray:
    return np.zeros(size) if found is None else np.array(found, dtype=float).reshape(-1)


def _packed(program: ConicProgram, found: object) -> np.ndarray:
    """Our vector form of CVXOPT's stacked columns (None in a certificate of the other kind: zeros)."""
    cones = program.cones
    if found is None:
        return np.zeros(cones.rows)
    full = _vector(found, 0)
    parts, start = [full[: cones.nonnegative]], cones.nonnegative
    for side in cones.psd:
        block = full[start : start + side * side].reshape(side, side, order="F")
        i, j = triangle(side)
        parts.append(block[j, i] * np.where(i == j, 1.0, SQRT2))  # its lower triangle is what counts
        start += side * side
    return np.concatenate(parts)
