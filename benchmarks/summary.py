"""The README's measurements, made from benchmarks/results; `python -m benchmarks.summary` writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- measured:begin -->\n", "<!-- measured:end -->\n"


def result(name: str) -> dict[str, Any] | None:
    """A committed result, or None."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def rows(found: dict[str, Any], table: int = 0) -> list[dict[str, Any]]:
    """The rows of a table by the names of its columns."""
    chosen = found["tables"][table]
    return [dict(zip(chosen["columns"], row)) for row in chosen["rows"]]


def cases(found: dict[str, Any]) -> list[str]:
    """How the known problems went."""
    counts = found["counts"]
    errors = [row["rel. error"] for row in rows(found) if row["rel. error"] is not None]
    return [
        f"**Known problems** (`cases`): of {sum(counts.values())} with known answers {counts['right']} are "
        "right, "
        f"{counts['no answer']} gets an explicit non-answer, {counts['wrong']} are wrong; "
        f"the largest relative error of a value is {max(errors):.0e}."
    ]


def build(found: dict[str, Any]) -> list[str]:
    """Building against Drake, as a table."""
    table = found["tables"][0]
    lines = [
        "**Building the semidefinite program of a dense polynomial** (`build`), CPU time of Drake's "
        "`AddSosConstraint` divided by ours; with its basis given (against ours without reductions), and "
        "with its own "
        "search for a basis (against ours with all reductions):",
        "",
        "| variables, degree | side of the matrix | ours, ms | basis given | with search |",
        "|---|---|---|---|---|",
    ]
    for row in table["rows"]:
        n, order, side, _, _, _, search, ours, _, given = row[:10]
        shown = [f"{ratio:.1f}x" if ratio is not None else "-" for ratio in (given, search)]
        lines.append(f"| {n}, {2 * order} | {side} | {ours:.1f} | {shown[0]} | {shown[1]} |")
    return lines


def nearest_correlation(found: dict[str, Any]) -> list[str]:
    """The projection's cost in eigendecompositions, and its peers'."""
    listed = rows(found)
    largest = max(row["n"] for row in listed)
    ours = next(row for row in listed if row["n"] == largest and row["solver"] == "sosdp")
    peers = {}
    for row in listed:
        if row["solver"].startswith(("SCS", "statsmodels")):
            peers[row["solver"]] = row  # sizes ascend: the last is the largest that was run
    text = (
        f"**Nearest correlation matrix** (`nearest_correlation`), n = {largest}: certified to "
        f"{ours['certified']:.0e} of the "
        f"sensitivity for the cost of {ours['eigh times']:.1f} calls of `scipy.linalg.eigh`."
    )
    for name, row in peers.items():
        text += (
            f" {name} at n = {row['n']}: {row['eigh times']:.0f} calls' worth, "
            f"ending {row['distance']:.2g} sensitivities away."
        )
    return [text]


def sbm_recovery(found: dict[str, Any]) -> list[str]:
    """How often each private mechanism gets every label right."""
    listed = rows(found)
    counts = found["tables"][0]["notes"][-1].removeprefix("Certificate: ")
    lines = [
        "**Private recovery of two communities, every label right** (`sbm_recovery`), planted graphs with "
        "contrast 0.8, delta = 1e-6, share of the runs on ten graphs. Where the certificate mechanism does "
        f"not release all labels it refuses: {counts}",
        "",
        "| vertices, mean degree | epsilon | certificate | edge flips with voting | projection with voting | "
        "Algorithm 5.12 as published |",
        "|---|---|---|---|---|---|",
    ]
    for row in listed:
        if 0.5 <= row["epsilon"] <= 1.0:
            names = ("epsilon", "certificate", "edge flips", "voting", "split, paper")
            lines.append(f"| {row['n']}, {row['d']} | {' | '.join(f'{row[name]:g}' for name in names)} |")
    return lines


SECTIONS = {
    "cases": cases,
    "build": build,
    "nearest_correlation": nearest_correlation,
    "sbm_recovery": sbm_recovery,
}


def block() -> str:
    """The Markdown between the README's marks."""
    parts: list[str] = []
    for name, words in SECTIONS.items():
        found = result(name)
        if found is not None:
            parts += [*words(found), ""]
    return "\n".join(parts)


def main() -> int:
    """Rewrite the block in the README."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    README.write_text(before + BEGIN + block() + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
