"""Edge lists in text files, read in blocks: tens of millions of lines in seconds, little memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

BLOCK_BYTES = 1 << 24
MOST_DIGITS = 9
END = ord("\n")


def read_pairs(path: str | Path) -> np.ndarray | None:
    """The pairs of a plain file, (m, 2) int32: two numbers a line, separated by blanks or one comma.

    Lines before the first pair may be comments (# or %). None where anything else occurs (a third column, a
    name, a self loop, a number with more than nine digits): then a reader with messages is needed. Memory: 8
    bytes an edge twice, and a block.
    """
    pieces = []
    with Path(path).open("rb") as file:
        rest = _after_comments(file.read(BLOCK_BYTES))
        while True:
            more = file.read(BLOCK_BYTES)
            last = not more
            whole, newline, tail = (rest + more).rpartition(b"\n")
            block = rest + b"\n" if last else whole + newline
            pairs = pairs_of_block(block)
            if pairs is None:
                return None
            pieces.append(pairs)
            if last:
                break
            rest = tail
    return np.concatenate(pieces)


def _after_comments(start: bytes) -> bytes:
    start = start.removeprefix(b"\xef\xbb\xbf")
    while start[:1] in (b"#", b"%", b"\n"):
        line, newline, start = start.partition(b"\n")
        if not newline:
            return b""
    return start


def pairs_of_block(block: bytes) -> np.ndarray | None:
    """The pairs (k, 2) int32 of whole lines, or None if a line is neither blank nor two numbers."""
    data = np.frombuffer(block, dtype=np.uint8)
    digit = (data >= 48) & (data <= 57)
    ends_of_lines = np.flatnonzero(data == END)
    blank = (data == 32) | (data == 9) | (data == 13)
    comma = np.flatnonzero(data == 44)
    if len(comma):  # a comma stands directly between two digits
        inside = comma[(comma > 0) & (comma < len(data) - 1)]
        if len(inside) != len(comma) or not np.all(digit[comma - 1] & digit[comma + 1]):
            return None
    if not np.all(digit.sum() + blank.sum() + len(comma) + len(ends_of_lines) == len(data)):
        return None
    before = np.concatenate([[False], digit[:-1]])
    after = np.concatenate([digit[1:], [False]])
    starts, stops = np.flatnonzero(digit & ~before), np.flatnonzero(digit & ~after)
    lines = np.searchsorted(ends_of_lines, starts)
    if len(starts) % 2 or not np.array_equal(lines[::2], lines[1::2]):
        return None
    if len(lines) and np.any(np.diff(lines[::2]) == 0):  # four numbers on one line
        return None
    lengths = stops - starts + 1
    longest = int(lengths.max(initial=0))
    if longest > MOST_DIGITS:
        return None
    values = np.zeros(len(starts), dtype=np.int64)
    for place in range(longest):
        there = lengths > place
        values[there] = 10 * values[there] + (data[starts[there] + place] - 48)
    pairs = values.astype(np.int32).reshape(-1, 2)
    return None if np.any(pairs[:, 0] == pairs[:, 1]) else pairs
