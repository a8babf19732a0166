"""Programs in operators on the command line: solved, certified, verified, and compared with their problem."""

import json
import math

import pytest

import sosdp as sd
from certificates import check_certificate, kernel_words
from sosdp.cli import main
from sosdp.model.problem_file import load_problem
from tests.refusals import refuse

CHSH = {
    "format": "sosdp-problem/1",
    "operators": {"A": {"kind": "observables", "count": 2}, "B": {"kind": "observables", "count": 2}},
    "maximize": "A[0]*(B[0] + B[1]) + A[1]*(B[0] - B[1])",
    "level": "1+AB",
}
VALUE = "E(A[0]*(B[0] + B[1]) + A[1]*(B[0] - B[1]))"


def other(**changes):
    return {k: v for k, v in {**CHSH, **changes}.items() if v is not None}


def solve(path, capsys, *options):
    code = main(["solve", str(path), "--json", *options])
    return code, json.loads(capsys.readouterr().out)


def test_solve_certify_verify_against(tmp_path, capsys):
    problem, proof = tmp_path / "chsh.sos.json", tmp_path / "proof.json"
    problem.write_text(json.dumps(CHSH))
    code, result = solve(problem, capsys, "--certificate", str(proof))
    assert code == 0 and result["status"] == "optimal" and result["hierarchy"] == "1+AB"
    assert result["bound"] == pytest.approx(2 * math.sqrt(2), abs=1e-6)
    assert 2 * math.sqrt(2) <= result["certified_bound"] < 2 * math.sqrt(2) + 1e-6
    assert main(["verify", str(proof), "--against", str(problem), "--kernel"]) == 0
    said = capsys.readouterr().out
    assert "relations:" in said and "in every state" in said and said.endswith("valid\n")
    assert "A[0] A[0]" in kernel_words.replay(json.loads(proof.read_text()))
    for changes in (
        {"maximize": "A[0]*B[0]"},
        {"operators": {**CHSH["operators"], "C": CHSH["operators"]["A"]}},
    ):
        another = tmp_path / "another.sos.json"
        another.write_text(json.dumps(other(**changes)))
        expected = (
            1 if "maximize" in changes else 0
        )  # letters that nothing mentions are no part of a statement
        assert main(["verify", str(proof), "--against", str(another)]) == expected
        capsys.readouterr()
    for option in ("--latex", "--lean"):
        assert main(["verify", str(proof), option, str(tmp_path / "out")]) == 0
        assert "no such form" in capsys.readouterr().err
    edited = json.loads(proof.read_text())
    edited["claim"]["bound"] = "2"
    proof.write_text(json.dumps(edited))
    assert main(["verify", str(proof)]) == 1


def test_infeasible_is_refuted(tmp_path, capsys):
    problem, proof = tmp_path / "p.sos.json", tmp_path / "proof.json"
    problem.write_text(json.dumps(other(maximize="A[0]*B[0]", state=[f"{VALUE} == 2.83"])))
    code, result = solve(problem, capsys, "--certificate", str(proof))
    assert code == 0 and result["status"] == "infeasible"
    assert main(["verify", str(proof), "--against", str(problem)]) == 0
    assert "there are no operators" in capsys.readouterr().out
    problem.write_text(json.dumps(other(maximize="A[0]*B[0]", state=[f"{VALUE} == 2.82"])))
    assert main(["verify", str(proof), "--against", str(problem)]) == 1
    assert "hypotheses differ" in capsys.readouterr().out


def test_a_proof_about_operators_is_of_no_problem_in_commuting_variables(tmp_path, capsys):
    problem, proof = tmp_path / "p.sos.json", tmp_path / "proof.json"
    problem.write_text(json.dumps(CHSH))
    solve(problem, capsys, "--certificate", str(proof))
    commuting = {"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x**2"}
    problem.write_text(json.dumps(commuting))
    assert main(["verify", str(proof), "--against", str(problem)]) == 1
    problem.write_text("{}")
    assert main(["verify", str(proof), "--against", str(problem)]) == 2
    assert check_certificate(json.loads(proof.read_text()), commuting).status == "invalid"


def test_doors_of_commuting_problems_refuse_operators(tmp_path, complaint):
    refuse((lambda: sd.maximize(load_problem(CHSH)), "operators"))
    path = tmp_path / "chsh.sos.json"
    path.write_text(json.dumps(CHSH))
    assert "operators" in complaint("solve", str(path), "--export", str(tmp_path / "x.dat-s"))


def test_a_family_without_its_number_is_refused_by_that_key(tmp_path, complaint):
    path = tmp_path / "p.sos.json"
    content = {
        "format": "sosdp-problem/1",
        "operators": {"u": {"kind": "unitaries"}},
        "minimize": "u[0] + u[0].H",
    }
    path.write_text(json.dumps(content))
    assert "operators: u: 'count' is missing" in complaint("solve", path)
