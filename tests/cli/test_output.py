"""What is written arrives or is missed in one line: full disks, files that cannot be replaced."""

import errno
import json
import os
import subprocess
import sys
import tempfile

import pytest

from sosdp import write
from sosdp.cli import main
from sosdp.cli.output import columned
from sosdp.write import write_whole
from tests.refusals import refuse

PRIVATE = ["private", "sbm", "builtin:karate", "--epsilon", "1", "--delta", "1e-6"]
FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")


def run(arguments, stdout, cwd):
    command = [sys.executable, "-m", "sosdp.cli", *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("PYTHONUNBUFFERED", None)  # what is held back is what a full disk loses
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=cwd, env=environment, check=False
    )


@FULL
@pytest.mark.parametrize("options", [["--json"], []])
def test_a_full_disk_loses_no_release(tmp_path, options):
    """After the draw the budget is spent: the release is kept, and the one line says where."""
    with open("/dev/full", "w") as full:
        done = run([*PRIVATE, *options], full, tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "No space left" in done.stderr
    kept = done.stderr.strip().rpartition("kept in ")[2]
    assert os.path.dirname(kept) == str(tmp_path)
    with open(kept) as file:
        assert json.load(file)["format"] == "sosdp-release/1"


@FULL
@pytest.mark.parametrize("arguments", [["proofs"], ["proofs", "releases"]])
def test_a_full_disk_is_one_line_for_every_command(tmp_path, arguments):
    with open("/dev/full", "w") as full:
        done = run(arguments, full, tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr


def test_a_file_of_ones_own(tmp_path, capsys, complaint):
    target = tmp_path / "r.json"
    target.write_text("what was there")
    assert main([*PRIVATE, "--json", "--out", str(target)]) == 0
    assert json.loads(target.read_text()) == json.loads(capsys.readouterr().out)
    assert os.listdir(tmp_path) == ["r.json"]
    for wrong in ("", str(tmp_path), str(tmp_path / "none" / "r.json")):
        assert "--out" in complaint(*PRIVATE, "--out", wrong)


def fails(*arguments, **named):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_file_is_whole_or_what_it_was(tmp_path, monkeypatch, call):
    target = tmp_path / "a.txt"
    target.write_text("before")
    monkeypatch.setattr(write.os, call, fails)
    refuse((lambda: write_whole(target, "after" * 1000), "No space", OSError))
    monkeypatch.undo()
    assert target.read_text() == "before" and os.listdir(tmp_path) == ["a.txt"]
    write_whole(target, "after")  # negative control
    assert target.read_text() == "after"


def test_a_release_whose_file_is_refused_is_kept_elsewhere(tmp_path, monkeypatch, capsys):
    """One folder is full: the next one is named."""
    monkeypatch.chdir(tmp_path)
    whole = tempfile.mkstemp

    def full_here(**named):
        if named["dir"] == str(tmp_path):
            fails()
        return whole(**named)

    monkeypatch.setattr(write.tempfile, "mkstemp", full_here)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(write.tempfile, "gettempdir", lambda: str(tmp_path / "elsewhere"))
    assert main([*PRIVATE, "--json", "--out", str(tmp_path / "r.json")]) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1 and "r.json: No space left" in shown.err
    kept = shown.err.strip().rpartition("kept in ")[2]
    assert os.path.dirname(kept) == str(tmp_path / "elsewhere")
    with open(kept) as file:
        assert json.load(file)["format"] == "sosdp-release/1"
    monkeypatch.setattr(write.tempfile, "mkstemp", fails)
    assert main([*PRIVATE, "--json", "--out", str(tmp_path / "r.json")]) == 2
    assert "the release is lost" in capsys.readouterr().err


def test_columns_that_do_not_fit_follow_below():
    assert columned(
        [["", "first", "b"], ["x", -0.0, None], ["long", 1e-9, [1.5, 2]]], widest=14
    ) == "\n".join(
        ["      first", "   x      0", "long  1e-09", "             b", "   x          ", "long  1.5 to 2"]
    )
