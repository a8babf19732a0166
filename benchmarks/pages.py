"""docs/benchmarks.md from benchmarks/results; `python -m benchmarks.pages` writes it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, show

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
SHOWN = (
    "cases",
    "more_cases",
    "engine",
    "build",
    "algebra",
    "nearest_correlation",
    "certificates",
    "noise",
    "robust_to_private",
    "gaussian_scores",
    "gaussian",
    "gmm",
    "sbm_recovery",
    "sbm_weak",
)
HEAD = """# Benchmarks

Written by `python -m benchmarks.pages` from the results committed in `benchmarks/results`. Run one
yourself with `python -m benchmarks NAME` (`--list` names them); peers come with
`pip install 'sosdp[benchmarks]'`, `pip install SumOfSquares ncpol2sdpa` adds two more. Ratios are taken in
one run with alternating contestants; absolute seconds are of the machine named above each table, which
other work shared. Targets that are missed are shown as missed.
"""


def markdown(table: dict[str, Any]) -> str:
    """One table."""
    lines = [f"### {table['title']}", "", "| " + " | ".join(table["columns"]) + " |"]
    lines.append("|" + "---|" * len(table["columns"]))
    for row in table["rows"]:
        lines.append("| " + " | ".join(show(cell).replace("|", "\\|") for cell in row) + " |")
    notes = [f"- {note}" for note in table.get("notes", ())]
    return "\n".join([*lines, "", *notes, ""] if notes else [*lines, ""])


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for name in SHOWN:
        path = RESULTS / f"{name}.json"
        if not path.is_file():
            continue
        result = json.loads(path.read_text(encoding="utf-8"))
        where = result["environment"]
        versions = ", ".join(f"{k} {v}" for k, v in where["versions"].items())
        parts.append(f"## `{name}`\n")
        parts.append(
            f"{where['date']}, {where['processor']}, {where['cores']} cores, Python {where['python']}, "
        )
        parts[-1] += f"{versions}; the run took {result['seconds']:.0f} s.\n"
        parts += [markdown(table) for table in result["tables"]]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written to {PAGE}", file=sys.stderr)
