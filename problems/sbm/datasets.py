"""Real graphs with a known bisection, from installed packages (no download)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.extras import folder_of, need

from .edges import canonical_edges
from .gml import gml_graph, gml_text
from .graph_input import EdgeList, GraphInputError

# Zachary 1977, figure 1: the later friends of each member, and the faction of Mr. Hi (members from 0).
_KARATE: tuple[tuple[int, ...], ...] = (
    (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    (2, 3, 7, 13, 17, 19, 21, 30),
    (3, 7, 8, 9, 13, 27, 28, 32),
    (7, 12, 13),
    (6, 10),
    (6, 10, 16),
    (16,),
    (),
    (30, 32, 33),
    (33,),
    (),
    (),
    (),
    (33,),
    (32, 33),
    (32, 33),
    (),
    (),
    (32, 33),
    (33,),
    (32, 33),
    (),
    (32, 33),
    (25, 27, 29, 32, 33),
    (25, 27, 31),
    (31,),
    (29, 33),
    (33,),
    (31, 33),
    (32, 33),
    (32, 33),
    (32, 33),
    (33,),
)
_MR_HI = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21)


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """A graph with known labels: adjacency (n, n) sparse 0/1, labels (n,) of +-1, name, and what an edge
    means.
    """

    adjacency: sp.csr_array = field(repr=False)
    labels: np.ndarray = field(repr=False)
    name: str
    edge_meaning: str

    def to_networkx(self) -> Any:
        """The graph as a networkx Graph on the vertices 0..n-1."""
        return need("networkx", "a networkx graph").from_scipy_sparse_array(
            self.adjacency, edge_attribute=None
        )


def neighbour_graph(points: np.ndarray, neighbours: int) -> sp.csr_array:
    """Symmetrised k-nearest-neighbour graph: an edge where either point is among the other's k nearest.

    points: (n, d) integers; 1 <= neighbours < n. Euclidean distance; squared distances are exact integers and
    ties go to the smaller position, so the graph is the same on every processor. O(n^2) memory. Raises
    ValueError for points that are not integers of at most 2^24 in absolute value.
    """
    exact = np.asarray(points).astype(np.int64)
    if not np.array_equal(exact, points) or np.abs(exact).max(initial=0) > 1 << 24:
        raise ValueError("the points must be integers: rounded distances would decide ties by the processor")
    squares = (exact * exact).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * (exact @ exact.T)
    np.fill_diagonal(distances, -1)  # a point comes first in its own list, and is left out
    nearest = np.argsort(distances, axis=1, kind="stable")[:, 1 : neighbours + 1]
    n = len(exact)
    places = (np.repeat(np.arange(n), neighbours), nearest.ravel())
    directed = sp.csr_array((np.ones(n * neighbours, dtype=np.int64), places), shape=(n, n))
    return sp.csr_array(directed.maximum(directed.T))


def handwritten_digits() -> tuple[np.ndarray, np.ndarray]:
    """1797 images (n, 64) of 8 by 8 grey values 0 to 16, and the digit that each shows, (n,) int64.

    Alpaydin and Kaynak 1998, the test part of "Optical Recognition of Handwritten Digits" of the UCI Machine
    Learning Repository (CC BY 4.0); the same numbers as scikit-learn's ``load_digits``.
    """
    with files("problems.sbm").joinpath("data", "digits.npz").open("rb") as source, np.load(source) as data:
        return data["pixels"].astype(np.float64), data["labels"].astype(np.int64)


def digits_graph(first: int = 6, second: int = 7, neighbours: int = 100) -> LabelledGraph:
    """Nearest-neighbour graph of two classes of handwritten digits; first class is +1.

    Edge privacy protects a single similarity relation of this graph, not the image of a digit: changing one
    image changes up to n - 1 edges. It is a realistic graph to show the estimator on, not a protected data
    set.
    """
    if first == second or not {first, second} <= set(range(10)):
        raise ValueError(f"expected two different digits 0..9, got {first} and {second}")
    pixels, shown = handwritten_digits()
    chosen = np.isin(shown, (first, second))
    labels = np.where(shown[chosen] == first, 1, -1)
    return LabelledGraph(
        neighbour_graph(pixels[chosen], neighbours),
        labels,
        f"digits {first} against {second}, {neighbours} nearest neighbours",
        "two images are among each other's nearest neighbours",
    )


def karate_club() -> LabelledGraph:
    """Zachary's karate club (34 people, 78 friendships) with the two clubs after the split; Mr. Hi's is
    +1.
    """
    pairs = np.array([(u, v) for u, around in enumerate(_KARATE) for v in around])
    others = [member not in _MR_HI for member in range(34)]
    return labelled_graph(34, pairs, others, "karate club", "two people met outside the club")


MICE = "install graspologic, or give the folder graspologic/datasets/mice of its wheel"


def mouse_connectome(
    subject: int = 0, least_weight: float = 1000.0, folder: str | Path | None = None
) -> LabelledGraph:
    """A mouse's brain by diffusion imaging: 332 regions, an edge where many fibres join two.

    subject: 0..31; least_weight: an edge has more fibres than that; labels: +1 the left hemisphere. The files
    are those that graspologic ships, found without importing it; folder: where they are otherwise. Data:
    Wang et al., NeuroImage 2020. Raises FileNotFoundError without them, ValueError for other subjects.
    """
    if folder is None:
        wheel = folder_of("graspologic")
        if wheel is None:
            raise FileNotFoundError(MICE)
        folder = wheel / "datasets" / "mice"
    files = sorted((Path(folder) / "edgelists").glob("*.edgelist"))
    if not files:
        raise FileNotFoundError(MICE)
    if not 0 <= subject < len(files):
        raise ValueError(f"subject must be in 0..{len(files) - 1}, got {subject}")
    rows = np.loadtxt(files[subject])
    pairs, right = rows[rows[:, 2] > least_weight][:, :2].astype(np.int64), [k >= 166 for k in range(332)]
    meaning = f"more than {least_weight:g} fibres between two regions"
    return labelled_graph(332, pairs, right, f"mouse connectome {subject}", meaning)


# ------------------------------------------------------------------------------------------------------------
# A user's own files: GML with an attribute of the nodes, or arrays of pairs


def read_gml(path: str | Path, attribute: str = "value") -> LabelledGraph:
    """The simple undirected graph of a GML file, with one of two values of a node attribute as label.

    Directions, repeated edges, self loops and edges to what is no node are dropped (many published files,
    such as the political blogs, are directed with repeated links, which other readers refuse); vertices
    without edges stay. +1 is the value that sorts first. Read: `node [ id ... attribute ... ]` and
    `edge [ source ... target ... ]`.

    Raises:
        GraphInputError: unbalanced brackets, a node without id or attribute or twice, or not exactly two
            values.
    """
    names: list[str] = []
    values: list[str] = []
    ends: list[tuple[str, str]] = []
    for key, value in gml_graph(path):
        if key not in ("node", "edge") or not isinstance(value, list):
            continue
        fields = dict(value)
        if key == "node":
            if not all(isinstance(fields.get(name), str) for name in ("id", attribute)):
                raise GraphInputError(f"{path}: a node has no id or no {attribute}")
            names.append(gml_text(fields["id"]))
            values.append(gml_text(fields[attribute]))
        else:
            ends.append((gml_text(fields.get("source")), gml_text(fields.get("target"))))
    place = {name: number for number, name in enumerate(names)}
    if len(place) < len(names):
        raise GraphInputError(f"{path}: node ids repeat")
    kept = [(place[u], place[v]) for u, v in ends if u in place and v in place]
    pairs = np.array(kept, dtype=np.int64).reshape(-1, 2)
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
