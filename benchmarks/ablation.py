"""The steps of the ladder switched off one by one: the cases that each of them decides.

The recorded questions (`tests/ledger`, the peers' suites left out) and the named ones (`tests/fuzz/named.py`)
are put with all steps. Where a step ran, they are put again without it; a case is lost where the answer is
then worse: undecided, false, another value, or less is proven. It is not `ok` when a step does not decide the
case that the ladder names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import sosdp as sd
from benchmarks.harness import Table

SHOWN = 6  # names of lost cases in the table


def _answer(entries: Any, ask: Callable[[], Any]) -> tuple[Any, Any, float]:
    """(the raw answer, what the ledger would keep, CPU seconds)."""
    began = time.process_time()
    kept: list[Any] = []

    def again() -> Any:
        kept.append(ask())
        return kept[-1]

    from tests.ledger.answers import answered

    recorded = answered(entries.Entry("", again))
    return kept[-1] if kept else None, recorded, time.process_time() - began


def _steps(answer: Any) -> list[str]:
    """The names of the steps that an answer took, and of those of what was asked beside it (emptiness)."""
    answer = getattr(answer, "result", answer)
    parts = getattr(answer, "parts", ()) or (answer,)
    return [step.name.rpartition(": ")[2] for part in parts for step in getattr(part, "steps", ())]


@contextmanager
def without(name: str) -> Iterator[None]:
    """Within it, the ladder has no step of that name."""
    from sosdp.relaxation import ladder

    steps = ladder.STEPS
    fake: Any = ladder
    fake.STEPS = tuple(s for s in steps if s.name != name)
    try:
        yield
    finally:
        fake.STEPS = steps


def questions(quick: bool) -> list[Any]:
    """The ledger without the peers, the named questions at every door, and a block of side 66 that was asked
    for."""
    from benchmarks.regret import rosenbrock
    from tests.fuzz import doors
    from tests.fuzz.named import NAMED
    from tests.ledger import entries

    some = [e for e in entries.entries() if not e.name.startswith("peer ")]
    for k, q in enumerate(NAMED):
        value = None if q.least is None else float(q.least)
        for door in q.doors:
            known = {
                "empty": "unbounded" if door == "sos" else "infeasible",
                "nonempty": "optimal",
                "weak": None,
            }
            truth = known.get(q.truth, value)
            some.append(entries.Entry(f"named {k} {door}", partial(doors.ask, q, door), truth))
    p, box, degree = rosenbrock(10, True)
    some.append(
        entries.Entry("dense rosenbrock", partial(sd.minimize, p, box, degree, sparsity="dense"), 0.0)
    )
    return some[::10] if quick else some


def run(quick: bool) -> dict[str, Any]:
    """Every step of the ladder with the cases that are lost without it."""
    from sosdp.relaxation import ladder
    from tests.ledger import entries
    from tests.ledger.answers import worse

    every = []
    for entry in questions(quick):
        answer, recorded, cpu = _answer(entries, entry.ask)
        every.append((entry, _steps(answer), recorded, cpu))
    rows = [["first", len(every), len(every), "-", sum(cpu for *_, cpu in every)]]
    missing = []
    for step in ladder.STEPS:
        there = [row for row in every if step.name in row[1]]
        lost = []
        saved = 0.0
        with without(step.name):
            for entry, _, before, cpu in there:
                _, now, spent = _answer(entries, entry.ask)
                saved += cpu - spent
                if worse(before, now, entry.truth):
                    lost.append(entry.name)
        cases = tuple(f"{case} " for case in step.case.rpartition(": ")[2].split(", "))
        lost.sort(key=lambda question: not f"{question} ".startswith(cases))
        names = ", ".join(lost[:SHOWN]) + (f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else "")
        rows.append([step.name, len(there), len(lost), names or "none", saved])
        missing += [
            f"the step {step.name!r} does not decide its case {case}: name another one, or delete the step"
            for case in cases
            if not any(f"{question} ".startswith(case) for question in lost)
        ]
    table = Table(
        f"steps of the ladder, switched off one by one ({len(every)} questions)",
        ["step", "ran on", "decides", "lost without it", "CPU seconds that it takes"],
        rows,
        [f"{s.name}: {s.source}; its case: {s.case}" for s in ladder.STEPS],
    )
    return {
        "ok": quick or not missing,
        "missing": [] if quick else missing,
        "tables": [table.to_dict()],
    }
