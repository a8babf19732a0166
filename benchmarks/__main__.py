"""`python -m benchmarks NAME [--quick] [--json OUT]`: run a benchmark, print its tables, keep its numbers."""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import harness

NOT_BENCHMARKS = {"__init__", "__main__", "harness", "pages", "pictures", "summary"}


def names() -> dict[str, str]:
    """Every benchmark of this folder with the first line of its docstring."""
    result = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        has_run = any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in tree.body)
        if path.stem not in NOT_BENCHMARKS and has_run:
            result[path.stem] = (ast.get_docstring(tree) or "").split("\n")[0]
    return result


def run(name: str, quick: bool) -> dict[str, Any]:
    """Run one benchmark and wrap its result with its name, its duration and the machine's description."""
    module = importlib.import_module(f"benchmarks.{name}")
    start = time.perf_counter()
    result = module.run(quick=quick)
    return {
        "benchmark": name,
        "quick": quick,
        "seconds": round(time.perf_counter() - start, 2),
        "environment": harness.environment(),
        **result,
    }


def main(argv: list[str] | None = None) -> int:
    """The command; returns 0, or 1 when a benchmark reports something wrong, or 2 for a name that is none."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Run a benchmark and print its tables."
    )
    parser.add_argument("name", nargs="?", help="a benchmark, or 'all'")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and stop")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes and few repeats: a smoke test, not a measurement"
    )
    parser.add_argument("--json", metavar="OUT", help="write the result here (with 'all': a folder)")
    arguments = parser.parse_args(argv)
    known = names()
    if arguments.list or arguments.name is None:
        for name, line in known.items():
            print(f"{name:24s}{line}")
        return 0 if arguments.list else 2
    chosen = list(known) if arguments.name == "all" else [arguments.name]
    if chosen[0] not in known:
        print(f"no benchmark is called {chosen[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    fine = True
    for name in chosen:
        result = run(name, arguments.quick)
        print(f"{name}: {known[name]}")
        described = result["environment"]
        print(
            f"{described['processor']}, {described['cores']} cores, "
            f"Python {described['python']}, {result['seconds']} s\n"
        )
        harness.print_tables(result.get("tables", []))
        for line in result.get("missing", []):
            print(line)
        if arguments.json:
            target = (
                Path(arguments.json) / f"{name}.json" if arguments.name == "all" else Path(arguments.json)
            )
        else:
            target = harness.RESULTS / (
                f"{name}.quick.local.json" if arguments.quick else f"{name}.local.json"
            )
        harness.write(target, result)
        print(f"written to {target}", file=sys.stderr)
        if not result.get("ok", True):
            print(f"{name}: something measured is wrong; see the table", file=sys.stderr)
            fine = False
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
