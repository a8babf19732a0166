"""Solvers and reductions of somebody else: objects, packages by entry point, and what cvxpy reaches.

None is taken at its word. What a solver calls solved is compared with the conditions of optimality of the
program that it was given, what it calls a ray is checked, and every bound is proven afterwards as always: a
solver or a reduction that lies may cost time and leave an answer ``inaccurate`` or ``failed``, never false.
"""

from __future__ import annotations

import time
from collections.abc import Callable
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


UNASKED = SolverOptions(tolerance=None, time_limit=None, max_iterations=None, verbose=False)


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


Vectors = tuple[np.ndarray, np.ndarray, int, str]  # x, z, iterations, what the solver says


@dataclass(frozen=True, eq=False)
class Backend:
    """A solver whose answers are weighed on the data. ``run(program, options)`` is what it finds, or an
    answer that it has failed; ``solved``: its words for an optimum; ``equations``: whether it takes them
    (they are eliminated first otherwise); ``memory``: bytes that it needs for a program.

    Raises ValueError for a form of relaxations that there is not.
    """

    name: str
    run: Callable[[ConicProgram, SolverOptions], Vectors | ConicSolution]
    solved: tuple[str, ...]
    equations: bool = True
    memory: Callable[[ConicProgram], float] = lambda program: 0.0
    FORM: str = "moment"

    def __post_init__(self) -> None:
        if self.FORM not in FORMS:
            raise ValueError(f"FORM of a solver is one of {', '.join(FORMS)}, not {self.FORM!r}")

    def solve(self, program: ConicProgram, **options: Unpack[SolverOptions]) -> ConicSolution:
        """Its answer, weighed: the conditions of optimality, or a ray, are checked."""
        wanted: SolverOptions = {**UNASKED, **options}

        def answer(reduced: ConicProgram) -> ConicSolution:
            started = time.perf_counter()
            result = self.run(reduced, wanted)
            if isinstance(result, ConicSolution):
                return result
            seconds = time.perf_counter() - started
            return weighed(reduced, self.name, result, result[-1] in self.solved, seconds)

        return solve_reduced(program, self.name, answer, self.equations)


def plugged(solver: Any) -> Backend:
    """A ``Solver`` as a backend. What it raises reaches the caller; an answer of another shape is ``failed``,
    TypeError for one of another kind."""
    name = name_of(solver)

    def run(program: ConicProgram, options: SolverOptions) -> Vectors | ConicSolution:
        result = solver.solve(deepcopy(program), **options)  # what it does to it, it does to its own
        if not isinstance(result, ConicSolution):
            raise TypeError(f"{name}.solve returned {type(result).__name__}, not a ConicSolution")
        wrong = misshapen(program, result)
        if wrong:
            return unsolved(program, "failed", message=f"{name} {wrong}", solver=name)
        return result.x, result.z, result.iterations, result.status

    memory = getattr(solver, "memory", None) or Backend.memory
    return Backend(
        name, run, ("optimal", "inaccurate"), memory=memory, FORM=getattr(solver, "FORM", Backend.FORM)
    )


def name_of(solver: Any) -> str:
    """What a solver is called: by its name, or as an object."""
    return solver if isinstance(solver, str) else str(getattr(solver, "name", type(solver).__name__))


def misshapen(program: ConicProgram, solution: ConicSolution, finite: bool = True) -> str:
    """What is wrong with the vectors of an answer, in a few words; '' where nothing is. ``finite``: whether
    their numbers must be."""
    vectors = {"x": (solution.x, program.q), "s": (solution.s, program.b), "z": (solution.z, program.b)}
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
def of_package(name: str) -> Backend:
    """The solver of an entry point, a class without arguments or an object; SolverUnavailable for others."""
    result = offered()[name].load()
    result = result() if isinstance(result, type) else result
    if not isinstance(result, Solver):
        raise SolverUnavailable(
            f"the entry point {name!r} of {GROUP} has no method solve(program, **options)"
        )
    return plugged(result)
