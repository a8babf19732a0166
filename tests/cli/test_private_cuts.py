"""`sosdp private cuts`: the release object, queries from a file, and one-line complaints."""

import json

import pytest

from sosdp.cli import main


def released(capsys, *arguments):
    code = main(["private", "cuts", *arguments, "--json"])
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    return json.loads(shown.out)


def test_a_graph_with_its_error_bound(capsys):
    release = released(capsys, "builtin:karate", "--epsilon", "2")
    assert release["format"] == "sosdp-release/1"
    edges, error = release["value"]["edges"], release["value"]["cut_error"]
    assert all(0 <= u < v < 34 and 0 < weight <= 1 for u, v, weight in edges)
    assert 0 < error["bound"] <= 34**2 / 4 and error["confidence"] == 0.95
    assert release["guarantee"]["epsilon"] == 2.0 and release["guarantee"]["delta"] == 0.0
    assert "answers" not in release["value"] and "diagnostics" not in json.dumps(release)


def test_queries_are_answered_in_order(tmp_path, capsys):
    (tmp_path / "q.json").write_text("[[[0, 1], [2, 3]], [[5], [5]], [[0], [1, 2, 3]]]")
    release = released(
        capsys, "builtin:karate", "--epsilon", "1", "--delta", "1e-6", "--queries", str(tmp_path / "q.json")
    )
    assert len(release["value"]["answers"]) == 3 and release["value"]["answers"][1] == 0.0
    assert release["guarantee"]["epsilon"] <= 1.0 and release["guarantee"]["delta"] == 1e-6
    assert len(release["guarantee"]["composition"]) == 2


@pytest.mark.parametrize("method", ["smooth", "cut_sdp", "spectral", "constant"])
def test_methods(method, capsys):
    release = released(capsys, "builtin:karate", "--epsilon", "1", "--method", method)
    assert release["public"]["method"] == method


def test_names_of_vertices_and_the_vertex_set(tmp_path, capsys):
    (tmp_path / "g.csv").write_text("a,b\nb,c\nc,d\n")
    (tmp_path / "q.json").write_text('[[["a"], ["b", "d"]]]')
    release = released(
        capsys, str(tmp_path / "g.csv"), "--epsilon", "1", "--delta", "1e-6",
        "--queries", str(tmp_path / "q.json"),
    )  # fmt: skip
    assert {name for u, v, _ in release["value"]["edges"] for name in (u, v)} <= {"a", "b", "c", "d"}
    assert "edge lists show the same vertices" in release["guarantee"]["assumptions"][0]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--delta", "1e-6"], "--queries"),
        (["--queries", "no.json"], "--delta"),
        (["--queries", "no.json", "--delta", "1e-6"], "no.json"),
        (["--method", "magic"], "method"),
        (["--tau", "0.5"], "--tau"),
        (["--clusters", "2"], "--clusters"),
    ],
)
def test_complaints_are_one_line(arguments, word, complaint):
    assert word in complaint("private", "cuts", "builtin:karate", "--epsilon", "1", *arguments)


@pytest.mark.parametrize("text", ["{", "{}", "[[1]]", '[[["x"], [1]]]', "[[[0], [99]]]"])
def test_wrong_query_files(text, tmp_path, complaint):
    (tmp_path / "q.json").write_text(text)
    budget = ("--epsilon", 1, "--delta", 1e-6)
    assert "q.json" in complaint(
        "private", "cuts", "builtin:karate", *budget, "--queries", tmp_path / "q.json"
    )


def test_queries_are_for_cuts_only(complaint):
    assert "--queries" in complaint(
        "private", "sbm", "builtin:karate", "--epsilon", "1", "--delta", "1e-6", "--queries", "q"
    )


def test_weighted_edge_lists_in_both_dialects(tmp_path, capsys, complaint):
    (tmp_path / "a.csv").write_text("source,target,weight\n0,1,2.5\n1,2,4\n2,3,1\n", encoding="utf-8")
    (tmp_path / "b.edgelist").write_text("0 1 {'weight': 2.5}\n1 2 {'weight': 4}\n2 3 {}\n", encoding="utf-8")
    shown = []
    for name in ("a.csv", "b.edgelist"):
        arguments = [str(tmp_path / name), "--epsilon", "3", "--weight-bound", "4", "--nodes", "4", "--json"]
        assert main(["private", "cuts", *arguments, "--insecure-seed", "1"]) == 0
        shown.append(json.loads(capsys.readouterr().out))
    assert shown[0]["value"] == shown[1]["value"]
    assert shown[0]["public"]["weight_bound"] == 4.0
    (tmp_path / "bad.edgelist").write_text("0 1 {'weight': __import__('os')}\n1 2 hush\n2 3 nan\n")
    for weights in ([], ["--weight-bound", "4"]):  # a line is an edge or none, and nothing is said of it
        code = main(
            ["private", "cuts", str(tmp_path / "bad.edgelist"), "--epsilon", "3", "--nodes", "4", *weights]
        )
        shown = capsys.readouterr()
        assert code == 0 and not shown.err and "hush" not in shown.out
    assert "a folder, not a file" in complaint("private", "cuts", str(tmp_path), "--epsilon", "3")


def test_overlapping_sides_say_how_they_count(tmp_path, capsys):
    (tmp_path / "q.json").write_text("[[[0, 1, 2], [1, 2, 3]]]", encoding="utf-8")
    arguments = ["--epsilon", "2", "--delta", "1e-6", "--queries", str(tmp_path / "q.json"), "--json"]
    assert main(["private", "cuts", "builtin:karate", *arguments]) == 0
    assert (
        json.loads(capsys.readouterr().out)["public"]["overlapping sides"] == "a pair of vertices counts once"
    )
