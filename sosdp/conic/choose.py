"""Which solver, decided by the sizes of the blocks, by memory and by what is installed, never by luck."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable
from functools import cache
from types import ModuleType

from .program import ConicProgram, ConicSolution, ProblemTooLarge, SolverUnavailable
from .svec import svec_length

# The one list of solvers: name -> (module that must be importable, what to install for it). Each has a file
# of its name beside this one, with FORM ("gram" or "moment"), memory(program) and solve(program, ...).
SOLVERS = {
    "clarabel": ("clarabel", "clarabel"),
    "scs": ("scs", "scs"),
    "mosek": ("mosek", "mosek"),
    "sdpa": ("sdpap", "sdpa-python"),
    "cvxopt": ("cvxopt", "cvxopt"),
}
INTERIOR_POINT_SIDE = (
    60  # beyond it a first-order method is faster by a factor that grows as the cube of the side
)
INTERIOR_POINT_WORK = 4e10  # sum of R^3 over the blocks: about 10 s an iteration


@cache
def is_installed(name: str) -> bool:
    """Whether the module of a solver of the list can be found (a licence is not asked for)."""
    return importlib.util.find_spec(SOLVERS[name][0]) is not None


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


def backend(name: str) -> ModuleType:
    """The backend module of a solver; raises SolverUnavailable when it cannot be used here."""
    if name not in SOLVERS:
        raise SolverUnavailable(f"unknown solver {name!r}; choose one of {', '.join(SOLVERS)} or 'auto'")
    if not is_installed(name):
        raise SolverUnavailable(
            f"the solver {name!r} is not installed; try: pip install {SOLVERS[name][1]}, "
            f"or one of {', '.join(installed())}"
        )
    return importlib.import_module(f"{__package__}.{name}")


def available_memory() -> float:
    """Physical memory that is free now, in bytes (infinite where the system does not tell)."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def check_memory(name: str, program: ConicProgram) -> None:
    """Raise ProblemTooLarge before a solver that would exhaust the memory is called."""
    needed = backend(name).memory(program)
    free = available_memory()
    if needed > 0.8 * free:
        side = max(program.cones.psd, default=0)
        raise ProblemTooLarge(
            f"{name} would need about {needed / 2**30:.1f} GiB for its largest block of side {side}, "
            f"{free / 2**30:.1f} GiB are free; try a lower degree, sparsity='correlative', or solver='scs'"
        )


def solve_conic(
    program: ConicProgram,
    solver: str = "auto",
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    verbose: bool = False,
) -> ConicSolution:
    """Solve any conic program: a file that was read, one from cvxpy or picos, one built by hand.

    Raises SolverUnavailable and ProblemTooLarge. The status is the solver's word: nothing here is certified.
    """
    name = choose(program.cones.psd) if solver == "auto" else solver
    module = backend(name)
    check_memory(name, program)
    return module.solve(
        program,
        tolerance=tolerance,
        time_limit=time_limit,
        max_iterations=max_iterations,
        verbose=verbose,
    )
