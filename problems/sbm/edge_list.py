"""Graphs as lists of edges: pairs of numbers, or a data frame with a row for each edge."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class GraphInputError(ValueError):
    """The input is not a simple, undirected, unweighted graph with at least two vertices."""


@dataclass(frozen=True, eq=False)
class EdgeList:
    """A graph as a list of pairs: n is public, the pairs are not.

    n: number of vertices, which are 0..n-1; edges: (m, 2) integers in any order, a repeated pair counts once;
    weights: (m,) numbers for a weighted graph (the weights of a repeated pair add up), or None.
    """

    n: int
    edges: Any = field(repr=False)
    weights: Any = field(default=None, repr=False)


ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("node1", "node2"),
    ("id1", "id2"),
)
"""Names of columns that hold the two ends of an edge."""


def is_frame(graph: Any) -> bool:
    """Whether this is a data frame (pandas, polars)."""
    return hasattr(graph, "columns") and hasattr(graph, "to_numpy")


def from_frame(frame: Any, *, weighted: bool = False) -> tuple[EdgeList, tuple[Hashable, ...]]:
    """The edges of a frame with columns source and target (or another pair of `ENDS`), and the vertices.

    Vertices: of integer columns 0..max, of others the sorted names that occur; they count as public. An edge
    list that loses a vertex with its last edge shows that: state the vertices by a categorical type,
    `frame.astype(pandas.CategoricalDtype(names))`, and they are the categories, in their order. An edge that
    occurs twice, or in both directions, is one edge; weights of such rows add up.

    Args:
        weighted: read the column "weight", which is refused otherwise: nobody said what it means.

    Raises:
        GraphInputError: columns that are no edge list, a missing end, a negative number, a self loop.
    """
    names = [str(name) for name in frame.columns]
    first, second = _ends(names)
    rest = [name for name in names if name not in (first, second)]
    if weighted and rest != ["weight"]:
        raise GraphInputError(f"a weighted edge list has the columns {first}, {second}, weight; got {names}")
    if not weighted and rest:
        raise GraphInputError(
            f"an edge list has the columns {first} and {second} only, got {names}: drop the others, or "
            "give a public weight_bound where the method takes weights"
        )
    by_name = dict(zip(names, frame.columns, strict=True))
    ends = [frame[by_name[first]], frame[by_name[second]]]
    stated = _categories(ends)
    columns = [np.asarray(end.to_numpy(), dtype=object) for end in ends]
    flat = np.concatenate(columns).tolist()
    if any(name is None or name != name for name in flat):
        raise GraphInputError("an edge has a missing end")
    if stated is None and all(isinstance(name, int | np.integer) for name in flat):
        if flat and min(flat) < 0:
            raise GraphInputError("numbers of vertices start at 0: relabel the negative ones")
        nodes: tuple[Hashable, ...] = tuple(range(max(flat, default=-1) + 1))
        places = np.array(flat, dtype=np.int64)
    else:
        found = sorted(set(flat), key=lambda name: (type(name).__name__, str(name)))
        nodes = tuple(found) if stated is None else stated
        place = {name: position for position, name in enumerate(nodes)}
        places = np.array([place[name] for name in flat], dtype=np.int64)
    pairs = places.reshape(2, -1).T
    weights = frame[by_name["weight"]].to_numpy() if weighted else None
    return EdgeList(len(nodes), pairs, weights), nodes


def _ends(names: list[str]) -> tuple[str, str]:
    """The two columns of ends, by their names or because there are only two.

    Raises:
        GraphInputError: they cannot be told.
    """
    for pair in ENDS:
        if set(pair) <= set(names):
            return pair
    if len(names) == 2 and "weight" not in names:
        return names[0], names[1]
    raise GraphInputError(
        f"a frame is read as an edge list with the columns source and target (and weight), got "
        f"{names[:6]}; an adjacency matrix is passed as frame.to_numpy()"
    )


def _categories(ends: list[Any]) -> tuple[Hashable, ...] | None:
    """The vertices that both columns declare, None where they are no categories.

    Raises:
        GraphInputError: the two columns declare different ones.
    """
    declared: list[Any] = [getattr(getattr(end, "cat", None), "categories", None) for end in ends]
    if any(names is None for names in declared):
        return None
    if list(declared[0]) != list(declared[1]):
        raise GraphInputError("both columns of an edge list must declare the same categories, in one order")
    return tuple(declared[0].tolist())
