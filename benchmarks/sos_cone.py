"""The solver at points against Clarabel, SCS and SDPA: boxes, named polynomials, cubes, spheres.

Newton-CG is measured beside them, on blocks too large for points.

Every contestant gets the same statement through this library: build, solve and certified bound, CPU seconds
of one process in one run. `published` are the seconds that Coey, Kapelevich and
Vielma (2022) print for Hypatia, on another machine: for orientation only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np

import certificates
import sosdp as sd
from benchmarks.chains import chain
from benchmarks.harness import Table, timed
from benchmarks.small_programs import (
    LIMIT,
    Case,
    box,
    family,
    forget,
    forty,
    good,
    many_variables,
    measure,
    others,
)
from sosdp.conic.choose import INTERIOR_POINT_WORK, choose, is_installed
from sosdp.relaxation.solve.sos_cone.points import box_points

SHORT = 25.0  # the same beside Newton-CG
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
    return f"{answer['cpu']:.3f}{'' if good(answer) else '*'}"


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
    boxes = [row for row in rows if row["case"].startswith("box")]
    for row in sorted(boxes, key=lambda r: r["ours"]["side"]):
        cells = [row["ours"], row["auto"], *(row[n] for n in solvers)]
        seconds = [c["cpu"] if c is not None and c["cpu"] and good(c) else None for c in cells]
        lines.append([row["case"], row["ours"]["side"], row["ours"]["columns"], *seconds])
    return Table("Time against side", ["case", "side", "U", "ours", "auto", *solvers], lines).to_dict()


def winners(rows: list[dict[str, Any]], solvers: tuple[str, ...]) -> dict[str, Any]:
    """How many times as long as ours each borrowed solver takes, good answers only."""
    lines = [
        [
            row["case"],
            *(c["cpu"] / row["ours"]["cpu"] if c and good(c) else None for c in map(row.get, solvers)),
        ]
        for row in rows
    ]
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
