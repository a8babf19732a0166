"""Operators in problem files: read without evaluation, saved and solved as anything else."""

import math

import pytest

import sosdp as sd

CHSH = {
    "format": "sosdp-problem/1",
    "name": "chsh",
    "operators": {"A": {"kind": "observables", "count": 2}, "B": {"kind": "projectors", "inputs": 2}},
    "maximize": "A[0]*(2*B[0][0] - 1 + 2*B[1][0] - 1) + A[1]*2*(B[0][0] - B[1][0])",
    "state": ["E(A[0]) >= -1/2"],
    "level": "1+AB",
}
FREE = {
    "format": "sosdp-problem/1",
    "operators": {"x": {"kind": "hermitian", "party": "P"}, "y": {"kind": "hermitian", "party": "P"}},
    "minimize": "x*y",
    "subject_to": ["x**2 <= 1", "y.H*y <= 1"],
    "relations": ["x*y == y*x"],
    "level": 1,
}


def test_a_file_is_solved_saved_and_read_again(tmp_path):
    problem = sd.load_problem(CHSH)
    answer = problem.solve()
    assert answer.bound == pytest.approx(2 * math.sqrt(2), abs=1e-6) and answer.sizes["hierarchy"] == "1+AB"
    problem.save(tmp_path / "p.sos.json")
    again = sd.load_problem(tmp_path / "p.sos.json")
    assert again.to_dict() == problem.to_dict() and "operators" in repr(again)
    assert sd.solve(str(tmp_path / "p.sos.json")).certified_bound == pytest.approx(answer.certified_bound)
    assert sd.load_problem(FREE).solve().certified_bound == pytest.approx(-1, abs=1e-6)
    assert sd.load_problem(FREE).solve(degree=4).sizes["hierarchy"] == "2"


def test_every_family_can_be_written():
    kinds = {
        "u": {"kind": "unitaries", "count": 1}, "s": {"kind": "paulis", "count": 2},
        "c": {"kind": "fermions", "count": 1}, "b": {"kind": "bosons", "count": 1},
        "z": {"kind": "operator", "party": "Z"},
    }  # fmt: skip
    text = "u[0] + u[0].H + s[0].x*s[1].x + 1j*s[0].y*(-1j) + c[0].H*c[0] + b[0].H*b[0] + z.H*z/2 - 0.25"
    p = sd.load_problem({"format": "sosdp-problem/1", "operators": kinds, "minimize": text, "level": 1})
    assert p.operators.objective.is_hermitian and p.operators.objective.degree == 2
    assert float(p.operators.objective.terms[()][0]) == -0.25


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        ({"minimize": "x*z"}, "minimize", "unknown operator 'z'; there are x, y"),
        ({"minimize": "x+"}, "minimize", "ends where a value is missing"),
        ({"minimize": "__import__('os')"}, "minimize", "unknown operator '__import__'"),
        ({"minimize": "x.H + A"}, "minimize", "unknown operator 'A'; there are x, y .column 7"),
        (
            {"operators": {"A": {"kind": "observables", "count": 1}}, "minimize": "A"},
            "minimize",
            "A is a whole",
        ),
        ({"minimize": "x**1000"}, "minimize", "a power is an integer"),
        ({"minimize": "((x**64)**64)**64"}, "minimize", "at most 500 letters in a word"),
        ({"minimize": "(x + y + x*y + y*x)**64"}, "minimize", "100000 products of terms"),
        ({"subject_to": ["(x + y)**14 >= 0"] * 10}, "subject_to[9]", "all of a file 300000"),
        ({"minimize": "((10**64)**64)**64*x"}, "minimize", "too many digits"),
        (
            {
                "operators": {"b": {"kind": "bosons", "count": 2}},
                "minimize": "(b[0] + b[1])**12*(b[0].H + b[1].H)**12",
            },
            "minimize",
            "takes too long",
        ),
        ({"operators": {"A": {"kind": "observables", "count": 10**9}}}, "operators", "at most 500 letters"),
        ({"operators": {"c": {"kind": "fermions", "count": 501}}}, "operators", "at most 500 letters"),
        (
            {"operators": {"P": {"kind": "projectors", "inputs": 30, "outputs": [2, 30]}}},
            "operators",
            "at most 500 letters",
        ),
        ({"minimize": "x/0"}, "minimize", "division by zero"),
        ({"minimize": "1/x"}, "minimize", "divisor must be a number"),
        ({"minimize": "(" * 300 + "x"}, "minimize", "nested deeper"),
        ({"minimize": "x[0]"}, "minimize", "there is no"),
        ({"minimize": "x.real"}, "minimize", "is no part of"),
        ({"subject_to": ["E(x) >= 0"]}, "subject_to[0]", "is about operators"),
        ({"subject_to": ["x"]}, "subject_to[0]", "expected one of"),
        ({"subject_to": ["1 <= 2"]}, "subject_to[0]", "no operator in it"),
        ({"relations": ["1 == 0"]}, "relations[0]", "no operator in it"),
        ({"state": ["x >= 0"]}, "state[0]", "is about the state"),
        ({"relations": ["x*y >= 0"]}, "relations[0]", "expected =="),
        ({"level": 1.5}, "level", "expected an integer"),
        ({"trace": 1}, "trace", "true or false"),
        ({"degree": 2}, "degree", "nothing beside operators"),
        ({"operators": {"x": {"kind": "herm"}}}, "operators", "kind is one of"),
        ({"operators": {"x": {"kind": "hermitian", "norms": 1}}}, "operators", "'norms' is not a key"),
        ({"operators": {"x": {"kind": "hermitian", "norm": "a"}}}, "operators", "norm must be"),
        ({"operators": []}, "operators", "expected families by name"),
    ],
)
def test_complaints_name_the_key(change, key, said):
    with pytest.raises(sd.ProblemFileError, match=said) as caught:
        sd.load_problem({**FREE, **change})
    assert caught.value.key == key
