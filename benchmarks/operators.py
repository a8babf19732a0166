"""Bell inequalities through the hierarchy of Navascues, Pironio and Acin, against ncpol2sdpa.

Both get the same table of coefficients, build the moment relaxation and solve it with Clarabel (ncpol2sdpa by
cvxpy); seconds are wall seconds of build and solve together, one thread, contestants in turn. Ours includes a
certified bound; the exact proof and its replay in the kernel are timed apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Table, alternate, available, not_installed

# coefficients of probabilities of first outcomes: [constant, B alone; A alone, joint]
CHSH = [[0, -1, 0], [-1, 1, 1], [0, 1, -1]]
I3322 = [[0, -2, -1, 0], [-1, 1, 1, 1], [0, 1, 1, -1], [0, 1, -1, 0]]
I4422 = [[0, -3, -2, -1, 0], [-1, 1, 1, 1, 1], [0, 1, 1, 1, -1], [0, 1, 1, -1, 0], [0, 1, -1, 0, 0]]
CASES: list[tuple[str, list[list[int]], int | str]] = [
    ("CHSH", CHSH, "1+AB"), ("I3322", I3322, "1+AB"), ("I3322", I3322, 2),
    ("I4422", I4422, "1+AB"), ("I4422", I4422, 2),
]  # fmt: skip
QUICK = 2
BAR = 2.0


def total(table: list[list[int]], left: list[Any], right: list[Any]) -> Any:
    """The polynomial of a table."""
    cells = np.ndindex(len(left), len(right))
    return sum(table[i][j] * left[i] * right[j] for i, j in cells)


def ours(table: list[list[int]], level: int | str) -> Callable[[], Any]:
    """Build, solve and certify."""
    import sosdp as sd

    left, right = ([1, *(p[0] for p in sd.projectors(n, len(table) - 1))] for n in "AB")
    objective = total(table, left, right)
    return lambda: sd.maximize(objective, level=level)


def theirs(table: list[list[int]], level: int | str) -> Callable[[], Any]:
    """Build and solve."""
    from ncpol2sdpa import SdpRelaxation, flatten, generate_measurements, projective_measurement_constraints
    from ncpol2sdpa.cvxpy_utils import convert_to_cvxpy

    a, b = (generate_measurements([2] * (len(table) - 1), name) for name in "AB")
    objective = -total(table, [1, *flatten(a)], [1, *flatten(b)])
    products = [x * y for x in flatten(a) for y in flatten(b)] if level == "1+AB" else None

    def run() -> float:
        relaxation = SdpRelaxation(flatten([a, b]), verbose=0)
        relaxation.get_relaxation(
            level if isinstance(level, int) else 1,
            objective=objective,
            substitutions=projective_measurement_constraints(a, b),
            extramonomials=products,
        )
        program = convert_to_cvxpy(relaxation)
        program.solve(solver="CLARABEL")
        return -float(program.value)

    return run


def run(quick: bool) -> dict[str, Any]:
    """Time both on every case; the result is wrong where values differ or the bar is missed."""
    from certificates import extract

    peer = available("ncpol2sdpa")
    rows, fine = [], True
    for name, table, level in CASES[:QUICK] if quick else CASES:
        makers = {"sosdp": ours(table, level)} | ({"ncpol2sdpa": theirs(table, level)} if peer else {})
        answer = makers["sosdp"]()
        timed = alternate(makers, 1 if quick else 3)
        value = makers["ncpol2sdpa"]() if peer else None
        ratio = timed["ncpol2sdpa"].wall / timed["sosdp"].wall if peer else None
        start = time.perf_counter()
        proof = extract(answer).exact()
        proven = time.perf_counter() - start
        start = time.perf_counter()
        valid = bool(proof.verify())
        replayed = time.perf_counter() - start
        fine = fine and valid and (value is None or abs(value - answer.bound) < 1e-5)
        fine = fine and (ratio is None or ratio >= BAR)
        rows.append([
            name, str(level), timed["sosdp"].wall, timed["ncpol2sdpa"].wall if peer else None, ratio,
            answer.bound, value, float(proof.bound), proven, replayed,
        ])  # fmt: skip
    names = ["inequality", "level", "sosdp s", "ncpol2sdpa s", "ratio", "value", "its value", "exact bound"]
    shown = Table(
        "Bell inequalities: build and solve, wall seconds (medians of three alternating runs)",
        [*names, "exact proof s", "kernel s"],
        rows,
        [f"asked for: a ratio of at least {BAR:g}; ncpol2sdpa proves nothing"],
    )
    return {"tables": [shown.to_dict()], "ok": fine, "missing": [] if peer else [not_installed("ncpol2sdpa")]}
