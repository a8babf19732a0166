"""`--against`: is the claim about this problem?"""

import json
import re
from fractions import Fraction

import pytest

from certificates import kernel
from certificates.check import check_certificate, check_file, main
from sosdp.answer import certify, certify_optimum, solve_problem
from sosdp.model.problem_file import load_problem
from tests.certificates.classics import CLASSICS, ONE, X, certificate

PROBLEM = {"format": "sosdp-problem/1", "variables": ["x", "y"]}


def against(name, **problem):
    return check_certificate(CLASSICS[name](), {**PROBLEM, **problem})


PARRILO = ["x - y**2 + 3 >= 0", "y + x**2 + 2 == 0"]
BOX = ["x >= 0", "x <= 1", "y <= 1"]


@pytest.mark.parametrize(
    "name, problem",
    [
        ("square", {"sos": "(x - y)**2"}),
        ("square", {"sos": ["x*x - 2*y*x + y**2"]}),
        ("square", {"sos": [[1, {"x": 2}], ["1", {"y": 2}], [-2, {"x": 1, "y": 1}]]}),
        ("square", {"sos": "x**2 + y**2 - 2*x*y", "subject_to": ["1 >= 0", "0*x == 0"]}),
        ("parrilo", {"feasible": True, "subject_to": PARRILO}),
        ("parrilo", {"feasible": True, "subject_to": PARRILO[::-1]}),
        ("parrilo", {"feasible": True, "subject_to": ["y**2/2 <= (x + 3)/2", "-2 == x**2 + y"]}),
        ("parrilo", {"minimize": "x", "subject_to": PARRILO}),
        ("box_product", {"maximize": "x*y", "subject_to": BOX}),
        ("box_product", {"maximize": "x*y", "subject_to": [*BOX, "y <= 1"]}),
        ("matrix_ball", {"minimize": "x", "psd": [[["1", "x"], ["x", "1"]]]}),
        ("two_sums", {"sos": ["x**2 + 1", "(1 - x)**2"]}),
    ],
)
def test_same_problem(name, problem):
    assert against(name, **problem).reason == ""


@pytest.mark.parametrize(
    "name, problem",
    [
        ("square", {"sos": "(x + y)**2"}),
        ("square", {"minimize": "(x - y)**2"}),
        ("square", {"sos": "(x - y)**2", "subject_to": ["x >= 0"]}),
        ("parrilo", {"feasible": True, "subject_to": PARRILO[:1]}),
        ("parrilo", {"feasible": True, "subject_to": [*PARRILO, "x >= 0"]}),
        ("parrilo", {"feasible": True, "subject_to": ["x - y**2 + 3 <= 0", PARRILO[1]]}),
        ("parrilo", {"feasible": True, "subject_to": ["x - y**2 + 3 >= 0", "y + x**2 + 2 >= 0"]}),
        ("box_product", {"minimize": "x*y", "subject_to": BOX}),
        ("box_product", {"maximize": "x*y + 1", "subject_to": BOX}),
        ("box_product", {"maximize": "x*y", "subject_to": BOX[:2]}),
        ("matrix_ball", {"minimize": "x", "psd": [[["1", "x"], ["x", "2"]]]}),
        ("matrix_ball", {"minimize": "x"}),
        ("two_sums", {"sos": ["(1 - x)**2", "x**2 + 1"]}),
        ("two_sums", {"sos": ["x**2 + 1"]}),
    ],
)
def test_another_problem(name, problem):
    verdict = against(name, **problem)
    assert verdict.status == "invalid" and "not about that problem" in verdict.reason


ONE_POINT = certificate(
    {"kind": "lower_bound", "objective": [["1", [[0, 2]]], ["-2", [[0, 1]]]], "bound": "-1",
     "attained_at": ["1"], "unique": True},
    [{"kind": "sos", "basis": [[], [[0, 1]]], "gram": [["1", "-1"], ["-1", "1"]]}],
    ("x",),
)  # fmt: skip


def test_a_point_is_the_only_one_for_all_variables_of_the_problem():
    problem = {**PROBLEM, "minimize": "x**2 - 2*x"}
    assert check_certificate(ONE_POINT) and check_certificate(ONE_POINT, {**problem, "variables": ["x"]})
    verdict = check_certificate(ONE_POINT, problem)  # (1, y) for every y
    assert verdict.status == "invalid" and "of other variables" in verdict.reason
    result = solve_problem(load_problem(problem))
    assert certify_optimum(result).claim.unique
    assert check_certificate(certify_optimum(result, ["x", "y"]).to_dict(), problem)


def test_a_for_all_constraint_that_is_stated_twice():
    problem = {**PROBLEM, "variables": ["x", "v"], "minimize": "x", "degree": 2, "subject_to": ["x**2 <= 4"]}
    problem["for_all"] = [[["v"], "v**4 + 2*x*v**2 + 1"]] * 2 + [[["v"], "v**2 + x + 3"]]
    proof = certify(solve_problem(load_problem(problem))).to_dict()
    assert check_certificate(proof, problem).reason == ""
    problem["for_all"][1:2] = []
    assert check_certificate(proof, problem).reason == ""


def test_the_proof_is_checked_as_well():
    content = CLASSICS["square"]()
    content["multipliers"] = []
    assert check_certificate(content, {**PROBLEM, "sos": "(x - y)**2"}).status == "invalid"


@pytest.mark.parametrize(
    "problem",
    [
        [],
        {},
        {"format": "sosdp-problem/2", "variables": ["x"]},
        {"sos": "x"},
        {**PROBLEM},
        {**PROBLEM, "sos": "x", "minimize": "y"},
        {**PROBLEM, "sos": "x +"},
        {**PROBLEM, "sos": "x y"},
        {**PROBLEM, "sos": "(x"},
        {**PROBLEM, "sos": "x)"},
        {**PROBLEM, "sos": "z"},
        {**PROBLEM, "sos": "x/y"},
        {**PROBLEM, "sos": "x/0"},
        {**PROBLEM, "sos": "x**y"},
        {**PROBLEM, "sos": "x**-1"},
        {**PROBLEM, "sos": "x**(1/2)"},
        {**PROBLEM, "sos": "__import__('os')"},
        {**PROBLEM, "sos": "x; y"},
        {**PROBLEM, "sos": "1e999999999*x"},
        {**PROBLEM, "sos": "x**(10**9)"},
        {**PROBLEM, "sos": "2**(10**6)*x"},
        pytest.param({**PROBLEM, "sos": "(x + y)**100000"}, marks=pytest.mark.slow),
        {**PROBLEM, "sos": [[True, {"x": 1}]]},
        {**PROBLEM, "sos": [[1, {"x": 1.5}]]},
        {**PROBLEM, "sos": [[1, {"x": -1}]]},
        {**PROBLEM, "sos": [[float("nan"), {"x": 1}]]},
        {**PROBLEM, "sos": 3},
        {**PROBLEM, "feasible": True, "subject_to": ["x"]},
        {**PROBLEM, "feasible": True, "subject_to": ["x <= y <= 1"]},
        {**PROBLEM, "feasible": True, "subject_to": [["x", "> 0"]]},
        {**PROBLEM, "feasible": True, "subject_to": "x >= 0"},
        {**PROBLEM, "variables": ["x", "x"], "sos": "x"},
    ],
    ids=str,
)
def test_problems_that_cannot_be_read(problem):
    assert check_certificate(CLASSICS["square"](), problem, work=3_000_000).status == "unreadable"


def test_decimals_are_read_exactly(tmp_path):
    claim = {"kind": "lower_bound", "objective": [["1/10", [[0, 2]]], ["3/10", ONE]], "bound": "3/10"}
    block = {"kind": "sos", "basis": [X], "gram": [["1/10"]]}
    content = certificate(claim, [block])
    cert, problem = tmp_path / "c.json", tmp_path / "p.json"
    cert.write_text(json.dumps(content))
    for text in (
        '"0.1*x**2 + 3e-1"',
        '[[0.1, {"x": 2}], [0.3, {}]]',
        '[["1/10", {"x": 2}], ["0.30", {"y": 0}]]',
    ):
        problem.write_text(f'{{"format": "sosdp-problem/1", "variables": ["x", "y"], "minimize": {text}}}')
        assert check_file(cert, problem), text
    problem.write_text(
        '{"format": "sosdp-problem/1", "variables": ["x"], "minimize": "0.1*x**2 + 0.30000000000000004"}'
    )
    assert check_file(cert, problem).status == "invalid"
    assert main([str(cert), "--against", str(problem)]) == 1
    assert main([str(cert), "--against", str(tmp_path / "none.json")]) == 2


EXPRESSIONS = [
    "-x**2", "(-x)**2", "2**3**2 + x", "x - y - 1", "x - (y - 1)", "2*x/3*y", "-(-(-x))", "+x - -y", "x**0",
    "(x + y - 1)**3", "1/3 + .5 + 2. + 1e2 + 1.5e-1", "2**-1*x", "-2**2", "(x+1)*(x-1)/4", "((x))", "0*x",
    "x*-y", "x**2*y**3*x", "6/2/3*x",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_mean_what_python_says(text):
    (part,) = kernel.state({"variables": ["x", "y"], "sos": text}).parts
    for x, y in [(Fraction(1, 3), Fraction(-2)), (Fraction(5), Fraction(7, 2)), (Fraction(0), Fraction(1))]:
        source = re.sub(r"(?<![\w.])(\d+\.?\d*(?:e-?\d+)?|\.\d+)", r"F('\1')", text)
        expected = eval(source, {"x": x, "y": y, "F": Fraction})
        value = sum(c * x ** m.count("x") * y ** m.count("y") for m, c in part[1].terms.items())
        assert value == expected


def test_a_problem_file_of_null_is_no_missing_problem(tmp_path):
    """None says in Python that there is nothing to compare with; a file that was named must be compared."""
    for name, text in (("proof", json.dumps(CLASSICS["square"]())), ("problem", "null")):
        (tmp_path / name).write_text(text)
    verdicts = check_file(tmp_path / "proof"), check_file(tmp_path / "proof", tmp_path / "problem")
    assert [v.status for v in verdicts] == ["valid", "unreadable"] and "null" in verdicts[1].reason
