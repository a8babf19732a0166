"""Conic programs as SDPA sparse files (`.dat-s`), the format that SDPA, CSDP, DSDP and most others read.

The format states  minimise c'x  subject to  sum_i F_i x_i - F_0  positive semidefinite, block by block; our
rows b - A x in K are its blocks with F_i = -A_i and F_0 = -b.  It has no equations: a row of the zero cone
becomes two diagonal entries of opposite sign, which interior-point solvers accept but like less than a
program without them. Reading puts such pairs together again.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from sosdp.write import write_whole

from ..lines import Lines, integers, numbers
from ..program import Cones, ConicProgram
from ..svec import SQRT2, roots, stored, svec_length, triangle, unstored

_NOTE = re.compile(r"add (\S+) to the optimal value")
_LARGEST = 10**8  # more variables or rows than this is a malformed file, not a program


def write_sdpa(
    program: ConicProgram, path: str | Path, *, constant: float = 0.0, comment: str = "sosdp"
) -> None:
    """Write a linear conic program; a comment notes what must be added to the file's optimal value.

    That is the program's own constant and ``constant``. Numbers are written in full (17 digits).  Raises
    ValueError for a program with a quadratic objective or without variables.
    """
    constant += program.constant
    if not program.q.size:
        raise ValueError("the SDPA format has no programs without variables")
    if program.P is not None and program.P.nnz:
        raise ValueError("the SDPA format has linear objectives only; this program has a quadratic one")
    cones = program.cones
    scalars = 2 * cones.zero + cones.nonnegative
    blocks = ([-scalars] if scalars else []) + list(cones.psd) or [-1]  # 0 >= 0: no block is no SDPA file
    lines = [
        f'"{" ".join(comment.split())}: add {constant!r} to the optimal value (read_program does)"',
        f"{program.q.size} = mDIM",
        f"{len(blocks)} = nBLOCK",
        " ".join(str(side) for side in blocks) + " = bLOCKsTRUCT",
        " ".join(repr(float(c)) for c in program.q),
    ]
    lines += [f"{m} {k} {i} {j} {v!r}" for m, k, i, j, v in zip(*_entries(program), strict=True)]
    write_whole(path, "\n".join(lines).encode("ascii", "replace").decode() + "\n")


def _entries(program: ConicProgram) -> list[list]:
    """Matrix number (0: F_0), block, row, column (from 1) and value of every entry, in the file's order."""
    cones = program.cones
    stacked = sp.hstack([-sp.csc_matrix(program.b[:, None]), -program.A], format="csr")
    stacked.sum_duplicates()
    equations = stacked[: cones.zero]
    stacked = sp.vstack([equations, -equations, stacked[cones.zero :]], format="coo")
    scalars = 2 * cones.zero + cones.nonnegative
    diagonal, first = np.arange(scalars), 1 + bool(scalars)
    parts = [(np.ones(scalars, dtype=np.int64), diagonal, diagonal, np.ones(scalars))]
    for block, side in enumerate(cones.psd, first):
        parts.append((np.full(svec_length(side), block), *triangle(side), roots(side)))
    blocks, rows, columns, scales = (np.concatenate(part) for part in zip(*parts, strict=True))
    at = stacked.row
    entries = stacked.col, blocks[at], rows[at] + 1, columns[at] + 1, unstored(stacked.data, scales[at])[0]
    kept = np.flatnonzero(entries[4])
    order = kept[np.lexsort([part[kept] for part in entries[3::-1]])]
    return [part[order].tolist() for part in entries]


def read_sdpa(path: str | Path) -> ConicProgram:
    """Read an SDPA sparse file (`.dat-s`): diagonal blocks become inequalities, opposite pairs equations.

    The constant that ``write_sdpa`` notes in a comment is read back. Raises FormatError (a ValueError) as
    ``file:line: reason`` for anything malformed, OSError for a file that cannot be read.
    """
    lines = Lines(path)
    constant = _header(lines)
    (columns,) = _counts(lines, 1, "the number of variables")
    (count,) = _counts(lines, 1, "the number of blocks")
    blocks = _counts(lines, count, "the block sizes", signed=True)
    if sum(svec_length(n) if n > 0 else -n for n in blocks) > _LARGEST:
        raise lines.error(f"the blocks have more than {_LARGEST} entries")
    cost = _cost(lines, columns)
    entries = _matrix_entries(lines, columns, blocks)
    return _assemble(columns, blocks, cost, entries, constant)


def _header(lines: Lines) -> float:
    """Skip the comments; the constant noted in them, or 0."""
    constant = 0.0
    while lines.more() and lines.peek()[:1] in ('"', "*"):
        note = _NOTE.search(lines.next())
        if note:
            (constant,) = numbers(lines, [note[1]], "the comment")
    return constant


def _counts(lines: Lines, count: int, what: str, signed: bool = False) -> list[int]:
    """The first ``count`` integers of a line; whatever follows them is a remark."""
    words = re.sub(r"[,(){}=]", " ", lines.next(what)).split()
    values = integers(lines, words[:count], what)
    if len(values) < count:
        raise lines.error(f"{what}: {count} integers expected, {len(values)} found")
    if any(n == 0 or (n < 0 and not signed) or abs(n) > _LARGEST for n in values):
        raise lines.error(f"{what}: must be {'nonzero' if signed else 'positive'} and below {_LARGEST}")
    return values


def _cost(lines: Lines, columns: int) -> np.ndarray:
    values: list[float] = []
    while len(values) < columns:
        words = re.sub(r"[,(){}=]", " ", lines.next("the objective")).split()
        values += numbers(lines, words, "the objective")
        if len(values) > columns:
            raise lines.error(f"the objective: {columns} numbers expected, {len(values)} found")
    return np.array(values)


def _matrix_entries(lines: Lines, columns: int, blocks: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """(matrix, block, row, column) of every entry, counted from 0 with row <= column, and its value."""
    places, values = [], []
    seen: dict[tuple[int, ...], int] = {}
    while lines.more():
        words = re.sub(r"[,(){}=]", " ", lines.next()).split()
        if not words:
            continue
        if len(words) != 5:
            raise lines.error(f"an entry has five numbers (matrix block row column value), not {len(words)}")
        m, k, i, j = integers(lines, words[:4], "an entry")
        (value,) = numbers(lines, words[4:], "an entry")
        if not 0 <= m <= columns:
            raise lines.error(f"matrix {m} of 0 to {columns}")
        if not 1 <= k <= len(blocks):
            raise lines.error(f"block {k} of 1 to {len(blocks)}")
        side = abs(blocks[k - 1])
        if not (1 <= i <= side and 1 <= j <= side):
            raise lines.error(f"entry ({i}, {j}) outside block {k} of side {side}")
        if blocks[k - 1] < 0 and i != j:
            raise lines.error(f"entry ({i}, {j}) off the diagonal of the diagonal block {k}")
        place = (m, k - 1, min(i, j) - 1, max(i, j) - 1)
        if place in seen:
            raise lines.error(f"entry ({i}, {j}) of matrix {m}, block {k} was given in line {seen[place]}")
        seen[place] = lines.number
        places.append(place)
        values.append(value)
    return np.array(places, dtype=np.int64).reshape(-1, 4), np.array(values)


def _assemble(
    columns: int, blocks: list[int], cost: np.ndarray, entries: tuple[np.ndarray, np.ndarray], constant: float
) -> ConicProgram:
    places, values = entries
    scalar = np.array([n for n in blocks if n < 0 or n == 1], dtype=np.int64)
    sides = tuple(n for n in blocks if n > 1)
    scalars = int(np.abs(scalar).sum())
    # first row of each block in our order: diagonal blocks first
    starts, low, high = [], 0, scalars
    for n in blocks:
        starts.append(low if n <= 1 else high)
        low, high = (low + abs(n), high) if n <= 1 else (low, high + svec_length(n))
    matrix, block, i, j = places.T
    inside = np.where(np.array([n <= 1 for n in blocks])[block], j, j * (j + 1) // 2 + i)
    row = np.array(starts, dtype=np.int64)[block] + inside
    # F_i = -A_i and F_0 = -b
    data = -stored(values, np.where(i == j, 1.0, SQRT2))
    whole = sp.csr_matrix((data, (row, matrix)), shape=(high, columns + 1))
    pairs, rest = opposite_rows(whole[:scalars])
    order = np.concatenate([pairs, rest, np.arange(scalars, high)])
    whole = whole[order]
    return ConicProgram(
        q=cost,
        A=sp.csc_matrix(whole[:, 1:]),
        b=whole[:, [0]].toarray().reshape(-1),
        cones=Cones(zero=pairs.size, nonnegative=rest.size, psd=sides),
        constant=constant,
    )


def opposite_rows(rows: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Rows that have an exactly opposite partner (the first of each pair), and rows without one."""
    rows = rows.tocsr(copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    waiting: dict[tuple[bytes, bytes], list[int]] = {}
    paired: dict[int, int] = {}
    for k in range(rows.shape[0]):
        here = slice(rows.indptr[k], rows.indptr[k + 1])
        place, data = rows.indices[here].tobytes(), rows.data[here]
        partners = waiting.get((place, (-data).tobytes()))
        if partners:
            paired[partners.pop(0)] = k
        elif data.size:
            waiting.setdefault((place, data.tobytes()), []).append(k)
    first = np.array(sorted(paired), dtype=np.int64)
    rest = np.setdiff1d(
        np.arange(rows.shape[0]), np.concatenate([first, np.array(list(paired.values()), int)])
    )
    return first, rest
