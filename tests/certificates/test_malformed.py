"""Malformed files: kernel, checker, `sosdp verify` and the engine's reader refuse the same, in a line."""

import copy
import json
import subprocess
import sys
from fractions import Fraction

import pytest

import sosdp as sd
from certificates import kernel, kernel_words
from certificates.as_problem import replay
from certificates.check import check_certificate, check_file
from certificates.read import from_dict
from sosdp.cli import main
from tests.certificates.classics import X, Y
from tests.certificates.forgeries import get
from tests.certificates.test_against_measures import BOUND as MEASURED
from tests.certificates.test_against_measures import PROBLEM as MEASURES

PLAIN = {
    "format": "sosdp-problem/1", "name": "n", "description": "d", "comment": "c", "source": "s",
    "variables": ["x", "y"], "minimize": "x**2 - 2*x*y + y**2",
    "subject_to": ["x >= 0", [[[1, {"y": 1}]], ">= 0"]], "psd": [[["1", "0"], ["0", "1"]]],
    "for_all": [[["y"], "y**2"]], "degree": 2, "products": "putinar", "options": {"sparsity": "dense"},
}  # fmt: skip
SQUARE = {
    "format": "sosdp-certificate/1", "variables": ["x", "y"], "note": "n",
    "claim": {
        "kind": "lower_bound", "bound": "0",
        "objective": [["1", [[0, 2]]], ["-2", [*X, *Y]], ["1", [[1, 2]]]],
        "inequalities": [[["1", X]], [["1", Y]]], "psd": [[[[["1", []]], []], [[], [["1", []]]]]],
        "attained_at": ["1", "1"],
    },
    "multipliers": [{"kind": "sos", "index": [], "basis": [X, Y], "gram": [["1", "-1"], ["-1", "1"]]}],
}  # fmt: skip
PROGRAM = {
    "format": "sosdp-problem/1", "variables": ["x"], "unknowns": ["c"], "sos": ["x**2 - 2*x - c", "1"],
    "maximize": "c",
}  # fmt: skip
COEFFICIENT = {
    "format": "sosdp-certificate/1", "variables": ["x", "c"],
    "claim": {
        "kind": "program", "objective": [["1", Y]], "bound": "-1", "sense": "maximize", "unknowns": [1],
        "objectives": [[["1", [[0, 2]]], ["-2", X], ["-1", Y]], [["1", []]]], "values": ["-1"],
        "on": [{}, {}],
    },
    "multipliers": [
        {"kind": "sos", "basis": [[], X], "gram": [["1", "-1"], ["-1", "1"]]},
        {"kind": "sos", "target": 1, "basis": [[]], "gram": [["1"]]},
    ],
}  # fmt: skip
PAIRS = {"plain": (PLAIN, SQUARE), "program": (PROGRAM, COEFFICIENT), "measures": (MEASURES, MEASURED)}
GONE = object()
PROBLEMS = [
    *[("plain", ("maximize",), v) for v in ("x", "x**2 - 2*x*y + y**2", None)],  # two questions at once
    *[("plain", (key,), v) for key, v in (("feasible", True), ("feasible", 1), ("sos", "x**2"), ("sos", []))],
    *[("plain", ("minimize",), v)
      for v in (GONE, None, True, [[]], ["x"], [1], [[["x"]]], "x +", "z", {}, 1.5e400)],
    *[("plain", ("minimize",), [[1, m]]) for m in ({"x": -1}, {"x": "2"}, {"x": 1.5}, {"z": 1}, [], None)],
    *[("plain", ("minimize",), [[c, {}]]) for c in (None, True, "x", "1/0", "nan", [], {}, "1" * 9001)],
    *[("plain", ("degree",), v) for v in ("x", "2", 0, -2, 1.5, True, [], {})],
    *[("plain", ("options",), v)
      for v in ([], "x", None, 3, {"tolerance": float("nan")}, {"a": float("inf")})],
    *[("plain", (key,), v) for key in ("name", "comment", "description", "source")
      for v in (None, 3, [], {})],
    *[("plain", ("products",), v) for v in (None, "x", 1, ["putinar"])],
    *[("plain", (key,), v) for key in ("level", "state", "trace", "relations", "foo")
      for v in (1, "1+AB", None)],
    *[("plain", ("variables",), v)
      for v in (GONE, None, "xy", ["x", "x"], ["x", 1], [["x"], "y"], ["x", "y z"])],
    *[("plain", ("subject_to",), v) for v in (None, "x >= 0", [[]], [1], ["x"], ["x = 0"], ["x >= y >= 0"])],
    *[("plain", ("subject_to",), [[[[1, {"x": 1}]], r]]) for r in (">= -5", "> 0", ">= 0x0", "<", None, 0)],
    *[("plain", ("psd",), v)
      for v in (None, [[]], [[[]]], [[["1", "x"]]], [[["1"], ["x"]]], [["1"]], ["1"], [1])],
    *[("plain", ("for_all",), v)
      for v in (None, [[]], ["x"], [["y", "y**2"]], [[["z"], "y**2"]], [[["y"], "x"]])],
    *[("plain", ("format",), v) for v in (GONE, None, "sosdp-problem/2", "sosdp-certificate/1", 1)],
    *[("plain", ("unknowns",), v) for v in (["c"], None, "c", ["x"], [1])],
    *[("program", ("unknowns",), v) for v in (GONE, [], ["c", "c"], ["x"], None, "c", ["d"])],
    *[("program", ("sos",), v) for v in (GONE, [], None, 1, "x +", [["x"]], [[[1]]])],
    *[("program", (key,), v) for key, v in (("minimize", "c"), ("feasible", True), ("maximize", "x"))],
    *[("measures", ("measures",), v)
      for v in ({}, [], None, "mu", {"mu": []}, {"mu": None}, {"mu": {"a": 1}})],
    *[("measures", ("measures", "mu", "mass"), v) for v in ([], "x", True, {}, "1/0")],
    *[("measures", ("measures", "mu", "variables"), v) for v in ([], ["z"], ["x", "x"], "x", None, [1])],
    *[("measures", ("minimize",), v) for v in ("x", {"nu": "x"}, {"mu": 1.5e400}, [], None)],
    *[("measures", ("subject_to",), v)
      for v in (None, [1], [[{"mu": "x"}]], [[{"nu": "x"}, ">= 1"]], [["x", "== 1"]])],
    *[("measures", (key,), v)
      for key, v in (("psd", []), ("for_all", []), ("sos", "x"), ("maximize", {"mu": "x"}))],
]  # fmt: skip
RATIONALS = (None, 1, True, "", "x", "+1", " 1", "1.5", "1e5", "1/0", "1/-2", "\u0661", "9" * 4001, [], {})
MONOMIALS = ([[2, 1]], [[0, 0]], [[0, 1, 1]], [[1, 1], [0, 1]], [[0, 1001]], "x")
TERMS = [*([[c, []]] for c in RATIONALS), *([["1", m]] for m in MONOMIALS)]
CERTIFICATES = [
    *[("plain", ("claim", key), v) for key in ("objective", "inequalities") for v in [*TERMS, None, {}, "x"]],
    *[("plain", ("claim", "objective"), v) for v in ([["1", X], ["1", X]], [["0", X]], [["1"]], GONE)],
    *[("plain", ("claim", "bound"), v) for v in [*RATIONALS, GONE]],
    *[("plain", ("claim", "kind"), v)
      for v in (GONE, None, 1, "x", [], "infeasible", "sos", "no_certificate")],
    *[("plain", ("claim", key), v)
      for key, v in (("a", 1), ("sense", "minimize"), ("degree", 2), ("on", []))],
    *[("plain", ("claim", "attained_at"), v) for v in (["1"], "1", [1, 1], ["1", "1", "1"], None)],
    *[("plain", ("claim", "unique"), v) for v in (False, 1, None, "x")],
    *[("plain", ("claim", "psd"), v) for v in ([[]], [[[]]], [[[[]], [[]]]], ["x"], None)],
    *[("plain", ("claim", "root"), v) for v in ([], [0, "1"], [0, "1", "2"], "x", None)],
    *[("plain", ("variables",), v)
      for v in (GONE, None, ["x"], ["x", "x"], ["x", ""], ["x", "\x1b[2J"], "xy")],
    *[("plain", (key,), v)
      for key, v in (("note", 1), ("digest", 1), ("functional", []), ("a", 1), ("claim", []))],
    *[("plain", ("multipliers",), v) for v in (GONE, None, {}, [[]], ["x"], [{}], [{"kind": "x"}])],
    *[("plain", ("multipliers", 0, "gram"), v)
      for v in ([], [["1", "-1"]], [["1", "-1"], ["1", "1"]], [[1, -1], [-1, 1]])],
    *[("plain", ("multipliers", 0, "basis"), v)
      for v in ([X], [X, [[2, 1]]], [X, "y"], [X, Y, []], None, GONE)],
    *[("plain", ("multipliers", 0, key), v)
      for key, v in (("index", [0]), ("target", 1), ("target", -1), ("target", 0.0), ("scale", 1))],
    *[("program", ("claim", "unknowns"), v) for v in ([], [2], [-1], [1, 1], "c", None)],
    *[("program", ("claim", "values"), v) for v in ([], ["1", "2"], [1], "1", None)],
    *[("program", ("claim", "on"), v)
      for v in ([], [{}], [{"equalities": [0]}, {}], [{"a": []}, {}], [[], []])],
    *[("program", ("claim", "sense"), v) for v in (GONE, None, "feasible", 1)],
]  # fmt: skip
WORDS = {
    "format": "sosdp-words/1",
    "claim": {"kind": "lower_bound", "letters": [["x"]], "objective": {"x x": 1}, "bound": 0},
    "lines": [["square", {"x": 1}], ["settle", 0]],
}
PROOFS = [
    *[(("claim", "letters"), v) for v in (GONE, ["x"], "x", [[1]], [["x", "x"]], [["x y"]], None, {})],
    *[(("claim", "hypotheses"), v)
      for v in ({"a": []}, {"psd": []}, {"inequality": None}, {"matrix": [[{}, {}]]}, [])],
    *[(("claim", "adjoints"), v)
      for v in ({"y": [1, "y"]}, {"x": ["x"]}, {"x": 1}, {"i": [1, "i"]}, {"x": [1, []]}, [])],
    *[(("claim", "relations"), v) for v in ({"x": 1}, {"x": {"x x": 1}}, {"y": {}}, [], None)],
    *[(("claim", "objective"), v) for v in ({"y": 1}, {"x": 1.5}, {"x": "1/0"}, {"x": None}, [], None)],
    *[(("claim", key), v)
      for key, v in (("kind", "sos"), ("kind", GONE), ("bound", GONE), ("bound", 0.0), ("trace", 1),
                     ("level", 1))],
    *[(("lines",), v)
      for v in (GONE, None, [[]], ["square"], [["no"]], [["square"]], [["square", {}, {}]], [["_sum", []]])],
    *[(("lines", 0), ["quadratic_form", "", 0, *v]) for v in (
        [1, [], []], [[{"x": 1}], [], [0]], [[{"x": 1}], [["1", "2"]], [0]], [[{"x": 1}], [[1]], []],
        [[{}], [[1]], 0])],
    (("lines", 0), ["quadratic_form", "", 0.5, [{"x": 1}], [[1]], [0]]),
    (("lines", 1), ["image", 0, {"x": 0}]),
    *[(("lines", 0), line)
      for line in (["weighted_sum", [[1]]], ["weighted_sum", 1], ["average", 7], ["assume", "a", 0])],
    *[((key,), v)
      for key, v in
      (("format", GONE), ("claim", []), ("claim", GONE), ("a", 1), ("note", 0.5), ("digest", 1))],
    *[(path, 10**4200) for path in (("claim", "bound"), ("lines", 0, 1, "x"), ("lines", 1, 1), ("note",))],
]  # fmt: skip


def changed(content, path, value):
    content = copy.deepcopy(content)
    place = get(content, path[:-1])
    if value is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return content


def doors(tmp_path, capsys, alone, files):
    """Exit codes of a kernel, the checker and the shell, each of whose complaints is one line."""
    codes = []
    for program, arguments in (
        (alone, files),
        (lambda a: check_file(*a).exit_code, files[::-1]),
        (main, ["verify", files[-1], *(["--against", files[0]] if len(files) > 1 else [])]),
    ):
        codes.append(program([str(a) for a in arguments]))
        said = capsys.readouterr().err
        assert len(said.splitlines()) <= 1 and "Error" not in said and "unpack" not in said, said
    return codes


def written(tmp_path, *contents):
    files = [tmp_path / f"{k}.json" for k in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        file.write_text(json.dumps(content))
    return files


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_malformed_is_so_at_every_door(name, tmp_path, capsys):
    problem, proof = PAIRS[name]
    assert doors(tmp_path, capsys, kernel.main, written(tmp_path, problem, proof)) == [0, 0, 0]
    for path, value in [change[1:] for change in PROBLEMS if change[0] == name]:
        files = written(tmp_path, changed(problem, path, value), proof)
        assert doors(tmp_path, capsys, kernel.main, files) == [2, 2, 2], (path, value)
        with pytest.raises(sd.ProblemFileError):
            sd.load_problem(files[0])
    for path, value in [change[1:] for change in CERTIFICATES if change[0] == name]:
        codes = doors(tmp_path, capsys, kernel.main, written(tmp_path, problem, changed(proof, path, value)))
        assert codes == [2, 2, 2], (path, value)
        with pytest.raises(kernel.Malformed):
            replay(changed(proof, path, value))


def test_malformed_proofs_about_operators(tmp_path, capsys):
    assert doors(tmp_path, capsys, kernel_words.main, written(tmp_path, WORDS)) == [0, 0, 0]
    for path, value in PROOFS:
        codes = doors(tmp_path, capsys, kernel_words.main, written(tmp_path, changed(WORDS, path, value)))
        assert codes == [2, 2, 2], path


def test_a_problem_may_begin_with_a_byte_order_mark_and_a_proof_may_not(tmp_path, capsys):
    problem, proof = written(tmp_path, PLAIN, SQUARE)
    problem.write_text(problem.read_text(), encoding="utf-8-sig")
    assert doors(tmp_path, capsys, kernel.main, [problem, proof]) == [0, 0, 0]
    proof.write_text(proof.read_text(), encoding="utf-8-sig")
    assert doors(tmp_path, capsys, kernel.main, [problem, proof]) == [2, 2, 2]


def test_without_memory_nothing_is_said(tmp_path):
    files = written(tmp_path, {"note": "x" * 60_000_000})
    limit = "import resource as r, sys; r.setrlimit(r.RLIMIT_AS, (1 << 28, 1 << 28))"
    check = f"{limit}; from certificates.check import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", check, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout.startswith("unreadable:") and not done.stderr


def test_what_numbers_take_is_paid_for(tmp_path, capsys):
    """A file of 8 kB took 26 seconds, one of 3 MB took 240 MB."""
    long = kernel.assume(">=", kernel.polynomial({("x",): Fraction(3**8300, 5**5600)}))
    powers = [long]
    with pytest.raises(kernel.NotProven, match="more work than the limit"), kernel.within(10**6):
        while len(powers) < 50:
            powers.append(kernel.product(powers[-1], long))
    assert len(powers) < 40
    problem, proof = written(tmp_path, PLAIN, SQUARE)
    proof.write_text(f"[{','.join(['1e1000'] * 10**6)}]")
    assert doors(tmp_path, capsys, kernel.main, [problem, proof]) == [2, 2, 2]


@pytest.mark.parametrize(
    "row", [[[5, 1]], [[0, 10**50]], [[0, 3 * 10**8]], [[-1, 1]], [[0, -3]], [[0, 1], [0, 1]]]
)
def test_a_basis_is_read_once_for_check_and_load(row):
    content = copy.deepcopy(SQUARE)
    content["multipliers"][0]["basis"][0] = row
    with pytest.raises(kernel.Malformed, match="a monomial has ascending|is no place in a list"):
        from_dict(content)
    assert check_certificate(content).status == "unreadable"
