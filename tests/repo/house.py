"""The source files of the repository, each read and parsed once for all tests of the layout."""

import ast
import functools
import gc
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("sosdp", "problems", "certificates")
_DULL = {ast.Load, ast.Store, ast.Del, ast.Constant}


@dataclass(frozen=True)
class Source:
    """A Python file: path from the root, dotted module, text and syntax tree."""

    name: str
    module: str
    text: str
    tree: ast.Module

    @functools.cached_property
    def by_kind(self) -> dict[type, list]:
        """The nodes of the tree by their exact type."""
        kinds: dict[type, list] = {}
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            node = waiting.pop()
            kinds.setdefault(type(node), []).append(node)
            waiting.extend(child for child in ast.iter_child_nodes(node) if type(child) not in _DULL)
        return kinds

    def nodes(self, *kinds: type) -> list:
        """The nodes of these exact types."""
        return [node for kind in kinds for node in self.by_kind.get(kind, ())]

    @functools.cached_property
    def imports(self) -> frozenset[str]:
        """Every module and name imported, at the top or in a function; relative imports made absolute."""
        names: set[str] = set()
        parts = self.module.split(".")
        package = parts if self.name.endswith("__init__.py") else parts[:-1]
        for node in self.nodes(ast.Import):
            names.update(alias.name for alias in node.names)
        for node in self.nodes(ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, node.module] if node.module else base)
            names.add(stem)
            names.update(f"{stem}.{alias.name}" for alias in node.names)
        return frozenset(names)


def read(path: Path) -> Source:
    """One file."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return Source(path.relative_to(ROOT).as_posix(), module, text, ast.parse(text))


@functools.cache
def sources(*folders: str) -> tuple[Source, ...]:
    """The Python files below these folders of the root; without folders those of the package."""
    paths = [path for folder in folders or PACKAGES for path in sorted((ROOT / folder).rglob("*.py"))]
    gc.disable()  # the collector would look through millions of nodes again and again: 11 s instead of 3
    try:
        files = tuple(map(read, paths))
        assert all(source.by_kind for source in files)
        gc.freeze()
    finally:
        gc.enable()
    return files


def under(module: str, *prefixes: str) -> bool:
    """Whether a module is one of these or lies in one of them."""
    return any(module == prefix or module.startswith(prefix + ".") for prefix in prefixes)


def arrows() -> dict[str, set[str]]:
    """The graph of imports: each module of the package with those that it names (but for the packages that it
    lies in, which are imported before it whatever it says)."""
    modules = {source.module for source in sources()}
    return {
        source.module: {m for m in source.imports & modules if not under(source.module, m)}
        for source in sources()
    }


def circles() -> list[list[str]]:
    """Strongly connected components with more than one file of the graph of imports (Tarjan)."""
    graph = arrows()
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    parts: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in number:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], number[other])
        if low[module] == number[module]:
            place = stack.index(module)
            parts.append(sorted(stack[place:]))
            del stack[place:]

    for module in graph:
        if module not in number:
            visit(module)
    return [part for part in parts if len(part) > 1]


@functools.cache
def tracked() -> tuple[Path, ...]:
    """The files that git knows; the test is skipped outside a checkout."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return tuple(ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file())
