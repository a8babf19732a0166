"""Edge lists in blocks: every text is read as a line-by-line reader would, or declined."""

import itertools
import time

import numpy as np
import pytest

from sosdp.privacy import edges
from sosdp.privacy.edges import VERTICES_SHOWN, VERTICES_STATED, edges_of_file, plain_pairs, read_edges


def read(tmp_path, text, header=False):
    path = tmp_path / "edges.txt"
    path.write_bytes(text)
    return plain_pairs(path, header)


@pytest.mark.parametrize("block", [16, 17, 23, 1 << 24])
def test_every_block_size_gives_the_same_pairs(tmp_path, monkeypatch, block):
    monkeypatch.setattr(edges, "_BLOCK", block)
    pairs = np.random.default_rng(0).integers(0, 10**6, (200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    for separator in ("\t", " ", "  ", ","):
        lines = [f"{u}{separator}{v}" for u, v in pairs.tolist()]
        for text in ("\n".join(lines), "\r\n".join(lines) + "\n", "# x\n" + "\n\n".join(lines) + "\n"):
            assert np.array_equal(read(tmp_path, text.encode()), pairs)


@pytest.mark.parametrize(
    "text, expected",
    [(b"", []), (b"# only\n", []), (b"#", []), (b"1 2", [[1, 2]]), (b"\xef\xbb\xbf1 2\n", [[1, 2]]),
     (b"  1 2  \n\n", [[1, 2]]), (b"007 8\n", [[7, 8]])],
)  # fmt: skip
def test_odd_but_plain_files(tmp_path, text, expected):
    assert read(tmp_path, text).reshape(-1, 2).tolist() == expected


@pytest.mark.parametrize(
    "text",
    [b"1 2 3\n", b"1\n2\n", b"1 2 3 4\n", b"1 2\n3\n4 5 6\n", b"a b\n", b"1\t\t2\n", b"1,,2\n", b"1, 2\n",
     b",1 2\n", b"1 2,\n", b"1.0 2\n", b"-1 2\n", b"1 2\n# late\n",
     b"1234567890 1\n", b"1\x002\n", b"1 2 # x\n"],
)  # fmt: skip
def test_anything_else_is_declined(tmp_path, text):
    assert read(tmp_path, text) is None


PLAIN = b"0 1\n1 2\n2 3\n3 4\n"
ODD = [
    b"", b"1 1", b"1 2 3", b"1\n2", b"a b", b"1,,2", b"1\t\t2", b"-1 2", b"1.0 2", b"1 2 # x", b"1\x002",
    b"\xff", b"1 99999999999", b"1 " + b"9" * 5000, b"{", b"1 2 {'weight': 7}", b'"',
    b"1 2 {'weight': __import__('os')}", b"1,2,nan", b"1;2;secret", b"\r", b"1\r2", b"source,target",
    b"1 8388608", b"#", b"%",
]  # fmt: skip


@pytest.mark.parametrize("line", ODD, ids=repr)
def test_a_line_is_an_edge_or_none_and_the_fast_way_agrees(tmp_path, line):
    """Of the plain list with one odd line, only the edge of that line is new, wherever it stands."""
    path = tmp_path / "edges.txt"
    path.write_bytes(PLAIN)
    before = set(map(tuple, edges_of_file(str(path), 6).pairs.tolist()))
    alone = tmp_path / "alone.txt"
    alone.write_bytes(line + b"\n")
    own = set(map(tuple, edges_of_file(str(alone), 6).pairs.tolist()))
    for place in range(5):
        lines = PLAIN.split(b"\n")[:-1]
        lines.insert(place, line)
        path.write_bytes(b"\n".join(lines) + b"\n")
        result = edges_of_file(str(path), 6)
        assert set(map(tuple, result.pairs.tolist())) == before | own
        assert result.assumptions == (VERTICES_STATED,)
        rows = [row for row in edges._rows(str(path), False) if row]
        slow = read_edges([u for u, _, _ in rows], [v for _, v, _ in rows], None, 6)
        assert slow.pairs.tolist() == result.pairs.tolist()
    assert len(own) <= 1 or b"\n" in line


def test_vertices_are_stated_or_a_condition():
    shown = read_edges([0, 5, None, 2, 1 << 40], [1, 4, 3, float("nan"), 3])
    assert shown.nodes == range(6) and shown.assumptions == (VERTICES_SHOWN,)
    assert read_edges([0, 5], [1, 4], None, 3).pairs.tolist() == [[0, 1]]
    named = read_edges(["b", "c", "b", "x"], ["a", "b", "b", "a"], None, ["a", "b", "c"])
    assert named.pairs.tolist() == [[1, 0], [2, 1]] and named.nodes == ("a", "b", "c")
    assert read_edges(["b", "7", "c"], ["a", "8", "b"]).nodes == ("7", "8", "a", "b", "c")
    assert read_edges(["7"], [8], None, [7, 8]).pairs.tolist() == [[0, 1]]
    assert list(read_edges([], []).nodes) == []


def test_the_header_is_the_first_line_and_nothing_else(tmp_path):
    assert read(tmp_path, b"a b\n0 1\n", header=True).tolist() == [[0, 1]]
    path = tmp_path / "h.csv"
    path.write_bytes(b"# no names\nzoe,adam\nadam,bob\n")
    assert edges_of_file(str(path), header=True).nodes == ("adam", "bob", "zoe")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("end", [b"", b"\n"], ids=["no end", "end"])
@pytest.mark.parametrize("over", [-1, 0, 1, 3])
def test_a_line_decides_nothing_about_long_ones(tmp_path, over, end, mark):
    """Among plain lines, beside one that is none, first or last: a long line is the same edge, or none."""
    line = mark + b"0" + b" " * (edges.LONGEST_LINE - len(mark) - 2 + over) + b"1"
    both = []
    for other in (b"2 3\n", b"x y\n"):
        for text in (line + b"\n" + other, other + line + end):
            (tmp_path / "edges.txt").write_bytes(text)
            both.append((0, 1) in map(tuple, edges_of_file(str(tmp_path / "edges.txt"), 10).pairs.tolist()))
    assert both[:2] == both[2:]


def test_what_is_no_vertex_is_none_on_both_ways(tmp_path):
    for other in ("2 3", "x y"):
        (tmp_path / "edges.txt").write_text(f"0 {edges.LARGEST}\n1 {edges.LARGEST - 1}\n{other}\n")
        pairs = edges_of_file(str(tmp_path / "edges.txt"), edges.LARGEST + 5).pairs.tolist()
        assert pairs[:1] == [[1, edges.LARGEST - 1]]


def test_blank_lines_before_the_first_pair_cost_nothing(tmp_path):
    """Each cost a copy of the block."""
    began = time.process_time()
    pairs = read(tmp_path, b"\n# x\n" * 20_000 + b"1,2\n" * 500_000)
    assert pairs.shape == (500_000, 2) and time.process_time() - began < 3
    for text in (b"\n\n", b"# only", b"\n#", b"\n1 2"):
        assert read(tmp_path, text).tolist() == [[1, 2]] * text.endswith(b"2")


def test_no_line_decides_whether_others_are_numbers_or_names(tmp_path):
    """Of a list that states no vertices: one line that is not plain (a semicolon, a third field) turned an
    error into 40 vertices, for plain ones were numbers whatever their size."""
    distant, near = [f"{edges.LARGEST + k} {k}" for k in range(4)], ["0 1", "1 2", "2 2", "01 1"]
    for lines in itertools.product([*distant[:2], *near], repeat=3):
        both = []
        for plain in ("1 5", "1;5"):
            (tmp_path / "edges.txt").write_text("\n".join((*lines, plain)))
            read = edges_of_file(str(tmp_path / "edges.txt"))
            both.append((list(read.nodes), sorted(map(tuple, read.pairs.tolist()))))
        assert both[0] == both[1], lines
