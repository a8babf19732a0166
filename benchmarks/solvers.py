"""One relaxation, every solver that is installed: seconds, accuracy and verdicts side by side.

Each program is solved by `sosdp.minimize` with each solver, in the form that suits it; the CPU seconds are
those of build, solve and certificate. The error is that of the reported value against the best certified
bound of all solvers or the known optimum. A certified bound above a known optimum makes the run fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sosdp as sd
from benchmarks.harness import Table, timed
from sosdp.conic.choose import installed
from sosdp.conic.program import ProblemTooLarge, SolverUnavailable

# sides beyond which a solver would spend the whole run on one entry of the table
LARGEST = {"clarabel": 70, "cvxopt": 50, "sdpa": 110, "scs": 200}


@dataclass(frozen=True)
class Program:
    """A named polynomial program, its optimum where it is known, and the side of its largest block."""

    name: str
    build: Callable[[], tuple[Any, Any, int]]
    side: int
    optimum: float | None = None


def quartic(n: int) -> tuple[Any, Any, int]:
    """A dense quartic with a positive definite leading form."""
    rng = np.random.default_rng(n)
    x = sd.variables("x", n)
    basis = sd.monomials(x, 2)
    root = rng.integers(-3, 4, size=(len(basis), len(basis)))
    return basis @ (root @ root.T / 16.0 + np.eye(len(basis))) @ basis, sd.System(), 4


def max_cut(n: int) -> tuple[Any, Any, int]:
    """Order-2 max-cut of a random weighted complete graph."""
    rng = np.random.default_rng(n)
    weights = rng.integers(1, 10, size=(n, n))
    s = sd.variables("s", n)
    cut = sum(int(weights[i, j]) * (1 - s[i] * s[j]) for i in range(n) for j in range(i)) / 2
    return -cut, sd.System(s**2 == 1), 4


def chain(n: int) -> tuple[Any, Any, int]:
    """Generalised Rosenbrock: a chain of overlapping small blocks, badly scaled; minimum 0."""
    x = sd.variables("x", n)
    return sum(100 * (x[i] - x[i - 1] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(1, n)), sd.System(), 4


def simplex(n: int) -> tuple[Any, Any, int]:
    """Motzkin-Straus for a random graph: a quadratic form on the simplex, with an equation."""
    rng = np.random.default_rng(n)
    graph = np.triu(rng.random((n, n)) < 0.5, 1)
    x = sd.variables("x", n)
    return -2 * (x @ graph.astype(int) @ x), sd.System(x.sum() == 1, x >= 0), 4


def programs(quick: bool) -> list[Program]:
    """The programs of the table."""
    small = [
        Program("dense quartic, n = 5", lambda: quartic(5), 21),
        Program("max-cut order 2, n = 6", lambda: max_cut(6), 16),
        Program("Rosenbrock chain, n = 10", lambda: chain(10), 6, 0.0),
    ]
    if quick:
        return small
    return [
        *small,
        Program("dense quartic, n = 8", lambda: quartic(8), 45),
        Program("dense quartic, n = 10", lambda: quartic(10), 66),
        Program("dense quartic, n = 12", lambda: quartic(12), 91),
        Program("max-cut order 2, n = 10", lambda: max_cut(10), 46),
        Program("max-cut order 2, n = 14", lambda: max_cut(14), 92),
        Program("Rosenbrock chain, n = 100", lambda: chain(100), 6, 0.0),
        Program("Motzkin-Straus order 2, n = 6", lambda: simplex(6), 28),
        Program("Motzkin-Straus order 2, n = 8", lambda: simplex(8), 45),
    ]


def solve(program: Program, solver: str) -> dict[str, Any]:
    """One entry of the table: seconds of the solve, status, value, certified bound."""
    objective, system, degree = program.build()
    try:
        result, spent = timed(sd.minimize, objective, system, degree, solver=solver)
    except (SolverUnavailable, ProblemTooLarge) as error:
        return {"solver": solver, "status": type(error).__name__}
    return {
        "solver": solver,
        "status": result.status,
        "seconds": round(spent, 3),
        "value": result.bound,
        "certified": result.certified_bound,
        "iterations": result.iterations,
        "side": max(result.sizes["blocks"]),
        "moments": result.sizes["moments"],
        "equations": result.sizes["equalities"],
    }


def entry(result: dict[str, Any], reference: Any) -> str:
    """Seconds and, where the answer is not simply right, its error or its status."""
    if result["status"] == "skipped":
        return "-"
    if "seconds" not in result:
        return "no licence" if result["status"] == "SolverUnavailable" else result["status"]
    text = f"{result['seconds']:.2f}"
    if result["status"] != "optimal" or reference is None:
        return f"{text} ({result['status']})"
    error = abs(result["value"] - reference) / max(1.0, abs(reference))
    return text if error < 1e-6 else f"{text} ({error:.0e})"


def run(quick: bool) -> dict[str, Any]:
    """Every program by every installed solver."""
    solvers = installed()
    rows, records, fine = [], [], True
    for program in programs(quick):
        answers: list[dict[str, Any]] = []
        for solver in solvers:
            small = program.side <= LARGEST.get(solver, 110)
            answers.append(solve(program, solver) if small else {"solver": solver, "status": "skipped"})
        certified: list[float] = [a["certified"] for a in answers if a.get("certified") is not None]
        reference = program.optimum if program.optimum is not None else max(certified, default=None)
        if program.optimum is not None:
            fine &= all(c <= program.optimum + 1e-9 for c in certified)
        first = next(a for a in answers if "side" in a)
        shape = [program.name, first["side"], first["moments"], first["equations"]]
        rows.append([*shape, *(entry(a, reference) for a in answers)])
        records.append({"program": program.name, "reference": reference, "answers": answers})
    table = Table(
        "CPU seconds of build, solve and certificate",
        ["program", "side", "moments", "equations", *solvers],
        rows,
        [
            "one thread; in brackets: relative error where it is 1e-6 or more, or the status",
            "a dash: not tried, the blocks are too large for the solver",
        ],
    )
    return {"ok": fine, "tables": [table.to_dict()], "records": records}
