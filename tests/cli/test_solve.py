"""`sosdp solve`: the result object, exit codes, certificates, the SDPA export, and one-line complaints."""

import json
import subprocess
import sys
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import sosdp as sd
from benchmarks.cases import CASES
from sosdp.cli import main
from sosdp.conic.program import ProblemTooLarge
from sosdp.show import rounded_safely
from tests.refusals import refuse

KEYS = {
    "format", "status", "bound", "certified_bound", "bound_kind", "exact", "sizes", "solver", "time", "atoms",
    "certificate",
}  # fmt: skip


def problem(folder, **changes):
    whole = {
        "format": "sosdp-problem/1",
        "variables": ["x", "y"],
        "minimize": "x**4 + y**4 - 3*x*y",
        "subject_to": ["x**2 + y**2 <= 4"],
        "degree": 4,
        **changes,
    }
    path = folder / "p.sos.json"
    path.write_text(json.dumps({k: v for k, v in whole.items() if v is not None}), encoding="utf-8")
    return str(path)


def solved(capsys, *arguments):
    code = main(["solve", *arguments, "--json"])
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert len(lines) == 1, shown
    result = json.loads(lines[0], parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    return result, code, shown.err


def test_the_result_object(tmp_path, capsys):
    result, code, _ = solved(capsys, problem(tmp_path))
    assert code == 0 and set(result) >= KEYS
    assert result["status"] == "optimal" and result["bound_kind"] == "lower" and result["exact"] is True
    assert result["bound"] == pytest.approx(-1.125, abs=1e-6)
    assert result["certified_bound"] <= -1.125 + 1e-9
    assert result["certified_bound"] == pytest.approx(-1.125, abs=1e-5)
    side = np.sqrt(3) / 2
    assert np.allclose(sorted(result["atoms"]), [[-side, -side], [side, side]], atol=1e-3)
    assert set(result["time"]) == {"build", "solve", "certify"}
    assert result["sizes"]["moments"] > 0 and max(result["sizes"]["blocks"]) > 0
    assert result["certificate"] is None


def test_maximize_and_the_order_of_variables(tmp_path, capsys):
    # z is declared first and never used; y comes before x
    path = problem(
        tmp_path,
        variables=["z", "y", "x"],
        minimize=None,
        maximize="x - 2*y",
        subject_to=["x**2 + y**2 <= 5"],
        degree=2,
    )
    result, code, _ = solved(capsys, path)
    assert code == 0 and result["bound_kind"] == "upper"
    assert result["bound"] == pytest.approx(5.0, abs=1e-6)
    assert result["certified_bound"] >= 5.0 - 1e-9
    assert np.allclose(result["atoms"], [[0.0, -2.0, 1.0]], atol=1e-3)
    assert main(["solve", str(path)]) == 0  # people are shown no coordinate that nothing depends on
    shown = capsys.readouterr().out
    assert "maximiser 1  y = -2, x = 1\n" in shown and "z = " not in shown


def test_degree_and_solver_are_overridden(tmp_path, capsys):
    result, _, _ = solved(capsys, problem(tmp_path), "--degree", "6", "--solver", "scs")
    assert result["degree"] == 6 and result["solver"] == "scs"
    assert result["bound"] == pytest.approx(-1.125, abs=1e-4)


def test_feasible_and_infeasible(tmp_path, capsys):
    result, code, _ = solved(capsys, problem(tmp_path, minimize=None, feasible=True))
    assert (result["status"], code) == ("optimal", 0)
    assert result["bound"] is None and result["bound_kind"] is None
    target = tmp_path / "c.json"
    path = problem(
        tmp_path, minimize=None, feasible=True, subject_to=["x**2 + y**2 <= 1", "x + y >= 2"], degree=2
    )
    result, code, _ = solved(capsys, path, "--certificate", str(target))
    assert (result["status"], code, result["certificate"]) == ("infeasible", 0, str(target))
    assert main(["verify", str(target), "--against", path]) == 0
    assert "no real point" in capsys.readouterr().out


def test_sums_of_squares_one_and_several(tmp_path, capsys):
    target = tmp_path / "c.json"
    several = ["x**2 - 2*x*y + 2*y**2", "x**4 + y**2 + 1"]
    path = problem(tmp_path, minimize=None, sos=several, subject_to=[], degree=4)
    result, code, _ = solved(capsys, path, "--certificate", str(target))
    assert (result["status"], code) == ("proved", 0)
    assert main(["verify", str(target), "--against", path]) == 0
    assert capsys.readouterr().out.endswith("valid\n")
    path = problem(tmp_path, minimize=None, sos=[several[0], "x**2 - y**2"], subject_to=[], degree=2)
    result, code, _ = solved(capsys, path)
    assert (result["status"], code) == ("refuted", 0)


@pytest.mark.parametrize("polynomial, status", [("x**4 - c*x**2 + 1", "proved"), ("-x**4 - c", "refuted")])
def test_unknown_coefficients_without_an_objective(tmp_path, capsys, polynomial, status):
    target = tmp_path / "c.json"
    path = problem(tmp_path, minimize=None, unknowns=["c"], sos=polynomial, subject_to=[], degree=4)
    result, code, _ = solved(capsys, path, "--certificate", str(target))
    assert (result["status"], result["bound"], code) == (status, None, 0)
    assert len(result.get("values", ())) == target.exists() == (status == "proved")
    assert main(["verify", str(target), "--against", path]) == (0 if status == "proved" else 2)


def test_a_refusal_is_certified(tmp_path, capsys):
    target = str(tmp_path / "c.json")
    path = problem(
        tmp_path,
        minimize=None,
        sos="x**4*y**2 + x**2*y**4 - 3*x**2*y**2 + 1",
        subject_to=[],
        degree=6,
    )
    result, code, _ = solved(capsys, path, "--certificate", target)
    assert (result["status"], result["certificate"], code) == ("refuted", target, 0)
    assert main(["verify", target, "--against", path]) == 0
    assert "is not a sum of squares" in capsys.readouterr().out


def test_a_sum_of_squares_program(tmp_path, capsys):
    path = problem(
        tmp_path, unknowns=["c"], sos=["x**4 + y**4 - c*x**2*y**2"], minimize="-c", subject_to=[], degree=4
    )
    result, code, error = solved(capsys, path, "--certificate", str(tmp_path / "c.json"))
    assert code == 0 and result["bound"] == pytest.approx(-2.0, abs=1e-6)
    assert result["bound_kind"] == "upper" and result["certified_bound"] >= -2.0 - 1e-9
    assert result["values"]["c"] == pytest.approx(2.0, abs=1e-6)
    assert result["certificate"] == str(tmp_path / "c.json") and not error
    assert main(["verify", result["certificate"], "--against", path]) == 0
    assert "with c = 2" in capsys.readouterr().out


def test_a_certificate_is_printed_with_its_own_bound(tmp_path, capsys):
    """Of measures that reach to 100000 it is three times the bound that is proven in doubles."""
    path = tmp_path / "cents.sos.json"
    supports = {"lo": ["x*(50000 - x) >= 0"], "hi": ["(x - 50000)*(100000 - x) >= 0"]}
    moments = [("1", "== 1"), ("x", "== 30000"), ("x**2", "== 1000000000")]
    statement = {
        "format": "sosdp-problem/1",
        "variables": ["x"],
        "measures": {name: {"subject_to": support} for name, support in supports.items()},
        "maximize": {"hi": "1"},
        "subject_to": [[{"lo": p, "hi": p}, right] for p, right in moments],
    }
    path.write_text(json.dumps(statement), encoding="utf-8")
    for file in (str(path), problem(tmp_path)):
        target = str(tmp_path / "c.json")
        result, code, _ = solved(capsys, file, "--certificate", target)
        proven = Fraction(json.loads(Path(target).read_text(encoding="utf-8"))["claim"]["bound"])
        assert code == 0 and Fraction(result["certificate_bound"]) == proven
        main(["solve", file, "--certificate", target])
        line = " ".join(capsys.readouterr().out.split()).partition("(exact: ")[2]
        shown = line.removeprefix(f"{result['bound_kind']} bound ").partition(";")[0]
        sign = 1 if result["bound_kind"] == "upper" else -1
        assert 0 <= sign * (Fraction(shown) - proven) <= Fraction(1, 10**9) * abs(proven)
    other = problem(tmp_path, minimize=None, feasible=True, subject_to=["x**2 + y**2 <= -1"])
    result, code, _ = solved(capsys, other, "--certificate", str(tmp_path / "e.json"))
    assert (result["status"], code) == ("infeasible", 0) and "certificate_bound" not in result


def test_a_sum_of_squares_program_that_maximises(tmp_path, capsys):
    statement = {"unknowns": ["c"], "sos": ["x**4 + y**4 - c*x**2*y**2"], "minimize": None, "subject_to": []}
    path = problem(tmp_path, **statement, maximize="1 + c")
    result, code, _ = solved(capsys, path, "--certificate", str(tmp_path / "c.json"))
    assert code == 0 and result["bound"] == pytest.approx(3.0, abs=1e-6)
    assert result["bound_kind"] == "lower" and result["certified_bound"] <= 3.0 + 1e-9
    assert main(["verify", str(tmp_path / "c.json"), "--against", path]) == 0
    turned = problem(tmp_path, **statement | {"minimize": "1 + c"})
    assert main(["verify", str(tmp_path / "c.json"), "--against", turned]) == 1
    assert "the polynomials or the objective differ" in capsys.readouterr().out


MEASURES = {
    "measures": {"mu": {"variables": ["x"], "subject_to": ["x**2 <= 1"], "mass": 2},
                 "nu": {"psd": [[["1 - x**2 - y**2"]]]}},
    "minimize": {"mu": "x**2", "nu": "x**2 + y**2"},
    "subject_to": [[{"mu": "x", "nu": "x"}, "== 1"], [{"nu": 1}, "<= 1"]],
    "degree": None,
}  # fmt: skip


def test_a_program_over_measures(tmp_path, capsys):
    path = problem(tmp_path, **MEASURES)
    result, code, error = solved(capsys, path)
    assert code == 0 and not error and KEYS <= result.keys()
    assert result["bound"] == pytest.approx(1 / 3, abs=1e-6)  # mass 3 of mean 1/3
    assert result["bound_kind"] == "lower" and 1 / 3 - 1e-5 <= result["certified_bound"] <= 1 / 3 + 1e-9
    assert result["measures"]["mu"]["mass"] == pytest.approx(2, abs=1e-6)
    assert result["measures"]["nu"]["mass"] == pytest.approx(1, abs=1e-5)
    assert np.allclose(result["measures"]["mu"]["atoms"], [[1 / 3]], atol=1e-3)
    # d/db of b**2/3 at b = 1, and d/dm of 1/(2 + m) at m = 1
    assert np.allclose(result["multipliers"], [2 / 3, -1 / 9], atol=1e-3)
    assert main(["solve", path]) == 0
    shown = capsys.readouterr().out
    assert "mass 2" in shown and "a proven lower bound" in shown


def test_measures_are_maximised_asked_for_and_refuted(tmp_path, capsys):
    largest = problem(tmp_path, **MEASURES | {"minimize": None, "maximize": {"mu": "x**2"}})
    result, code, _ = solved(capsys, largest)
    assert code == 0 and result["bound"] == pytest.approx(2, abs=1e-6) and result["bound_kind"] == "upper"
    wanted = problem(tmp_path, **MEASURES | {"minimize": None, "feasible": True})
    result, code, _ = solved(capsys, wanted)
    assert (result["status"], result["bound"], code) == ("optimal", None, 0)
    none = MEASURES | {"minimize": None, "feasible": True, "subject_to": [[{"mu": "x"}, ">= 3"]]}
    result, code, _ = solved(capsys, problem(tmp_path, **none), "--certificate", str(tmp_path / "c.json"))
    assert (result["status"], code) == ("infeasible", 0)
    assert "measures" not in result and main(["verify", str(tmp_path / "c.json")]) == 0


@pytest.mark.parametrize(
    ("changes", "arguments", "key"),
    [
        ({}, ["--export", "OUT.dat-s"], "--export"),
        ({"options": {"symmetry": "auto"}}, [], "not an option beside measures"),
        ({"degree": 1}, [], "degree"),
        ({"measures": {"mu": {"subject_to": ["z >= 0"]}}}, [], "measures.mu.subject_to[0]"),
    ],
)
def test_what_a_program_over_measures_cannot_have_is_one_line(tmp_path, complaint, changes, arguments, key):
    path = problem(tmp_path, **MEASURES | changes)
    assert key in complaint(
        "solve", path, "--json", *(a.replace("OUT", str(tmp_path / "o")) for a in arguments)
    )


def test_unbounded_has_no_numbers_that_json_lacks(tmp_path, capsys):
    result, code, _ = solved(capsys, str(CASES / "motzkin.sos.json"))
    assert (result["status"], code) == ("unbounded", 0)
    assert result["bound"] is None and result["certified_bound"] is None
    assert result["reason"]


def test_certificate_of_the_examples(tmp_path, capsys):
    for name in ("motzkin_ball", "maxcut_petersen"):
        path = str(files("sosdp.cli") / "examples" / f"{name}.sos.json")
        target = str(tmp_path / f"{name}.json")
        result, code, _ = solved(capsys, path, "--certificate", target)
        assert code == 0 and result["certificate"] == target
        assert main(["verify", target, "--against", path]) == 0
        assert capsys.readouterr().out.endswith("valid\n")


@pytest.mark.parametrize(
    ("changes", "arguments", "key"),
    [
        ({"format": "other"}, [], "format"),
        ({"minimize": "x +* y"}, [], "minimize"),
        ({"minimize": "x + w"}, [], "minimize"),
        ({"subject_to": ["x"]}, [], "subject_to"),
        ({"maximize": "x"}, [], "imize"),
        ({"degree": 3}, [], "degree"),
        ({"degree": 2}, [], "degree"),
        ({}, ["--degree", "3"], "degree"),
        ({}, ["--solver", "nonsense"], "solver"),
        ({}, ["--sparsity", "nonsense"], "sparsity"),
        ({"options": {"nonsense": 1}}, [], "nonsense"),
        ({"options": {"tolerence": 1}}, [], "did you mean 'tolerance'?"),
        ({"sos": "x**2 + c", "unknowns": ["c"], "minimize": "1e400*c"}, [], "larger than any float"),
        (
            {"sos": "x**2 + c", "unknowns": ["c"], "minimize": "c", "options": {"redundant": "ball"}},
            [],
            "beside",
        ),
        ({"options": {"tolerance": "small"}}, [], "tolerance"),
        ({"products": "neither"}, [], "products"),
    ],
)
def test_bad_input_is_one_line_with_file_key_and_reason(tmp_path, complaint, changes, arguments, key):
    path = problem(tmp_path, **changes)
    said = complaint("solve", path, "--json", *arguments)
    assert said.startswith(f"{path}: ") and key in said


def test_files_that_cannot_be_read_or_written(tmp_path, complaint):
    assert "none.sos.json" in complaint("solve", str(tmp_path / "none.sos.json"))
    (tmp_path / "broken.sos.json").write_text("{", encoding="utf-8")
    assert "broken.sos.json" in complaint("solve", str(tmp_path / "broken.sos.json"))
    path = problem(tmp_path)
    for option in ("--certificate", "--export"):
        assert option in complaint("solve", path, option, str(tmp_path / "no" / "folder"))


def test_standard_output_is_json_alone_in_a_process(tmp_path):
    command = [sys.executable, "-m", "sosdp.cli", "solve", problem(tmp_path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "optimal"
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""  # progress is for terminals


def read_sdpa(path):
    """(c, F) of an SDPA sparse file: F[0..m] are block-diagonal matrices."""
    lines = [line for line in Path(path).read_text().splitlines() if line[0] not in '"*']
    m, sides = int(lines[0].split()[0]), [int(s) for s in lines[2].split("=")[0].split()]
    cost = np.array(lines[3].split(), dtype=float)
    starts = np.concatenate([[0], np.cumsum(np.abs(sides))])
    matrices = np.zeros((m + 1, starts[-1], starts[-1]))
    for line in lines[4:]:
        number, block, i, j, value = line.split()
        k, row, column = int(number), starts[int(block) - 1] + int(i) - 1, starts[int(block) - 1] + int(j) - 1
        matrices[k, row, column] = matrices[k, column, row] = float(value)
    return cost, matrices


def test_the_export_solved_by_another_program_has_the_same_value(tmp_path, capsys):
    import cvxpy as cp

    target = tmp_path / "p.dat-s"
    path = problem(tmp_path, subject_to=["x**2 + y**2 <= 4", "x + y == 1"])
    result, _, _ = solved(capsys, path, "--export", str(target))
    cost, matrices = read_sdpa(target)
    constant = float(target.read_text().split("add ")[1].split(" to")[0])
    y = cp.Variable(cost.size)
    expression = (
        cp.reshape(matrices[1:].reshape(cost.size, -1).T @ y, matrices[0].shape, order="C") - matrices[0]
    )
    value = cp.Problem(cp.Minimize(cost @ y), [expression >> 0]).solve(solver="CLARABEL")
    assert value + constant == pytest.approx(result["bound"], abs=1e-5)


def test_an_sos_problem_has_no_moment_export(tmp_path, complaint):
    path = problem(tmp_path, minimize=None, sos="x**2 + y**2", subject_to=[], degree=2)
    assert "--export" in complaint("solve", path, "--export", str(tmp_path / "a.dat-s"))


@pytest.mark.parametrize(
    "breakdown", [ProblemTooLarge("needs 99 GiB"), np.linalg.LinAlgError("no convergence")]
)
def test_what_cannot_be_computed_here_is_a_failed_answer_not_bad_input(
    tmp_path, capsys, monkeypatch, breakdown
):
    def refuse(*arguments, **options):
        raise breakdown

    monkeypatch.setattr("sosdp.relaxation.minimize.minimize", refuse)
    target = str(tmp_path / "c.json")
    result, code, _ = solved(capsys, problem(tmp_path), "--certificate", target)
    assert (result["status"], code) == ("failed", 1) and set(result) >= KEYS
    assert str(breakdown) in result["reason"] and result["certificate"] is None
    assert main(["solve", problem(tmp_path)]) == 1
    assert "failed" in capsys.readouterr().out


def test_a_bug_is_not_called_bad_input(tmp_path, monkeypatch):
    def broken(*arguments, **options):
        raise AttributeError("a bug")

    monkeypatch.setattr("sosdp.relaxation.minimize.minimize", broken)
    refuse((lambda: main(["solve", problem(tmp_path)]), "a bug", AttributeError))


@pytest.mark.parametrize(
    "value",
    [
        12.0000000004,
        -12.0000000004,
        1 / 3,
        Fraction(1, 3),
        Fraction(-(10**100), 7),
        -2e-13,
        0.0,
        5.0,
        6.653391037658587,
        1e300,
    ],
)
def test_a_proven_bound_is_printed_on_its_safe_side(value):
    below, above = float(rounded_safely(value, "lower")), float(rounded_safely(value, "upper"))
    assert below <= value <= above
    assert above - below <= 2e-9 * abs(value)


SMALL_CONE = """"least c with [[c, 1], [1, c]] psd: add 1.5 to the optimal value (read_program does)"
1
1
2
1.0
0 1 1 2 -1.0
1 1 1 1 1.0
1 1 2 2 1.0
"""


def test_a_conic_program_is_bracketed(tmp_path, capsys):
    import gzip

    (tmp_path / "t.dat-s").write_text(SMALL_CONE)
    (tmp_path / "t.dat-s.gz").write_bytes(gzip.compress(SMALL_CONE.encode()))
    sd.write_program(sd.read_program(tmp_path / "t.dat-s"), tmp_path / "t.cbf")
    for name in ("t.dat-s", "t.dat-s.gz", "t.cbf"):
        assert main(["solve", str(tmp_path / name), "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["format"] == "sosdp-result/1" and result["status"] == "optimal"
        low, high = result["bracket"]
        assert low == result["certified_bound"] and low <= 2.5 <= high and high - low < 1e-5
    assert main(["solve", str(tmp_path / "t.dat-s")]) == 0
    assert " <= value <= " in capsys.readouterr().out
    empty = SMALL_CONE.replace("1 1 2 2 1.0", "1 1 2 2 -1.0")  # diag(c, -c): no c
    (tmp_path / "e.dat-s").write_text(empty)
    assert main(["solve", str(tmp_path / "e.dat-s"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["status"] == "infeasible" and result["bound"] is None


def test_a_conic_program_that_cannot_be_read_is_one_line(tmp_path, complaint):
    (tmp_path / "t.dat-s").write_text(SMALL_CONE.replace("1 1 2 2", "1 1 2 x"))
    (tmp_path / "t.dat-s.gz").write_bytes(b"no gzip")
    (tmp_path / "u.dat-s").write_text(SMALL_CONE)
    for arguments, words in [
        (["t.dat-s"], "t.dat-s:8"),
        (["t.dat-s.gz"], "not a gzipped file"),
        (["none.dat-s"], "No such file"),
        (["u.dat-s", "--degree", "4"], "--degree: a conic program has none"),
        (["u.dat-s", "--degree", "0"], "--degree: a conic program has none"),
        (["u.dat-s", "--solver", "nonsense"], "unknown solver"),
    ]:
        assert words in complaint("solve", str(tmp_path / arguments[0]), *arguments[1:])


def test_a_mark_at_the_start_of_a_problem_is_no_error(tmp_path, capsys):
    """Editors write one: the loader read over it, the checker did not."""
    path = Path(problem(tmp_path))
    path.write_text("\ufeff" + path.read_text(encoding="utf-8"), encoding="utf-8")
    certificate = str(tmp_path / "c.json")
    assert solved(capsys, str(path), "--certificate", certificate)[1] == 0
    assert main(["verify", certificate, "--against", str(path)]) == 0
