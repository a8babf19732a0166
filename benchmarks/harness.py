"""What every benchmark shares: alternating timings, ratio tables, the machine's description, JSON.

A benchmark is a module `benchmarks/NAME.py` whose docstring says what it measures and which has
`run(quick: bool) -> dict`.  The dictionary may hold anything that JSON can; three keys have a meaning:
`tables` (a list of `Table.to_dict()`, printed), `ok` (False: something measured is wrong, exit status 1) and
`missing` (lines from `not_installed`, printed).
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

PACKAGES = (
    "sosdp",
    "numpy",
    "scipy",
    "clarabel",
    "scs",
    "python-flint",
    "opendp",
    "drake",
    "statsmodels",
    "cvxpy",
)


@dataclass(frozen=True)
class Timing:
    """Seconds of one contestant: medians over its runs, and the fastest run."""

    cpu: float
    wall: float
    cpu_min: float
    wall_min: float
    runs: int


@dataclass(frozen=True)
class Table:
    """A table to print and to keep: a title, column names (one by one, or as a text with " | " between them),
    rows of numbers or words, and notes below."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = field(default_factory=tuple)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain lists, for JSON."""
        return {
            "title": self.title,
            "columns": self.columns.split(" | ") if isinstance(self.columns, str) else list(self.columns),
            "rows": [list(row) for row in self.rows],
            "notes": list(self.notes),
        }


def alternate(
    contestants: Mapping[str, Callable[[], Any]], repeats: int = 5, warm_up: int = 1
) -> dict[str, Timing]:
    """Run the contestants in turn, `repeats` rounds after `warm_up` untimed ones, and return each one's
    medians.

    Alternation spreads a machine's slow moments over all of them, so that ratios can be trusted where
    absolute seconds cannot.  The starting contestant rotates from round to round; garbage is collected before
    each run. CPU seconds are of this process with all its threads.
    """
    names = list(contestants)
    cpu: dict[str, list[float]] = {name: [] for name in names}
    wall: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-warm_up, repeats):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            gc.collect()
            cpu_start, wall_start = time.process_time(), time.perf_counter()
            contestants[name]()
            cpu_end, wall_end = time.process_time(), time.perf_counter()
            if turn >= 0:
                cpu[name].append(cpu_end - cpu_start)
                wall[name].append(wall_end - wall_start)
    return {
        name: Timing(
            cpu=statistics.median(cpu[name]),
            wall=statistics.median(wall[name]),
            cpu_min=min(cpu[name]),
            wall_min=min(wall[name]),
            runs=repeats,
        )
        for name in names
    }


def timed(make: Callable[..., Any], *given: Any, **named: Any) -> tuple[Any, float]:
    """What a call makes, and the CPU seconds that it took."""
    start = time.process_time()
    return make(*given, **named), time.process_time() - start


def available(module: str) -> bool:
    """Whether a peer's module can be imported here; nothing is imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def not_installed(peer: str) -> str:
    """The line printed for a peer that is not installed."""
    return f"{peer}: not installed (pip install 'sosdp[benchmarks]')"


def environment() -> dict[str, Any]:
    """Versions, cores and thread settings of this run: what a ratio needs beside it; no host or user name."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")},
        "versions": versions,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def show(value: Any) -> str:
    """A cell in words: three significant digits for a number, a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)


def print_tables(tables: Sequence[Mapping[str, Any]]) -> None:
    """Print tables with rich; numbers to the right."""
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console(width=None if os.isatty(1) else 190)
    for table in tables:
        pretty = RichTable(title=table["title"], title_justify="left", header_style="bold")
        for k, column in enumerate(table["columns"]):
            numeric = all(isinstance(row[k], int | float | None) for row in table["rows"])
            pretty.add_column(column, justify="right" if numeric else "left", overflow="fold")
        for row in table["rows"]:
            pretty.add_row(*[show(cell) for cell in row])
        console.print(pretty)
        for note in table.get("notes", ()):
            console.print(f"  {note}", markup=False, highlight=False)
        console.print()


def write(path: str | Path, result: Mapping[str, Any]) -> None:
    """Write one result as JSON."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(result, indent=1, default=_plain) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """Numpy scalars and arrays, and anything with `to_dict`, as JSON can hold them."""
    for name in ("to_dict", "tolist"):
        if hasattr(value, name):
            return getattr(value, name)()
    raise TypeError(
        f"{type(value).__name__} cannot be written as JSON: have run() return numbers, strings and lists"
    )
