"""The further known cases of tests/cases/more and the chains: verdicts, values, certified bounds, times.

A wrong verdict or value, or a certified bound beyond a known optimum, makes the run fail.
"""

from __future__ import annotations

import json
from typing import Any

from benchmarks.cases import CASES, judge, solve_in_process
from benchmarks.chains import chain
from benchmarks.harness import Table, timed

FOLDER = CASES / "more"
SLOW = {"styblinski_tang8", "floudas_2_1", "refute_knapsack_6_d8"}
LENGTHS = [("rosenbrock", 1000), ("wood", 1000), ("broyden", 100), ("ising", 1000), ("path", 1000)]
CHAIN_TOLERANCE = 1e-4  # badly scaled coefficients, sums of thousands of squares


def run(quick: bool) -> dict[str, Any]:
    """Solve all of them (quick: without the slow ones, and short chains) and judge them."""
    expected = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    rows, counts, notes = [], {"right": 0, "no answer": 0, "wrong": 0}, []
    for name, known in expected.items():
        if quick and name in SLOW:
            continue
        (result, _), cpu = timed(solve_in_process, FOLDER / f"{name}.sos.json")
        verdict = judge(name, known, result)
        counts[verdict.verdict] += 1
        if verdict.verdict != "right":
            notes.append(f"{name}: {verdict.reason}")
        rows.append([
            name, verdict.verdict, result["status"], result["bound"], verdict.error, verdict.certified_gap,
            max(result["sizes"]["blocks"], default=0), result["solver"], cpu,
        ])  # fmt: skip
    for name, n in LENGTHS:
        length = min(n, 100) if quick else n
        problem = chain(name, length)
        answer, cpu = timed(problem.solve)
        scale = max(1.0, abs(problem.optimum))
        error = abs(answer.bound - problem.optimum) / scale
        certified = answer.certified_bound
        gap = None if certified is None else (problem.optimum - certified) / scale
        word = "no answer" if answer.status == "inaccurate" else "right"
        if (gap is not None and gap < -1e-9) or (word == "right" and error > CHAIN_TOLERANCE):
            word = "wrong"
        counts[word] += 1
        if word != "right":
            notes.append(f"{name} n={length}: {answer.status}, {answer.reason}")
        rows.append([
            f"{name} n={length}", word, answer.status, answer.bound, error, gap,
            max(answer.sizes["blocks"]), answer.solver, cpu,
        ])  # fmt: skip
    columns = [
        "case", "verdict", "status", "bound", "rel. error", "given away", "largest block", "solver", "cpu s",
    ]  # fmt: skip
    notes.insert(
        0, f"{counts['right']} right, {counts['no answer']} without an answer, {counts['wrong']} wrong"
    )
    table = Table(f"{len(rows)} further known cases", columns, rows, notes)
    return {"tables": [table.to_dict()], "counts": counts, "ok": counts["wrong"] == 0}
