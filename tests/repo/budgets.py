"""What the source may weigh: counts that only go down.

`budgets.toml` holds, for each area, the statements of its syntax trees (docstrings aside), names for which
there is a better word, files and functions that are too long, functions with too many parameters, and modules
in import circles.  ``python -m tests.repo.budgets`` lowers each number to what is there now; it raises none.
"""

import ast
import functools
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.repo.house import Source, circles, sources

FILE = Path(__file__).with_suffix(".toml")
FOLDERS = ("sosdp", "problems", "certificates", "tests", "benchmarks")
LINES, LONG, MANY = 450, 80, 8
KINDS = ("words", "long_files", "long_functions", "many_parameters", "in_circles")

SAY = {
    "adrift": "unbounded residual",
    "apart": "subprocess, separate",
    "asked": "wanted, required, or what was asked for",
    "early": "stopped early",
    "elsewhere": "the other place, by its name",
    "is_unbounded_below": "dual infeasible",
    "far": "distant, or what is far",
    "found": "first, best, candidate, result",
    "stated": "exact data, or the statement",
    "told": "known, given",
    "undoing": "mutant",
    "undoings": "mutants",
    "undone": "mutated",
    "wide": "gap too large",
}
"""Words that are no names for values, functions or files, and what to say instead."""


def area(source: Source) -> str:
    """`sosdp/algebra`, `problems`, `tests`, ...: what has a budget of its own."""
    parts = source.name.split("/")
    return "/".join(parts[:2]) if parts[0] == "sosdp" and len(parts) > 2 else parts[0]


def names(source: Source) -> Iterator[tuple[int, str]]:
    """Names that a file gives: to itself, values, parameters, functions, classes, attributes."""
    yield 1, source.module.split(".")[-1]
    attribute = {
        ast.Name: "id",
        ast.Attribute: "attr",
        ast.arg: "arg",
        ast.FunctionDef: "name",
        ast.ClassDef: "name",
    }
    for kind, name in attribute.items():
        for node in source.nodes(kind):
            if not isinstance(getattr(node, "ctx", None), ast.Load):
                yield node.lineno, getattr(node, name)


def statements(source: Source) -> int:
    """Statements of the tree without its docstrings."""
    holders = source.nodes(ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    total = sum(len(nodes) for kind, nodes in source.by_kind.items() if issubclass(kind, ast.stmt))
    return total - sum(ast.get_docstring(node, clean=False) is not None for node in holders)


def parameters(function: ast.FunctionDef) -> int:
    """How many things a caller may pass by name, without self and cls."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len(arguments) - (bool(arguments) and arguments[0].arg in ("self", "cls"))


@functools.cache
def places() -> dict[str, list[tuple[str, str]]]:
    """Area and place of everything that is counted, by kind of budget."""
    kinds: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for source in sources(*FOLDERS):
        home, lines = area(source), source.text.count("\n")
        for line, name in names(source):
            if (word := name.strip("_").lower()) in SAY:
                kinds["words"].append((home, f"{source.name}:{line}: {name} (say: {SAY[word]})"))
        if lines > LINES:
            kinds["long_files"].append((home, f"{source.name}: {lines} lines"))
        for node in source.nodes(ast.FunctionDef):
            at = f"{source.name}:{node.lineno}: {node.name}"
            if (length := node.end_lineno - node.lineno + 1) > LONG:
                kinds["long_functions"].append((home, f"{at} has {length} lines"))
            if (count := parameters(node)) > MANY and node.name != "__init__":
                kinds["many_parameters"].append((home, f"{at} takes {count}"))
    modules = {source.module: area(source) for source in sources()}
    kinds["in_circles"] = [(modules[name], f"{name} in {part}") for part in circles() for name in part]
    return kinds


def counts(kind: str) -> dict[str, int]:
    """What there is now, by area."""
    totals: Counter[str] = Counter()
    if kind == "statements":
        for source in sources(*FOLDERS):
            totals[area(source)] += statements(source)
    else:
        totals.update(home for home, _ in places()[kind])
    return dict(totals)


def budgets() -> dict[str, dict[str, int]]:
    """What there may be, by kind and area."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def main() -> None:
    """Lower the budgets to what is there."""
    kept = budgets() if FILE.is_file() else {}
    text = [f"# {__doc__.splitlines()[0]} `python -m tests.repo.budgets` lowers them.\n"]
    for kind in ("statements", *KINDS):
        text.append(f"\n[{kind}]\n")
        for home, count in sorted(counts(kind).items()):
            allowed = (
                min(count, kept[kind].get(home, count if kind == "statements" else 0)) if kept else count
            )
            text.append(f'"{home}" = {allowed}\n')
    FILE.write_text("".join(text), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
