"""Conformance tests for what others write: a solver, a reduction.

>>> class Mine:
...     def solve(self, program, **options):   # min q'x with A x + s = b, s in program.cones
...         ...
...         return sd.ConicSolution("optimal", x, s, z, value, iterations, "mine", seconds)
>>> sd.testing.check_solver(Mine())
>>> sd.minimize(p, system, solver=Mine())

``check_solver`` and ``check_reduction`` return what they saw, one line a program, and raise AssertionError
with the lines that are wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.algebra.build import variables
from sosdp.conic.choose import backend, behind
from sosdp.conic.plugins import Reduction, Solver, misshapen
from sosdp.conic.program import Cones, ConicProgram, ConicSolution
from sosdp.conic.reformulate import checked_ray, optimality_error
from sosdp.conic.svec import svec
from sosdp.lazy import listed
from sosdp.model.system import System
from sosdp.relaxation.minimize import minimize

__all__ = ["Check", "Reduction", "Solver", "check_reduction", "check_solver"]
__dir__ = listed(__name__)

_ACCURATE = 1e-5


@dataclass(frozen=True)
class Check:
    """What was seen of one program: its name, the status, the error that counts, seconds, and what is wrong
    ('' where nothing is)."""

    program: str
    status: str
    error: float
    seconds: float
    wrong: str = ""

    def __str__(self) -> str:
        known = f": {self.wrong}" if self.wrong else ""
        return f"{self.program}: {self.status}, error {self.error:.1g}, {self.seconds:.2f} s{known}"


def check_solver(solver: str | Solver) -> list[Check]:
    """Small programs with known answers: every cone, equations, rays, a relaxation.

    An optimum must satisfy the conditions of optimality to 1e-5; a program without one may be answered with
    its ray or with ``failed``, never with ``optimal``. The data must be left as they are. ``solver``: an
    object with a method ``solve(program, **options)``, or a name. Raises AssertionError.
    """
    module = backend(solver) if isinstance(solver, str) else solver
    return _passed(
        [_tried(name, lambda p: module.solve(p, **_OPTIONS), p, s) for name, p, s in _programs()]
        + [_bound(solver, ())]
    )


def check_reduction(reduction: Reduction) -> list[Check]:
    """The same programs behind a reduction: what is lifted must answer the program that was given.

    A reduction that does not apply returns the program as it is. Raises AssertionError.
    """
    if not isinstance(reduction, Reduction):
        raise TypeError("a reduction has methods reduce(program) and lift(program, solution)")
    solver = behind("auto", [reduction])
    result = [_tried(name, solver.solve, p, status) for name, p, status in _programs()]
    return _passed([*result, _bound("auto", (reduction,))])


_OPTIONS: dict[str, Any] = {"tolerance": None, "time_limit": 30.0, "max_iterations": None, "verbose": False}


def _passed(checks: list[Check]) -> list[Check]:
    wrong = [str(check) for check in checks if check.wrong]
    if wrong:
        raise AssertionError("\n".join(wrong))
    return checks


def _tried(
    name: str, solve: Callable[[ConicProgram], ConicSolution], program: ConicProgram, status: str
) -> Check:
    """One program: the shape of the answer, its word, and the numbers behind it."""
    before, began = (program.q.copy(), program.b.copy(), program.A.copy()), time.perf_counter()
    result = solve(program)
    seconds = time.perf_counter() - began
    if not isinstance(result, ConicSolution):
        return Check(name, "no answer", np.inf, seconds, f"a {type(result).__name__}, not a ConicSolution")
    known = misshapen(program, result)
    if not (np.array_equal(before[0], program.q) and np.array_equal(before[1], program.b)):
        known = known or "changed the program that it was given"
    if abs(before[2] - program.A).nnz:
        known = known or "changed the program that it was given"
    if known:
        return Check(name, result.status, np.inf, seconds, known)
    error, value = (
        optimality_error(program, result.x, result.z),
        float(program.q @ result.x) + program.constant,
    )
    if status == "optimal":
        slack = float(np.abs(program.A @ result.x + result.s - program.b).max(initial=0.0))
        wrong = "" if result.status == "optimal" else "has an optimum"
        wrong = wrong or ("does not satisfy the conditions of optimality" if error > _ACCURATE else "")
        wrong = wrong or ("s is not b - A x" if slack > _ACCURATE * (1 + np.abs(program.b).max()) else "")
        off = abs(result.value - value) > _ACCURATE * (1 + abs(value))
        return Check(name, result.status, error, seconds, wrong or ("the value is another" if off else ""))
    right = result.status in (status, "failed", "inaccurate")
    wrong = "" if right else f"is {status}"
    if result.status == status and checked_ray(program, result.x, result.z) != status:
        wrong = "the ray does not check: A'z = 0, b'z < 0, or -A x in K, q'x < 0"
    return Check(name, result.status, 0.0, seconds, wrong)


def _bound(solver: Any, reductions: tuple[Reduction, ...]) -> Check:
    """A relaxation whose bound must come out proven."""
    x, y = variables("x y")
    began = time.perf_counter()
    answer = minimize(x**4 + y**4 - x * y, System(x**2 + y**2 <= 1), 4, solver=solver, reductions=reductions)
    proven = answer.certified_bound
    error = np.inf if proven is None else abs(proven + 0.125)
    wrong = "" if answer.status == "optimal" and error <= _ACCURATE else f"{answer!r}, which is -1/8"
    return Check("a relaxation", answer.status, error, time.perf_counter() - began, wrong)


def _programs() -> list[tuple[str, ConicProgram, str]]:
    """Names, programs, and their status."""
    ones = svec(np.ones((2, 2)))
    return [
        ("inequalities", _program([1, 1], [[-1, 0], [0, -1]], [-1, -2], Cones(nonnegative=2)), "optimal"),
        ("equations", _program([1, 2], [[1, 1], [-1, 0], [0, -1]], [1, 0, 0], Cones(1, 2)), "optimal"),
        ("a matrix", _program([1.0], -svec(np.eye(2))[:, None], ones, Cones(psd=(2,)), 3.0), "optimal"),
        ("every cone", _random(0, Cones(2, 5, (4, 1, 3)), 9), "optimal"),
        ("a larger matrix", _random(1, Cones(0, 0, (12,)), 30), "optimal"),
        ("no point", _program([1.0], [[1], [-1]], [-1, 0], Cones(nonnegative=2)), "infeasible"),
        ("no end", _program([-1.0], [[-1]], [0], Cones(nonnegative=1)), "unbounded"),
    ]


def _program(cost: Any, rows: Any, right: Any, cones: Cones, constant: float = 0.0) -> ConicProgram:
    A = sp.csc_matrix(np.array(rows, dtype=float))
    return ConicProgram(np.array(cost, dtype=float), A, np.array(right, dtype=float), cones, None, constant)


def _random(seed: int, cones: Cones, columns: int) -> ConicProgram:
    """Strictly feasible on both sides."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((cones.rows, columns))
    s, z = ([np.full(cones.zero, k), rng.random(cones.nonnegative) + 0.5] for k in (0.0, 1.0))
    for side in cones.psd:
        for target in (s, z):
            root = rng.standard_normal((side, side))
            target.append(svec(root @ root.T + np.eye(side)))
    b = A @ rng.standard_normal(columns) + np.concatenate(s)
    return ConicProgram(-A.T @ np.concatenate(z), sp.csc_matrix(A), b, cones)
