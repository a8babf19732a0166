"""The solver at points against Clarabel, SCS and SDPA: boxes, named polynomials, cubes, spheres.

Newton-CG is measured beside them, on blocks too large for points.

Every contestant gets the same statement through this library: build, solve and certified bound, CPU seconds
of one process in one run. Random coefficients are dense and normal, with a fixed seed; the named polynomials
are those of the `polymin` list of Hypatia's examples. `published` are the seconds that Coey, Kapelevich and
Vielma (2022) print for Hypatia, on another machine: for orientation only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import certificates
import sosdp as sd
from benchmarks.chains import chain
from benchmarks.engine import broyden_banded, dense_quartic
from benchmarks.harness import Table, timed
from sosdp.conic.choose import INTERIOR_POINT_WORK, choose, is_installed
from sosdp.relaxation.solve.sos_cone import chebyshev
from sosdp.relaxation.solve.sos_cone.points import box_points, total_degree

LIMIT = 60.0  # seconds a borrowed solver gets
SHORT = 25.0  # the same beside Newton-CG
LONG = 2.0  # seconds beyond which nothing is repeated
SDPA_COLUMNS = 300
LARGE = ((1, 200), (2, 30), (3, 9), (4, 6), (8, 3))  # the other boxes of the study
KERNELS = ("SkylakeX", "Haswell", "Prescott")
TOO_WIDE = ("box (2,10)", "box (2,15)", "box (3,7)", "box (10,2)")  # sides above 60
PUBLISHED = {
    "box (1,200)": 0.32,
    "box (2,30)": 10.0,
    "box (3,9)": 3.1,
    "box (4,6)": 4.8,
    "box (8,2)": 0.46,
    "box (8,3)": 15.0,
}
# what the study of the prototype measured: default solver's seconds over the prototype's
STUDY = {
    "box (1,40)": 25.0,
    "box (2,6)": 5.7,
    "box (2,8)": 39.0,
    "box (2,10)": 2.8,
    "box (2,15)": 4.6,
    "box (3,5)": 50.0,
    "box (3,7)": 3.9,
    "box (6,2)": 1.5,
    "box (8,2)": 4.0,
    "box (10,2)": 0.3,
    "rosenbrock 5": 101.0,
    "schwefel 4": 8.8,
    "heart 2": 4.9,
    "caprasse 4": 0.2,
}


@dataclass(frozen=True)
class Case:
    """A polynomial on a system, at a degree."""

    name: str
    state: Callable[[], tuple[Any, Any]]
    degree: int


def box(n: int, d: int) -> Case:
    """Dense random coefficients of degree 2d on [-1, 1]^n."""

    def state() -> tuple[Any, Any]:
        x = sd.variables("x", n)
        basis = sd.monomials(x, 2 * d)
        p = np.random.default_rng(1000 * n + d).standard_normal(len(basis)) @ basis
        return p, sd.System(*[1 - v**2 >= 0 for v in x])

    return Case(f"box ({n},{d})", state, 2 * d)


def named(name: str, d: int) -> Case:
    """One of the named polynomials on its box."""
    count, make, low, high = NAMED[name]

    def state() -> tuple[Any, Any]:
        x = sd.variables("x", count)
        sides = [(v - a) * (b - v) >= 0 for v, a, b in zip(x, low, high, strict=True)]
        return make(x), sd.System(*sides)

    return Case(f"{name} {d}", state, 2 * d)


def cut(n: int) -> Case:
    """Order 2 of a maximum cut with normal weights, in the quotient."""

    def state() -> tuple[Any, Any]:
        x = sd.variables("x", n)
        w = np.random.default_rng(n).standard_normal((n, n))
        p = sum(float(w[i, j]) * x[i] * x[j] for i in range(n) for j in range(i))
        return p, sd.System(*[v**2 == 1 for v in x])

    return Case(f"cut {n}", state, 4)


def sphere(n: int) -> Case:
    """A random quartic form on the unit sphere."""

    def state() -> tuple[Any, Any]:
        x = sd.variables("x", n)
        basis = [b for b in sd.monomials(x, 4) if b.degree == 4]
        c = np.random.default_rng(n).standard_normal(len(basis))
        return sum(float(a) * b for a, b in zip(c, basis, strict=True)), sd.System(x @ x == 1)

    return Case(f"sphere {n}", state, 4)


def _goldstein_price(x: Any) -> Any:
    a, b = x
    one = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    other = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    return one * other


def _heart(x: Any) -> Any:
    p, q, r, s, t, u, v, w = x
    first = p * u**3 - 3 * p * u * v**2 + r * v**3 - 3 * r * v * u**2
    second = q * t**3 - 3 * q * t * w**2 + s * w**3 - 3 * s * w * t**2
    return first + second + 0.9563453


def _caprasse(x: Any) -> Any:
    a, b, c, d = x
    quartic = -a * c**3 + 4 * b * c**2 * d + 4 * a * c * d**2 + 2 * b * d**3
    return quartic + 4 * a * c + 4 * c**2 - 10 * b * d - 10 * d**2 + 2


def _butcher(x: Any) -> Any:
    a, b, c, d, e, f = x
    return f * b**2 + e * c**2 - a * d**2 + d**3 + d**2 - a / 3 + 4 * d / 3


def _robinson(x: Any) -> Any:
    a, b = x
    high = a**6 + b**6 - a**4 * b**2 - a**2 * b**4 + 3 * a**2 * b**2
    return 1 + high + a**4 + b**4 - a**2 + b**2


NAMED: dict[str, tuple[int, Callable[[Any], Any], list[float], list[float]]] = {
    "butcher": (6, _butcher, [-1, -0.1, -0.1, -1, -0.1, -0.1], [0, 0.9, 0.5, -0.1, -0.05, -0.03]),
    "caprasse": (4, _caprasse, [-0.5] * 4, [0.5] * 4),
    "goldstein-price": (2, _goldstein_price, [-2] * 2, [2] * 2),
    "heart": (
        8,
        _heart,
        [-0.1, 0.4, -0.7, -0.7, 0.1, -0.1, -0.3, -1.1],
        [0.4, 1, -0.4, 0.4, 0.2, 0.2, 1.1, -0.3],
    ),
    "lotka-volterra": (
        4,
        lambda x: x[0] * (x[1] ** 2 + x[2] ** 2 + x[3] ** 2 - 1.1) + 1,
        [-2] * 4,
        [2] * 4,
    ),
    "motzkin": (
        2,
        lambda x: 1 - 48 * x[0] ** 2 * x[1] ** 2 + 64 * x[0] ** 2 * x[1] ** 4 + 64 * x[0] ** 4 * x[1] ** 2,
        [-1] * 2,
        [1] * 2,
    ),
    "robinson": (2, _robinson, [-1] * 2, [1] * 2),
    "rosenbrock": (2, lambda x: (1 - x[0]) ** 2 + 100 * (x[0] ** 2 - x[1]) ** 2, [-5] * 2, [10] * 2),
    "schwefel": (
        3,
        lambda x: (x[0] - x[1] ** 2) ** 2 + (x[1] - 1) ** 2 + (x[0] - x[2] ** 2) ** 2 + (x[2] - 1) ** 2,
        [-10] * 3,
        [10] * 3,
    ),
}


def forget() -> None:
    """Nothing kept of structures solved before: points of boxes, exponents, products of pairs."""
    for kept in (box_points, total_degree, chebyshev._pairs):
        kept.cache_clear()


def measure(
    case: Case, solver: str, repeats: int = 1, kept: bool = False, limit: float = LIMIT
) -> dict[str, Any]:
    """Build, solve and certify (least CPU seconds of the repeats), each time as if it were the first of its
    structure, unless ``kept``."""
    p, system = case.state()
    best: dict[str, Any] = {}
    for turn in range(repeats):
        if turn and best["cpu"] > LONG:
            break
        if not kept:
            forget()
        try:
            # SDPA cannot stop at one, and the library's way does not ask it where there is one
            limit = np.inf if solver in ("sdpa", "borrowed", "auto") else limit
            given = None if limit == np.inf else limit
            result, cpu = timed(sd.minimize, p, system, case.degree, solver=solver, time_limit=given)
        except (sd.SolverUnavailable, sd.ProblemTooLarge) as error:
            return {"status": type(error).__name__, "cpu": None, "loss": None, "solver": solver}
        if not best or cpu < best["cpu"]:
            proven = result.certified_bound
            times = result.times
            best = {
                "status": result.status,
                "solver": result.solver,
                "cpu": cpu,
                "built": times["build"] / max(sum(times.values()), 1e-9) * cpu,
                "bound": result.bound,
                "certified": proven,
                "loss": None if proven is None else result.bound - proven,
                "side": max(result.sizes["blocks"]),
                "columns": result.sizes["moments"],
                "work": sum(float(n * (n + 1) // 2) ** 3 for n in result.sizes["blocks"]),
            }
    return best


def good(answer: dict[str, Any]) -> bool:
    """Whether an answer is worth its seconds: optimal, and proven to a relative 1e-5."""
    if answer["status"] != "optimal" or answer["loss"] is None:
        return False
    return bool(answer["loss"] <= 1e-5 * max(1.0, abs(answer["bound"])))


def compare(cases: list[Case], solvers: tuple[str, ...], repeats: int) -> list[dict[str, Any]]:
    """Every case by ours, by the library's way without ours, and by each borrowed solver."""
    rows = []
    for case in cases:
        ours = measure(case, "sos_cone", repeats)
        ours["again"] = measure(case, "sos_cone", repeats, kept=True)["cpu"]
        row: dict[str, Any] = {"case": case.name, "ours": ours, "auto": measure(case, "auto", repeats)}
        for name in solvers:
            # beyond this Clarabel takes minutes and gigabytes, as sosdp.conic.choose says
            skip = name == "clarabel" and ours["work"] > INTERIOR_POINT_WORK
            skip |= name == "sdpa" and ours["columns"] > SDPA_COLUMNS
            row[name] = None if skip else measure(case, name, repeats)
        # the library's way without ours is SCS beyond a side: not measured twice
        name = choose([ours["side"]])
        once = name == "scs" and row.get("scs") is not None and good(row["scs"])
        row["borrowed"] = row["scs"] if once else measure(case, "borrowed")
        row["former"] = former(row, name)
        right = [row[n]["cpu"] for n in ("borrowed", *solvers) if row[n] is not None and good(row[n])]
        row["best"] = min(right, default=None)
        rows.append(row)
    return rows


def former(row: dict[str, Any], name: str) -> float | None:
    """Seconds of the default of the study: Clarabel or SCS by the side, the other where the first fails."""
    tried = 0.0
    for solver in (name, "scs" if name == "clarabel" else "clarabel"):
        if row.get(solver) is None or row[solver]["cpu"] is None:
            return None
        tried += row[solver]["cpu"]
        if good(row[solver]):
            return tried
    return None


def large(cases: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """The large boxes by ours and by SCS, and the seconds of finding points, which are kept, among ours."""
    rows = []
    for n, d in cases:
        forget()
        _, points = timed(box_points, n, 2 * d)
        ours, scs = measure(box(n, d), "sos_cone"), measure(box(n, d), "scs")
        rows.append({"case": f"box ({n},{d})", "ours": ours, "scs": scs, "points": points})
    return rows


def beyond(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The table of the large boxes."""
    lines = [
        [
            row["case"],
            row["ours"]["columns"],
            row["ours"]["side"],
            _seconds(row["ours"]),
            row["ours"]["loss"],
            row["points"],
            _seconds(row["scs"]),
            row["scs"]["loss"],
            row["ours"]["cpu"] / row["scs"]["cpu"],
            PUBLISHED.get(row["case"]),
        ]
        for row in rows
    ]
    columns = [
        "case", "U", "side", "ours, s", "loss", "of it points, s", "scs, s", "its loss", "ours / scs",
        "hypatia, published",
    ]  # fmt: skip
    notes = [f"* stopped after {LIMIT:.0f} s or not accurate: the ratio is then to the seconds it was given"]
    return Table("The study's large boxes", columns, lines, notes).to_dict()


def family(quick: bool) -> list[Case]:
    """The fourteen rows of the study."""
    if quick:
        return [box(1, 10), box(2, 4), named("rosenbrock", 3)]
    boxes = [(1, 40), (2, 6), (2, 8), (2, 10), (2, 15), (3, 5), (3, 7), (6, 2), (8, 2), (10, 2)]
    more = [("rosenbrock", 5), ("schwefel", 4), ("heart", 2), ("caprasse", 4)]
    return [*(box(*size) for size in boxes), *(named(*case) for case in more)]


def others(quick: bool) -> list[Case]:
    """Named polynomials, cubes and spheres besides."""
    if quick:
        return [cut(6), sphere(4)]
    listed = [
        ("butcher", 2), ("caprasse", 2), ("goldstein-price", 4), ("lotka-volterra", 3), ("motzkin", 6),
        ("robinson", 8), ("rosenbrock", 8), ("schwefel", 2),
    ]  # fmt: skip
    cubes = [cut(n) for n in (8, 10, 12, 14)]
    return [*(named(*case) for case in listed), *cubes, *(sphere(n) for n in (4, 6, 8, 10))]


def many_variables(quick: bool) -> list[Case]:
    """Blocks too large for points: dense quartics, boxes of degree four, Broyden's banded system."""
    quartics = [6] if quick else [16, 20, 25]
    boxes = [] if quick else [12, 16, 20]
    banded = [] if quick else [10, 20]
    made = [
        *(Case(f"quartic {n}", lambda n=n: dense_quartic(n)[:2], 4) for n in quartics),  # type: ignore[misc]
        *(box(n, 2) for n in boxes),
    ]
    return [*made, *(Case(f"broyden {n}", lambda n=n: broyden_banded(n)[:2], 6) for n in banded)]  # type: ignore[misc]


def conjugate(cases: list[Case]) -> dict[str, Any]:
    """Our Newton-CG method, what `auto` makes of it, and SCS."""
    lines = []
    for case in cases:
        ours, auto = measure(case, "newton_cg"), measure(case, "auto")
        scs = measure(case, "scs", limit=SHORT)
        sizes = [ours.get("columns"), ours.get("side")]
        lines.append(
            [case.name, *sizes, _seconds(ours), ours["loss"], _seconds(auto), auto["solver"], _seconds(scs)]
        )
    columns = ["case", "U", "side", "newton_cg, s", "loss", "auto, s", "chose", "scs, s"]
    notes = [
        f"* not optimal, or not proven to a relative 1e-5; SCS is stopped after {SHORT:.0f} s of the clock"
    ]
    return Table("Many variables: Newton-CG", columns, lines, notes).to_dict()


def _seconds(answer: dict[str, Any] | None) -> Any:
    if answer is None or answer["cpu"] is None:
        return "-"
    mark = "" if good(answer) else "*"
    return f"{answer['cpu']:.3f}{mark}"


def versus(title: str, rows: list[dict[str, Any]], solvers: tuple[str, ...]) -> dict[str, Any]:
    """The table of a comparison."""
    lines = []
    for row in rows:
        ours, borrowed = row["ours"], row["borrowed"]
        ratio = row["former"] / ours["cpu"] if ours["cpu"] and row["former"] else None
        lines.append(
            [
                row["case"],
                ours.get("columns"),
                ours.get("side"),
                _seconds(ours),
                f"{ours['again']:.3f}",
                ours["loss"],
                _seconds(borrowed),
                borrowed["solver"],
                borrowed["loss"],
                *(_seconds(row[name]) for name in solvers),
                ratio,
                STUDY.get(row["case"]),
                None if row["best"] is None else ours["cpu"] / row["best"],
            ]
        )
    columns = [
        "case", "U", "side", "ours, s", "again, s", "loss", "borrowed, s", "by", "its loss",
        *(f"{n}, s" for n in solvers), "study's default / ours", "in the study", "ours / best",
    ]  # fmt: skip
    notes = [
        "* not optimal, or not proven to a relative 1e-5; best: the fastest borrowed answer without *",
        "again: ours with points and other tables kept from the first solve of the same structure",
    ]
    return Table(title, columns, lines, notes).to_dict()


def dispatched(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What the dispatcher chose, against the fastest good answer of all."""
    lines = []
    for row in rows:
        chosen = row["auto"]
        known = [row["best"], row["ours"]["cpu"] if good(row["ours"]) else None]
        best = min([v for v in known if v], default=None)
        borrowed = chosen["cpu"] / row["best"] if row["best"] else None
        ratio = chosen["cpu"] / best if best else None
        lines.append([row["case"], chosen["solver"], _seconds(chosen), best, ratio, borrowed])
    columns = ["case", "chose", "s", "fastest, s", "chosen / fastest", "chosen / best borrowed"]
    return Table("The dispatcher", columns, lines).to_dict()


def against_side(rows: list[dict[str, Any]], solvers: tuple[str, ...]) -> dict[str, Any]:
    """Seconds by the largest side, boxes only, good answers only."""
    lines = []
    for row in sorted(rows, key=lambda r: r["ours"]["side"]):
        if not row["case"].startswith("box"):
            continue
        cells = [row["ours"], row["auto"], *(row[n] for n in solvers)]
        seconds = [c["cpu"] if c is not None and c["cpu"] and good(c) else None for c in cells]
        lines.append([row["case"], row["ours"]["side"], row["ours"]["columns"], *seconds])
    return Table("Time against side", ["case", "side", "U", "ours", "auto", *solvers], lines).to_dict()


def winners(rows: list[dict[str, Any]], solvers: tuple[str, ...]) -> dict[str, Any]:
    """How many times as long as ours each borrowed solver takes, good answers only."""
    lines = []
    for row in rows:
        cells = [row[n] for n in solvers]
        good_ones = [c["cpu"] / row["ours"]["cpu"] if c is not None and good(c) else None for c in cells]
        lines.append([row["case"], *good_ones])
    return Table("Who wins where: seconds over ours", ["case", *solvers], lines).to_dict()


def memory(names: list[tuple[int, int]], solvers: tuple[str, ...]) -> dict[str, Any]:
    """Peak resident memory of a process that solves one box, less that of one that solves the smallest."""
    lines = []
    for n, d in names:
        cells: list[Any] = []
        for solver in solvers:
            peaks = []
            for size in ((1, 2), (n, d)):
                script = (
                    "from pathlib import Path; from benchmarks.sos_cone import box, measure;"
                    f"measure(box{size}, {solver!r});"
                    "lines = Path('/proc/self/status').read_text().splitlines();"
                    "print(next(int(v.split()[1]) for v in lines if v.startswith('VmHWM')) / 1024)"
                )
                done = subprocess.run(
                    [sys.executable, "-c", script], capture_output=True, text=True, check=True
                )
                peaks.append(float(done.stdout.split()[-1]))
            cells.append(peaks[1] - peaks[0])
        lines.append([f"box ({n},{d})", *cells])
    return Table("Peak memory beyond the library's own, MiB", ["case", *solvers], lines).to_dict()


def one_variable(degrees: list[int]) -> dict[str, Any]:
    """Random Chebyshev coefficients of high degree on [-1, 1]."""
    x = sd.variables("x", 1)[0]
    lines = []
    for degree in degrees:
        c = np.random.default_rng(degree).standard_normal(degree + 1)
        p = sd.ChebyshevPolynomial.series(x, c)
        result, cpu = timed(sd.minimize, p, sd.System(1 - x**2 >= 0))
        proven = result.certified_bound
        over = None if proven is None else least_value(c) - proven
        lines.append([degree, result.status, result.iterations, cpu, result.bound - (proven or np.nan), over])
    columns = ["degree", "status", "iterations", "s", "loss", "least value - certified"]
    return Table("One variable, Chebyshev coefficients", columns, lines).to_dict()


def on_the_circle(degrees: list[int]) -> dict[str, Any]:
    """Random trigonometric polynomials with sines."""
    lines = []
    for degree in degrees:
        generator = np.random.default_rng(degree)
        c, s = generator.standard_normal(degree + 1), generator.standard_normal(degree)
        result, cpu = timed(sd.minimize_trigonometric, c.tolist(), s.tolist())
        lines.append(
            [degree, result.status, result.iterations, cpu, result.bound - (result.certified_bound or np.nan)]
        )
    columns = ["degree", "status", "iterations", "s", "loss"]
    return Table("Trigonometric polynomials", columns, lines).to_dict()


def least_value(c: np.ndarray) -> float:
    """The least value of a Chebyshev series on [-1, 1]: a fine grid, then bisection of the derivative."""
    k = np.arange(c.size)
    angle = np.linspace(0, np.pi, 64 * c.size + 1)
    values = np.polynomial.chebyshev.chebval(np.cos(angle), c)
    result = float(values.min())
    for at in np.flatnonzero(values <= result + 1e-2 * (values.max() - result)).tolist():
        low, high = angle[max(at - 1, 0)], angle[min(at + 1, angle.size - 1)]
        for _ in range(60):
            third = (high - low) / 3
            left, right = np.cos(k * (low + third)) @ c, np.cos(k * (high - third)) @ c
            low, high = (low, high - third) if left < right else (low + third, high)
        result = min(result, float(np.cos(k * low) @ c))
    return result


def exactly(cases: list[Case]) -> dict[str, Any]:
    """Exact certificates from the first solve: seconds, slack, bits of the denominators."""
    lines = []
    p, system = box(1, 3).state()
    certificates.extract(sd.minimize(p, system, 6, solver="sos_cone")).exact()  # loads what is needed
    for case in cases:
        p, system = case.state()
        result, solved = timed(sd.minimize, p, system, case.degree, solver="sos_cone")
        if result.status != "optimal":
            lines.append(
                [case.name, max(result.sizes["blocks"]), result.status, solved, None, None, None, None]
            )
            continue
        proof, cpu = timed(certificates.extract(result).exact)
        bits = max(m.denominator.bit_length() for m in proof.multipliers)
        slack = result.bound - float(proof.bound or 0)
        side = max(result.sizes["blocks"])
        lines.append([case.name, side, bool(proof.verdict), solved, cpu, cpu / solved, slack, bits])
    columns = ["case", "side", "verified", "solve, s", "exact, s", "ratio", "slack", "bits"]
    return Table("Exact certificates, nothing solved again", columns, lines).to_dict()


def long_chains(n: int) -> dict[str, Any]:
    """Solve and certify exactly a chain of n variables: Clarabel, and the multipliers of its first solve."""
    lines = []
    for name in ("rosenbrock", "wood"):
        result, solved = timed(chain(name, n).solve)
        proof, cpu = timed(certificates.extract(result).exact)
        lines.append([name, n, result.solver, solved, result.certified_bound, cpu, float(proof.bound or 0)])
    columns = ["chain", "n", "solver", "solve, s", "certified", "exact, s", "exact bound"]
    return Table("Chains", columns, lines).to_dict()


def forty() -> list[Case]:
    """Forty small cases whose digits are compared between processors' kernels."""
    sizes = [(1, d) for d in range(3, 19)] + [(2, d) for d in range(2, 9)] + [(3, 2), (3, 3), (4, 2), (5, 2)]
    listed = [("goldstein-price", 4), ("motzkin", 4), ("robinson", 4), ("rosenbrock", 4), ("schwefel", 2)]
    return [
        *(box(*size) for size in sizes),
        *(named(*case) for case in listed),
        *(cut(n) for n in (5, 6, 7, 8, 9)),
        *(sphere(n) for n in (3, 4, 5)),
    ]


def digits() -> list[list[float | None]]:
    """Bound and certified bound of the forty cases, here and now."""
    return [[a["bound"], a["certified"]] for a in (measure(c, "sos_cone") for c in forty())]


def kernels() -> dict[str, Any]:
    """The forty cases in three processes with OpenBLAS made to use other processors' kernels."""
    result = {}
    for kernel in KERNELS:
        environment = dict(
            os.environ, OPENBLAS_CORETYPE=kernel, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"
        )
        script = "import json; from benchmarks.sos_cone import digits; print(json.dumps(digits()))"
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
        )
        result[kernel] = json.loads(done.stdout.splitlines()[-1])
    lines, separate = [], 0
    for k, case in enumerate(forty()):
        proven = [result[name][k][1] for name in KERNELS]
        loss = max(result[name][k][0] - result[name][k][1] for name in KERNELS)
        spread = max(proven) - min(proven)
        room = loss + 1e-8 * max(1.0, abs(proven[0]))
        separate += spread > room
        lines.append([case.name, proven[0], spread, loss, spread <= room])
    columns = ["case", "certified", "spread", "largest loss", "within the loss"]
    notes = [f"{separate} of {len(lines)} differ by more than their loss and 1e-8 of their value"]
    return Table(f"Certified bounds under {', '.join(KERNELS)}", columns, lines, notes).to_dict()


def run(quick: bool) -> dict[str, Any]:
    """All of it; `ok` is false when one of ours is not right."""
    solvers = tuple(n for n in ("clarabel", "scs", "sdpa") if is_installed(n))
    for solver in ("sos_cone", *solvers):
        measure(box(1, 3), solver)  # loads what is needed
    first = compare(family(quick), solvers, 1 if quick else 3)
    second = compare(others(quick), solvers, 1 if quick else 2)
    third = large([] if quick else list(LARGE))
    tables = [
        versus("The study's rows: build, solve and certified bound, CPU s", first, solvers),
        versus("Named polynomials, cubes, spheres", second, solvers),
        beyond(third),
        conjugate(many_variables(quick)),
        against_side(first, solvers),
        winners([*first, *second], solvers),
        dispatched([*first, *second]),
        one_variable([20, 100] if quick else [20, 100, 200, 500, 1000]),
        on_the_circle([20] if quick else [20, 100, 500]),
        exactly([box(1, 5)] if quick else [c for c in family(False) if c.name not in TOO_WIDE]),
        long_chains(40 if quick else 1000),
        memory([(2, 3)] if quick else [(2, 15), (3, 7), (10, 2)], ("sos_cone", "scs")),
    ]
    if not quick:
        tables.append(kernels())
    boxes = [r for r in first if r["best"] and r["case"].startswith("box")]
    default = [r for r in first if r["former"]]
    kept = [
        r["former"] / (r["ours"]["cpu"] - r["ours"]["built"]) >= STUDY[r["case"]] / 1.3
        for r in default
        if r["case"] in STUDY
    ]
    chosen = [r for r in [*first, *second] if r["auto"]["solver"] in ("sos_cone", "newton_cg") and r["best"]]
    bars: list[list[Any]] = [
        [
            "ours / best borrowed, median over the ten boxes of the first table",
            _median([r["ours"]["cpu"] / r["best"] for r in boxes]),
        ],
        [
            "the same over the study's fifteen boxes",
            _median(
                [
                    *(r["ours"]["cpu"] / r["best"] for r in boxes),
                    *(r["ours"]["cpu"] / r["scs"]["cpu"] for r in third),
                ]
            ),
        ],
        [
            "over the ten boxes, ours with tables kept from a solve of the same structure",
            _median([r["ours"]["again"] / r["best"] for r in boxes]),
        ],
        [
            "auto / best borrowed, median over the ten boxes",
            _median([r["auto"]["cpu"] / r["best"] for r in boxes]),
        ],
        [
            "ours / former default, median",
            _median([r["ours"]["cpu"] / r["former"] for r in default]),
        ],
        ["study's ratios within 1.3 (ours without the build)", f"{sum(kept)} of {len(kept)}"],
        [
            "largest auto / best borrowed where it chose ours",
            max((r["auto"]["cpu"] / r["best"] for r in chosen), default=None),
        ],
    ]
    tables.append(Table("Bars", ["bar", "measured"], bars).to_dict())
    return {
        "tables": tables,
        "ok": all(good(r["ours"]) for r in [*first, *second, *third]),
        "published seconds of Hypatia, another machine": PUBLISHED,
    }


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None
