"""`sosdp private mrf`: the release object of every method, and one-line complaints."""

import json

import numpy as np
import pytest

from problems.mrf import alphabet_grid, grid
from sosdp.cli import main

BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    target = tmp_path_factory.mktemp("mrf") / "signs.npy"
    np.save(target, (grid(2, 3, 0.6).sample(20000, 1) + 1) // 2)  # 0 is read as -1
    return str(target)


def released(capsys, *arguments):
    code = main(["private", "mrf", *arguments, "--json"])
    shown = capsys.readouterr()
    assert code == 0 and (not shown.err or shown.err.startswith("warning: delta"))  # 1e-6 is above 1/n^2
    release = json.loads(shown.out)
    assert release["format"] == "sosdp-release/1"
    assert set(release["value"]) == {"weights", "edges", "field", "released"}
    return release


EDGES = [list(edge) for edge in grid(2, 3).edges]


@pytest.mark.parametrize(
    "method, options",
    [
        (None, ["--width", "2", "--threshold", "0.3"]),
        ("gradient", ["--width", "2", "--threshold", "0.3"]),
        ("frank-wolfe", ["--width", "2", "--threshold", "0.2"]),
    ],
)
def test_parameters(path, capsys, method, options):
    chosen = [] if method is None else ["--method", method]
    release = released(capsys, path, *BUDGET, *chosen, *options)
    assert release["value"]["edges"] == EDGES and release["value"]["released"] is True
    assert np.shape(release["value"]["weights"]) == (6, 6) and len(release["value"]["field"]) == 6
    assert release["guarantee"]["epsilon"] == 1.0 and release["public"]["n"] == 20000


def test_structure_tree_and_symbols(path, capsys, tmp_path):
    release = released(capsys, path, *BUDGET, "--method", "tree")
    assert release["value"]["weights"] is None and release["mechanism"] == "mrf.tree"
    release = released(capsys, path, *BUDGET, "--method", "structure", "--threshold", "0.98")
    assert release["value"]["edges"] == [] and release["value"]["released"] is True
    release = released(capsys, path, *BUDGET, "--method", "structure", "--threshold", "0.3", "--width", "2")
    assert release["mechanism"] == "mrf.vote"
    np.save(tmp_path / "s.npy", alphabet_grid(2, 2, 3, 0.3, 1).sample(300, 1))
    options = ["--method", "frank-wolfe", "--alphabet", "3", "--width", "1"]
    release = released(capsys, str(tmp_path / "s.npy"), *BUDGET, *options[2:])
    assert np.shape(release["value"]["weights"]) == (4, 4, 3, 3)  # the method that reads symbols
    for ball, law in (("l1", "gumbel"), ("groups", "groups"), ("auto", "groups"), (None, "groups")):
        chosen = [] if ball is None else ["--ball", ball]
        release = released(capsys, str(tmp_path / "s.npy"), *BUDGET, *options, *chosen)
        assert np.shape(release["value"]["weights"]) == (4, 4, 3, 3) and release["value"]["edges"] is None
        radius = 2 * (3 if law == "gumbel" else 3**0.5)
        assert (release["public"]["law"], release["public"]["radius"]) == (law, pytest.approx(radius))


@pytest.mark.parametrize(
    "options, said",
    [
        ([], "--width"),
        (["--width", "1", "--method", "magic"], "--method"),
        (["--method", "tree", "--width", "1"], "--width"),
        (["--width", "1", "--clusters", "3"], "--clusters"),
        (["--width", "-1"], "width"),
        (["--method", "structure"], "--threshold"),
        (["--method", "moments", "--width", "1", "--alphabet", "3"], "only --method frank-wolfe has it"),
        (["--method", "frank-wolfe", "--width", "1", "--ball", "l1"], "frank-wolfe with --alphabet has it"),
        (["--method", "frank-wolfe", "--width", "1", "--alphabet", "3", "--ball", "l2"], "ball must be"),
    ],
)
def test_complaints(path, complaint, options, said):
    assert said in complaint("private", "mrf", path, *BUDGET, *options)


def test_a_graph_has_no_width(complaint):
    assert "--width" in complaint("private", "sbm", "builtin:karate", *BUDGET, "--width", "1")


def test_the_text_has_the_estimators_advice(tmp_path, capsys):
    np.save(
        tmp_path / "coded.npy", np.tile([1.0, 2.0], (5000, 2))
    )  # above 0 is +1: all entries have one sign
    assert main(["private", "mrf", str(tmp_path / "coded.npy"), *BUDGET, "--width", "0.5"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "advice the field is as large as the width in these columns: 0, 1, 2, 3; by noise" in shown
