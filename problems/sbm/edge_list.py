"""Graphs as lists of edges: pairs of numbers, or a data frame with a row for each edge."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sosdp.privacy.edges import VERTICES_STATED, Edges, read_edges
from sosdp.privacy.inputs import floats, members


class GraphInputError(ValueError):
    """The input is not a simple, undirected, unweighted graph with at least two vertices."""


@dataclass(frozen=True, eq=False)
class EdgeList:
    """A graph as a list of pairs: n is public, the pairs are not.

    n: number of vertices, which are 0..n-1; edges: (m, 2) integers in any order; a repeated pair counts once,
    and what is no pair of two different vertices counts nowhere; weights: (m,) numbers for a weighted graph
    (the weights of a repeated pair add up), or None; nodes: names of the vertices in order, else 0..n-1;
    assumptions: what a release from this list rests on (`sosdp.privacy.edges`).
    """

    n: int
    edges: Any = field(repr=False)
    weights: Any = field(default=None, repr=False)
    nodes: Sequence[Hashable] | None = field(default=None, repr=False)
    assumptions: tuple[str, ...] = (VERTICES_STATED,)

    @classmethod
    def of(cls, read: Edges) -> EdgeList:
        """The list that was read from rows."""
        return cls(len(read.nodes), read.pairs, read.weights, read.nodes, read.assumptions)


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


def from_frame(frame: Any, *, weighted: bool = False) -> EdgeList:
    """The edges of a frame with columns source and target (or another pair of `ENDS`).

    Vertices: both columns state them by one categorical type, `frame.astype(pandas.CategoricalDtype(names))`.
    Otherwise they are those that occur (0 to the largest of integers, else the sorted names), and a release
    is conditional on neighbours that show the same ones. A row with a missing or negative end, or two equal
    ones, is no edge; an edge that occurs twice, or in both directions, is one edge; weights of such rows add
    up.

    Args:
        weighted: read the column "weight", which is refused otherwise: nobody said what it means.

    Raises:
        GraphInputError: columns that are no edge list.
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
    categories = _categories(ends)
    weights = floats(frame[by_name["weight"]]) if weighted else None
    if categories is None:
        return EdgeList.of(read_edges(members(ends[0]), members(ends[1]), weights))
    first_codes, second_codes = (end.cat.codes.tolist() for end in ends)
    result = read_edges(first_codes, second_codes, weights, len(categories))
    return EdgeList.of(replace(result, nodes=categories))


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
