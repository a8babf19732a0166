"""CVXOPT: a small, exact-minded interior-point method in Python; slow, but an independent third opinion.

It forms a dense scaled matrix of all rows by all columns in every iteration: useful up to a block of side 40.
Equations with dependent rows, at which CVXOPT fails, are eliminated first.
"""

from __future__ import annotations

import time

import numpy as np

from .breakdown import Breakdown, call
from .full_matrices import full_rows, vector_form
from .program import Cones, ConicProgram, ConicSolution
from .reformulate import solve_reduced, unsolved

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
    return solve_reduced(program, "cvxopt", lambda p: _conelp(p, tolerance, max_iterations, verbose))


def _conelp(
    program: ConicProgram, tolerance: float | None, max_iterations: int | None, verbose: bool
) -> ConicSolution:
    import cvxopt
    import cvxopt.solvers

    cones = program.cones
    rows, right = full_rows(program)
    stacked = rows.tocoo()
    G = cvxopt.spmatrix(stacked.data, stacked.row.tolist(), stacked.col.tolist(), stacked.shape)
    h = cvxopt.matrix(right)
    epsilon = 1e-8 if tolerance is None else float(tolerance)
    options = {"show_progress": verbose, "abstol": epsilon, "reltol": epsilon, "feastol": epsilon}
    if max_iterations is not None:
        options["maxiters"] = int(max_iterations)
    dims = {"l": cones.nonnegative, "q": [], "s": list(cones.psd)}
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
        s=_entries(cones, answer["s"]),
        z=_entries(cones, answer["z"]),
        value=float("nan") if value is None else float(value) + program.constant,
        iterations=int(answer["iterations"]),
        solver="cvxopt",
        seconds=seconds,
        message=name,
    )


def _vector(found: object, size: int) -> np.ndarray:
    return np.zeros(size) if found is None else np.array(found, dtype=float).reshape(-1)


def _entries(cones: Cones, found: object) -> np.ndarray:
    """Our vector form (zeros for the other kind's None in a certificate)."""
    return np.zeros(cones.rows) if found is None else vector_form(cones, _vector(found, 0), lower=True)
