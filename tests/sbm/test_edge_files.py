"""Edge lists in blocks: every text is read as a line-by-line reader would, or declined."""

import numpy as np
import pytest

from problems.sbm import edge_files
from problems.sbm.edge_files import read_pairs


def read(tmp_path, text):
    path = tmp_path / "edges.txt"
    path.write_bytes(text)
    return read_pairs(path)


@pytest.mark.parametrize("block", [16, 17, 23, 1 << 24])
def test_every_block_size_gives_the_same_pairs(tmp_path, monkeypatch, block):
    monkeypatch.setattr(edge_files, "BLOCK_BYTES", block)
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
    [b"1 2 3\n", b"1\n2\n", b"1 2 3 4\n", b"1 2\n3\n4 5 6\n", b"a b\n", b"1 1\n", b"1,,2\n", b"1, 2\n",
     b",1 2\n", b"1 2,\n", b"1.0 2\n", b"-1 2\n", b"1 2\n# late\n",
     b"1234567890 1\n", b"1\x002\n", b"1 2 # x\n"],
)  # fmt: skip
def test_anything_else_is_declined(tmp_path, text):
    assert read(tmp_path, text) is None
