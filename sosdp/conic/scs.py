"""SCS: a first-order method; the default when a block is too large for an interior-point method.

Its stopping test is on residuals, so its value may be off by more than its tolerance: read the certified
bound.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from .breakdown import STANDARD_OUTPUT, Breakdown, call
from .program import ConicProgram, ConicSolution
from .reformulate import constant_program, unsolved
from .svec import full_position

FORM = "moment"  # a diagonal normal matrix on plain blocks: the linear solve is free


def memory(program: ConicProgram) -> float:
    """Estimated peak memory in bytes: the matrix, its transpose and a factorisation, a few vectors."""
    return 80.0 * program.A.nnz + 400.0 * sum(program.A.shape) + 64.0 * sum(n * n for n in program.cones.psd)


def _row_order(program: ConicProgram) -> np.ndarray:
    """Our row of each SCS row: SCS stacks the lower triangle by columns, we stack the upper one by
    columns."""
    cones = program.cones
    order = [np.arange(cones.zero + cones.nonnegative)]
    for side, rows in zip(cones.psd, cones.psd_slices(), strict=True):
        order.append(full_position(side)[np.triu_indices(side)] + rows.start)
    return np.concatenate(order)


def solve(
    program: ConicProgram,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    verbose: bool = False,
) -> ConicSolution:
    """Solve with SCS; ``tolerance`` is both its absolute and relative residual tolerance (default 1e-8)."""
    import scs

    constant = constant_program(program, "scs")
    if constant is not None:
        return constant
    order = _row_order(program)
    data = {"A": sp.csc_matrix(program.A.tocsr()[order]), "b": program.b[order], "c": program.q}
    if program.P is not None:
        data["P"] = program.P
    cones = program.cones
    epsilon = 1e-8 if tolerance is None else tolerance
    settings: dict = {"eps_abs": epsilon, "eps_rel": epsilon, "verbose": verbose}
    settings["max_iters"] = 100_000 if max_iterations is None else int(max_iterations)
    if time_limit is not None:
        settings["time_limit_secs"] = float(time_limit)
    started = time.perf_counter()
    cone = {"z": cones.zero, "l": cones.nonnegative, "s": list(cones.psd)}
    try:
        held = None if verbose else STANDARD_OUTPUT
        answer = call("SCS", program, lambda: scs.SCS(data, cone, **settings).solve(), held)
    except Breakdown as error:
        return unsolved(program, "failed", message=str(error), solver="scs")
    seconds = time.perf_counter() - started
    info = answer["info"]
    name = str(info["status"])
    if name == "interrupted":
        raise KeyboardInterrupt("SCS keeps nothing of an interrupted run; give it a time_limit instead")
    # only the exact word counts: a run stopped by its limits can report "solved (inaccurate ...)" with
    # nonsense
    known = {"solved": "optimal", "infeasible": "infeasible", "unbounded": "unbounded"}
    status = known.get(name, "inaccurate" if name.startswith("solved") else "failed")
    s, z = np.empty(order.size), np.empty(order.size)
    s[order], z[order] = answer["s"], answer["y"]
    return ConicSolution(
        status=status,
        x=np.asarray(answer["x"]),
        s=s,
        z=z,
        value=float(info["pobj"]) + program.constant,
        iterations=int(info["iter"]),
        solver="scs",
        seconds=seconds,
        message=name,
    )
