"""Type checkers and completion see the API: names, keywords and their values, and none that is not there."""

import ast
import dataclasses
import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import certificates
import sosdp as sd
from sosdp.model.options import AllOptions, BuildOptions, Options, SolveOptions
from tests.refusals import refuse

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("sosdp", "problems", "certificates")
LAZY = [
    "sosdp.privacy",
    "sosdp.privacy.mechanisms",
    "sosdp.privacy.scores",
    "sosdp.relaxation",
    "certificates",
    *(f"problems.{p}" for p in ("cuts", "gaussian", "gmm", "mrf", "sbm", "tuples")),
]


def declared(path: Path) -> set[str]:
    """Names that a file imports for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module not in ("__future__", "typing")
        for alias in node.names
    }


def test_dir_shows_every_name_of_the_stub_and_every_name_loads():
    modules = {name for name in dir(sd) if inspect.ismodule(getattr(sd, name))}
    stub = declared(ROOT / "sosdp" / "__init__.pyi")
    assert {*dir(sd), "__version__"} == stub == {*sd.__all__, *modules}
    assert not [name for name in dir(sd) if name.startswith("_")]
    assert all(getattr(sd, name) is not None for name in (*sd.__all__, *dir(sd)))
    for module in (sd.functionals, sd.sweep, sd.testing):
        assert set(dir(module)) == set(module.__all__)
    refuse((lambda: sd.minimise, "no attribute 'minimise'", AttributeError))


@pytest.mark.parametrize("name", LAZY)
def test_lazy_packages_state_what_they_load(name):
    package = importlib.import_module(name)
    table = Path(package.__file__).with_suffix(".pyi")
    assert package.__all__ and set(package.__all__) <= declared(table)
    assert all(getattr(package, entry) is not None for entry in package.__all__)
    assert set(package.__all__) <= set(dir(package))
    # a submodule of the same name would take the place of the function once it is imported
    beside = {path.stem for path in Path(package.__file__).parent.iterdir()}
    assert not [n for n in package.__all__ if n in beside and not inspect.ismodule(getattr(package, n))]


def test_the_typed_dictionaries_are_the_options():
    for stage, typed in (("build", BuildOptions), ("solve", SolveOptions)):
        fields = [f.name for f in dataclasses.fields(Options) if f.metadata["stage"] == stage]
        assert list(get_type_hints(typed)) == fields
    assert set(get_type_hints(AllOptions)) == {f.name for f in dataclasses.fields(Options)}


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (sd.minimize, {"objective", "system", "degree", *get_type_hints(AllOptions)}),
        (sd.prove_sos, {"p", "system", "degree", "zeros", *get_type_hints(AllOptions)}),
        (sd.Relaxation, {"system", "degree", *get_type_hints(BuildOptions)}),
        (sd.Relaxation.minimize, {"self", "objective", "subject_to", "near", *get_type_hints(SolveOptions)}),
        (sd.SosProgram, {"unknowns", *set(get_type_hints(BuildOptions)) - {"redundant"}}),
        (sd.SosProgram.feasible, {"self", *set(get_type_hints(SolveOptions)) - {"certify_bound"}}),
    ],
)
def test_completion_sees_every_option(function, names):
    assert set(inspect.signature(function).parameters) == names


# Keywords that are names of the user's own: variables to put in, scikit-learn's contract, and public facts
# that differ from estimator to estimator; and fields of a frozen dataclass.
OPEN = {
    "__new__": "named", "__call__": "values", "set_params": "params", "__array_ufunc__": "options",
    "outlook": "facts", "settle": "checked",
}  # fmt: skip


def test_no_public_function_takes_keywords_that_it_does_not_name():
    wrong = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.FunctionDef) or node.args.kwarg is None:
                    continue
                private = node.name.startswith("_") and not node.name.startswith("__")
                note = "" if node.args.kwarg.annotation is None else ast.unparse(node.args.kwarg.annotation)
                typed = "Unpack[" in note or note.endswith(".kwargs")  # those of the function it wraps
                if not private and not typed and OPEN.get(node.name) != node.args.kwarg.arg:
                    wrong.append(f"{path.relative_to(ROOT)}: {node.name}(**{node.args.kwarg.arg})")
    assert wrong == []


GOOD = """
from typing import Any, assert_type

import sosdp as sd
from sosdp.certificates import extract
from sosdp.problems.gaussian import PrivateMean
from sosdp.problems.sbm import CertificateRecovery, RoundsRecovery

x, y = sd.variables("x y")
c = sd.variables("c")
assert_type(2 * x**4 / 3 - x * y + 1, sd.Polynomial)
assert_type(sd.variables("z", 3), sd.PolynomialArray)
assert_type(sd.minimize(x**4 - 3 * x, x**2 <= 4).bound, float)
assert_type(sd.SosProgram(c).require(x**4 - c * x**2 + 1).maximize(c).certified_bound, float | None)


class Mine:
    def solve(self, program: sd.ConicProgram, **options: Any) -> sd.ConicSolution:
        raise NotImplementedError


sd.minimize(x, solver=Mine())
pe: sd.PseudoExpectation = sd.minimize(x**2 + y**2, sd.System(x + y >= 1), degree=4, solver="clarabel")
bound: float | None = pe.certified_bound
answer: sd.Answer = sd.load_problem("p.sos.json").solve(time_limit=3.0)
conic: sd.ConicProgram = sd.Relaxation(sd.System(x**2 <= 1), 2, cone="sdsos").to_conic(x)
estimator: CertificateRecovery = CertificateRecovery(epsilon=1.0, delta=1e-6).fit([[0, 1], [1, 0]])
mean = PrivateMean(epsilon=1.0, bounds=None, contamination=0.0)
guarantee: sd.Guarantee = mean.fit([[1.0]]).guarantee_
assert_type(RoundsRecovery(1.0, 1e-6, 0.5, 20.0, communities=3).epsilon, float)
proof = extract(pe).exact()
proof.save("c.json")
"""

BAD = """
import sosdp as sd
from sosdp.problems.sbm import CertificateRecovery, RoundsRecovery

x = sd.variables("x y")[0]
sd.minimize(x**2, solvr="scs")
sd.minimize(x**2, sparsity="loose")
sd.Relaxation(sd.System(), 2, prune="yes")
sd.minimise(x)
CertificateRecovery(epsilon=1.0, delta=1e-6, tua=0.5)
sd.load_problem("p").solve(degree="4")
sd.minimize(x, solver=3)
RoundsRecovery(1.0, 1e-6, 0.5)
RoundsRecovery(1.0, 1e-6, 0.5, 20.0, 3)
"""


SEEN = {
    "mypy": r'readme\.py:\d+: note: Revealed type is "(.*)"',
    "pyright": r'readme\.py:\d+:\d+ - information: Type of "pe\.\S*" is "(.*)"',
}
CONFIGURATION = json.dumps({"extraPaths": [str(ROOT)], "reportMissingModuleSource": False})  # of pyright
# strict in these files alone: ours have the options of `make lint`, and are not checked once more
STRICT = """# mypy: disallow-untyped-calls, disallow-untyped-defs, disallow-any-generics
# mypy: disallow-subclassing-any, disallow-untyped-decorators, warn-return-any
# mypy: warn-unused-ignores, strict-equality
"""


@pytest.mark.slow
@pytest.mark.parametrize("checker", SEEN)
def test_type_checkers_see_every_public_signature(checker, tmp_path):
    if shutil.which(checker) is None and checker != "mypy":
        pytest.skip(f"{checker} is not installed")
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    shown = programs if checker == "pyright" else programs[:1]  # untyped functions are no strict ones
    readme = "\n".join([*shown, *map("reveal_type(pe.{})".format, ("bound", "certified_bound", "atoms()"))])
    for name, text in (("good.py", GOOD), ("bad.py", BAD), ("readme.py", readme)):
        (tmp_path / name).write_text(STRICT + text, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text(CONFIGURATION)
    command = {
        "mypy": [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir",
                 str(ROOT / ".mypy_cache"), *(str(tmp_path / n) for n in ("good.py", "bad.py", "readme.py"))],
        "pyright": ["pyright", "--pythonpath", sys.executable, "-p", str(tmp_path)],
    }[checker]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    lines = [line for line in done.stdout.splitlines() if re.search(r"\berror:? ?", line) and ".py:" in line]
    assert not [line for line in lines if "good.py" in line or "readme.py" in line], done.stdout + done.stderr
    seen = re.findall(SEEN[checker], done.stdout)
    assert seen[:2] == ["float", "float | None"] and re.match(r"(numpy\.)?ndarray", seen[2]), done.stdout
    wrong = {int(line.split("bad.py:")[1].split(":")[0]) for line in lines if "bad.py" in line}
    assert {line - min(wrong) for line in wrong} == set(range(9)), done.stdout


def test_both_names_are_one_package():
    import problems.sbm
    import sosdp.certificates
    import sosdp.problems.sbm as again

    assert again is problems.sbm and sosdp.certificates is certificates
    assert problems.sbm.__spec__.name == "problems.sbm"
    from sosdp.problems.sbm.estimators.certificate import CertificateRecovery

    assert CertificateRecovery is problems.sbm.CertificateRecovery
    refuse((lambda: importlib.import_module("sosdp.problems.nothing"), "nothing", ImportError))


@pytest.mark.parametrize("package", ["problems", "certificates"])
def test_a_foreign_package_in_the_way_is_named(tmp_path, package):
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    program = (
        f"import sosdp\ntry:\n    import sosdp.{package}\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": ""},
    )  # fmt: skip
    assert str(tmp_path / package) in done.stdout and "rename" in done.stdout, done.stderr


def test_pickles_do_not_depend_on_the_name():
    import pickle

    from sosdp.problems.sbm import RandomizedResponseRecovery

    kept = pickle.dumps(RandomizedResponseRecovery(epsilon=2.0))
    assert b"sosdp.problems" not in kept and pickle.loads(kept).epsilon == 2.0
