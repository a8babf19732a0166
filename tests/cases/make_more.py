"""Write tests/cases/more/: `python tests/cases/make_more.py [--oracle]`.

Every optimum is checked without a semidefinite program while it is made (see the families). With `--oracle`
(minutes) values of relaxations are compared with an independent formulation in cvxpy, by Clarabel and SCS.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from families import binary, classical, programs, refutations
from families.toolbox import Case, oracle

FOLDER = Path(__file__).parent / "more"


def main(arguments: list[str]) -> None:
    """Make, check and write every case."""
    FOLDER.mkdir(exist_ok=True)
    expected = {}
    chosen = [a for a in arguments if not a.startswith("--")]
    for family in (classical, binary, programs, refutations):
        for case in family.cases():
            assert case.name not in expected, case.name
            if "--oracle" in arguments and (not chosen or case.name in chosen):
                compare(case)
            expected[case.name] = case.expected()
            text = json.dumps(case.problem(), indent=1)
            (FOLDER / f"{case.name}.sos.json").write_text(text + "\n", encoding="utf-8")
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    print(f"{len(expected)} cases written")


def compare(case: Case) -> None:
    """Print the two independent values beside the expected one; complain where they differ."""
    if case.objective is None or case.unknowns:
        return
    start = time.perf_counter()
    side, found = oracle(case)
    spent = time.perf_counter() - start
    known = case.relaxation
    scale = max(1.0, abs(known or 0.0))
    fine = known is not None and any(abs(v - known) <= 1e-5 * scale for v in found.values())
    word = "ok" if fine else "CHECK"
    print(f"{case.name:24s} {word:5s} expected {known} found {found} side {side} {spent:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
