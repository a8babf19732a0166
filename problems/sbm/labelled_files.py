"""Graphs with known labels from a user's files: GML with an attribute of the nodes, or arrays of pairs.

For examples and measurements, where the labels say how many a method got wrong; a private graph of your own
needs no labels: `sosdp private sbm FILE`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .datasets import LabelledGraph
from .edges import canonical_edges
from .graph_input import EdgeList, GraphInputError

_TOKEN = re.compile(r'"[^"]*"|\[|\]|[^\s\[\]"]+')


def read_gml(path: str | Path, attribute: str = "value") -> LabelledGraph:
    """The simple undirected graph of a GML file, with one of two values of a node attribute as label.

    Directions, repeated edges and self loops are dropped (many published files, such as the political blogs,
    are directed with repeated links, which other readers refuse); vertices without edges stay. +1 is the
    value that sorts first. Read: `node [ id ... attribute ... ]` and `edge [ source ... target ... ]`.

    Raises:
        GraphInputError: unbalanced brackets, a node without id or attribute, an edge to an unknown node, or
            not exactly two values.
    """
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    records = _records(_TOKEN.findall("\n".join(lines)))
    graph = next((value for key, value in records if key == "graph" and isinstance(value, list)), records)
    names: list[str] = []
    values: list[str] = []
    ends: list[tuple[str, str]] = []
    for key, value in graph:
        if key not in ("node", "edge") or not isinstance(value, list):
            continue
        fields = dict(value)
        wanted = ("id", attribute) if key == "node" else ("source", "target")
        if not all(isinstance(fields.get(name), str) for name in wanted):
            raise GraphInputError(f"{path}: a {key} has no {' or no '.join(wanted)}")
        if key == "node":
            names.append(str(fields["id"]))
            values.append(str(fields[attribute]))
        else:
            ends.append((str(fields["source"]), str(fields["target"])))
    place = {name: number for number, name in enumerate(names)}
    if len(place) < len(names) or not all(u in place and v in place for u, v in ends):
        raise GraphInputError(f"{path}: node ids repeat, or an edge joins a node that is not there")
    pairs = np.array([(place[u], place[v]) for u, v in ends], dtype=np.int64).reshape(-1, 2)
    return labelled_graph(
        len(names), pairs, values, f"{Path(path).stem}, {attribute}", "as the file means it"
    )


def labelled_graph(
    n: int, pairs: np.ndarray, values: Sequence[Any], name: str, edge_meaning: str
) -> LabelledGraph:
    """A graph on 0..n-1 from pairs (m, 2) in any direction and number, with a label a vertex.

    values: (n,), two different ones; +1 is the one that sorts first. Raises GraphInputError otherwise.
    """
    kinds = sorted(set(values))
    if len(values) != n or len(kinds) != 2:
        raise GraphInputError(
            f"{name}: expected one of two labels for each of {n} vertices, got {len(kinds)}"
        )
    edges = canonical_edges(EdgeList(n, pairs[pairs[:, 0] != pairs[:, 1]]))
    labels = np.where(np.array([value == kinds[0] for value in values]), 1, -1)
    return LabelledGraph(edges.graph().adjacency, labels, name, edge_meaning)


def _records(tokens: list[str]) -> list[tuple[str, Any]]:
    """Nested lists of (key, value) from the words of a GML file."""
    stack: list[list[tuple[str, Any]]] = [[]]
    key: str | None = None
    for token in tokens:
        if token == "]":
            if len(stack) == 1 or key is not None:
                raise GraphInputError("the brackets of the GML file do not match")
            stack.pop()
        elif key is None:
            if token == "[":
                raise GraphInputError("a list of the GML file has no name")
            key = token.lower()
        elif token == "[":
            inside: list[tuple[str, Any]] = []
            stack[-1].append((key, inside))
            stack.append(inside)
            key = None
        else:
            stack[-1].append((key, token.strip('"')))
            key = None
    if len(stack) != 1 or key is not None:
        raise GraphInputError("the brackets of the GML file do not match")
    return stack[0]
