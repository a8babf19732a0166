"""Files that commands name: strange names and hostile contents are one line and exit code 2."""

import json

import pytest

from sosdp.cli import main
from sosdp.cli.output import InputError, check_folder, read_json
from tests.refusals import refuse

LONG = "x" * 5000


@pytest.mark.parametrize("name", [LONG, "a\0b", "", "a\nb"])
@pytest.mark.parametrize(
    "command",
    [
        ["solve", "{}"],
        ["solve", "{}.dat-s"],
        ["verify", "{}"],
        ["verify", "{}", "--against", "{}"],
        ["check-release", "{}"],
        ["private", "sbm", "{}.txt", "--epsilon", "1", "--delta", "1e-6"],
        ["private", "gaussian", "{}.csv", "--epsilon", "1"],
        ["private", "cuts", "builtin:karate", "--epsilon", "1", "--delta", "1e-6", "--queries", "{}"],
    ],
    ids=lambda words: "-".join(words[:2]).replace("{}", "f"),
)
def test_names_of_no_file(command, name, complaint):
    complaint(*[word.format(name) for word in command])


@pytest.mark.parametrize("option", ["--certificate", "--export", "--latex", "--lean"])
@pytest.mark.parametrize("folder", [LONG, "a\0b", "none"])
def test_names_in_no_folder(option, folder, tmp_path, complaint):
    statement = {"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x**2"}
    (tmp_path / "p.sos.json").write_text(json.dumps(statement), encoding="utf-8")
    assert f"{option}: the folder does not exist" in complaint(
        "solve", str(tmp_path / "p.sos.json"), option, f"{tmp_path}/{folder}/o.dat-s"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not readable as JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b"9" * 5000, "not readable as JSON"),  # more digits than Python converts
        (b"\xff\xfe[", "not readable as JSON"),
        (b'{"a": 1', "not readable as JSON"),
    ],
)
def test_contents_that_are_no_json(content, reason, tmp_path, complaint):
    path = tmp_path / "q.json"
    path.write_bytes(content)
    refuse((lambda: read_json(str(path)), reason, InputError))
    wanted = [
        "private",
        "cuts",
        "builtin:karate",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--queries",
        str(path),
    ]
    for command in (wanted, ["check-release", str(path)]):
        assert reason in complaint(*command)


def test_a_byte_order_mark_is_no_content(tmp_path):
    (tmp_path / "q.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert read_json(str(tmp_path / "q.json")) == [1]
    check_folder(str(tmp_path / "new.json"), "--certificate")


@pytest.mark.parametrize("degree, code", [(1000, 0), (40_000, 2)])
def test_degrees_of_certificates_are_those_of_problems(tmp_path, capsys, degree, code):
    power = [[0, degree // 2]]
    claim = {
        "kind": "sos",
        "objective": [["1", [[0, degree]]]],
        "equalities": [],
        "inequalities": [],
        "psd": [],
    }
    square = {"kind": "sos", "index": [], "basis": [power], "gram": [["1"]]}
    content = {"format": "sosdp-certificate/1", "claim": claim, "variables": ["x"], "multipliers": [square]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert (
        main(["verify", str(path)]) == main(["verify", str(path), "--latex", str(tmp_path / "c.tex")]) == code
    )
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == (0 if code == 0 else 2) and all("1..1000" in line for line in shown)
