"""The 28 known cases through `sosdp solve --json`: verdicts, values, certified bounds, times.

Every file of tests/cases is solved by the command line, in this process (and a few as a subprocess, as a user
would), and compared with expected.json.  A wrong verdict or value makes the run fail; an explicit non-answer
does not, but it is counted and shown.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import Table, timed

CASES = Path(__file__).resolve().parents[1] / "tests" / "cases"

# relative accuracy asked of a value; the chained problems have badly scaled coefficients
TOLERANCE = 1e-5
LOOSE = {"rosenbrock100": 1e-4, "wood20": 1e-4, "broyden_tri20": 1e-4}
# the literature prints these two values with four decimals
PRINTED = {"gloptipoly_concave_d2": 1e-4, "gloptipoly_concave_d3": 1e-4}
NON_ANSWERS = {"inaccurate", "failed", "unknown"}
AS_SUBPROCESS = ("motzkin_ball", "refute_parrilo", "nonsos_choi_lam")


@dataclass(frozen=True)
class Verdict:
    """How one case went: `right`, `wrong` or `no answer`, with the reason and the relative errors."""

    name: str
    verdict: str
    reason: str
    error: float | None
    certified_gap: float | None


def judge(name: str, expected: dict[str, Any], result: dict[str, Any]) -> Verdict:
    """Compare one result with what is known; a certified bound beyond the known optimum is wrong, whatever
    the status.
    """
    status = result["status"]
    value, certified = result.get("bound"), result.get("certified_bound")
    tolerance = LOOSE.get(name, TOLERANCE)
    optimum, relaxation = expected.get("optimum"), expected.get("relaxation")
    gap = None
    if certified is not None and relaxation is not None:
        sign = -1.0 if result["bound_kind"] == "upper" else 1.0
        gap = sign * (relaxation - certified) / max(1.0, abs(relaxation))
        limit = relaxation if optimum is None else optimum
        # the known optimum is itself a rounded float
        if sign * (certified - limit) > 1e-9 * max(1.0, abs(limit)):
            return Verdict(name, "wrong", f"the certified bound {certified} is beyond {limit}", None, gap)
    known = expected.get("status")
    if known is not None:
        word = known.split()[0]
        if status == word:
            return Verdict(name, "right", status, None, gap)
        verdict = "no answer" if status in NON_ANSWERS else "wrong"
        return Verdict(name, verdict, f"{status}, known to be {word}", None, gap)
    if status in NON_ANSWERS:
        return Verdict(name, "no answer", status, None, gap)
    if status != "optimal" or value is None or relaxation is None:
        return Verdict(name, "wrong", f"{status}, but the value {relaxation} is known", None, gap)
    if not math.isfinite(value):
        return Verdict(name, "wrong", f"value {value}, known {relaxation}", None, gap)
    error = max(0.0, abs(value - relaxation) - PRINTED.get(name, 0.0)) / max(1.0, abs(relaxation))
    if error > tolerance:
        return Verdict(name, "wrong", f"value {value}, known {relaxation}", error, gap)
    return Verdict(name, "right", status, error, gap)


def solve_in_process(path: Path) -> tuple[dict[str, Any], int]:
    """What `sosdp solve PATH --json` prints and its exit code, without starting an interpreter."""
    from sosdp.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(["solve", str(path), "--json"])
    return json.loads(out.getvalue()), code


def solve_as_subprocess(path: Path) -> tuple[dict[str, Any], int]:
    """The same through a fresh interpreter."""
    command = [sys.executable, "-m", "sosdp.cli", "solve", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout), done.returncode


def run(quick: bool) -> dict[str, Any]:
    """Solve every case, judge it, and say whether any is wrong."""
    expected = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))
    rows, verdicts = [], []
    for name in expected:
        path = CASES / f"{name}.sos.json"
        (result, code), cpu = timed(solve_in_process, path)
        verdict = judge(name, expected[name], result)
        verdicts.append(verdict)
        times = result["time"]
        rows.append(
            [
                name,
                verdict.verdict,
                result["status"],
                result["bound"],
                result["certified_bound"],
                verdict.error,
                verdict.certified_gap,
                result["solver"],
                max(result["sizes"]["blocks"], default=0),
                times["build"],
                times["solve"],
                times["certify"],
                cpu,
                code,
            ]
        )
    rows_outside = []
    for name in () if quick else AS_SUBPROCESS:
        start = time.perf_counter()
        result, code = solve_as_subprocess(CASES / f"{name}.sos.json")
        wall = time.perf_counter() - start
        verdict = judge(name, expected[name], result)
        verdicts.append(verdict)
        rows_outside.append([name, verdict.verdict, result["status"], result["bound"], wall, code])
    counts = {
        word: sum(v.verdict == word for v in verdicts[: len(expected)])
        for word in ("right", "no answer", "wrong")
    }
    tables = [
        Table(
            title="28 known cases",
            columns=[
                "case", "verdict", "status", "bound", "certified", "rel. error", "given away", "solver",
                "largest block", "build s", "solve s", "certify s", "total cpu s", "exit",
            ],
            rows=rows,
            notes=[
                f"{counts['right']} right, {counts['no answer']} without an answer, {counts['wrong']} wrong",
                "errors are relative to max(1, |known value|)",
                "'given away': from the known value to the certified bound, relative",
                *[f"{v.name}: {v.reason}" for v in verdicts if v.verdict != "right"],
            ],
        ).to_dict()
    ]  # fmt: skip
    if rows_outside:
        tables.append(
            Table(
                "in a fresh interpreter",
                ["case", "verdict", "status", "bound", "wall s with start-up", "exit"],
                rows_outside,
            ).to_dict()
        )
    return {"tables": tables, "counts": counts, "ok": all(v.verdict != "wrong" for v in verdicts)}
