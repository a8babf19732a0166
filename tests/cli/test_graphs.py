"""Graph files: what is read, and the one line that is said when it is not."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from problems.sbm import canonical_graph
from sosdp.cli.graphs import read_graph
from sosdp.privacy.files import InputFileError
from tests.refusals import each, refuse


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def dense(given):
    if hasattr(given.graph, "edges"):
        return canonical_graph(given.graph).adjacency.toarray()
    return np.asarray(sp.csr_matrix(given.graph).todense())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "0 1\n1 2\n"),
        ("a.edges", "# a comment\n0 1\n\n1 2 % another\n"),
        ("a.csv", "source,target\n0,1\n1,2\n"),
        ("a.csv", "source;target;weight\n0;1;1\n1;2;1.0\n"),
        ("a.tsv", "0\t1\n1\t2\n"),
        ("a.edgelist", "0 1\n1 0\n1 2\n1 2\n"),  # both directions, and twice: still one edge each
        ("a.txt", "\ufeff0 1\n1 2\n"),
    ],
)
def test_edge_lists(tmp_path, name, text):
    given = read_graph(written(tmp_path, name, text))
    assert tuple(given.nodes) == (0, 1, 2)
    assert dense(given).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_stated_vertices_and_named_vertices(tmp_path):
    given = read_graph(written(tmp_path, "a.txt", "0 1\n"), nodes=4)
    assert tuple(given.nodes) == (0, 1, 2, 3) and "--nodes" in given.vertex_set
    assert dense(given).sum() == 2
    assert read_graph(written(tmp_path, "none.txt", ""), nodes=3).nodes == [0, 1, 2]
    named = read_graph(written(tmp_path, "b.csv", "zoe,adam\nadam,bob\n"))
    assert named.nodes == ["adam", "bob", "zoe"]
    assert dense(named).tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]


def test_the_order_of_lines_does_not_show(tmp_path):
    one = read_graph(written(tmp_path, "a.txt", "b a\nc b\n"))
    two = read_graph(written(tmp_path, "b.txt", "b c\na b\n"))
    assert one.nodes == two.nodes
    assert (dense(one) == dense(two)).all()


@pytest.mark.parametrize(
    ("name", "text", "nodes", "place", "reason"),
    [
        ("a.txt", "", None, "file", "no vertices"),
        ("a.txt", "0 0\n", None, "file", "no vertices"),
        ("a.txt", "0 1\n", 0, "--nodes", "between 1"),
        ("a.gml", "graph [ node [", None, "file", "GML"),
        ("a.graphml", "<graphml", None, "file", "GraphML"),
        ("a.npz", "no archive", None, "file", "save_npz"),
        ("a.xyz", "0 1", None, "file", "unknown kind"),
        ("a.gml", "graph [ ]", 3, "--nodes", "edge list"),
    ],
)
def test_errors_name_the_file_the_place_and_the_reason(tmp_path, name, text, nodes, place, reason):
    path = written(tmp_path, name, text)
    with pytest.raises(InputFileError) as caught:
        read_graph(path, nodes)
    message = str(caught.value)
    assert message.startswith(f"{path}: {place}: ") and reason in message
    assert "\n" not in message


def test_binary_and_missing_files(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00\x01\n0 1\n")
    assert read_graph(str(tmp_path / "a.txt")).nodes == [0, 1]
    refuse((lambda: read_graph(str(tmp_path / "b.txt")), "no such file", InputFileError))


def test_complaints_repeat_nothing_of_the_file(tmp_path):
    """Neither the line nor what hangs on the exception: libraries quote what they cannot read."""
    secret = "node [ id 1 label secret"
    for name in ("a.gml", "a.graphml", "a.npz"):
        with pytest.raises(InputFileError) as caught:
            read_graph(written(tmp_path, name, secret))
        error = caught.value
        assert "secret" not in str(error) and error.__cause__ is None and error.__context__ is None


def test_vertices_named_in_a_file(tmp_path):
    names = written(tmp_path, "names", "bob\nadam\nzoe\neve\n")
    given = read_graph(written(tmp_path, "b.csv", "zoe,adam\nadam,stranger\n"), names)
    assert given.nodes == ["bob", "adam", "zoe", "eve"] and dense(given).sum() == 2
    refuse(
        *each(
            lambda wrong: read_graph(written(tmp_path, "c.csv", "a,b\n"), written(tmp_path, "wrong", wrong)),
            ("", "a\na\n", "a\n\n"),
            "one name",
            InputFileError,
        )
    )


def test_formats_that_state_their_vertices(tmp_path):
    graph = nx.path_graph(4)
    graph.add_node(9)
    nx.write_gml(graph, tmp_path / "a.gml")
    nx.write_graphml(graph, tmp_path / "a.graphml")
    for name in ("a.gml", "a.graphml"):
        given = read_graph(str(tmp_path / name))
        assert given.nodes == ("0", "1", "2", "3", "9")
        assert given.graph.number_of_edges() == 3
    sp.save_npz(tmp_path / "a.npz", nx.to_scipy_sparse_array(graph))
    given = read_graph(str(tmp_path / "a.npz"))
    assert given.nodes == (0, 1, 2, 3, 4) and dense(given).sum() == 6
    sp.save_npz(tmp_path / "b.npz", sp.csr_matrix((2, 3)))
    refuse((lambda: read_graph(str(tmp_path / "b.npz")), "square", InputFileError))


@pytest.mark.parametrize("edge", ['source="a" target="secret"', 'target="a"', 'source="secret" target="a"'])
def test_no_edge_adds_a_vertex(tmp_path, edge):
    """Vertices are public where the file lists them: one edge made another one, and its name was printed."""
    usual = '<graphml><graph><node id="a"/><node id="b"/><edge source="a" target="b"/>{}</graph></graphml>'
    assert read_graph(written(tmp_path, "a.graphml", usual.format(""))).nodes == ("a", "b")
    given = read_graph(written(tmp_path, "b.graphml", usual.format(f"<edge {edge}/>")))
    assert given.nodes == ("a", "b") and given.graph.number_of_edges() == 1


@pytest.mark.parametrize("edge", [
    "<hyperedge><endpoint node='a'/><endpoint node='b'/></hyperedge>", "<edge source='c' target='c'/>",
    *(f"<edge source='a' target='b' directed='{word}'/>" for word in ("1", "0", "true", "false", "maybe")),
    "<edge target='b' source='a'/>", "<edge/>",
])  # fmt: skip
def test_no_edge_is_the_end_of_its_file(tmp_path, edge):
    """One edge more leaves the graph as it is, or it has one edge more; vertices decide, and are public."""
    usual = "<graphml><graph><node id='a'/><node id='b'/><node id='c'/>{}</graph></graphml>"
    for first in ("", "<edge source='b' target='a'/>"):
        before = canonical_graph(read_graph(written(tmp_path, "a.graphml", usual.format(first))).graph)
        after = canonical_graph(read_graph(written(tmp_path, "b.graphml", usual.format(first + edge))).graph)
        gained = (after.adjacency - before.adjacency).toarray()
        assert gained.min() >= 0 and gained.sum() in (0, 2)
    refuse((
        lambda: read_graph(written(tmp_path, "c.graphml", usual.format("<node id='a'/>"))),
        "not readable as GraphML of a graph", InputFileError,
    ))  # fmt: skip


def test_an_edge_of_gml_that_ends_in_no_vertex_is_none(tmp_path):
    text = 'graph [ node [ id 1 label "a" ] node [ id 2 label "b" ] edge [ source 1 target 2 ] {} ]'
    for edge in ("edge [ source 1 target 3 ]", "edge [ target 1 ]", "edge [ source 2 target 1 ]", "edge [ ]"):
        given = read_graph(written(tmp_path, "a.gml", text.format(edge)))
        assert given.nodes == ("a", "b") and given.graph.number_of_edges() == 1


@pytest.mark.parametrize("default", ["", "<default>0.5</default>"])
def test_a_weight_that_is_no_number_has_one_meaning(tmp_path, default):
    """One that a graph of networkx would not hold was the end of the whole file."""
    text = (
        '<graphml><key id="d" for="edge" attr.name="weight" attr.type="double">{}</key><graph>'
        '<node id="a"/><node id="b"/><node id="c"/><edge source="a" target="c"/>'
        '<edge source="a" target="b"><data key="d">2.5</data></edge>'
        '<edge source="b" target="c"><data key="d">{}</data></edge></graph></graphml>'
    )
    for wrong in ("many", "", "1e999", "-1", "0x1"):
        graph = read_graph(written(tmp_path, "a.graphml", text.format(default, wrong))).graph
        known = canonical_graph(graph, 4.0).adjacency.toarray()
        assert known[0, 1] == 0.625 and known[1, 2] == 0.0 and known[0, 2] == (0.125 if default else 0.25)
    directed = text.replace("<graph>", '<graph edgedefault="directed">').format(default, "1")
    assert read_graph(written(tmp_path, "b.graphml", directed)).graph.is_directed()
    twice = text.format(default, "1").replace("</graph>", '<edge source="b" target="a"/></graph>')
    graph = read_graph(written(tmp_path, "c.graphml", twice)).graph  # the last one counts
    assert canonical_graph(graph, 4.0).adjacency.toarray()[0, 1] == (0.125 if default else 0.25)


ODD = (
    "1e5",
    "1e+06",
    "nan",
    "NaN",
    "NAN",
    "+INF",
    '"x"',
    "[ a 1 ]",
    "[ ]",
    "9" * 5000,
    "1_0",
    "-1",
    "\u00e9",
    "0x1",
)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("key", ["weight", "length"])
def test_no_weight_of_a_gml_file_refuses_it(tmp_path, key, odd):
    """Neighbours differ in what stands in one edge: igraph writes 1e+06, of which networkx read no number."""
    text = 'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] node [ id 2 label "c" ] {} ]'
    edges = f"edge [ source 0 target 1 weight 2.5 ] edge [ source 1 target 2 weight 1 {key} {odd} ]"
    given = read_graph(written(tmp_path, "a.gml", text.format(edges)), weighted=True)
    number = {"1e5": 1e5, "1e+06": 1e6, "-1": -1.0, "1_0": 10.0}.get(odd, np.nan) if key == "weight" else 1.0
    assert given.nodes == ("a", "b", "c") and given.graph["a"]["b"]["weight"] == 2.5
    assert np.array_equal([given.graph["b"]["c"]["weight"]], [number], equal_nan=True)


@pytest.mark.parametrize("joined", [" ", "\n  "])
@pytest.mark.parametrize(
    "odd",
    ['label "5" at"', 'label "met\n# at"', 'label "met\u2028# at"', "weight ]", "weight [", "label [ a ]",
     "]", '"', "[ x 1 ]", "weight 2 ] ]", "5", "directed 1 ] directed 1"],
)  # fmt: skip
def test_what_is_written_in_an_edge_of_gml_decides_about_no_other(tmp_path, odd, joined):
    """A stray quote in one edge took all edges up to the next one: 319 of 320 were lost in silence."""
    entries = [f'node [ id {k} label "{k}" ]' for k in range(5)]
    entries += [f'edge [ source {k} target {k + 1} label "met at" ]' for k in range(4)]
    wanted = {frozenset((k, k + 1)) for k in range(4)} - {frozenset((1, 2))}
    for end in (f"source 1 target 2 {odd}", odd):
        other = entries[:6] + [f"edge [ {end} ]"] + entries[7:]
        (tmp_path / "a.gml").write_text(f"graph [ directed 0 {joined.join(other)} ]", encoding="utf-8")
        given = read_graph(str(tmp_path / "a.gml"))
        assert given.nodes == ("0", "1", "2", "3", "4") and not given.graph.is_directed()
        seen = {frozenset(map(int, edge)) for edge in given.graph.edges}
        assert wanted <= seen <= wanted | {frozenset((1, 2))}


@pytest.mark.parametrize("odd", [b"\x01", b"\xff", b"&#1;", b"&#xD800;", b"&#1114112;"])
def test_no_character_of_an_edge_refuses_its_file(tmp_path, odd):
    """What an edge is called is private, and such a character made the file no XML."""
    text = b'<graphml><graph><node id="a"/><node id="b"/>%s</graph></graphml>'
    edge = b'<edge source="a" target="b"><data key="name">' + odd + b"</data></edge>"
    (tmp_path / "a.graphml").write_bytes(text % edge)
    given = read_graph(str(tmp_path / "a.graphml"))
    assert given.nodes == ("a", "b") and given.graph.number_of_edges() == 1


def test_what_networkx_writes_as_gml_is_read_alike(tmp_path):
    graph = nx.Graph()
    graph.add_nodes_from(["a \u00e9", 'b "[', 7, "z", "x&y", 1.5])
    graph.add_weighted_edges_from([("a \u00e9", 'b "[', 0.25), (7, "z", 3), ("x&y", 1.5, float("inf"))])
    nx.write_gml(graph, tmp_path / "a.gml")
    given, same = read_graph(str(tmp_path / "a.gml"), weighted=True), nx.read_gml(tmp_path / "a.gml")
    assert given.nodes == tuple(same.nodes)
    weights = [nx.to_numpy_array(one, one.nodes) for one in (given.graph, same)]
    weights[1][np.isinf(weights[1])] = np.nan  # no finite number
    assert np.array_equal(*weights, equal_nan=True) and weights[0][0, 1] == 0.25


def test_gml_without_labels_names_vertices_by_their_ids(tmp_path):
    path = tmp_path / "a.gml"
    path.write_text("graph [ node [ id 3 ] node [ id 7 ] edge [ source 3 target 7 ] ]")
    given = read_graph(str(path))
    assert given.nodes == (3, 7) and given.graph.number_of_edges() == 1
    path.write_text("graph [ node [ id 3 ] node [ id 3 ] ]")
    refuse((lambda: read_graph(str(path)), "GML", InputFileError))


def test_builtin_names():
    karate = read_graph("builtin:karate")
    assert len(karate.nodes) == 34 and karate.graph.nnz == 2 * 78
    assert read_graph("builtin:karate_club_graph").nodes == karate.nodes
    assert "Katherina" not in read_graph("builtin:florentine").nodes
    refuse((lambda: read_graph("builtin:nonsense"), "known: karate", InputFileError))


def test_column_names_are_stated_never_guessed(tmp_path):
    """Of named vertices, a first line of names is an edge unless --header says otherwise; of numbers, no line
    of names is an edge anyway. No line decides about another."""
    path = written(tmp_path, "a.csv", "person,friend\nzoe,adam\nadam,bob\n")
    assert read_graph(path, header=True).nodes == ["adam", "bob", "zoe"]
    assert len(read_graph(path).nodes) == 5
    lines = ["from,to"] * 67 + ["zoe,adam", "adam,bob", "bob,zoe"]
    for kept in (0, 67, 68):  # one edge left out takes no other along
        shown = "".join(f"{line}\n" for k, line in enumerate(lines) if k != kept)
        assert set(read_graph(written(tmp_path, "c.csv", shown)).nodes) >= {"from", "to"}
    usual = written(tmp_path, "d.csv", "from,to\n0,1\n1,2\n")
    assert read_graph(usual).nodes == read_graph(usual, header=True).nodes == [0, 1, 2]
    refuse(
        (lambda: read_graph(written(tmp_path, "a.gml", "graph []"), header=True), "--header", InputFileError)
    )
