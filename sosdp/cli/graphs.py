"""Graphs as the command line takes them: edge lists, GML, GraphML, `.npz` matrices, and built-in names.

Edge lists are read line by line (`sosdp.privacy.edges`). The other formats state their vertices: what
cannot be read, or lists one twice, is refused in one fixed line; no edge is the end of its file.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from sosdp.cli.output import InputError, one_line
from sosdp.extras import need
from sosdp.privacy.edges import edges_of_file
from sosdp.privacy.files import (
    InputFileError,
    attempt,
    opened,
    physical_lines,
    require_file,
    suffix_of,
    xml_of,
)
from sosdp.privacy.inputs import number_in

EDGE_LISTS = (".txt", ".edges", ".edgelist", ".csv", ".tsv")
LARGEST = 1 << 23


@dataclass(frozen=True)
class GraphInput:
    """A graph as estimators take it (networkx graph, scipy sparse matrix or `EdgeList`), its vertices in the
    order of the release, and how the vertex set is known.
    """

    graph: Any
    nodes: Sequence[int | str]
    source: str
    vertex_set: str


def given_graph(arguments: Namespace, *, weighted: bool = False) -> GraphInput:
    """The graph that the arguments of a command name; raises InputError."""
    try:
        return read_graph(arguments.input, arguments.nodes, weighted=weighted, header=bool(arguments.header))
    except InputFileError as error:
        problem = one_line(error)
    raise InputError(problem)


def read_graph(
    source: str, nodes: int | str | None = None, *, weighted: bool = False, header: bool = False
) -> GraphInput:
    """Read a graph.

    Args:
        source: a file or builtin:NAME. nodes: public, of an edge list: how many vertices 0..nodes-1 there
            are, or a file with one name a line. weighted, header: see `edges_of_file`.

    Raises:
        InputFileError: no such file or format, or a file that holds no simple graph; nothing of the file is
            repeated. Linear time in the size of the file.
    """
    if source.startswith("builtin:"):
        return _builtin(source)
    require_file(source)
    suffix = suffix_of(source)
    if suffix in EDGE_LISTS:
        return _edge_list(source, nodes, weighted, header)
    for option, given in (("--nodes", nodes is not None), ("--header", header)):
        if given:
            raise InputFileError(source, option, "only an edge list has it; this format states its vertices")
    if suffix == ".gml":
        return _whole(source, _gml, "GML")
    if suffix in {".graphml", ".xml"}:
        return _whole(source, _graphml, "GraphML")
    if suffix == ".npz":
        return _matrix(source)
    known = ", ".join([*EDGE_LISTS, ".gml", ".graphml", ".npz"])
    raise InputFileError(source, "file", f"unknown kind of graph file {suffix!r}; known: {known}")


def _edge_list(source: str, nodes: int | str | None, weighted: bool, header: bool) -> GraphInput:
    from problems.sbm import EdgeList

    statement = _vertices(source, nodes)
    result = edges_of_file(source, statement, weighted=weighted, header=header)
    if not result.nodes:
        raise InputFileError(source, "file", "it shows no vertices: state them with --nodes")
    if len(result.nodes) > LARGEST:
        raise InputFileError(source, "--nodes", f"at most {LARGEST} vertices are supported")
    if statement is not None:
        how = "stated with --nodes"
    elif isinstance(result.nodes, range):
        how = "0 to the largest number in the edge list"
    else:
        how = "the names that occur in the edge list"
    names = [name if isinstance(name, int) else str(name) for name in result.nodes]
    return GraphInput(EdgeList.of(result), names, source, how)


def _vertices(source: str, nodes: int | str | None) -> int | list[str] | None:
    """The vertices that --nodes states: a count, or a public file of names."""
    text = str(nodes)
    if nodes is None or (text.lstrip("-").isdigit() and text.isascii()):
        count = None if nodes is None else int(nodes)
        if count is not None and not 1 <= count <= LARGEST:
            raise InputFileError(source, "--nodes", f"must be between 1 and {LARGEST}, got {count}")
        return count
    require_file(text)
    listed = [(line or b"").decode("utf-8", "replace").strip() for line in physical_lines(text)]
    if not listed or len(set(listed)) < len(listed) or "" in listed:
        raise InputFileError(text, "--nodes", "one name of a vertex is expected in every line, none twice")
    return listed


def _whole(source: str, read: Callable[[str], Any], kind: str) -> GraphInput:
    """A graph by networkx, whose complaints quote the file and are not repeated."""
    need("networkx", "a GML, GraphML or built-in graph")
    graph = attempt(lambda: read(source))
    if graph is None:
        what = "well-formed, and no vertex twice"
        raise InputFileError(source, "file", f"not readable as {kind} of a graph ({what})")
    return GraphInput(graph, tuple(_plain(v) for v in graph.nodes), source, f"stated in the {kind} file")


def _graphml(source: str) -> Any:
    """Whether edges are directed is what the graph states, not one of them; hyperedges are none."""
    with opened(source) as file:
        root = ElementTree.fromstring(xml_of(file.read()))
    first = next(root.iterfind("{*}graph"))
    default = first.get("edgedefault") == "directed"
    named = root.iterfind("{*}key[@attr.name='weight']")
    keys = {key.get("id"): key for key in named if key.get("for") != "node"}
    defaults = [text for key in keys.values() if (text := key.findtext("{*}default")) is not None]
    edges = []
    for edge in first.iterfind("{*}edge"):
        given = [one.text or "" for one in edge.iterfind("{*}data") if one.get("key") in keys] or defaults
        edges.append((edge.get("source"), edge.get("target"), given[-1] if given else None))
    return _simple(default, [node.attrib["id"] for node in first.iterfind("{*}node")], edges)


def _gml(source: str) -> Any:
    """Vertices by their labels, or by their ids in a file that has no labels (many published ones)."""
    from problems.sbm.gml import gml_graph, gml_text

    def named(token: Any) -> int | str:
        return int(token) if isinstance(token, str) and _WHOLE.fullmatch(token) else gml_text(token)

    graph = gml_graph(source)
    own = dict(graph)
    nodes, edges = ([dict(inside) for key, inside in graph if key == what] for what in ("node", "edge"))
    label = "label" if all("label" in node for node in nodes) else "id"
    names = {named(node["id"]): named(node[label]) for node in nodes}
    if len(names) < len(nodes) or own.get("multigraph", "0") != "0":
        return None
    listed = [
        (
            *(names.get(named(edge.get(end))) for end in ("source", "target")),
            gml_text(edge["weight"]) if "weight" in edge else None,
        )
        for edge in edges
    ]
    return _simple(own.get("directed", "0") != "0", list(names.values()), listed)


_WHOLE = re.compile("[+-]?[0-9]{1,18}")


def _simple(directed: bool, nodes: list[Any], edges: list[tuple[Any, ...]]) -> Any:
    """The graph of these vertices and edges, a weight that is no number as NaN; None where a vertex occurs
    twice. One that does not end in two of these is no edge, and of repeated ones the last counts: no edge is
    the end of its file."""
    nx = need("networkx", "a graph of a file")
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(nodes)
    if len(graph) < len(nodes):
        return None
    for *ends, weight in edges:
        if ends[0] != ends[1] and all(end in graph for end in ends):
            if graph.has_edge(*ends):
                graph.remove_edge(*ends)
            graph.add_edge(*ends, **({} if weight is None else {"weight": number_in(weight)}))
    return graph


def _matrix(source: str) -> GraphInput:
    import scipy.sparse as sp

    matrix = attempt(lambda: sp.load_npz(source))
    if matrix is None:
        raise InputFileError(source, "file", "not a matrix saved by scipy.sparse.save_npz")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputFileError(source, "shape", f"an adjacency matrix is square, this one is {matrix.shape}")
    csr = sp.csr_matrix(matrix)
    return GraphInput(csr, tuple(range(csr.shape[0])), source, "the rows of the matrix")


def _builtin(source: str) -> GraphInput:
    name = source.removeprefix("builtin:")
    if name.startswith("digits"):
        return _digits(source, name)
    names = {
        "karate": "karate_club_graph",
        "davis": "davis_southern_women_graph",
        "florentine": "florentine_families_graph",
        "les-miserables": "les_miserables_graph",
    }
    key = name.replace("_", "-").lower().removesuffix("-graph").removesuffix("-club")
    function = names.get(key)
    if function is None:
        known = ", ".join([*names, "digits-6-7"])
        raise InputFileError(source, "name", f"no such built-in graph; known: {known}")
    if key == "karate":
        from problems.sbm.datasets import karate_club

        return GraphInput(karate_club().adjacency, range(34), source, "stated by the data set")
    need("networkx", "a built-in graph")
    import networkx as nx

    weighted = getattr(nx, function)()
    graph = nx.Graph()  # the edges as they are, without the weights and attributes some of these carry
    graph.add_nodes_from(weighted.nodes)
    graph.add_edges_from(weighted.edges)
    return GraphInput(graph, tuple(_plain(v) for v in graph.nodes), source, "stated by the data set")


def _digits(source: str, name: str) -> GraphInput:
    from problems.sbm import datasets

    parts = name.split("-")
    classes = parts[1:] or ["6", "7"]
    if len(classes) != 2 or parts[0] != "digits" or not all(c.isascii() and c.isdigit() for c in classes):
        raise InputFileError(source, "name", "the digits graphs are written builtin:digits-6-7")
    try:
        adjacency = datasets.digits_graph(int(classes[0]), int(classes[1])).adjacency
    except ValueError as error:
        raise InputFileError(source, "name", str(error)) from error
    return GraphInput(adjacency, tuple(range(adjacency.shape[0])), source, "stated by the data set")


def _plain(node: Any) -> int | str:
    return node if isinstance(node, int) else str(node)
