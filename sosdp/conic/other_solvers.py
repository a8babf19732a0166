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
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.extras import need

from .breakdown import OTHER_UNITS, Breakdown, call, flush_output
from .program import Cones, ConicProgram, ConicSolution, SolverUnavailable
from .reformulate import solve_reduced, unpacked, unsolved, weighed
from .svec import roots, svec, triangle
from .to_cvxpy import to_cvxpy

_TOLERANCE = 1e-8

Found = tuple[np.ndarray, np.ndarray, int, str]  # x, z, iterations, what the solver says


@dataclass(frozen=True)
class OtherSolver:
    """A solver of this file as a backend. ``run(program, tolerance, max_iterations, verbose)`` is what it
    finds; ``solved``: its words for an optimum; ``dense``: bytes an entry of a dense A takes there."""

    name: str
    run: Callable[[ConicProgram, float, int | None, bool], Found]
    solved: tuple[str, ...]
    dense: float = 0.0
    equations: bool = False  # whether it takes them; they are eliminated first otherwise
    FORM: str = "moment"

    def memory(self, program: ConicProgram) -> float:
        """Estimated peak memory in bytes: a dense Schur complement, copies of A, the dense equations."""
        columns, cones = float(program.q.size), program.cones
        blocks = 400.0 * program.A.nnz + 160.0 * sum(n * n for n in cones.psd)
        return 16.0 * columns**2 + blocks + (32.0 * cones.zero + self.dense * cones.rows) * columns

    def solve(
        self,
        program: ConicProgram,
        *,
        tolerance: float | None = None,
        time_limit: float | None = None,
        max_iterations: int | None = None,
        verbose: bool = False,
    ) -> ConicSolution:
        """Solve in a subprocess; ``tolerance`` is of the relative gap and feasibility (default 1e-8).

        At the time limit the subprocess is ended, and the status is ``failed``. Raises SolverUnavailable, in
        one sentence, where a licence is missing.
        """

        def answer(reduced: ConicProgram) -> ConicSolution:
            started = time.perf_counter()

            limits = (tolerance or _TOLERANCE, max_iterations, verbose)
            try:
                found = call(self.name.upper(), reduced, lambda: self._elsewhere(reduced, limits, time_limit))
            except Breakdown as error:
                return unsolved(reduced, "failed", message=str(error), solver=self.name)
            seconds = time.perf_counter() - started
            return weighed(reduced, self.name, found, found[-1] in self.solved, seconds)

        return solve_reduced(program, self.name, answer, self.equations)

    def _elsewhere(self, program: ConicProgram, limits: tuple, seconds: float | None) -> Found:
        """What ``run`` finds, in a child of this process; beside other threads, which may hold locks that a
        copy of this process would wait for, and where there is no ``fork``, in a fresh interpreter."""
        said = self.name.upper()
        if hasattr(os, "fork") and threading.active_count() == 1:
            return in_subprocess(said, lambda: self.run(program, *limits), seconds, limits[-1])
        question = pickle.dumps((self.name, program, *limits))
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        try:
            done = subprocess.run(
                [sys.executable, "-c", f"from {__name__} import answer_from_input; answer_from_input()"],
                input=question,
                stdout=subprocess.PIPE,
                timeout=seconds,
                env={**os.environ, "PYTHONPATH": paths},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Breakdown(f"{said} was stopped at the time limit") from None
        return _read(said, done.stdout)


def _sdpa(program: ConicProgram, tolerance: float, max_iterations: int | None, verbose: bool) -> Found:
    """The program as the dual of SDPA's standard form: maximise -q'x with b - A x in K."""
    # the level below sdpap.solve, which spends more time on checking than on solving small programs
    from sdpap.param import param
    from sdpap.sdpacall import sdpacall
    from sdpap.symcone import SymCone

    rows, right = _full_rows(program)
    options = {
        "print": "display" if verbose else "no",
        "numThreads": 1,
        "epsilonStar": tolerance,
        "epsilonDash": tolerance,
        # SDPA stops where its objective leaves this interval: 1e5 by default, which is an ordinary number
        "lowerBound": -1e12,
        "upperBound": 1e12,
    }
    if max_iterations is not None:
        options["maxIteration"] = int(max_iterations)
    cost, cone = sp.csc_matrix(-program.q[:, None]), SymCone(l=program.cones.nonnegative, s=program.cones.psd)
    z, x, _, info = sdpacall.solve_sdpa(
        sp.csc_matrix(rows.T), cost, sp.csc_matrix(right[:, None]), cone, param(options)
    )
    point, dual = (np.asarray(v.todense()).reshape(-1) for v in (x, z))
    return point, _triangles(program.cones, dual), int(info.get("iteration", 0)), str(info["phasevalue"])


def _cvxopt(program: ConicProgram, tolerance: float, max_iterations: int | None, verbose: bool) -> Found:
    import cvxopt
    import cvxopt.solvers

    rows, right = _full_rows(program)
    stacked = rows.tocoo()
    G = cvxopt.spmatrix(stacked.data, stacked.row.tolist(), stacked.col.tolist(), stacked.shape)
    options = {"show_progress": verbose, "abstol": tolerance, "reltol": tolerance, "feastol": tolerance}
    if max_iterations is not None:
        options["maxiters"] = int(max_iterations)
    dims = {"l": program.cones.nonnegative, "q": [], "s": list(program.cones.psd)}
    found = cvxopt.solvers.conelp(cvxopt.matrix(program.q), G, cvxopt.matrix(right), dims, options=options)
    # one of the two is None in a certificate
    x, z = (
        np.zeros(size) if found[name] is None else np.array(found[name], dtype=float).reshape(-1)
        for name, size in (("x", program.q.size), ("z", right.size))
    )
    return x, _triangles(program.cones, z, lower=True), int(found["iterations"]), str(found["status"])


def _mosek(program: ConicProgram, tolerance: float, max_iterations: int | None, verbose: bool) -> Found:
    parameters = {f"MSK_DPAR_INTPNT_CO_TOL_{of}": tolerance for of in ("REL_GAP", "PFEAS", "DFEAS")}
    options: dict[str, Any] = {**parameters, "MSK_IPAR_NUM_THREADS": 1}
    if max_iterations is not None:
        options["MSK_IPAR_INTPNT_MAX_ITERATIONS"] = int(max_iterations)
    return by_cvxpy(program, "MOSEK", {"verbose": verbose, "mosek_params": options})


def by_cvxpy(program: ConicProgram, solver: str, options: Mapping[str, Any]) -> Found:
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


OTHERS = {
    solver.name: solver
    for solver in (
        OtherSolver("mosek", _mosek, ("optimal", "optimal_inaccurate"), equations=True),
        OtherSolver("sdpa", _sdpa, ("pdOPT", "pdFEAS")),
        OtherSolver("cvxopt", _cvxopt, ("optimal",), dense=24.0),
    )
}
"""The backends of this file by name."""

CVXPY = "cvxpy:"


def other(name: str) -> OtherSolver | None:
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

    def run(program: ConicProgram, tolerance: float, max_iterations: int | None, verbose: bool) -> Found:
        """The tolerance is the solver's own: cvxpy has no common name for it."""
        return by_cvxpy(program, inner, {"verbose": verbose})

    return OtherSolver(name, run, ("optimal", "optimal_inaccurate"), equations=True)


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
    deadline = np.inf if seconds is None else time.monotonic() + seconds
    parts: list[bytes] = []
    try:
        while not parts or parts[-1]:
            left = None if seconds is None else max(0.0, deadline - time.monotonic())
            if not select.select([reading], [], [], left)[0]:
                raise Breakdown(f"{solver} was stopped at the time limit")
            parts.append(os.read(reading, 1 << 20))
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reading)
        os.waitpid(child, 0)
    return _read(solver, b"".join(parts))


def _read(solver: str, pickled: bytes) -> Any:
    """The answer of a child."""
    if not pickled:
        raise Breakdown(f"{solver} ended its process; {OTHER_UNITS}")
    answer = pickle.loads(pickled)
    if isinstance(answer, Exception):
        raise answer
    return answer


def answer_from_input() -> None:
    """The part of a fresh interpreter: a question on standard input, the answer on standard output."""
    name, program, *limits = pickle.load(sys.stdin.buffer)
    writing = os.dup(1)
    os.dup2(2, 1)  # where a solver's remarks go when they are asked for
    solver = other(name)
    assert solver is not None
    _answer(lambda: solver.run(program, *limits), writing, limits[-1])


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
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(answer, pipe)
        flush_output()
    finally:
        os._exit(0)
