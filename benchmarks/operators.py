"""The cases of the specification of operators, against ncpol2sdpa.

ncpol2sdpa gets the same letters, relations, words and constraints, and Clarabel through cvxpy, by the Python
that SOSDP_NCPOL2SDPA names (`pip install ncpol2sdpa cvxpy clarabel`); it knows neither symmetries nor term
sparsity nor traces. Seconds are CPU seconds of build and solve, all threads. Ours includes a certified bound;
the exact proof and its replay in the kernel are timed apart, for Gram matrices up to side 30.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.harness import Table, alternate, timed

PEER = "SOSDP_NCPOL2SDPA"
LIMIT = 4  # times our CPU seconds (and at least ten) the peer is given on one case
BAR = 2.0
SMALL = 30  # side up to which an exact proof is timed
QUICK = ("chsh 1+AB", "I3322 1+AB", "hubbard 2")
NAMED = (
    "chsh 1+AB", "I3322 1+AB", "I3322 2", "I3322 3", "I4422 1+AB", "I4422 2", "CGLMP 3 1+AB",
    "magic square 1+AB", "mermin", "elegant 1", "discrimination 0.6", "guessing 2.5", "global guessing 0.9",
    "pna 1", "BMV 7,3", "motzkin ball", "hubbard 2", "hubbard 3", "max-cut K4", "max-cut ring 5", "ising 8",
    "heisenberg 6", "heisenberg 12", "heisenberg 20",
)  # fmt: skip


def statement(answer: Any) -> dict[str, Any]:
    """What was asked, for the peer's program: words as lists of letter numbers, coefficients as floats."""
    data = answer.stated
    algebra = data.algebra

    def written(p: Any) -> list[Any]:
        assert not any(c[1] for c in p.values())
        return [(word, float(c[0])) for word, c in p.items()]

    equalities = {json.dumps(written(q)): q for p in data.state_equalities for q in (p, algebra.star_of(p))}
    return {
        "letters": [(float(number[0]), star) for number, star in algebra.star],
        "party": algebra.party,
        "rules": [(word, written(p)) for word, p in algebra.rules.items()],
        "target": written(data.target),
        "inequalities": [written(p) for p in data.inequalities],
        "equalities": [written(p) for p in data.equalities],
        "state_inequalities": [written(p) for p in data.state_inequalities],
        "state_equalities": [written(q) for q in equalities.values()],
        "basis": answer.layout.basis,
        "level": answer.level if data.inequalities else None,
    }


def theirs(python: str, answer: Any, limit: int) -> tuple[float | None, float | None, str]:
    """Seconds, value, and what to say where there are none."""
    if answer.stated.tracial:
        return None, None, "no traces"
    command = [python, str(Path(__file__).with_name("operators_peer.py")), str(limit)]
    given = json.dumps(statement(answer))
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return float(limit), None, f"stopped after {limit} s"
    if done.returncode:
        return None, None, done.stderr.strip().splitlines()[-1][:60]
    result = json.loads(done.stdout.splitlines()[-1])
    return sum(result["seconds"]), answer.stated.sign * result["value"], ""


def row(name: str, peer: str | None) -> tuple[list[Any], bool]:
    """One line of the table, and whether the value is right and the exact proof is valid."""
    from certificates import extract
    from tests.operators.cases import CASES

    solve, wanted, near = CASES[name]
    start = sum(os.times()[:4])  # solvers in other processes too
    answer = solve()
    own = sum(os.times()[:4]) - start
    if own < 2:  # the first call loads modules
        own = alternate({"sosdp": solve}, 3, warm_up=0)["sosdp"].cpu_min
    limit = max(10, round(LIMIT * own))
    seconds, value, said = theirs(peer, answer, limit) if peer else (None, None, "")
    ratio = None if seconds is None else seconds / own
    exact = proven = replayed = None
    fine = abs(answer.bound - wanted) <= near
    if max(answer.sizes["blocks"]) <= SMALL:
        proof, proven = timed(extract(answer).exact)
        verdict, replayed = timed(proof.verify)
        exact, fine = float(proof.bound), bool(verdict) and fine
    cells = [own, seconds, ratio, answer.bound, answer.certified_bound, value, said, exact, proven, replayed]
    return [name, *cells], fine


def run(quick: bool) -> dict[str, Any]:
    """Time both on every case; the result is wrong where a value or a proof is. A missed bar is named."""
    peer = os.environ.get(PEER)
    rows, fine = zip(*(row(name, peer) for name in (QUICK if quick else NAMED)), strict=True)
    slow = [f"{line[0]} ({line[3]:.3g})" for line in rows if line[3] is not None and line[3] < BAR]
    names = ["case", "sosdp s", "ncpol2sdpa s", "ratio", "value", "certified", "its value", "", "exact bound"]
    shown = Table(
        "Operators: build and solve, CPU seconds (shortest of three runs; one where it takes two seconds)",
        [*names, "exact proof s", "kernel s"],
        rows,
        [
            f"asked for: a ratio of at least {BAR:g}; beside a peer that was stopped it is a lower bound",
            f"missed by: {', '.join(slow) or 'none'}",
        ],
    )
    missing = [] if peer else [f"ncpol2sdpa: set {PEER} to a Python that has it"]
    return {"tables": [shown.to_dict()], "ok": all(fine), "missing": missing}
