"""`sosdp private`: the release object, what it never shows, and one-line complaints."""

import json

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from sosdp.cli import main

KEYS = {"format", "mechanism", "value", "guarantee", "public"}
GUARANTEE = {"epsilon", "delta", "rho", "adjacency", "calibration", "kind", "assumptions", "composition"}
BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


def released(capsys, *arguments):
    code = main(["private", "sbm", *arguments, "--json"])
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    assert shown.out.count("\n") == 1
    release = json.loads(shown.out)
    assert set(release) == KEYS and release["format"] == "sosdp-release/1"
    assert set(release["guarantee"]) >= GUARANTEE
    return release


def test_every_method_answers(tmp_path, capsys):
    path = tmp_path / "g.npz"
    sp.save_npz(path, nx.to_scipy_sparse_array(two_cliques(8)))
    for method, options in [
        ("projection", ["--delta", "1e-6", "--gamma", "1", "--average-degree", "7"]),
        ("voting", ["--delta", "1e-6", "--gamma", "1", "--average-degree", "7"]),
        ("rounds", ["--delta", "1e-6", "--gamma", "1", "--average-degree", "7"]),
        ("rounds", ["--gamma", "1", "--average-degree", "7"]),
        ("auto", ["--delta", "1e-6", "--gamma", "0.9", "--average-degree", "7"]),
        ("exponential", ["--average-degree", "7"]),
        ("randomized-response", []),
    ]:
        release = released(capsys, str(path), "--epsilon", "2", "--method", method, *options)
        assert len(release["value"]["labels"]) == 16 and release["guarantee"]["epsilon"] == 2.0
        possible = (0.0, 1e-6) if method in ("auto", "rounds") else (1e-6,)  # either may choose a pure plan
        assert release["guarantee"]["delta"] in (possible if "--delta" in options else (0.0,))


def two_cliques(size):
    return nx.disjoint_union(nx.complete_graph(size), nx.complete_graph(size))


def test_a_release(tmp_path, capsys):
    # two cliques of 60 have slack 60: at this budget they are refused with chance below 1e-6
    sp.save_npz(tmp_path / "g.npz", nx.to_scipy_sparse_array(two_cliques(60)))
    release = released(capsys, str(tmp_path / "g.npz"), *BUDGET)
    assert release["value"]["labels"] == [1] * 60 + [-1] * 60
    assert release["value"]["nodes"] == list(range(120))
    assert release["mechanism"] == "sbm.certificate"
    assert release["guarantee"]["epsilon"] == 1.0 and release["guarantee"]["delta"] == 1e-6
    assert release["guarantee"]["adjacency"] == "one edge"
    assert release["guarantee"]["kind"] == "certified"
    assert release["public"]["n"] == 120


def test_vertices_read_off_the_edges_are_a_condition(tmp_path, capsys):
    """Removing a vertex's last edge changes n: without --nodes the promise must not be unconditional."""
    path = tmp_path / "g.txt"
    for edges, n in (("0 1\n1 2\n", 3), ("0 1\n", 2)):
        path.write_text(edges, encoding="utf-8")
        loose = released(capsys, str(path), *BUDGET)
        assert loose["public"]["n"] == n and loose["guarantee"]["kind"] == "conditional"
        assert "same vertices" in loose["guarantee"]["assumptions"][0]
        statement = released(capsys, str(path), *BUDGET, "--nodes", "3")
        assert statement["public"]["n"] == 3
        assert not any("same vertices" in line for line in statement["guarantee"]["assumptions"])
    seeded = released(capsys, str(path), *BUDGET, "--insecure-seed", "1")
    assert seeded["guarantee"]["kind"] == "none"


def test_a_refusal_is_a_release_too(capsys):
    arguments = ["builtin:karate", "--method", "certificate", *BUDGET]
    release = released(capsys, *arguments)
    assert release["value"]["labels"] is None and release["value"]["released"] is False
    assert release["value"]["nodes"] == list(range(34))
    assert main(["private", "sbm", *arguments]) == 0
    assert "declines" in capsys.readouterr().out


def test_names_of_vertices_come_back(tmp_path, capsys):
    graph = nx.relabel_nodes(two_cliques(60), lambda k: f"{'ab'[k // 60]} {k % 60:02d}")
    path = tmp_path / "g.csv"
    path.write_text("".join(f"{u},{v}\n" for u, v in graph.edges), encoding="utf-8")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    for name in ("g.csv", "g.graphml"):
        value = released(capsys, str(tmp_path / name), *BUDGET)["value"]
        assert value["nodes"] == sorted(graph.nodes)
        assert value["labels"] == [1 if node[0] == "a" else -1 for node in value["nodes"]]
    assert main(["private", "sbm", str(path), *BUDGET]) == 0
    assert "label 1    a 00, a 01, a 02" in capsys.readouterr().out  # names may hold blanks


def test_a_seed_is_not_private_and_reproducible(capsys):
    options = ["--method", "randomized-response", "--epsilon", "2", "--insecure-seed", "5"]
    one = released(capsys, "builtin:karate", *options)
    assert one == released(capsys, "builtin:karate", *options)
    assert one["guarantee"]["kind"] == "none" and one["guarantee"]["epsilon"] is None
    main(["private", "sbm", "builtin:karate", *options])
    assert "guarantee  none" in capsys.readouterr().out


def keys_of(value):
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in keys_of(item)}
    return {key for item in value for key in keys_of(item)} if isinstance(value, list) else set()


def test_the_shape_of_the_output_does_not_depend_on_the_graph(tmp_path, capsys):
    # same vertices, very different graphs: apart from the labels the two objects are equal
    rng = np.random.default_rng(1)
    noise = np.triu(rng.random((120, 120)) < 0.1, 1)
    sp.save_npz(tmp_path / "a.npz", nx.to_scipy_sparse_array(two_cliques(60)))
    sp.save_npz(tmp_path / "b.npz", sp.csr_matrix((noise | noise.T).astype(float)))
    one = released(capsys, str(tmp_path / "a.npz"), *BUDGET)
    two = released(capsys, str(tmp_path / "b.npz"), *BUDGET)
    assert one["value"]["labels"] is not None and two["value"]["labels"] is None
    assert one["guarantee"] == two["guarantee"] and one["public"] == two["public"]
    words = {
        "slack",
        "gap",
        "residual",
        "iterations",
        "seconds",
        "time",
        "diagnostics",
        "private_diagnostics",
    }
    assert not keys_of(one) & words


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["builtin:karate", "--epsilon", "1", "--method", "certificate"], "--delta"),
        (["builtin:karate", "--epsilon", "0", "--delta", "1e-6"], "epsilon"),
        (["builtin:karate", "--epsilon", "-1", "--delta", "1e-6"], "epsilon"),
        (["builtin:karate", "--epsilon", "nan", "--delta", "1e-6"], "epsilon"),
        (["builtin:karate", "--epsilon", "1", "--delta", "0", "--method", "certificate"], "delta"),
        (["builtin:karate", "--epsilon", "1", "--delta", "1"], "delta"),
        (["builtin:karate", "--method", "magic", *BUDGET], "--method"),
        (["builtin:karate", "--method", "projection", *BUDGET], "--average-degree"),
        (["builtin:karate", "--method", "randomized-response", *BUDGET], "--delta"),
        (["builtin:karate", "--gamma", "1", *BUDGET], "--gamma"),
        (["builtin:nothing", *BUDGET], "no such built-in graph"),
        (["missing.txt", *BUDGET], "no such file"),
    ],
)
def test_complaints(complaint, arguments, reason):
    assert reason in complaint("private", "sbm", *arguments, "--json")


def test_graphs_that_are_not_simple_are_refused(tmp_path, complaint):
    nx.write_gml(nx.DiGraph([(0, 1), (1, 2)]), tmp_path / "directed.gml")
    sp.save_npz(tmp_path / "weighted.npz", sp.csr_matrix(np.array([[0, 2.0], [2.0, 0]])))
    sp.save_npz(tmp_path / "lopsided.npz", sp.csr_matrix(np.array([[0, 1.0], [0, 0]])))
    sp.save_npz(tmp_path / "nan.npz", sp.csr_matrix(np.array([[0, np.nan], [np.nan, 0]])))
    sp.save_npz(tmp_path / "one.npz", sp.csr_matrix((1, 1)))
    names = ["directed.gml", "weighted.npz", "lopsided.npz", "nan.npz", "one.npz"]
    for name in names:
        path = str(tmp_path / name)
        assert complaint("private", "sbm", path, *BUDGET, "--json").startswith(f"{path}: ")


def test_a_weighted_graph_has_communities_too(tmp_path, capsys, complaint):
    path = tmp_path / "g.txt"
    path.write_text("".join(f"{u} {v} 2.5\n" for u, v in two_cliques(60).edges), encoding="utf-8")
    arguments = [str(path), *BUDGET, "--nodes", "120", "--weight-bound", "2.5"]
    release = released(capsys, *arguments)
    assert release["value"]["labels"] == [1] * 60 + [-1] * 60
    assert release["guarantee"]["adjacency"] == "one edge (replace)"
    assert "--weight-bound: only --method auto" in complaint(
        "private", "sbm", *arguments[:3], "--weight-bound", "2", "--method", "randomized-response"
    )
