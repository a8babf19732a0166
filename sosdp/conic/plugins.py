"""Solvers and reductions of somebody else: objects, packages by entry point, and what cvxpy reaches.

None is taken at its word. What a solver calls solved is compared with the conditions of optimality of the
program that it was given, what it calls a ray is checked, and every bound is proven afterwards as always: a
solver or a reduction that lies may cost time and leave an answer ``inaccurate`` or ``failed``, never false.
"""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol, TypedDict, Unpack, runtime_checkable

import numpy as np

from .program import ConicProgram, ConicSolution, SolverUnavailable
from .reformulate import solve_reduced, unsolved, weighed

GROUP = "sosdp.solvers"
"""The group of entry points under which an installed package offers solvers."""

FORMS = ("moment", "gram")


class SolverOptions(TypedDict, total=False):
    """What a solver is told: None where nothing is asked."""

    tolerance: float | None
    time_limit: float | None
    max_iterations: int | None
    verbose: bool


@runtime_checkable
class Solver(Protocol):
    """What ``solver=`` takes besides a name. ``name`` and ``FORM`` are optional attributes.

    ``FORM``: ``"moment"`` (default: the moments are the variables, their matrices semidefinite) or ``"gram"``
    (the entries of the Gram matrices are, one equation a monomial).
    """

    def solve(self, program: ConicProgram, **options: Unpack[SolverOptions]) -> ConicSolution:
        """An answer to a linear conic program, with x, s and z in the order of its rows."""


@runtime_checkable
class Reduction(Protocol):
    """A smaller program in the place of a conic program, and the way back."""

    def reduce(self, program: ConicProgram) -> ConicProgram:
        """The program that is solved."""

    def lift(self, program: ConicProgram, solution: ConicSolution) -> ConicSolution:
        """An answer to ``program``, what ``reduce`` was given, from one to what it returned."""


@dataclass(frozen=True, eq=False)
class Plugged:
    """A ``Solver`` as a backend; its answers are weighed on the data."""

    solver: Any

    def __post_init__(self) -> None:
        if self.FORM not in FORMS:
            raise ValueError(f"FORM of a solver is one of {', '.join(FORMS)}, not {self.FORM!r}")

    @property
    def name(self) -> str:
        """Its ``name``, or that of its class."""
        return name_of(self.solver)

    @property
    def FORM(self) -> str:
        """Which form of a relaxation it gets."""
        return getattr(self.solver, "FORM", FORMS[0])

    def memory(self, program: ConicProgram) -> float:
        """Bytes that it says it will need, 0 where it says nothing."""
        estimate = getattr(self.solver, "memory", None)
        return 0.0 if estimate is None else float(estimate(program))

    def solve(
        self,
        program: ConicProgram,
        *,
        tolerance: float | None = None,
        time_limit: float | None = None,
        max_iterations: int | None = None,
        verbose: bool = False,
    ) -> ConicSolution:
        """Its answer, weighed. What it raises reaches the caller; an answer of another shape is ``failed``,
        TypeError for one of another kind."""

        def answer(linear: ConicProgram) -> ConicSolution:
            started = time.perf_counter()
            found = self.solver.solve(
                deepcopy(linear),  # what it does to its program, it does to its own
                tolerance=tolerance,
                time_limit=time_limit,
                max_iterations=max_iterations,
                verbose=verbose,
            )
            if not isinstance(found, ConicSolution):
                raise TypeError(f"{self.name}.solve returned {type(found).__name__}, not a ConicSolution")
            told = misshapen(linear, found)
            if told:
                return unsolved(linear, "failed", message=f"{self.name} {told}", solver=self.name)
            solved = found.status in ("optimal", "inaccurate")
            seconds = time.perf_counter() - started
            return weighed(
                linear, self.name, (found.x, found.z, found.iterations, found.status), solved, seconds
            )

        return solve_reduced(program, self.name, answer, equations=True)


def name_of(solver: Any) -> str:
    """What a solver is called: by its name, or as an object."""
    return solver if isinstance(solver, str) else str(getattr(solver, "name", type(solver).__name__))


def misshapen(program: ConicProgram, found: ConicSolution, finite: bool = True) -> str:
    """What is wrong with the vectors of an answer, in a few words; '' where nothing is. ``finite``: whether
    their numbers must be."""
    vectors = {"x": (found.x, program.q), "s": (found.s, program.b), "z": (found.z, program.b)}
    for name, (given, like) in vectors.items():
        if np.shape(given) != like.shape:
            return f"answered with {name} of shape {np.shape(given)}, not {like.shape}"
        floats = np.issubdtype(np.asarray(given).dtype, np.floating)
        if finite and not (floats and np.isfinite(given).all()):
            return f"answered with {name} that is not finite"
    return ""


@cache
def offered() -> dict[str, Any]:
    """The entry points of installed packages by the names of their solvers; nothing is loaded."""
    return {point.name: point for point in entry_points(group=GROUP)}


@cache
def of_package(name: str) -> Plugged:
    """The solver of an entry point, a class without arguments or an object; SolverUnavailable for others."""
    found = offered()[name].load()
    found = found() if isinstance(found, type) else found
    if not isinstance(found, Solver):
        raise SolverUnavailable(
            f"the entry point {name!r} of {GROUP} has no method solve(program, **options)"
        )
    return Plugged(found)
