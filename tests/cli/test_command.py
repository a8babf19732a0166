"""The command itself: version, help, complaints in one line, verify."""

import json
import subprocess
import sys

import pytest

from sosdp._version import __version__
from sosdp.cli import main

# x^2 - 2x + 3 >= 2 everywhere, because it is 2 + (x - 1)^2
CERTIFICATE = {
    "format": "sosdp-certificate/1",
    "variables": ["x"],
    "claim": {
        "kind": "lower_bound",
        "objective": [["1", [[0, 2]]], ["-2", [[0, 1]]], ["3", []]],
        "bound": "2",
        "equalities": [],
        "inequalities": [],
        "psd": [],
    },
    "multipliers": [{"kind": "sos", "basis": [[], [[0, 1]]], "gram": [["1", "-1"], ["-1", "1"]]}],
}
PROBLEM = {
    "format": "sosdp-problem/1",
    "variables": ["x"],
    "minimize": "x**2 - 2*x + 3",
    "subject_to": [],
    "degree": 2,
}


def file(folder, name, value):
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"sosdp {__version__}"
    assert main(["--help"]) == 0
    assert "solve" in capsys.readouterr().out
    for command in ("solve", "verify", "private", "demo"):
        assert main([command, "--help"]) == 0
        assert command in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["privat", "mean"],
        ["solve"],
        ["solve", "a.sos.json", "--nonsense"],
        ["solve", "a.sos.json", "--degree", "four"],
        ["private", "sbm", "builtin:karate"],
        ["private", "sbm", "builtin:karate", "--epsilon", "1", "--nonsense", "3"],
        ["private", "gaussian", "builtin:iris", "--epsilon", "1", "--estimate", "mode"],
        ["private", "nobody", "builtin:iris", "--epsilon", "1"],
    ],
)
def test_complaints_are_one_line_and_exit_2(arguments, complaint):
    assert ("did you mean 'private'? they are: solve" if "privat" in arguments else "sosdp") in complaint(
        *arguments
    )


def test_abbreviations_are_refused(complaint):
    """`--eps 1` and `--degre 8` are a slip of the pen in a command that spends a budget or hours."""
    for arguments in (
        ["private", "sbm", "builtin:karate", "--eps", "1"],
        ["solve", "problem.sos.json", "--degre", "8"],
    ):
        complaint(*arguments)


def test_verify_valid(tmp_path, capsys):
    path = file(tmp_path, "c.json", CERTIFICATE)
    assert main(["verify", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("claim: ") and "x^2 - 2 x + 3 >= 2" in lines[0]
    assert lines[1] == "valid"
    assert main(["verify", path, "--against", file(tmp_path, "p.sos.json", PROBLEM)]) == 0


def test_verify_invalid(tmp_path, capsys):
    wrong = json.loads(json.dumps(CERTIFICATE))
    wrong["claim"]["bound"] = "5/2"
    assert main(["verify", file(tmp_path, "c.json", wrong)]) == 1
    assert "invalid: " in capsys.readouterr().out
    other = {**PROBLEM, "minimize": "x**2 - 2*x + 4"}
    paths = [file(tmp_path, "c.json", CERTIFICATE), "--against", file(tmp_path, "p.sos.json", other)]
    assert main(["verify", *paths]) == 1
    assert "invalid: " in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": "other"}', "[" * 100000])
def test_verify_unreadable(tmp_path, complaint, content):
    path = file(tmp_path, "c.json", content)
    said = complaint("verify", path)
    assert said.startswith("unreadable: ") and path in said


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (PROBLEM, "--certificate CERT.json"),
        ({**PROBLEM, "options": {"tolerance": 0.5}}, "--against PROBLEM.sos.json"),
        ({"variables": ["x"], "minimize": "x"}, "this is a problem file"),
        ({"format": "sosdp-result/1", "bound": 0.5}, "this is a result of 'sosdp solve --json'"),
    ],
)
def test_verify_another_file_says_what_it_is(tmp_path, complaint, content, advice):
    path = file(tmp_path, "p.sos.json", content)
    said = complaint("verify", path)
    assert (
        said.startswith(f"unreadable: {path}: this is a ") and "not a certificate" in said and advice in said
    )


def test_verify_against_a_certificate(tmp_path, capsys):
    path = file(tmp_path, "c.json", CERTIFICATE)
    assert main(["verify", path, "--against", path]) == 2
    assert "format: expected 'sosdp-problem/1', got 'sosdp-certificate/1'" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["sosdp", "sosdp.cli"])
def test_as_a_process(tmp_path, module):
    path = file(tmp_path, "c.json", CERTIFICATE)
    done = subprocess.run([sys.executable, "-m", module, "verify", path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\nvalid\n")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_reader_who_has_seen_enough(tmp_path):
    """`sosdp ... | head` ends without a traceback."""
    path = file(tmp_path, "c.json", CERTIFICATE)
    with subprocess.Popen(
        [sys.executable, "-m", "sosdp.cli", "verify", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141
