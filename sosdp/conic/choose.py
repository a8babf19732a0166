"""Which solver, decided by the sizes of the blocks and by memory, never by luck."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable
from types import ModuleType

from .program import ConicProgram, ProblemTooLarge, SolverUnavailable, svec_length

SOLVERS = ("clarabel", "scs")
INTERIOR_POINT_SIDE = (
    60  # beyond it a first-order method is faster by a factor that grows as the cube of the side
)
INTERIOR_POINT_WORK = 4e10  # sum of R^3 over the blocks: about 10 s an iteration


def choose(sides: Iterable[int]) -> str:
    """Name of the solver for matrix blocks of these sides."""
    lengths = [svec_length(n) for n in sides]
    if not lengths:
        return "clarabel"
    work = sum(float(r) ** 3 for r in lengths)
    small = max(lengths) <= svec_length(INTERIOR_POINT_SIDE)
    return "clarabel" if small and work <= INTERIOR_POINT_WORK else "scs"


def backend(name: str) -> ModuleType:
    """The backend module of a solver; raises SolverUnavailable when it cannot be used here."""
    if name not in SOLVERS:
        raise SolverUnavailable(f"unknown solver {name!r}; choose one of {', '.join(SOLVERS)} or 'auto'")
    if importlib.util.find_spec(name) is None:
        raise SolverUnavailable(f"the solver {name!r} is not installed; try: pip install {name}")
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
