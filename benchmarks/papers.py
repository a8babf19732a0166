"""The papers' statements, one row each: what runs, at which size, with which guarantee, how far from best.

A row is a function of `quick` that returns one `Row` for each size it measures. `MEASURES` lists them
all; the functions of one paper share a module. `quick` takes the least size of each: a sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, fields
from typing import Any

from benchmarks.harness import Table
from benchmarks.papers_gaussian import MEASURES as GAUSSIAN
from benchmarks.papers_graphs import MEASURES as GRAPHS
from benchmarks.papers_row import Row
from benchmarks.papers_tuples import MEASURES as TUPLES

MEASURES: tuple[Callable[[bool], list[Row]], ...] = (*GAUSSIAN, *GRAPHS, *TUPLES)


def run(quick: bool) -> dict[str, Any]:
    """All rows in one table; `ok` is False when one misses its bar.

    The errors of a sample are noise, and no bar is held against them: each row must run and have a guarantee.
    """
    rows = [row for measure in MEASURES for row in measure(quick)]
    table = Table(
        "Statements of the papers, as they run here",
        [field.name.replace("_", " ") for field in fields(Row)],
        [astuple(row) for row in rows],
        notes=(
            "error: Euclidean, unless the row says otherwise; best known: what else can be run on the same "
            "data at the same budget, or without privacy where the row says so",
        ),
    )
    good = all(row.kind for row in rows) if quick else all(row.as_wanted for row in rows)
    return {"tables": [table.to_dict()], "ok": good, "missing": []}
