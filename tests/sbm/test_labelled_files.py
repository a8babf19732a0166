"""Graphs with labels from files: GML as it is found, and the mouse connectomes."""

import numpy as np
import pytest

from problems.sbm import GraphInputError, labelled_graph, mouse_connectome, read_gml
from tests.refusals import each, refuse

BLOGS = """Creator "somebody [2005]"
# a comment
graph
[
  directed 1
  node [ id 7 label "a [b" value 1 source "x" ]
  node [ id 3 label "c" value 0 ]
  node
  [
    id 9
    value 0
    graphics [ x 1.0 y 2.0 ]
  ]
  node [ id 11 value 1 ]
  edge [ source 7 target 3 ]
  edge [ source 3 target 7 ]
  edge [ source 3 target 7 ]
  edge [ source 9 target 9 ]
  edge [ source 9 target 3 weight 2.5 ]
]
"""


def test_directed_repeated_and_looped_links_become_a_simple_graph(tmp_path):
    path = tmp_path / "blogs.gml"
    path.write_text(BLOGS, encoding="utf-8")
    data = read_gml(path)
    assert data.adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert data.labels.tolist() == [-1, 1, 1, -1] and data.adjacency.dtype == np.int64


@pytest.mark.parametrize(
    "old, new",
    [
        ("value 1 source", "worth 1 source"),
        ("target 3 ]\n  edge [ source 3", "target 4 ]\n  edge [ source 3"),
        ("value 1 ]", "value 2 ]"),
        ("id 11", "id 9"),
        ("weight 2.5 ]\n]", "weight 2.5 ]"),
        ("directed 1", "[ directed 1"),
        ("weight 2.5 ]", "weight ]"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, old, new):
    assert old in BLOGS
    path = tmp_path / "blogs.gml"
    path.write_text(BLOGS.replace(old, new), encoding="utf-8")
    refuse((lambda: read_gml(path), None, GraphInputError))


def test_labels_are_two():
    pairs = np.array([[0, 1], [1, 0], [2, 2]])
    assert labelled_graph(3, pairs, ["u", "v", "v"], "g", "e").labels.tolist() == [1, -1, -1]
    refuse(
        *each(
            lambda values: labelled_graph(3, pairs, values, "g", "e"),
            (["u", "v"], ["u", "u", "u"], ["u", "v", "w"]),
            "labels",
            GraphInputError,
        )
    )


def test_a_mouse_from_a_folder(tmp_path):
    folder = tmp_path / "edgelists"
    folder.mkdir()
    (folder / "sub-1.edgelist").write_text(
        "0 1 3000\n1 0 1500\n5 331 1001\n7 8 1000\n9 9 5000\n", encoding="utf-8"
    )
    data = mouse_connectome(folder=tmp_path)
    assert data.adjacency.nnz == 4 and data.adjacency.max() == 1 and data.adjacency[5, 331] == 1
    assert data.labels.sum() == 0 and data.labels[0] == 1
    refuse(
        (lambda: mouse_connectome(1, folder=tmp_path), "subject"),
        (lambda: mouse_connectome(folder=tmp_path / "nowhere"), "graspologic", FileNotFoundError),
    )
