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


def rows(best: dict[str, Any], table: int = 0) -> list[dict[str, Any]]:
    """The rows of a table by the names of its columns."""
    chosen = best["tables"][table]
    return [dict(zip(chosen["columns"], row)) for row in chosen["rows"]]


def cases(best: dict[str, Any]) -> list[str]:
    """How the known problems went."""
    counts = best["counts"]
    errors = [row["rel. error"] for row in rows(best) if row["rel. error"] is not None]
    return [
        f"**Known problems** (`cases`): of {sum(counts.values())} with known answers {counts['right']} are "
        "right, "
        f"{counts['no answer']} gets an explicit non-answer, {counts['wrong']} are wrong; "
        f"the largest relative error of a value is {max(errors):.0e}."
    ]


def build(best: dict[str, Any]) -> list[str]:
    """Building against Drake, its basis given: the least and the largest ratio of CPU times."""
    ratios = [row[9] for row in best["tables"][0]["rows"] if row[9] is not None]
    return [
        "**Building the semidefinite program of a dense polynomial** (`build`): Drake's `AddSosConstraint` "
        f"takes {min(ratios):.1f} to {max(ratios):.0f} times the CPU time of ours, its basis given."
    ]


def sos_cone(best: dict[str, Any]) -> list[str]:
    """Our solver against the best borrowed one, over small boxes and all of the study's, and degree 1000."""
    tables = {table["title"]: table["rows"] for table in best["tables"]}
    bars = {row[0]: row[1] for row in tables["Bars"]}
    ten = bars["ours / best borrowed, median over the ten boxes of the first table"]
    every = bars["the same over the study's fifteen boxes"]
    largest = max(tables["One variable, Chebyshev coefficients"])
    return [
        "**Bounds of random polynomials on boxes** (`sos_cone`), proof included: our solver takes "
        f"{every:.2f} of the best borrowed one's CPU time (median of fifteen; {ten:.2f} over the ten "
        f"smallest); degree {largest[0]} in one variable {largest[3]:.1f} s."
    ]


def nearest_correlation(best: dict[str, Any]) -> list[str]:
    """The projection's cost in eigendecompositions, and its peers'."""
    listed = rows(best)
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


def sbm_recovery(candidate: dict[str, Any]) -> list[str]:
    """How often each private mechanism gets every label right."""
    counts = next(
        note.removeprefix("Certificate: ")
        for note in candidate["tables"][0]["notes"]
        if note.startswith("Certificate: ")
    )
    right = [row for row in rows(candidate) if row["epsilon"] == 1.0]
    best = max(right, key=lambda row: row["certificate"] - row["epsilon"] * max(row["edge flips"], 0.0))
    return [
        f"**Private recovery of two communities** (`sbm_recovery`), every label right or a refusal: {counts} "
        f"With {best['n']} vertices of mean degree {best['d']}, epsilon 1 and delta 1e-6, all labels are "
        f"right in {best['certificate']:.0%} of the runs, of edge flips with voting in "
        f"{best['edge flips']:.0%}."
    ]


SECTIONS = {
    "cases": cases,
    "build": build,
    "sos_cone": sos_cone,
    "nearest_correlation": nearest_correlation,
    "sbm_recovery": sbm_recovery,
}


def block() -> str:
    """The Markdown between the README's marks."""
    parts: list[str] = []
    for name, words in SECTIONS.items():
        candidate = result(name)
        if candidate is not None:
            parts += [*words(candidate), ""]
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
