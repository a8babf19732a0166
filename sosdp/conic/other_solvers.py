"""MOSEK, SDPA and CVXOPT: solvers that somebody installed besides Clarabel and SCS, each in a subprocess.

They end the process where their numbers break down, look at no clock, or need a licence; whatever one does,
the answer is a status, ``failed`` with one line at worst, and a time limit is kept. No solver is taken at its
word: the conditions of optimality, or a ray, are checked here.

MOSEK is called through cvxpy. SDPA (GPL) and CVXOPT are called directly, in a few lines each: cvxpy takes one
to two seconds to import, checks for up to five times as long as SDPA solves (gpp100: .80 s and .17 s), and
drops the last iterate, often a ray or nearly optimal, of what a solver does not call solved.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from sosdp.extras import need

from .breakdown import OTHER_UNITS, Breakdown, call, flush_output
from .plugins import Backend, SolverOptions, Vectors
from .program import Cones, ConicProgram, ConicSolution, SolverUnavailable
from .reformulate import unpacked, unsolved
from .svec import roots, svec, triangle
from .to_cvxpy import to_cvxpy

_TOLERANCE = 1e-8

Run = Callable[[ConicProgram, SolverOptions], Vectors]


def borrowed(
    name: str, run: Run, solved: tuple[str, ...], equations: bool = False, dense: float = 0.0
) -> Backend:
    """A solver of this file as a backend, each solve in a subprocess that is ended at the time limit: the
    answer is then ``failed``. SolverUnavailable, in one sentence, where a licence is missing.

    ``run(program, options)`` is what it finds; ``dense``: bytes an entry of a dense A takes there.
    """

    def memory(program: ConicProgram) -> float:
        """Estimated peak memory in bytes: a dense Schur complement, copies of A, the dense equations."""
        columns, cones = float(program.q.size), program.cones
        blocks = 400.0 * program.A.nnz + 160.0 * sum(n * n for n in cones.psd)
        return 16.0 * columns**2 + blocks + (32.0 * cones.zero + dense * cones.rows) * columns

    def separately(program: ConicProgram, options: SolverOptions) -> Vectors | ConicSolution:
        wanted: SolverOptions = {**options, "tolerance": options["tolerance"] or _TOLERANCE}
        try:
            return call(name.upper(), program, lambda: _in_subprocess(name.upper(), run, program, wanted))
        except Breakdown as error:
            return unsolved(program, "failed", message=str(error), solver=name)

    return Backend(name, separately, solved, equations, memory)


def _in_subprocess(said: str, run: Run, program: ConicProgram, wanted: SolverOptions) -> Vectors:
    """What ``run`` finds, in a child of this process; beside other threads, which may hold locks that a copy
    of this process would wait for, and where there is no ``fork``, in a fresh interpreter."""
    seconds, verbose = wanted["time_limit"], wanted["verbose"]
    if hasattr(os, "fork") and threading.active_count() == 1:
        return in_subprocess(said, lambda: run(program, wanted), seconds, verbose)
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import answer_from_input; answer_from_input()"],
            input=pickle.dumps((run, program, wanted)),
            stdout=subprocess.PIPE,
            stderr=1 if verbose else None,  # where the remarks of a fork go
            timeout=seconds,
            env={**os.environ, "PYTHONPATH": paths},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Breakdown(f"{said} was stopped at the time limit") from None
    return _read(said, BytesIO(done.stdout))


def _sdpa(program: ConicProgram, wanted: SolverOptions) -> Vectors:
    """The program as the dual of SDPA's standard form: maximise -q'x with b - A x in K."""
    # the level below sdpap.solve, which spends more time on checking than on solving small programs
    from sdpap.param import param
    from sdpap.sdpacall import sdpacall
    from sdpap.symcone import SymCone

    rows, right = _full_rows(program)
    # SDPA stops where its objective leaves this interval: 1e5 by default, which is an ordinary number
    own: dict[str, Any] = {"lowerBound": -1e12, "upperBound": 1e12, "numThreads": 1}
    own["print"] = "display" if wanted["verbose"] else "no"
    options = _options(wanted, ("epsilonStar", "epsilonDash"), "maxIteration", own)
    cost, cone = sp.csc_matrix(-program.q[:, None]), SymCone(l=program.cones.nonnegative, s=program.cones.psd)
    z, x, _, info = sdpacall.solve_sdpa(
        sp.csc_matrix(rows.T), cost, sp.csc_matrix(right[:, None]), cone, param(options)
    )
    point, dual = (np.asarray(v.todense()).reshape(-1) for v in (x, z))
    return point, _triangles(program.cones, dual), int(info.get("iteration", 0)), str(info["phasevalue"])


def _cvxopt(program: ConicProgram, wanted: SolverOptions) -> Vectors:
    import cvxopt
    import cvxopt.solvers

    rows, right = _full_rows(program)
    stacked = rows.tocoo()
    G = cvxopt.spmatrix(stacked.data, stacked.row.tolist(), stacked.col.tolist(), stacked.shape)
    own = {"show_progress": wanted["verbose"]}
    options = _options(wanted, ("abstol", "reltol", "feastol"), "maxiters", own)
    dims = {"l": program.cones.nonnegative, "q": [], "s": list(program.cones.psd)}
    result = cvxopt.solvers.conelp(cvxopt.matrix(program.q), G, cvxopt.matrix(right), dims, options=options)
    # one of the two is None in a certificate
    x, z = (
        np.zeros(size) if result[name] is None else np.array(result[name], dtype=float).reshape(-1)
        for name, size in (("x", program.q.size), ("z", right.size))
    )
    return x, _triangles(program.cones, z, lower=True), int(result["iterations"]), str(result["status"])


def _mosek(program: ConicProgram, wanted: SolverOptions) -> Vectors:
    tolerances = [f"MSK_DPAR_INTPNT_CO_TOL_{of}" for of in ("REL_GAP", "PFEAS", "DFEAS")]
    own = {"MSK_IPAR_NUM_THREADS": 1}
    options = _options(wanted, tolerances, "MSK_IPAR_INTPNT_MAX_ITERATIONS", own)
    return by_cvxpy(program, "MOSEK", {"verbose": wanted["verbose"], "mosek_params": options})


def _options(
    wanted: SolverOptions, tolerances: Iterable[str], iterations: str, own: dict[str, Any]
) -> dict[str, Any]:
    """A solver's own options and, by the names that it has for them, the tolerance and the iterations."""
    most = wanted["max_iterations"]
    own |= dict.fromkeys(tolerances, wanted["tolerance"])
    return own if most is None else own | {iterations: int(most)}


def by_cvxpy(program: ConicProgram, solver: str, options: Mapping[str, Any]) -> Vectors:
    """What a solver finds that cvxpy reaches; SolverUnavailable where it has no licence."""
    problem, x = to_cvxpy(program)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the status says so
            problem.solve(solver=solver, **options)
    except Exception as error:
        if "license" not in str(error):
            raise
        raise SolverUnavailable(
            f"{solver} has no usable licence here ({str(error).splitlines()[0]}); put mosek.lic where MOSEK "
            "looks for it, or name it in the environment variable MOSEKLM_LICENSE_FILE (trial and academic "
            "licences: mosek.com); the other solvers need no licence: try solver='auto'"
        ) from None
    if x.value is None:
        return np.zeros(program.q.size), np.zeros(program.b.size), 0, str(problem.status)
    duals = [np.asarray(c.dual_value, dtype=float) for c in problem.constraints]
    scalars = bool(program.cones.zero) + bool(program.cones.nonnegative)
    z = [d.reshape(-1) for d in duals[:scalars]] + [svec((d + d.T) / 2) for d in duals[scalars:]]
    count = problem.solver_stats.num_iters or 0
    return x.value, np.concatenate([*z, np.zeros(0)]), int(count), str(problem.status)


_CVXPY_SOLVED = ("optimal", "optimal_inaccurate")
OTHERS = {
    "mosek": borrowed("mosek", _mosek, _CVXPY_SOLVED, equations=True),
    "sdpa": borrowed("sdpa", _sdpa, ("pdOPT", "pdFEAS")),
    "cvxopt": borrowed("cvxopt", _cvxopt, ("optimal",), dense=24.0),
}
"""The backends of this file by name."""

CVXPY = "cvxpy:"


def other(name: str) -> Backend | None:
    """The backend of this name; of ``cvxpy:NAME``, whatever solver cvxpy reaches under that name.

    SolverUnavailable where cvxpy has none of that name.
    """
    if not name.startswith(CVXPY):
        return OTHERS.get(name)
    need("cvxpy", f"solver={name!r}")
    import cvxpy as cp

    known = {solver.lower(): solver for solver in cp.installed_solvers()}
    inner = known.get(name.removeprefix(CVXPY).lower())
    if inner is None:
        raise SolverUnavailable(
            f"cvxpy has no solver {name.removeprefix(CVXPY)!r} here; it has {', '.join(known.values())}"
        )

    return borrowed(name, partial(_of_cvxpy, inner), _CVXPY_SOLVED, equations=True)


def _of_cvxpy(solver: str, program: ConicProgram, wanted: SolverOptions) -> Vectors:
    """The tolerance is the solver's own: cvxpy has no common name for it."""
    return by_cvxpy(program, solver, {"verbose": wanted["verbose"]})


def _full_rows(program: ConicProgram) -> tuple[sp.csr_matrix, np.ndarray]:
    """A and b of a program without equations, one row for each scalar and for each entry of each matrix."""
    rows, right = zip(*unpacked(program), strict=True)
    return sp.csr_matrix(sp.vstack(rows)), np.concatenate(right)


def _triangles(cones: Cones, full: np.ndarray, *, lower: bool = False) -> np.ndarray:
    """The vector of our cones from all entries, column by column; the mean of both triangles, or the lower
    one where nothing else counts."""
    parts, start = [full[: cones.nonnegative]], cones.nonnegative
    for side in cones.psd:
        block = full[start : start + side * side].reshape(side, side, order="F")
        i, j = triangle(side)
        entries = block[j, i] if lower else (block[i, j] + block[j, i]) / 2
        parts.append(entries * roots(side))
        start += side * side
    return np.concatenate(parts)


def in_subprocess(solver: str, run: Callable[[], Any], seconds: float | None, verbose: bool = True) -> Any:
    """``run()`` in a child of this process, whose standard output is lost unless ``verbose``.

    Raises Breakdown where the child ends without an answer, or is ended because ``seconds`` are over. The
    answer is pickled; so is an exception.
    """
    reading, writing = os.pipe()
    flush_output()  # or the child would write it too
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(run, writing, verbose)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            if not select.select([pipe], [], [], seconds)[0]:
                raise Breakdown(f"{solver} was stopped at the time limit")
            return _read(solver, pipe)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)


def _read(solver: str, pipe: BinaryIO) -> Any:
    """The answer of a child."""
    try:
        answer = pickle.load(pipe)
    except EOFError:
        raise Breakdown(f"{solver} ended its process; {OTHER_UNITS}") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def answer_from_input() -> None:
    """The part of a fresh interpreter: a question on standard input, the answer on standard output."""
    run, program, wanted = pickle.load(sys.stdin.buffer)
    writing = os.dup(1)
    os.dup2(2, 1)  # where a solver's remarks go when they are asked for
    _answer(lambda: run(program, wanted), writing, wanted["verbose"])


def _answer(run: Callable[[], Any], writing: int, verbose: bool) -> None:
    """The child's part; it does not return."""
    try:
        if not verbose:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            answer = run()
        except (Breakdown, SolverUnavailable) as error:
            answer = error
        except Exception as error:
            answer = RuntimeError(f"{type(error).__name__}: {error}")
        flush_output()
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(answer, pipe)
    finally:
        os._exit(0)
