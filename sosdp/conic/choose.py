"""Which solver, decided by the sizes of the blocks, by memory and by what is installed, never by luck."""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from time import process_time
from typing import Any, Unpack

import numpy as np

from sosdp.progress import shown

from . import multiprecision
from .clock import limited
from .judge import better, judged
from .other_solvers import CVXPY, other
from .plugins import Reduction, Solver, SolverOptions, misshapen, name_of, of_package, offered, plugged
from .program import ConicProgram, ConicSolution, ProblemTooLarge, SolverUnavailable
from .reformulate import unsolved
from .svec import svec_length
from .units import for_a_solver, own_units

# The one list of solvers: name -> (modules that must be importable, what to install for them). Each has FORM
# ("gram" or "moment"), memory(program) and solve(program, ...), in a file of its name beside this one or in
# ``other_solvers``.
SOLVERS: dict[str, tuple[tuple[str, ...], str]] = {
    "clarabel": (("clarabel",), "clarabel"),
    "scs": (("scs",), "scs"),
    "mosek": (("mosek", "cvxpy"), 'mosek "sosdp[modelling]"'),
    "sdpa": (("sdpap",), "sdpa-python"),
    "cvxopt": (("cvxopt",), "cvxopt"),
    "newton_cg": (("scipy",), "scipy"),  # our own, of what is always there
}
INTERIOR_POINT_SIDE = (
    60  # beyond it a first-order method is faster by a factor that grows as the cube of the side
)
_HOURS = 5e11  # sum of R^3 from which on Clarabel is not asked for a second opinion
_PATIENCE = 8.0  # CPU seconds for all second opinions together, or ...
_PATIENCE_TIMES = 10  # ... this multiple of what the first took with its proof
INTERIOR_POINT_WORK = 4e10  # sum of R^3 over the blocks: about 10 s an iteration


@cache
def is_installed(name: str) -> bool:
    """Whether the module of a solver of the list can be found (a licence is not asked for)."""
    return all(importlib.util.find_spec(module) is not None for module in SOLVERS[name][0])


def installed() -> tuple[str, ...]:
    """Names of the solvers that can be used here, in the order of the list."""
    return tuple(name for name in SOLVERS if is_installed(name))


def choose(sides: Iterable[int]) -> str:
    """Name of the solver for matrix blocks of these sides: Clarabel or SCS, whichever suits and is installed.

    Raises SolverUnavailable when neither is. The others are used when they are asked for by name.
    """
    lengths = [svec_length(n) for n in sides]
    work = sum(float(r) ** 3 for r in lengths)
    small = max(lengths, default=0) <= svec_length(INTERIOR_POINT_SIDE) and work <= INTERIOR_POINT_WORK
    preferred = ("clarabel", "scs") if small else ("scs", "clarabel")
    for name in preferred:
        if is_installed(name):
            return name
    raise SolverUnavailable("neither clarabel nor scs is installed; try: pip install clarabel scs")


def backend(name: Any) -> Any:
    """The backend of a solver: of a name of the list, ``cvxpy:NAME``, the name of an entry point, or of an
    object with a method ``solve``. SolverUnavailable when it cannot be used here."""
    if not isinstance(name, str):
        return plugged(name)
    if name.startswith(CVXPY):
        return other(name)
    if name in offered() and name not in SOLVERS:
        return of_package(name)
    if name not in SOLVERS:
        known = ", ".join([*SOLVERS, *offered()])
        raise SolverUnavailable(f"unknown solver {name!r}; choose one of {known}, 'cvxpy:NAME' or 'auto'")
    if not is_installed(name):
        raise SolverUnavailable(
            f"the solver {name!r} is not installed; try: pip install {SOLVERS[name][1]}, "
            f"or one of {', '.join(installed())}"
        )
    return other(name) or _of_this_package(name)


@cache
def _of_this_package(name: str) -> Any:
    return importlib.import_module(f"{__package__}.{name}")


@dataclass(frozen=True, eq=False)
class Reduced:
    """A solver behind reductions, the first of them applied first; ``solver`` as everywhere, ``"auto"``: by
    the sizes of what is left."""

    solver: Any
    reductions: tuple[Reduction, ...]

    @property
    def name(self) -> str:
        """The reductions and the solver."""
        return " + ".join([*(type(r).__name__ for r in self.reductions), name_of(self.solver)])

    def solve(self, program: ConicProgram, **options: Unpack[SolverOptions]) -> ConicSolution:
        """The lifted answer."""
        chain = [program]
        for reduction in self.reductions:
            chain.append(reduction.reduce(deepcopy(chain[-1])))
        last = chain.pop()
        solver = choose(last.cones.psd) if self.solver in ("auto", "borrowed") else self.solver
        check_memory(solver, last)
        result = backend(solver).solve(last, **options)
        for reduction, given in zip(reversed(self.reductions), reversed(chain), strict=True):
            result = reduction.lift(given, result)
        return result


def behind(solver: Any, reductions: Sequence[Any]) -> Any:
    """The solver behind the reductions; itself where there are none."""
    return Reduced(solver, tuple(reductions)) if len(reductions) else solver


def available_memory() -> float:
    """Physical memory that is free now, in bytes (infinite where the system does not tell)."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def check_memory(name: Any, program: ConicProgram) -> None:
    """Raise ProblemTooLarge before a solver that would exhaust the memory is called."""
    needed = backend(name).memory(program)
    free = available_memory() if needed > 1e7 else np.inf  # so little always is
    if needed > 0.8 * free:
        side = max(program.cones.psd, default=0)
        raise ProblemTooLarge(
            f"{name_of(name)} would need about {needed / 2**30:.1f} GiB for its largest block of side "
            f"{side}, "
            f"{free / 2**30:.1f} GiB are free; try a lower degree, sparsity='correlative', or solver='scs'"
        )


def order(program: ConicProgram) -> tuple[str, ...]:
    """The installed solvers in the order in which they are tried on a conic program.

    SDPA leads where it was measured to win: no equations and a block of side 30 to 200. Then, beyond side 60,
    our Newton-CG method, which on large blocks is two to ten times as fast as SCS and gets further; Clarabel
    and SCS, whichever suits, and last CVXOPT for small programs.
    """
    first = choose(program.cones.psd)
    side = max(program.cones.psd, default=0)
    suits = program.cones.zero == 0 and program.q.size <= 4000 and program.P is None
    names = [first, *(n for n in ("clarabel", "scs") if n != first)]
    if sum(float(svec_length(n)) ** 3 for n in program.cones.psd) > _HOURS and "scs" in names:
        names.remove("clarabel")
    if side > INTERIOR_POINT_SIDE and program.P is None:
        names.insert(0, "newton_cg")
    if suits:
        names.insert(0 if 30 <= side <= 200 else 1, "sdpa")
    if side <= 40 and program.cones.rows <= 1000:
        names.append("cvxopt")
    return tuple(name for name in names if is_installed(name))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused
@shown("conic program")
def solve_conic(
    program: ConicProgram,
    solver: str | Solver = "auto",
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    largest: float | None = None,
    verbose: bool = False,
    reductions: Sequence[Reduction] = (),
) -> ConicSolution:
    """Solve any conic program, and prove the value: a file that was read, one built by hand, from cvxpy, ...

    ``lower`` and ``upper`` of the answer are proven bounds on the optimal value of a linear program (infinite
    where nothing is proven, and then ``reason`` says why). The status is ``optimal`` only when they agree to
    1e-5 relative, ``infeasible`` (``value`` is then nan) only with a proof; with ``solver="auto"`` the next
    solver is asked otherwise; for a small program our own method in numbers of many digits is among them. A
    program with a quadratic objective gets no bounds, and the status is the solver's word.
    ``tolerance``: of the solver. ``time_limit``: for everything, in seconds; without it second opinions take
    together at most 8 CPU seconds, or ten times what the first solver and its proof took, and one step of a
    proof in integers about 8. ``largest``: the entries of x that are of interest are at most this in absolute
    value. Where the dual has no interior (the control problems of SDPLIB) no bound from below can be proven
    without; with it, ``lower`` is about those. ``solver``: a name, or an object with a method ``solve``;
    ``reductions``: objects with methods ``reduce`` and ``lift``, applied first to last.

    Raises SolverUnavailable and ProblemTooLarge.
    """
    if largest is not None and not 0 < largest < np.inf:
        raise ValueError(f"largest must be a positive number, not {largest!r}")
    started = time.perf_counter()
    solver = behind(solver, reductions)
    if 0 in program.cones.psd:  # solvers take them for an error (SDPA ends the process)
        program = replace(program, cones=replace(program.cones, psd=tuple(n for n in program.cones.psd if n)))
    unit = own_units(program)
    if largest is not None:
        largest = unit.largest(largest)
    wanted = _Limits(time_limit, started, {"max_iterations": max_iterations, "verbose": verbose})
    with limited(wanted.left):
        result = unit.restore(_settled(unit.program, solver, wanted, tolerance, largest), program)
    if result.status == "infeasible":  # a backend that saw no ray leaves the value at its last point
        result = replace(result, value=np.nan)
    return replace(result, seconds=time.perf_counter() - started)


def _settled(
    program: ConicProgram, solver: Any, wanted: _Limits, tolerance: float | None, largest: float | None
) -> ConicSolution:
    """The answer of the first solver whose answer is proven, or the best of them all."""
    if not program.q.size and program.P is None:
        only = unsolved(program, "optimal", message="no variables")
        only = replace(only, s=program.b.copy(), value=program.constant)
        return judged(program, only, wanted.again("none"))
    names = order(program) if solver == "auto" else (solver,)
    if solver == "auto" and multiprecision.suits(program):
        # where the interior points of doubles end early, a first-order method gets no further
        first = [n for n in names if n in ("clarabel", "sdpa")]
        names = (*first, multiprecision.NAME, *(n for n in names if n not in first))
    best: ConicSolution | None = None
    for name in names:
        try:
            result = wanted.solve(name, program, tolerance)
        except ProblemTooLarge:
            if name == names[-1] and best is None:
                raise
            continue
        proven = judged(program, result, wanted.again(name), largest)
        best = proven if best is None else better(best, proven)
        wanted.grant()
        if best.status in ("optimal", "infeasible", "unbounded") or wanted.over():
            break
    assert best is not None  # the last name raises where no solver had the memory
    return best


class _Limits:
    """What one call asked of the solvers, and the time that is left: that of its limit, on the clock, and for
    second opinions a multiple of what the first solver and its proof took, in CPU seconds."""

    def __init__(self, time_limit: float | None, started: float, options: dict[str, Any]) -> None:
        self._time_limit = time_limit
        self._started = started
        self._options = options
        self._begun = process_time()
        self._budget = np.inf

    def grant(self) -> None:
        """The first opinion is there: what the others may take together."""
        if self._budget == np.inf:
            self._budget = max(_PATIENCE, _PATIENCE_TIMES * (process_time() - self._begun))

    def left(self) -> float:
        """Seconds that the next solve may take."""
        budget = self._budget - (process_time() - self._begun)
        if self._time_limit is None:
            return budget
        return min(budget, self._time_limit - (time.perf_counter() - self._started))

    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left() <= 0

    def solve(self, name: Any, program: ConicProgram, tolerance: float | None) -> ConicSolution:
        """The answer of a solver to a program, scaled; raises ProblemTooLarge and SolverUnavailable."""
        module = multiprecision if name == multiprecision.NAME else backend(name)
        if name != multiprecision.NAME:
            check_memory(name, program)
        if module is multiprecision and not multiprecision.begins_within(program, self.left()):
            return unsolved(program, "failed", message="no time left", solver=name)
        limit = {}
        if np.isfinite(self.left()):
            limit = {"time_limit": max(self.left(), 0.01)}
        scaled = for_a_solver(program)
        result = module.solve(scaled.program, tolerance=tolerance, **limit, **self._options)
        wrong = misshapen(program, result, finite=False)
        if wrong:
            return unsolved(program, "failed", message=f"{result.solver} {wrong}", solver=result.solver)
        return scaled.restore(result, program)

    def again(self, name: Any) -> Callable[[ConicProgram], ConicSolution]:
        """What solves a variation of the program: ``failed`` where no time is left, or no memory."""
        said = name_of(name)

        def solve(program: ConicProgram) -> ConicSolution:
            if self.over() or name == "none":
                return unsolved(program, "failed", message="no time left", solver=said)
            try:
                return self.solve(name, program, None)
            except ProblemTooLarge as error:
                return unsolved(program, "failed", message=str(error), solver=said)

        return solve


@contextmanager
def opinion(
    program: ConicProgram, time_limit: float | None = None
) -> Iterator[Callable[[ConicProgram], ConicSolution]]:
    """What solves this program and variations of it, with what is done within it all in one time limit:
    Clarabel or SCS; the answer is ``failed`` where no time is left, or no memory."""
    wanted = _Limits(time_limit, time.perf_counter(), {"max_iterations": None, "verbose": False})
    with limited(wanted.left):
        yield wanted.again(choose(program.cones.psd))
