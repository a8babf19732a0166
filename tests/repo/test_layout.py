"""The arrows of the design, documented names, one version, no leftovers: checked on the source."""

import ast
import re
import sys
import tomllib

import pytest

from sosdp.extras import EXTRAS
from tests.repo.house import ROOT, Source, arrows, circles, sources, tracked, under

# The floors of the house, the highest first: every import, lazy ones and those for type checkers included,
# stays on its floor or goes down.
FLOORS = [
    ["sosdp.cli"],
    ["problems"],
    ["sosdp.estimator", "sosdp.laboratory", "certificates", "sosdp.plot", "sosdp.prove", "sosdp.answer"],
    ["sosdp.relaxation", "sosdp.privacy"],
    ["sosdp.reduction", "sosdp.structured"],
    ["sosdp.conic", "sosdp.data", "sosdp.model", "sosdp.sweep"],
    ["sosdp.algebra"],
]

# Arrows between packages of one floor, and the ones that skip a wall although they point down.
SOLVERS = ["clarabel", "scs", "cvxpy", "picos", "mosek", "sdpap", "cvxopt"]
NEVER = {
    "sosdp.structured": ["sosdp.algebra", "sosdp.model", "sosdp.reduction"],
    "sosdp.conic": ["sosdp.algebra", "sosdp.model"],
    "sosdp.model": ["sosdp.conic"],
    "sosdp.privacy": ["sosdp.algebra", "sosdp.model.system", "sosdp.reduction", "sosdp.relaxation"],
    "sosdp.relaxation": ["sosdp.privacy", "sosdp.structured"],
    "certificates": ["sosdp.privacy", "sosdp.structured", "sosdp.estimator"],
    "sosdp.estimator": ["certificates"],
    # solvers are called through `sosdp.conic`, from `sosdp.structured` or the engine
    "problems": SOLVERS,
}


def probe(text: str) -> Source:
    """A file that is not there, to see that a check sees."""
    return Source("probe.py", "probe", text, ast.parse(text))


def floor(module: str) -> int | None:
    """Number of the floor a module stands on; None outside the house (the root's own loose modules)."""
    return next((number for number, names in enumerate(FLOORS) if under(module, *names)), None)


def test_arrows_point_down():
    levels = {module: level for module in arrows() if (level := floor(module)) is not None}
    pairs = [(here, there) for here, others in arrows().items() for there in others]
    assert not [(a, b) for a, b in pairs if a in levels and b in levels and levels[b] < levels[a]]


@pytest.mark.parametrize("package", NEVER)
def test_walls(package):
    mine = [source for source in sources() if under(source.module, package)]
    assert mine
    assert not [(s.module, name) for s in mine for name in s.imports if under(name, *NEVER[package])]


def test_no_import_circle():
    assert circles() == []


def test_the_root_shows_the_house():
    loose = {path.stem for path in (ROOT / "sosdp").glob("*.py")} - {"__init__", "__main__", "_version"}
    assert loose <= {
        "aliases",
        "answer",
        "extras",
        "progress",
        "lazy",
        "pages",
        "read",
        "prove",
        "show",
        "testing",
        "write",
    }


CHECKER = [
    f"certificates.{name}" for name in "check refute checker against as_problem kernel kernel_words".split()
]


def test_the_checker_imports_the_standard_library_and_flint_only():
    allowed = {*sys.stdlib_module_names, "flint", "__future__"}
    mine = [source for source in sources() if under(source.module, *CHECKER)]
    own = (
        *CHECKER,
        "certificates.find.word_claims",
    )  # the engine states problems about operators, if need be
    foreign = {name for source in mine for name in source.imports if not under(name, *own)}
    assert mine and {name for name in foreign if name.split(".")[0] not in allowed} == set()


def undocumented(source: Source) -> list[str]:
    """Public names without a docstring: the file, its functions and classes, and their methods."""
    missing = [] if ast.get_docstring(source.tree) or not source.tree.body else ["the file itself"]
    for node in source.tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node):
            missing.append(node.name)
        for inner in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                decorators = " ".join(map(ast.unparse, inner.decorator_list))
                if not ast.get_docstring(inner) and not re.search("overload|setter", decorators):
                    missing.append(f"{node.name}.{inner.name}")
    return missing


def test_public_names_have_docstrings():
    assert {source.name: names for source in sources() if (names := undocumented(source))} == {}


def test_nothing_unfinished_or_swallowed():
    words = re.compile(r"NotImplementedError|\bTODO\b|\bFIXME\b|\bXXX\b")
    assert [source.name for source in sources() if words.search(source.text)] == []
    swallowed = [
        f"{source.name}:{node.lineno}"
        for source in sources()
        for node in source.nodes(ast.ExceptHandler)
        if [type(inner) for inner in node.body] == [ast.Pass]
    ]
    assert swallowed == []


def test_pseudo_random_generators_stay_out_of_release_paths():
    """Only samplers of models may use one, and what puts those of the process aside; noise under
    `insecure_seed` has its own."""
    generators = re.compile(
        r"default_rng|np\.random|numpy\.random|^\s*import random|^\s*from random", re.MULTILINE
    )
    places = [s for s in sources() if under(s.module, "sosdp.privacy", "problems")]
    wrong = [
        s.name for s in places if generators.search(s.text) and not s.module.endswith((".model", ".silence"))
    ]
    assert wrong == []


CHECKS = {
    "between",
    "check_delta",
    "check_epsilon",
    "check_level_sensitivity",
    "check_positive",
    "finite",
    "integer",
    "interval",
    "nonnegative",
    "positive",
}
"""Checks of public numbers: what they return is exact, what they were given may wrap around."""


def unused_checks(source: Source) -> list[int]:
    """Lines whose only statement is such a check, so that its result is thrown away."""
    calls = [node.value for node in source.nodes(ast.Expr) if isinstance(node.value, ast.Call)]
    names = [(call.lineno, getattr(call.func, "id", getattr(call.func, "attr", ""))) for call in calls]
    return sorted(line for line, name in names if name in CHECKS)


def test_what_a_check_of_a_public_number_returns_is_used():
    places = [s for s in sources() if under(s.module, "sosdp", "problems", "certificates")]
    assert {source.name: lines for source in places if (lines := unused_checks(source))} == {}
    assert unused_checks(probe("integer(n, 'n')\ncalibrate.check_positive(x, 'x')\nn = integer(n, 'n')")) == [
        1,
        2,
    ]


def uses_of_keys(source: Source) -> list[int]:
    """Lines that take a key of monomials: ``.keys`` unless it is called as that of a dict, and others."""
    of_dicts = {id(node.func) for node in source.nodes(ast.Call) if not node.args}
    return sorted(
        node.lineno
        for node in source.nodes(ast.Attribute)
        if node.attr in {"keys", "second_keys", "key_order", "RadixKeys"}
        and not (node.attr == "keys" and id(node) in of_dicts)
    )


def test_keys_of_monomials_stay_in_algebra():
    """Different monomials may have one key: others use `group`, `unique`, `Index` and `Products`."""
    outside = [source for source in sources() if not under(source.module, "sosdp.algebra")]
    assert {source.name: lines for source in outside if (lines := uses_of_keys(source))} == {}
    assert uses_of_keys(probe("a = mono.keys(rows)\nb = p.keys[0]\nc = mono.second_keys(rows)")) == [1, 2, 3]
    assert uses_of_keys(probe("for k in table.keys():\n    print(k)")) == []


def test_no_path_of_a_machine_in_a_tracked_file():
    # spelled in pieces so that this file does not name them either
    leak = re.compile(
        "|".join(["/" + "work/", "/" + "tmp/w/", "/" + "root/", "/" + "home/[a-z]", r"C:\\" + "Users"])
    )
    texts = [path for path in tracked() if path.suffix not in {".png", ".npz"}]
    assert [p.name for p in texts if leak.search(p.read_text(encoding="utf-8", errors="replace"))] == []


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_one_version():
    import sosdp
    from sosdp._version import __version__

    assert sosdp.__version__ == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "version" in project()["dynamic"] and "version" not in project()


def test_extras_named_in_the_documentation_exist():
    extras = project()["optional-dependencies"]
    assert {"mosek", "sdpa", "plot", "notebooks", "distributed", "benchmarks", "dev"} <= set(extras)
    pages = [path for path in tracked() if path.suffix in {".py", ".md", ".ipynb"} or path.name == "Makefile"]
    named = {
        name for path in pages for name in re.findall(r"sosdp\[(\w+)\]", path.read_text(encoding="utf-8"))
    }
    assert named <= set(extras)


def test_the_extras_are_those_of_the_project():
    extras = project()["optional-dependencies"]
    pip_names = {"sklearn": "scikit-learn", "dp_accounting": "dp-accounting"}
    for package, extra in EXTRAS.items():
        assert any(need.startswith(pip_names.get(package, package) + ">=") for need in extras[extra]), package
    everything = " ".join(extras["all"] + extras["demo"])
    assert all(extra in everything for extra in EXTRAS.values())


def optional_imports(source: Source) -> list[str]:
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

    if any(name.split(".")[0] in EXTRAS for name in source.imports):
        visit(source.tree, {})
    return wrong


def test_optional_packages_are_imported_when_used_and_named_when_missing():
    assert {source.name: lines for source in sources() if (lines := optional_imports(source))} == {}


def test_the_check_of_optional_imports_sees_one():
    text = "import sympy\ndef f():\n    import picos\n    need('cvxpy', 'x')\n    import cvxpy\n"
    assert optional_imports(probe(text)) == ["line 1: sympy", "line 3: picos"]
