"""Problem files: all published cases, round trips, and one line for everything that is wrong."""

import gzip
import json
import pickle
import random
import time
from fractions import Fraction
from pathlib import Path

import pytest

from sosdp.algebra import PSD, variables
from sosdp.model.problem_file import Problem, ProblemFileError, load_problem
from sosdp.model.system import System
from sosdp.relaxation.minimize import minimize
from tests.refusals import each, refuse

CASES = sorted((Path(__file__).parent.parent / "cases").glob("*.sos.json"))
x, y, z, c = variables("x y z c")
GOOD = {"format": "sosdp-problem/1", "variables": ["x", "y"], "minimize": "x**2 + y"}


def problem(**changes):
    data = {**GOOD, **changes}
    return {key: value for key, value in data.items() if value is not ...}


def test_there_are_28_cases():
    assert len(CASES) == 28


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.removesuffix(".sos.json"))
def test_published_cases_load_and_round_trip(path, tmp_path):
    loaded = load_problem(path)
    raw = json.loads(path.read_text())
    assert loaded.variables == tuple(raw["variables"]) and loaded.degree == raw["degree"]
    assert loaded.name == raw["name"] and loaded.sense in raw
    assert len(loaded.system) == len(raw["subject_to"]) + len(raw.get("psd", []))
    polynomials = [*loaded.sos, *loaded.system.equalities, *loaded.system.inequalities]
    assert all(p.is_exact for p in polynomials)
    loaded.save(tmp_path / "again.sos.json")
    assert load_problem(tmp_path / "again.sos.json") == loaded
    assert load_problem(raw) == loaded  # a dictionary with floats says the same
    assert pickle.loads(pickle.dumps(loaded)) == loaded


def test_every_key_is_read():
    loaded = load_problem(
        problem(
            minimize=...,
            maximize="x/3 + 0.1*y",
            subject_to=[
                "x**2 + y**2 <= 1",
                [[[1, {"x": 1}], ["-1/2", {}]], ">= 0"],
                ["x*y", "== 0"],
                ["y", "<=0"],
            ],
            psd=[[["1 - x**2", "y"], ["y", 1]]],
            degree=4,
            products="schmudgen",
            options={"solver": "scs", "tolerance": 1e-6, "nested": [1, {"a": None}]},
            name="all",
        )
    )
    assert (
        loaded.sense == "maximize" and loaded.objective == x / 3 + y / 10 and loaded.products == "schmudgen"
    )
    assert loaded.system == System(
        x**2 + y**2 <= 1, x >= Fraction(1, 2), x * y == 0, y <= 0, PSD([[1 - x**2, y], [y, 1]])
    )
    assert loaded.degree == 4 and loaded.options == {
        "solver": "scs",
        "tolerance": 1e-6,
        "nested": [1, {"a": None}],
    }
    assert loaded.name == "all" and loaded.unknowns == () and loaded.sos == ()
    assert load_problem(problem(minimize=..., feasible=True)).objective is None


def test_sums_of_squares():
    one = problem(minimize=..., sos="x**2 + y**2")
    assert load_problem(one).sos == (x**2 + y**2,)
    assert load_problem({**one, "sos": [[1, {"x": 2}], [1, {"y": 2}]]}).sos == (x**2 + y**2,)
    assert load_problem({**one, "sos": ["x**2", [[1, {"y": 2}]]]}).sos == (x**2, y**2)
    program = problem(minimize="-c", unknowns=["c"], sos=["x**4 - c*x**2 + 1"])
    loaded = load_problem(program)
    assert loaded.sense == "sos" and loaded.unknowns == ("c",) and loaded.objective == -c
    assert load_problem(loaded.to_dict()) == loaded


def test_an_objective_beside_sums_of_squares_has_a_direction():
    statement = problem(minimize=..., maximize="3*c", unknowns=["c"], sos="x**4 - c*x**2 + 1")
    loaded = load_problem(statement)
    assert (loaded.sense, loaded.direction, loaded.objective) == ("sos", "maximize", 3 * c)
    assert load_problem(loaded.to_dict()) == loaded
    assert load_problem({**problem(unknowns=["c"], sos="x**2 + c"), "minimize": "c"}) != loaded


MEASURES = problem(
    measures={"mu": {"variables": ["x"], "subject_to": ["x**2 <= 1"], "mass": 2}, "nu": {}},
    minimize={"mu": "x**2/3", "nu": [[1, {"x": 2}], ["1/3", {"y": 2}]]},
    subject_to=[[{"mu": "x", "nu": "x + y"}, "== 0.1"], [{"nu": 1}, "<=3"], [{"mu": "x"}, ">= -1/3"]],
)


def test_measures(tmp_path):
    loaded = load_problem(MEASURES)
    mu, nu = loaded.moments.measures
    assert (mu.name, mu.variables, mu.system, mu.mass) == ("mu", ("x",), System(x**2 <= 1), 2)
    assert (nu.name, nu.variables, nu.system, nu.mass) == ("nu", ("x", "y"), System(), None)
    assert loaded.moments.objective == (("mu", x**2 / 3), ("nu", x**2 + y**2 / 3))
    bounds = [(k.parts, k.relation, k.right) for k in loaded.moments.constraints]
    assert bounds[0] == ((("mu", x), ("nu", x + y)), "==", Fraction(1, 10))
    assert [b[1:] for b in bounds[1:]] == [("<=", 3), (">=", Fraction(-1, 3))]
    loaded.save(tmp_path / "again.sos.json")
    again = load_problem(tmp_path / "again.sos.json")
    assert again.moments == loaded.moments and again.name == loaded.name
    wanted = {**MEASURES, "feasible": True}
    del wanted["minimize"]
    assert load_problem(wanted).moments.objective == ()
    refuse((lambda: minimize(loaded), "is about measures: problem.solve()"))
    assert "over mu, nu" in loaded._repr_html_() and "3 constraints" in repr(loaded)


@pytest.mark.parametrize(
    ("changes", "key", "reason"),
    [
        ({"measures": []}, "measures", "expected an object"),
        ({"measures": {}}, "measures", "expected an object"),
        ({"measures": {"x": {}}}, "measures", "also one of the variables"),
        ({"measures": {"1": {}}}, "measures", "cannot be a name"),
        ({"measures": {3: {}}}, "measures", "must be a string"),
        ({"measures": {"mu": 2}}, "measures.mu", "expected an object"),
        ({"measures": {"mu": {"on": []}}}, "measures.mu", "unknown key 'on'"),
        ({"measures": {"mu": {"variables": ["z"]}}}, "measures.mu.variables", "not among the variables"),
        ({"measures": {"mu": {"variables": []}}}, "measures.mu.variables", "needs a variable"),
        ({"measures": {"mu": {"mass": "two"}}}, "measures.mu.mass", "not a number"),
        ({"measures": {"mu": {"mass": [2]}}}, "measures.mu.mass", "number"),
        (
            {"measures": {"mu": {"variables": ["x"], "subject_to": ["y >= 0"]}}},
            "measures.mu.subject_to[0]",
            "unknown variable 'y'",
        ),
        ({"measures": {"mu": {"psd": 1}}}, "measures.mu.psd", "list of matrices"),
        ({"minimize": "mu(x)"}, "minimize", "integrated against each measure"),
        ({"minimize": {"chebyshev": []}}, "minimize", "not among the measures"),
        ({"minimize": {"mu": "y"}}, "minimize.mu", "unknown variable 'y'"),
        ({"subject_to": ["x >= 0"]}, "subject_to[0]", "constraint on integrals"),
        ({"subject_to": [[{"mu": "x"}, "= 1"]]}, "subject_to[0]", "relation and a number"),
        ({"subject_to": [[{"mu": "x"}, "== x"]]}, "subject_to[0]", "not a number"),
        ({"subject_to": [[{"mu": "x"}, "=="]]}, "subject_to[0]", "not a number"),
        ({"subject_to": [[{"ny": "x"}, "== 1"]]}, "subject_to[0]", "not among the measures"),
        ({"psd": [[["1"]]]}, "psd", "inside a measure"),
        ({"minimize": ..., "sos": "x"}, "measures", "not with sos"),
        ({"unknowns": ["c"]}, "unknowns", "give sos"),
    ],
)
def test_wrong_measures_are_refused_in_one_line(changes, key, reason):
    statement = {k: v for k, v in {**MEASURES, **changes}.items() if v is not ...}
    with pytest.raises(ProblemFileError) as error:
        load_problem(statement)
    assert error.value.key == key and reason in error.value.reason
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "key", "reason"),
    [
        ({"format": "sosdp-problem/2"}, "format", "expected 'sosdp-problem/1'"),
        ({"format": ...}, "format", "found nothing"),
        ({"subjectto": []}, "'subjectto'", "unknown key"),
        ({"variables": ...}, "variables", "list of names"),
        ({"variables": "x y"}, "variables", "list of names"),
        ({"variables": ["x", "x"]}, "variables", "stands twice"),
        ({"variables": ["x", 3]}, "variables", "must be a string"),
        ({"variables": ["x", "y z"]}, "variables", "cannot be a name"),
        ({"variables": ["x\ny"]}, "variables", "cannot be a name"),
        ({"minimize": ...}, "minimize", "exactly one"),
        ({"maximize": "x"}, "maximize", "exactly one"),
        ({"feasible": True}, "feasible", "exactly one"),
        ({"minimize": ..., "feasible": False}, "feasible", "expected true"),
        ({"minimize": ..., "maximize": "x", "sos": "x"}, "maximize", "exactly one"),
        ({"maximize": "x", "sos": "x"}, "maximize", "exactly one"),
        ({"maximize": "c", "sos": "x**2 - c", "unknowns": ["c"]}, "maximize", "exactly one"),
        ({"minimize": ..., "feasible": True, "sos": "x - c", "unknowns": ["c"]}, "sos", "exactly one"),
        (
            {"minimize": ..., "maximize": "c**2", "sos": "x - c", "unknowns": ["c"]},
            "maximize",
            "must be linear",
        ),
        ({"format": "sosdp-certificate/1"}, "format", "this is a certificate, not a problem"),
        ({"minimise": "x"}, "'minimise'", "did you mean 'minimize'?"),
        ({"minimize": "x + q"}, "minimize", "unknown variable 'q'"),
        ({"minimize": "x +"}, "minimize", "value is missing"),
        ({"minimize": "x <= 1"}, "minimize", "found a constraint"),
        ({"minimize": None}, "minimize", "found nothing"),
        ({"minimize": True}, "minimize", "found a boolean"),
        ({"minimize": {"x": 1}}, "minimize", "found an object"),
        ({"minimize": [[1, {"q": 1}]]}, "minimize", "unknown variable 'q'"),
        ({"minimize": [[float("nan"), {}]]}, "minimize", "finite"),
        ({"minimize": "1e999999999*x"}, "minimize", "exponent"),
        ({"minimize": "(x+y)**100000"}, "minimize", "degree"),
        ({"minimize": "(" * 1_000_000}, "minimize", "nested"),
        ({"subject_to": "x <= 1"}, "subject_to", "list of constraints"),
        ({"subject_to": ["x <= 1", "x"]}, "subject_to[1]", "expected a constraint"),
        ({"subject_to": ["0 <= x <= 1"]}, "subject_to[0]", "exactly one"),
        ({"subject_to": [["x", "> 0"]]}, "subject_to[0]", ">= 0"),
        ({"subject_to": [["x", ">= 1"]]}, "subject_to[0]", ">= 0"),
        ({"subject_to": [["x", ">= 10"]]}, "subject_to[0]", ">= 0"),
        ({"subject_to": [5]}, "subject_to[0]", "expected a string"),
        ({"subject_to": [[[[1, {"x": -1}]], ">= 0"]]}, "subject_to[0]", "non-negative"),
        ({"psd": [[["1", "x"]]]}, "psd[0][0]", "square"),
        ({"psd": [[["1", "x"], ["y", "1"]]]}, "psd[0]", "symmetric"),
        ({"psd": [[["1", "x"], ["q", "1"]]]}, "psd[0][1][0]", "unknown variable"),
        ({"psd": [[]]}, "psd[0]", "rows"),
        ({"psd": {}}, "psd", "list of matrices"),
        ({"degree": 0}, "degree", "positive integer"),
        ({"degree": "4"}, "degree", "positive integer"),
        ({"degree": 4.0}, "degree", "positive integer"),
        ({"degree": True}, "degree", "positive integer"),
        ({"degree": -2}, "degree", "positive integer"),
        ({"products": "stengle"}, "products", "putinar"),
        ({"products": ["putinar"]}, "products", "putinar"),
        ({"options": []}, "options", "object"),
        ({"options": {"a": object()}}, "options", "JSON"),
        ({"name": 3}, "name", "string"),
        ({"unknowns": ["c"]}, "unknowns", "sos"),
        ({"minimize": ..., "sos": "x", "unknowns": ["x"]}, "unknowns", "also one of the variables"),
        ({"minimize": ..., "sos": "c**2*x", "unknowns": ["c"]}, "sos[0]", "linear in the unknowns"),
        ({"minimize": ..., "sos": [], "unknowns": ["c"]}, "sos", "non-empty"),
        ({"minimize": "x", "sos": "x**2"}, "minimize", "unknowns"),
        ({"minimize": "x", "sos": "c*x**2", "unknowns": ["c"]}, "minimize", "linear in the unknowns"),
        ({"minimize": "c**2", "sos": "c*x**2", "unknowns": ["c"]}, "minimize", "linear"),
        (
            {"minimize": "c", "sos": "c*x", "unknowns": ["c"], "subject_to": ["c >= 0"]},
            "subject_to[0]",
            "unknown",
        ),
    ],
)
def test_wrong_problems_are_refused_in_one_line(changes, key, reason, tmp_path):
    with pytest.raises(ProblemFileError) as error:
        load_problem(problem(**changes))
    assert error.value.key == key and reason in error.value.reason
    assert str(error.value).startswith(f"<dict>: {key}: ") and "\n" not in str(error.value)
    again = pickle.loads(pickle.dumps(error.value))
    assert str(again) == str(error.value) and isinstance(again, ValueError)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ("[1, 2]", "expected a JSON object"),
        ('{"format": "sosdp-problem/1", "format": "sosdp-problem/1"}', "stands twice"),
        (json.dumps(GOOD)[:-1] + ', "degree": NaN}', "NaN"),
        (json.dumps(GOOD)[:-1] + ', "degree": Infinity}', "Infinity"),
        ('{"format": "sosdp-problem/1", "variables": ["x"], "minimize": [[1e999999999, {}]]}', "exponent"),
        (
            '{"format": "sosdp-problem/1", "variables": ["x"], "minimize": [[1, {"x": 1, "x": 2}]]}',
            "'x' stands twice",
        ),
        ('{"format": "sosdp-problem/1", "variables": ["x"], "minimize": ' + "9" * 100_000 + "}", "too long"),
        ("\ufeff\x00", "not JSON"),
    ],
    ids=lambda text: text[:20],
)
def test_unreadable_files(text, reason, tmp_path):
    path = tmp_path / "bad.sos.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemFileError) as error:
        load_problem(path)
    assert error.value.file == str(path) and reason in str(error.value) and "\n" not in str(error.value)


def test_files_that_cannot_be_opened(tmp_path):
    refuse(
        *each(
            load_problem,
            (tmp_path / "missing.sos.json", tmp_path, "a\x00b"),
            "cannot be read",
            ProblemFileError,
        )
    )
    binary = tmp_path / "b.sos.json"
    binary.write_bytes(b"\xff\xfe\x00")
    refuse((lambda: load_problem(str(binary)), "UTF-8", ProblemFileError))
    packed, whole = tmp_path / "p.sos.json.gz", gzip.compress(json.dumps(GOOD).encode())
    packed.write_bytes(whole)
    assert load_problem(packed).variables == load_problem(GOOD).variables and load_problem(packed).name == "p"
    for wrong in (whole[:-20], whole[:12] + bytes(20) + whole[32:], whole[10:]):
        packed.write_bytes(wrong)
        refuse((lambda: load_problem(packed), "cannot be read: ", ProblemFileError))


def test_decimals_are_read_exactly(tmp_path):
    path = tmp_path / "p.sos.json"
    path.write_text(
        '{"format": "sosdp-problem/1", "variables": ["x"],'
        ' "minimize": [[0.1, {"x": 1}], [1e-30, {}], [0.3333333333333333333333, {"x": 2}]],'
        ' "subject_to": ["0.1*x >= 0.30000000000000000000001"], "options": {"tolerance": 1e-7}}'
    )
    loaded = load_problem(path)
    assert loaded.objective.coefficient(x) == Fraction(1, 10)
    assert loaded.objective.constant == Fraction(1, 10**30)
    assert loaded.objective.coefficient(x**2) == Fraction("0.3333333333333333333333")
    assert loaded.system.inequalities[0].constant == -Fraction("0.30000000000000000000001")
    assert loaded.options == {"tolerance": 1e-7} and isinstance(loaded.options["tolerance"], float)
    assert loaded.name == "p"


def test_problems_made_in_python_are_saved_exactly(tmp_path):
    made = Problem(
        name="made",
        variables=("x", "y"),
        sense="minimize",
        objective=0.1 * x + y**2 / 3,
        system=System((x + y + 1) ** 12 <= 5, x == y),
        degree=12,
    )
    made.save(tmp_path / "m.sos.json")
    loaded = load_problem(tmp_path / "m.sos.json")
    assert loaded.objective == made.objective.as_exact()
    assert loaded.system == made.system
    refuse((lambda: Problem(name="z", variables=("x",), sense="minimize", objective=x + z).to_dict(), "'z'"))
    assert loaded.objective.as_float() == made.objective.as_float()


@pytest.mark.slow
def test_forty_thousand_terms_load_in_seconds(tmp_path):
    rng = random.Random(11)
    names = [f"x{k}" for k in range(200)]
    terms = [(round(rng.uniform(-5, 5), 6), rng.choices(names, k=3)) for _ in range(40_000)]
    text = " + ".join("*".join([repr(c), *v]) for c, v in terms).replace("+ -", "- ")
    listed = [[c, {n: v.count(n) for n in v}] for c, v in terms]
    loaded = []
    for k, objective in enumerate((text, listed)):
        path = tmp_path / f"{k}.sos.json"
        path.write_text(json.dumps({"format": "sosdp-problem/1", "variables": names, "minimize": objective}))
        start = time.process_time()
        loaded.append(load_problem(path))
        assert time.process_time() - start < 5  # about 0.4 s on an idle machine
    assert loaded[0].objective == loaded[1].objective
    point = {n: rng.randint(-3, 3) for n in names}
    direct = sum(Fraction(repr(c)) * point[v[0]] * point[v[1]] * point[v[2]] for c, v in terms)
    assert loaded[0].objective(point) == direct
