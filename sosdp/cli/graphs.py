"""Graphs as the command line takes them: edge lists, GML, GraphML, `.npz` matrices, and built-in names.

Reading is strict and never data dependent beyond what the formats force: what is wrong is said in one line
with the file, the place and the reason.  Under edge differential privacy the vertex set is public; an edge
list shows its vertices only through its edges, so `nodes` lets the caller state them.
"""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sosdp.extras import need

EDGE_LISTS = (".txt", ".edges", ".edgelist", ".csv", ".tsv")
NAMED_LISTS = (".csv", ".tsv")  # whose first line may name the columns
MATRICES = (".npz",)
LARGEST = 1 << 23
DIGITS = 1000  # of a vertex; Python refuses to convert some thousands
HEADERS = {"source", "target", "src", "dst", "from", "to", "u", "v", "node1", "node2", "id1", "id2", "weight"}


class GraphFileError(ValueError):
    """A graph that cannot be read; the message names the file, the place and the reason in one line."""

    def __init__(self, source: str, place: str, reason: str):
        super().__init__(f"{source}: {place}: {reason}")


@dataclass(frozen=True)
class GraphInput:
    """A graph (networkx graph, scipy sparse matrix or `EdgeList`), its vertices in order, and how the vertex
    set is known; `vertices_from_edges`: it was read off the edges, which are private.
    """

    graph: Any
    nodes: Sequence[int | str]
    source: str
    vertex_set: str
    vertices_from_edges: bool = False


def read_graph(
    source: str,
    nodes: int | None = None,
    *,
    as_pairs: bool = False,
    weighted: bool = False,
    header: bool | None = None,
) -> GraphInput:
    """Read a graph; `nodes` states the number of vertices 0..nodes-1 of an integer edge list.

    as_pairs: give plain integer edge lists as an `EdgeList`, read in blocks.  weighted: a third column of an
    edge list, or "weight" in networkx's dictionary at the end of a line, is the weight; else it must be 1.
    header: whether the first line of an edge list names its columns, whatever the names. Where that is not
    said, a first line of the usual ones, HEADERS, in .csv and .tsv is taken for names, any other for an edge,
    and `vertex_set` says so where the vertices have names: a fact about the vertices, which neighbours share.
    Raises GraphFileError.  Linear time in the size of the file.
    """
    if source.startswith("builtin:"):
        return _builtin(source)
    path = Path(source)
    suffix = path.suffix.lower()
    if not os.path.isfile(source):
        what = "a folder, not a file" if os.path.isdir(source) else "no such file"
        raise GraphFileError(source, "file", f"{what} (built-in graphs are written builtin:karate)")
    if nodes is not None and nodes < 1:
        raise GraphFileError(source, "--nodes", f"must be at least 1, got {nodes}")
    if nodes is not None and suffix not in EDGE_LISTS:
        raise GraphFileError(source, "--nodes", "only an edge list needs it; this format states its vertices")
    if header and suffix not in EDGE_LISTS:
        raise GraphFileError(source, "--header", "only an edge list has a line that names its columns")
    if suffix in EDGE_LISTS:
        plain = _plain_pairs(path, nodes) if as_pairs and not header else None
        return plain or _edge_list(path, nodes, weighted, header)
    if suffix == ".gml":
        return _with_networkx(path, "read_gml", "GML")
    if suffix in {".graphml", ".xml"}:
        return _with_networkx(path, "read_graphml", "GraphML")
    if suffix in MATRICES:
        return _matrix(path)
    known = ", ".join([*EDGE_LISTS, ".gml", ".graphml", *MATRICES])
    raise GraphFileError(source, "file", f"unknown kind of graph file {suffix!r}; known: {known}")


def depend_on_vertices(guarantee: dict[str, Any]) -> None:
    """Write into the guarantee that the vertices were read off the edge list: neighbours may lose one.

    Which files are treated so is a matter of their format, not of their edges.
    """
    guarantee["assumptions"] = [
        "condition: both neighbouring edge lists show the same vertices; a list that loses a vertex with its "
        "last edge shows that (state the vertices with --nodes, or give a GML, GraphML or .npz file)",
        *guarantee["assumptions"],
    ]
    if guarantee["kind"] in ("exact", "certified"):
        guarantee["kind"] = "conditional"


def _plain_pairs(path: Path, nodes: int | None) -> GraphInput | None:
    """A file of two numbers a line, read in blocks; None for anything else, which `_edge_list` reads."""
    from problems.sbm import EdgeList
    from problems.sbm.edge_files import read_pairs

    pairs = read_pairs(path)
    if pairs is None or len(pairs) == 0:
        return None
    largest = int(pairs.max())
    size = largest + 1 if nodes is None else nodes
    if largest >= size or size > LARGEST:
        return None
    stated = "stated with --nodes" if nodes is not None else "0 to the largest number in the edge list"
    return GraphInput(
        EdgeList(size, pairs), range(size), str(path), stated, vertices_from_edges=nodes is None
    )


@dataclass(frozen=True)
class _Lines:
    """The edges of a list as they are written: two names, a weight, the number of the line."""

    first: list[str]
    second: list[str]
    weights: list[float]
    where: list[int]


def _edge_list(path: Path, nodes: int | None, weighted: bool, header: bool | None) -> GraphInput:
    import scipy.sparse as sp

    source = str(path)
    lines = _edge_lines(path, weighted, header)
    if not lines.first and nodes is None:
        raise GraphFileError(source, "file", "no edges; state the vertices with --nodes if that is meant")
    names: Sequence[int | str]
    if all(name.isascii() and name.isdigit() for name in lines.first + lines.second):
        longest = max(map(len, lines.first + lines.second), default=0)
        if longest > DIGITS:
            raise GraphFileError(source, "file", f"a vertex of {longest} digits: renumber them from 0")
        row, column = [int(name) for name in lines.first], [int(name) for name in lines.second]
        names = range(_vertex_count(source, max([-1, *row, *column]), nodes))
        stated = "stated with --nodes" if nodes is not None else "0 to the largest number in the edge list"
    elif nodes is not None:
        raise GraphFileError(
            source, "--nodes", "the vertices have names; the option is for vertices 0, 1, 2, ..."
        )
    else:
        names = tuple(sorted({*lines.first, *lines.second}))
        index = {name: k for k, name in enumerate(names)}
        row, column = [index[name] for name in lines.first], [index[name] for name in lines.second]
        stated = "the names that occur in the edge list"
        if header is None and path.suffix.lower() in NAMED_LISTS:
            # said of every list with names, which neighbours share: it tells nothing of an edge
            stated += ", its first line included (--header if that names the columns)"
    for u, v, number in zip(row, column, lines.where, strict=True):
        if u == v:
            reason = "self loop: remove it, it carries no information here"
            raise GraphFileError(source, f"line {number}", reason)
    size = len(names)
    adjacency = sp.coo_matrix((lines.weights, (row, column)), shape=(size, size)).tocsr()
    adjacency = adjacency + adjacency.T
    if not weighted:
        adjacency.data[:] = 1.0  # an edge written twice, or once in each direction, is one edge
    return GraphInput(adjacency, tuple(names), source, stated, vertices_from_edges=nodes is None)


def _vertex_count(source: str, largest: int, nodes: int | None) -> int:
    """How many vertices there are, `largest` being the greatest number that occurs."""
    size = largest + 1 if nodes is None else nodes
    if largest >= size:
        reason = f"vertex {largest} is outside 0..{size - 1}: state at least {largest + 1}"
        raise GraphFileError(source, "--nodes", reason)
    if size > LARGEST:
        reason = f"vertex {largest} would make {size} vertices; renumber them from 0"
        raise GraphFileError(source, "file", reason)
    return size


def _edge_lines(path: Path, weighted: bool, header: bool | None) -> _Lines:
    """Every line that is no comment and no header, taken apart."""
    source, found = str(path), _Lines([], [], [], [])
    waiting = bool(header)  # for the line that names the columns
    guess = header is None and path.suffix.lower() in NAMED_LISTS
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                text = line.split("#", 1)[0].split("%", 1)[0].strip()
                if not text:
                    continue
                if waiting:
                    waiting = False
                    continue
                text, attributes = _attributes(text, source, number)
                fields = [part.strip().strip('"') for part in _split(text)] + attributes
                if guess and not found.first and {f.lower() for f in fields} <= HEADERS:
                    continue
                found.weights.append(_weight(fields, weighted, source, number))
                found.first.append(fields[0])
                found.second.append(fields[1])
                found.where.append(number)
    except UnicodeDecodeError as error:
        raise GraphFileError(source, "file", "not a text file in UTF-8") from error
    return found


def _weight(fields: list[str], weighted: bool, source: str, number: int) -> float:
    """The weight of a line of two vertices and at most a weight."""
    if len(fields) not in (2, 3) or not all(fields):
        reason = f"expected two vertices and at most a weight, found {len(fields)} fields"
        raise GraphFileError(source, f"line {number}", reason)
    weight = _number(fields[2]) if len(fields) == 3 else 1.0
    if weight is None:
        raise GraphFileError(source, f"line {number}", f"{fields[2]!r} is no weight")
    if not weighted and weight != 1.0:
        reason = (
            "a weight other than 1: drop the third column to treat the edge as present, or give "
            "sosdp private cuts a public --weight-bound"
        )
        raise GraphFileError(source, f"line {number}", reason)
    return weight


def _split(text: str) -> list[str]:
    for separator in (",", ";", "\t"):
        if separator in text:
            return text.split(separator)
    return text.split()


def _attributes(text: str, source: str, number: int) -> tuple[str, list[str]]:
    """networkx's edge lists end in a dictionary: the line without it, and its weight (if it has one)."""
    ends, brace, rest = text.partition("{")
    if not brace:
        return text, []
    try:
        found = ast.literal_eval(brace + rest)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise GraphFileError(source, f"line {number}", "the attributes at its end are no dictionary")
    return ends.strip(), [str(found["weight"])] if "weight" in found else []


def _number(text: str) -> float | None:
    """The weight, None for what is no finite number."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _with_networkx(path: Path, reader: str, kind: str) -> GraphInput:
    import xml.etree.ElementTree as tree

    need("networkx", "a GML, GraphML or built-in graph")
    import networkx as nx

    try:
        graph = _read_gml(path) if reader == "read_gml" else getattr(nx, reader)(path)
    except (nx.NetworkXError, tree.ParseError, ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()
        raise GraphFileError(
            str(path), "file", f"not readable as {kind}: {reason[0] if reason else error!r}"
        ) from error
    return GraphInput(graph, tuple(_plain(v) for v in graph.nodes), str(path), f"stated in the {kind} file")


def _read_gml(path: Path) -> Any:
    """Vertices by their labels, or by their ids in a file that has no labels (many published ones)."""
    need("networkx", "a GML, GraphML or built-in graph")
    import networkx as nx

    try:
        return nx.read_gml(path)
    except nx.NetworkXError as error:
        if "has no 'label' attribute" not in str(error):
            raise
        return nx.read_gml(path, label="id")


def _matrix(path: Path) -> GraphInput:
    import scipy.sparse as sp

    try:
        matrix = sp.load_npz(path)
    except Exception as error:  # a broken file breaks zip's and numpy's readers in many ways
        raise GraphFileError(str(path), "file", "not a matrix saved by scipy.sparse.save_npz") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphFileError(str(path), "shape", f"an adjacency matrix is square, this one is {matrix.shape}")
    csr = sp.csr_matrix(matrix)
    return GraphInput(csr, tuple(range(csr.shape[0])), str(path), "the rows of the matrix")


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
        raise GraphFileError(source, "name", f"no such built-in graph; known: {known}")
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
        raise GraphFileError(source, "name", "the digits graphs are written builtin:digits-6-7")
    try:
        adjacency = datasets.digits_graph(int(classes[0]), int(classes[1])).adjacency
    except ValueError as error:
        raise GraphFileError(source, "name", str(error)) from error
    return GraphInput(adjacency, tuple(range(adjacency.shape[0])), source, "stated by the data set")


def _plain(node: Any) -> int | str:
    return node if isinstance(node, int) else str(node)
