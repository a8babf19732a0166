"""Programs of a structure that is known, alone and many at once, against bare Clarabel on the same data.

Bare is a new solver of the conic program that the library states, and its solution; nothing is read or
proven. Alternating runs, the least CPU time of each program, medians over the programs. Asked for: a quartic
in two variables at most 3 times, one of many at most 2 times; 5000 of them in at most 10 seconds, all proven.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clarabel
import numpy as np

import sosdp as sd
from benchmarks.harness import Table, timed
from sosdp.conic.clarabel import _blocks, _nothing, _settings
from sosdp.relaxation.change import Change, build
from sosdp.relaxation.solve.forms import gram_form
from sosdp.relaxation.statement import BOUND, Statement

PROGRAMS, ROUNDS, MANY = 20, 15, 5000
SINGLE, TOGETHER, SECONDS = 3.0, 2.0, 10.0
x, y, z = sd.variables("x y z")
SIGNS = sd.variables("s", 4)


def dense(variables: list[Any], degree: int, lead: Any = 0) -> Callable[[Any], Any]:
    """Normal coefficients of all monomials up to a degree, beside a leading form."""
    basis = sd.monomials(variables, degree)
    return lambda rng: lead + rng.normal(size=len(basis)) @ basis


FAMILIES: dict[str, tuple[Callable[[Any], Any], list[Any], int]] = {
    "quartic": (dense([x, y], 3, x**4 + y**4), [], 4),
    "quartic on a box": (dense([x, y], 4), [x**2 <= 1, y**2 <= 1], 4),
    "quadratic on a ball": (dense([x, y, z], 2), [x**2 + y**2 + z**2 <= 1], 2),
    "four signs": (dense([*SIGNS], 2), [v**2 == 1 for v in SIGNS], 2),
    "sextic in one variable": (dense([x], 5, x**6), [], 6),
    "quadratic on a circle": (dense([x, y], 2), [x**2 + y**2 == 1], 2),
}


def bare(relaxation: sd.Relaxation, p: Any) -> Callable[[], Any]:
    """Clarabel alone on the program of this polynomial."""
    demand = relaxation._demand(p)
    statement = Statement(BOUND, (demand,), (demand.price,), (np.inf,))  # type: ignore[arg-type]
    conic = gram_form(build(statement, Change.none(statement)).program)
    data = _nothing(conic.q.size), conic.q, conic.A, conic.b, _blocks(conic.cones, False)
    settings = _settings(None, None, None, False, False)
    return lambda: clarabel.DefaultSolver(*data, settings).solve()


def measured(make: Callable[[Any], Any], system: list[Any], degree: int, rounds: int) -> list[float]:
    """CPU milliseconds of bare Clarabel, of ``minimize``, and of one of many, and two ratios."""
    rng, relaxation = np.random.default_rng(0), sd.Relaxation(system, degree)
    programs = [make(rng) for _ in range(PROGRAMS)]
    alone = [bare(relaxation, p) for p in programs]
    best = np.full((2, PROGRAMS), np.inf)
    together = []
    for _ in range(rounds):
        for k, p in enumerate(programs):
            best[0, k] = min(best[0, k], timed(alone[k])[1])
            best[1, k] = min(best[1, k], timed(sd.minimize, p, system, degree)[1])
        together.append(timed(relaxation.minimize_many, programs)[1] / PROGRAMS)
    own, single = 1e3 * np.median(best, axis=1)
    many, ratio = 1e3 * min(together), float(np.median(best[1] / best[0]))
    return [float(own), float(single), ratio, many, many / float(1e3 * best[0].mean())]


def run(quick: bool) -> dict[str, Any]:
    """The table of ratios, and many quartics at once."""
    table = Table(
        "a known structure, CPU ms a program",
        ["program", "Clarabel alone", "minimize", "times Clarabel", "one of many", "times Clarabel"],
        [[name, *measured(*family, 2 if quick else ROUNDS)] for name, family in FAMILIES.items()],
        [f"asked for: at most {SINGLE:g} times, one of many at most {TOGETHER:g} times"],
    )
    rng, count = np.random.default_rng(1), 100 if quick else MANY
    make, system, degree = FAMILIES["quartic"]
    programs = [make(rng) for _ in range(count)]
    result, seconds = timed(sd.Relaxation(system, degree).minimize_many, programs)
    proven = int(np.isfinite(result.certified_bounds).sum())
    gap = float(np.nanmax(result.bounds - result.certified_bounds))
    many = Table(
        "many quartics of one structure at once",
        ["programs", "CPU s", "ms each", "optimal", "proven", "largest gap"],
        [[count, seconds, 1e3 * seconds / count, int((result.status == "optimal").sum()), proven, gap]],
        [f"asked for: {MANY} in at most {SECONDS:g} s, all proven"],
    )
    return {"tables": [table.to_dict(), many.to_dict()], "ok": proven == count}
