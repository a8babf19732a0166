"""SDPA through the wheel ``sdpa-python`` (GPL, so not a dependency): fast for one block of side 50 to 110.

It has no equations: they are eliminated by a pivoted factorisation first, which fills in when there are many.
Nothing it says is taken at its word: after "pdOPT" and "pdFEAS" the optimality conditions are checked here,
and the answer is ``inaccurate`` if they do not hold to 1e-6; after anything else its last iterates must prove
themselves as rays, or the answer is ``failed`` (with "noINFO", values were wrong by 40 %).
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from .apart import apart
from .breakdown import Breakdown, call
from .full_matrices import full_rows, vector_form
from .program import ConicProgram, ConicSolution
from .reformulate import (
    checked_ray,
    optimality_error,
    solve_reduced,
    unsolved,
)

FORM = "moment"

_FEASIBLE = ("pdOPT", "pdFEAS")
_ACCURATE = 1e-6
_NEARLY = 1e-4


def memory(program: ConicProgram) -> float:
    """Estimated peak memory in bytes: a dense Schur complement, Python lists of A, the dense equations."""
    columns = float(program.q.size)
    blocks = sum(n * n for n in program.cones.psd)
    return 16.0 * columns**2 + 400.0 * program.A.nnz + 160.0 * blocks + 32.0 * program.cones.zero * columns


def solve(
    program: ConicProgram,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    verbose: bool = False,
) -> ConicSolution:
    """Solve with SDPA; ``tolerance`` is its relative gap and feasibility tolerance (default 1e-8).

    At 1e-8 rounding often stops it one step short of its goal ("pdFEAS"), which is near enough; at 1e-7
    chained problems come out wrong by 1e-4. SDPA has no time limit: ValueError when one is asked for.
    """
    if time_limit is not None:
        raise ValueError("SDPA cannot stop at a time limit; use max_iterations, or another solver")
    return solve_reduced(program, "sdpa", lambda p: _sedumi(p, tolerance, max_iterations, verbose))


def _sedumi(
    program: ConicProgram, tolerance: float | None, max_iterations: int | None, verbose: bool
) -> ConicSolution:
    """The reduced program as the dual of SDPA's standard form: maximise -q'x with b - A x in K."""
    # the level below sdpap.solve, which spends more time on checking than on solving small programs
    from sdpap.param import param
    from sdpap.sdpacall import sdpacall
    from sdpap.symcone import SymCone

    cones = program.cones
    rows, right = full_rows(program)
    A = sp.csc_matrix(rows.T)
    if not A.count_nonzero():
        return unsolved(
            program, "failed", message="no entries, at which SDPA ends the process", solver="sdpa"
        )
    epsilon = 1e-8 if tolerance is None else float(tolerance)
    options = {
        "print": "display" if verbose else "no",
        "numThreads": 1,
        "epsilonStar": epsilon,
        "epsilonDash": epsilon,
        # SDPA stops where its objective leaves this interval: 1e5 by default, which is an ordinary number
        "lowerBound": -1e12,
        "upperBound": 1e12,
    }
    if max_iterations is not None:
        options["maxIteration"] = int(max_iterations)
    started = time.perf_counter()
    with _output(verbose):
        c, b = sp.csc_matrix(-program.q[:, None]), sp.csc_matrix(right[:, None])
        cone = SymCone(l=cones.nonnegative, s=tuple(cones.psd))
        try:
            # numbers of very different sizes end the process, with status 0 and a remark that is not seen
            z, x, _, info = call(
                "SDPA",
                program,
                lambda: apart("SDPA", lambda: sdpacall.solve_sdpa(A, c, b, cone, param(options))),
            )
        except Breakdown as error:
            return unsolved(program, "failed", message=str(error), solver="sdpa")
    seconds = time.perf_counter() - started
    phase = str(info["phasevalue"])
    point = np.asarray(x.todense()).reshape(-1)
    dual = vector_form(cones, np.asarray(z.todense()).reshape(-1))
    if phase in _FEASIBLE:
        status = "optimal" if optimality_error(program, point, dual) <= _ACCURATE else "inaccurate"
    else:
        status = checked_ray(program, point, dual)
        if status == "failed" and optimality_error(program, point, dual) <= _NEARLY:
            status = "inaccurate"
    ray = status == "unbounded"
    return ConicSolution(
        status=status,
        x=point,
        s=(0.0 if ray else 1.0) * program.b - program.A @ point,
        z=dual,
        value=float(program.q @ point) + program.constant,
        iterations=int(info.get("iteration", 0)),
        solver="sdpa",
        seconds=seconds,
        message=phase,
    )


@contextmanager
def _output(verbose: bool) -> Iterator[None]:
    """Discard what SDPA prints whatever its options say: remarks on standard output, below Python's."""
    if verbose:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        # what is still in C's buffers must go where the rest went
        ctypes.CDLL(None if os.name == "posix" else "msvcrt").fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
