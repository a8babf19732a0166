"""The arrows of the design, documented names, one version, no leftovers: checked on the source."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sosdp.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("sosdp", "problems", "certificates")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
NAMES = [str(path.relative_to(ROOT)) for path in FILES]

# The floors of the house, the highest first: every import, lazy ones and those for type checkers included,
# stays on its floor or goes down.
FLOORS = [
    ["sosdp.cli"],
    ["problems"],
    ["sosdp.estimator", "certificates", "sosdp.plot", "sosdp.prove", "sosdp.answer"],
    ["sosdp.relaxation", "sosdp.privacy"],
    ["sosdp.reduction", "sosdp.structured"],
    ["sosdp.conic", "sosdp.data", "sosdp.model", "sosdp.sweep"],
    ["sosdp.algebra"],
]


def module_name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """Every module a file imports, at its top or inside a function; relative imports made absolute."""
    found: set[str] = set()
    package = (
        module_name(path).split(".") if path.name == "__init__.py" else module_name(path).split(".")[:-1]
    )
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, node.module] if node.module else base)
            found.add(stem)
            found.update(f"{stem}.{alias.name}" for alias in node.names)
    return frozenset(found)


def under(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


def floor(module: str) -> int | None:
    """Number of the floor a module stands on; None outside the house (the root's own loose modules)."""
    for number, packages in enumerate(FLOORS):
        if any(under(module, package) for package in packages):
            return number
    return None


MODULES = {module_name(path): path for path in FILES}


def files_imported(path: Path) -> set[str]:
    """The modules of the house, as files, that a file names in an import."""
    names = {name for name in imported(path) if name in MODULES}
    return names - {module_name(path)}


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_arrows_point_down(path):
    here = floor(module_name(path))
    if here is None:
        return
    wrong = [name for name in files_imported(path) if (there := floor(name)) is not None and there < here]
    assert not wrong, f"{module_name(path)} may not import {sorted(wrong)}"


# Arrows between packages of one floor, and the ones that skip a wall although they point down.
NEVER = {
    "sosdp.structured": ["sosdp.algebra", "sosdp.model", "sosdp.reduction"],
    "sosdp.conic": ["sosdp.algebra", "sosdp.model"],
    "sosdp.model": ["sosdp.conic"],
    "sosdp.privacy": ["sosdp.algebra", "sosdp.model.system", "sosdp.reduction", "sosdp.relaxation"],
    "sosdp.relaxation": ["sosdp.privacy", "sosdp.structured"],
    "certificates": ["sosdp.privacy", "sosdp.structured", "sosdp.estimator"],
    "sosdp.estimator": ["certificates"],
}


@pytest.mark.parametrize("package", NEVER)
def test_walls(package):
    wrong = {
        (module, name)
        for module, path in MODULES.items()
        if under(module, package)
        for name in imported(path)
        if any(under(name, other) for other in NEVER[package])
    }
    assert wrong == set()


def circles(modules: dict[str, Path]) -> list[list[str]]:
    """Strongly connected components with more than one file of the graph of imports (Tarjan)."""
    arrows = {module: sorted(files_imported(path)) for module, path in modules.items()}
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for other in arrows[module]:
            if other not in number:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], number[other])
        if low[module] == number[module]:
            part = []
            while True:
                part.append(stack.pop())
                if part[-1] == module:
                    break
            if len(part) > 1:
                found.append(sorted(part))

    for module in arrows:
        if module not in number:
            visit(module)
    return found


def test_no_import_circle_but_algebra():
    wrong = [part for part in circles(MODULES) if not all(under(name, "sosdp.algebra") for name in part)]
    assert wrong == []


def test_the_root_shows_the_house():
    loose = {path.name for path in (ROOT / "sosdp").glob("*.py")} - {"__init__.py"}
    assert loose <= {
        "__main__.py",
        "_version.py",
        "aliases.py",
        "answer.py",
        "extras.py",
        "progress.py",
        "lazy.py",
        "pages.py",
        "prove.py",
        "show.py",
    }


CHECKER = ["check", "refute", "checker"]


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_the_checker_imports_the_standard_library_and_flint_only(path):
    if not any(under(module_name(path), f"certificates.{name}") for name in CHECKER):
        return
    foreign = {
        name
        for name in imported(path)
        if name.split(".")[0] not in {*sys.stdlib_module_names, "flint", "__future__"}
        and not any(under(name, f"certificates.{mine}") for mine in CHECKER)
    }
    assert foreign == set()


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_public_names_have_docstrings(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    missing = [] if ast.get_docstring(tree) or not tree.body else [f"{path.name} itself"]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if not ast.get_docstring(node):
                missing.append(node.name)
            for inner in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                    overload = any(
                        "overload" in ast.unparse(d) or "setter" in ast.unparse(d)
                        for d in inner.decorator_list
                    )
                    if not ast.get_docstring(inner) and not overload:
                        missing.append(f"{node.name}.{inner.name}")
    assert missing == []


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_nothing_unfinished_or_swallowed(path):
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"NotImplementedError|\bTODO\b|\bFIXME\b|\bXXX\b", text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ExceptHandler):
            only_pass = len(node.body) == 1 and isinstance(node.body[0], ast.Pass)
            assert not only_pass, f"line {node.lineno}: an exception is swallowed"


# Files that may use a pseudo-random generator: samplers of models, and noise under insecure_seed.
GENERATORS = re.compile(
    r"default_rng|np\.random|numpy\.random|^\s*import random|^\s*from random", re.MULTILINE
)
MAY_USE_GENERATORS = re.compile(r"^problems/\w+/model\.py$")


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_pseudo_random_generators_stay_out_of_release_paths(path):
    if MAY_USE_GENERATORS.match(str(path.relative_to(ROOT))) or not under(module_name(path), "sosdp.privacy"):
        if not under(module_name(path), "problems") or path.name == "model.py":
            return
    assert GENERATORS.findall(path.read_text(encoding="utf-8")) == []


def uses_of_keys(source: str) -> list[str]:
    """Lines that take a key of monomials: ``.keys`` unless it is called as that of a dict, and others."""
    tree = ast.parse(source)
    of_dicts = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and not node.args}
    return [
        f"line {node.lineno}: {node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in {"keys", "second_keys", "key_order", "RadixKeys"}
        and not (node.attr == "keys" and id(node) in of_dicts)
    ]


def test_keys_of_monomials_stay_in_algebra():
    """Different monomials may have one key: others use `group`, `unique`, `Index` and `Products`."""
    outside = [path for path, name in zip(FILES, NAMES) if not name.startswith("sosdp/algebra/")]
    found = {str(path): uses_of_keys(path.read_text(encoding="utf-8")) for path in outside}
    assert not any(found.values()), {path: lines for path, lines in found.items() if lines}


def test_the_check_of_keys_sees_them():
    assert uses_of_keys(
        "a = mono.keys(rows)\nb = p.keys[0]\nc = mono.second_keys(rows)"
    ) and not uses_of_keys("for k in table.keys():\n    print(k)")


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_path_of_a_machine_in_a_tracked_file():
    # spelled in pieces so that this file does not name them either
    leak = re.compile(
        "|".join(["/" + "work/", "/" + "tmp/w/", "/" + "root/", "/" + "home/[a-z]", r"C:\\" + "Users"])
    )
    wrong = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix not in {".png", ".npz"}
        and leak.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert wrong == []


def test_one_version():
    import sosdp
    from sosdp._version import __version__

    assert sosdp.__version__ == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" in project["dynamic"] and "version" not in project


def test_extras_named_in_the_documentation_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert {"mosek", "sdpa", "plot", "notebooks", "distributed", "benchmarks", "dev"} <= set(extras)
    named = set()
    for path in tracked():
        if path.suffix in {".py", ".md", ".ipynb"} or path.name == "Makefile":
            named |= set(re.findall(r"sosdp\[(\w+)\]", path.read_text(encoding="utf-8")))
    assert named <= set(extras)


def optional_imports(path: Path) -> list[str]:
    """Imports of optional packages that no `need` announces: at the top of a file, or too early.

    What only type checkers see, and an import whose failure the same function catches, are left out.
    """
    wrong: list[str] = []

    def visit(node: ast.AST, needed: dict[str, int]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.Try):
                caught = " ".join(ast.unparse(h.type) for h in child.handlers if h.type)
                if "ImportError" in caught or "ModuleNotFoundError" in caught:
                    continue
            inner = needed
            if isinstance(child, ast.FunctionDef):
                inner = needed | {
                    call.args[0].value.split(".")[0]: call.lineno
                    for call in ast.walk(child)
                    if isinstance(call, ast.Call)
                    and ast.unparse(call.func) == "need"
                    and isinstance(call.args[0], ast.Constant)
                }
            if isinstance(child, ast.Import | ast.ImportFrom):
                names = (
                    [alias.name for alias in child.names] if isinstance(child, ast.Import) else [child.module]
                )
                for name in names:
                    top = (name or "").split(".")[0]
                    if top in EXTRAS and not needed.get(top, child.lineno + 1) < child.lineno:
                        wrong.append(f"line {child.lineno}: {name}")
            visit(child, inner)

    visit(ast.parse(path.read_text(encoding="utf-8")), {})
    return wrong


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_optional_packages_are_imported_when_used_and_named_when_missing(path):
    assert optional_imports(path) == []


def test_the_check_of_optional_imports_sees_one(tmp_path):
    probe = tmp_path / "probe.py"
    probe.write_text("import sympy\ndef f():\n    import picos\n    need('cvxpy', 'x')\n    import cvxpy\n")
    assert optional_imports(probe) == ["line 1: sympy", "line 3: picos"]


def test_the_extras_are_those_of_the_project():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    pip_names = {"sklearn": "scikit-learn", "dp_accounting": "dp-accounting"}
    for package, extra in EXTRAS.items():
        assert any(need.startswith(pip_names.get(package, package) + ">=") for need in extras[extra]), package
    everything = " ".join(extras["all"] + extras["demo"])
    assert all(extra in everything for extra in EXTRAS.values())


SOLVERS = {"clarabel", "scs", "cvxpy", "picos", "mosek", "sdpap", "cvxopt"}


@pytest.mark.parametrize(
    "path", [p for p in FILES if under(module_name(p), "problems")], ids=lambda p: p.stem
)
def test_no_solver_in_problems(path):
    """Solvers are called through `sosdp.conic`, from `sosdp.structured` or the engine."""
    assert {name.split(".")[0] for name in imported(path)} & SOLVERS == set()
