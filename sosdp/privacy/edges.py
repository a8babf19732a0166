"""Lists of edges: every row is one edge or none, and the vertex set is stated or a condition.

One meaning for the lines of a file, the rows of a frame and the pairs of an array: a row is the edge between
its two ends where both are vertices and differ, and no edge otherwise, whatever it holds. So two lists that
differ in one row differ in at most one edge that is left out and one that is put in.

Proof that neighbours look alike: docs/proofs/inputs.md
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.entries import entries
from sosdp.privacy.files import LONGEST_LINE, InputFileError, physical_lines, require_file
from sosdp.privacy.guarantee.condition import Condition, Fact
from sosdp.privacy.inputs import LEFT_OUT, LONGEST, canonical, canonicals, number_in

LARGEST = 1 << 23
"""Vertices of a list that states none are below it; a larger number is no vertex."""

VERTICES_STATED = Fact("the vertex set is public")
VERTICES_SHOWN = Condition(
    "condition: both neighbouring edge lists show the same vertices; a list that loses a vertex with its "
    "last edge shows that (state the vertices: --nodes, a categorical column, or EdgeList(n, edges))"
)

_WEIGHT = re.compile(r"""['"]weight['"]\s*:\s*([^,}]*)""")


@dataclass(frozen=True, eq=False)
class Edges:
    """pairs: (m, 2) int64 places of two different vertices; weights: (m,) float64, NaN where unreadable, or
    None; nodes: the vertices in order; assumptions: what the reading rests on.
    """

    pairs: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64] | None
    nodes: Sequence[Hashable]
    assumptions: tuple[str, ...]


def read_edges(
    first: Iterable[Any], second: Iterable[Any], weights: Any = None, nodes: int | Sequence[Any] | None = None
) -> Edges:
    """The edges between the ends of the rows. Never raises because of what a row holds.

    Args:
        first, second: the ends: texts, integers, or anything (then the row is no edge).
        weights: (m,) float64, or None.
        nodes: public: n for the vertices 0..n-1 (a text of digits is its number), or the vertices in their
            order. None: 0 to the largest number below `LARGEST` where at least half of the rows that could be
            edges join two numbers, else the names that occur, sorted; what is released is then conditional.
    """
    ends = list(zip(canonicals(first), canonicals(second), strict=True))
    shown = nodes is None
    if nodes is None:
        nodes = _vertices(ends)
    if isinstance(nodes, int):
        size = nodes
        places = [(_number(u), _number(v)) for u, v in ends]
        named: Sequence[Hashable] = range(nodes)
    else:
        size, named = len(nodes), tuple(nodes)
        place = {canonical(name): k for k, name in enumerate(nodes)}
        texts = {str(name): k for name, k in place.items()} if len({*map(str, place)}) == len(place) else {}
        places = [(_place(u, place, texts), _place(v, place, texts)) for u, v in ends]
    pairs = np.array(places, dtype=np.int64).reshape(-1, 2)
    kept = usable(pairs, size)
    return Edges(
        pairs[kept],
        None if weights is None else np.asarray(weights, dtype=np.float64)[kept],
        named,
        (VERTICES_SHOWN if shown else VERTICES_STATED,),
    )


def usable(pairs: npt.NDArray[Any], n: int) -> npt.NDArray[np.bool_]:
    """Which pairs join two different vertices of 0..n-1."""
    return np.asarray(((pairs >= 0) & (pairs < n)).all(axis=1) & (pairs[:, 0] != pairs[:, 1]))


def pairs_of_rows(rows: Iterable[Any], n: int) -> npt.NDArray[np.int64]:
    """(m, 2) vertices of 0..n-1 that the ends of each row name, -1 for what names none. Never raises."""
    pairs = [[_number(canonical(end), n) for end in entries(row, 2) or (None, None)] for row in rows]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _number(name: Hashable, n: int = LARGEST) -> int:
    """The vertex of 0..n-1 that a number or a text of digits names, -1 for anything else."""
    if isinstance(name, str):
        digits = name.isascii() and name.isdigit() and len(name) <= LONGEST
        name = int(name) if digits and len(name.lstrip("0")) <= 9 else -1
    return name if isinstance(name, int) and 0 <= name < n else -1


def _place(name: Hashable, places: dict[Hashable, int], texts: dict[str, int]) -> int:
    """The place of a stated vertex by its name, or by the text of its name; -1 for anything else."""
    return places.get(name, texts.get(name, -1) if isinstance(name, str) else -1)


def _vertices(ends: list[tuple[Hashable, Hashable]]) -> int | list[Hashable]:
    """What a list that states no vertices shows of them."""
    rows = [(u, v) for u, v in ends if u != v and not {u, v} & {None, LEFT_OUT, ""}]
    numbers = [(a, b) for a, b in ((_number(u), _number(v)) for u, v in rows) if min(a, b) >= 0 and a != b]
    if 2 * len(numbers) >= len(rows):
        return max((max(pair) for pair in numbers), default=-1) + 1
    names = {end for row in rows for end in row}
    return sorted(names, key=lambda end: (type(end).__name__, end if isinstance(end, int) else 0, str(end)))


# ------------------------------------------------------------------------------------------------------------
# Files


def edges_of_file(
    source: str, nodes: int | Sequence[Any] | None = None, *, weighted: bool = False, header: bool = False
) -> Edges:
    """The edges in a text: two ends a line, separated by a comma, a semicolon, a tab or blanks.

    What follows # or % is a comment. A line has two fields, or three, or two and a dictionary as networkx
    writes it; the third field, or "weight" in the dictionary, is the weight (1 without), which is read only
    where `weighted`: otherwise the line is an edge whatever its weight. Any other line is no edge.

    Args:
        header: the first line names the columns.

    Raises:
        InputFileError: no such file.
    """
    require_file(source)
    if not weighted:
        pairs = plain_pairs(source, header)
        read = None if pairs is None or isinstance(nodes, Sequence) else _of_pairs(pairs, nodes)
        if read is not None:
            return read
    rows = [row for row in _rows(source, header) if row is not None]
    return read_edges(
        [row[0] for row in rows],
        [row[1] for row in rows],
        np.array([row[2] for row in rows]) if weighted else None,
        nodes,
    )


def _of_pairs(pairs: npt.NDArray[Any], nodes: int | None) -> Edges | None:
    """`read_edges` of a file of plain numbers; None where no vertices are stated and fewer than half of the
    rows are edges, which then may join names."""
    shown = nodes is None
    kept = usable(pairs, LARGEST if nodes is None else min(nodes, LARGEST))
    if nodes is None and 2 * int(kept.sum()) < len(pairs):
        return None
    pairs = pairs if kept.all() else pairs[kept]
    if nodes is None:
        nodes = int(pairs.max(initial=-1)) + 1
    return Edges(pairs, None, range(nodes), (VERTICES_SHOWN if shown else VERTICES_STATED,))


def _rows(source: str, header: bool) -> Iterator[tuple[str, str, float] | None]:
    """The two ends and the weight of every line, None for a line that is no edge."""
    result = physical_lines(source)
    if header:
        next(result, None)
    return map(_row, result)


def _row(line: bytes | None) -> tuple[str, str, float] | None:
    try:
        text = "" if line is None else line.decode("utf-8")
    except UnicodeError:
        return None
    text, brace, attributes = text.split("#", 1)[0].split("%", 1)[0].partition("{")
    text = text.strip()
    mark = next((mark for mark in (",", ";", "\t") if mark in text), None)
    fields = [part.strip().strip('"') for part in text.split(mark)]
    if brace:
        given = _WEIGHT.search(attributes)
        fields = [*fields, *([given[1]] if given else [])] if len(fields) == 2 else []
    if len(fields) not in (2, 3) or not fields[0] or not fields[1]:
        return None
    return fields[0], fields[1], number_in(fields[2]) if len(fields) == 3 else 1.0


_BLOCK = 1 << 24
# lines of two numbers of at most nine digits, a comma, one tab or blanks between them, and empty lines
_PLAIN = re.compile(
    rb"(?:[ \r]*+(?:\d{1,9}+(?:,|[ \r]++(?:\t[ \r]*+)?|\t[ \r]*+)\d{1,9}+[ \r]*+)?\n)*+", re.ASCII
)
_BLANKS = bytes.maketrans(b",\t\r\n", b"    ")


def plain_pairs(source: str | Path, header: bool = False) -> npt.NDArray[np.int32] | None:
    """The pairs of a file of two numbers a line, (m, 2) int32; None where any line is something else, or so
    long that it is no edge.

    Tens of millions of lines in seconds; the meaning is that of `_row`. Lines before the first pair may be
    comments. Memory: 8 bytes an edge twice, and a block.
    """
    if str(source).lower().endswith(".gz"):
        return None
    pieces = []
    problem = ""
    try:
        with open(source, "rb") as file:
            rest = file.read(_BLOCK)
            long = len(rest) == _BLOCK
            if _has_long_line(rest[:LONGEST_LINE]):
                return None
            rest = rest.removeprefix(b"\xef\xbb\xbf")
            if header:
                rest = rest.partition(b"\n")[2]
            start = 0  # of the first pair; a copy of the block for each line would be slow
            while rest[start : start + 1] in (b"#", b"%", b"\n"):
                start = rest.find(b"\n", start) + 1 or len(rest)
            rest = rest[start:]
            if long and not rest:
                return None
            while True:
                more = file.read(_BLOCK)
                whole, newline, tail = (rest + more).rpartition(b"\n")
                pairs = _pairs_of_block(whole + newline if more else rest + b"\n")
                if pairs is None:
                    return None
                pieces.append(pairs)
                if not more:
                    return np.concatenate(pieces)
                rest = tail
    except OSError as error:
        problem = error.strerror or "cannot be read"
    raise InputFileError(str(source), "file", problem)


def _pairs_of_block(block: bytes) -> npt.NDArray[np.int32] | None:
    """The pairs (k, 2) of whole lines, or None if a line is too long, or neither blank nor two numbers."""
    if _has_long_line(block) or not _PLAIN.fullmatch(block):
        return None
    numbers = block.translate(_BLANKS).strip()
    return np.fromstring(numbers, np.int32, sep=" ").reshape(-1, 2) if numbers else np.zeros((0, 2), np.int32)


def _has_long_line(block: bytes) -> bool:
    """Whether a line of the block is one that `physical_lines` does not keep."""
    start = 0
    while start + LONGEST_LINE <= len(block):
        end = block.rfind(b"\n", start, start + LONGEST_LINE)
        if end < 0:
            return True
        start = end + 1
    return False
