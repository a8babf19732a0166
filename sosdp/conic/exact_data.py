"""The data of a conic program in integers.

The numbers of the data are the binary ones they are; entries off the diagonal count as exact when they are
sqrt(2) times a number of few digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .clock import reserve
from .exact_numbers import near_zero, over_one_power, representable, table_of
from .integer_matrices import digits_of
from .program import ConicProgram
from .rigorous import UNIT
from .svec import SQRT2, triangle

_READING = 2e-6  # seconds an entry
_DIGITS = 32  # binary digits of numbers off the diagonal that count as exact


@dataclass(frozen=True, eq=False)
class ExactData:
    """``[A | b]`` in integers: a row of scalars each, and a matrix (columns + 1, entries) a block, each times
    a power of two; ``errors``: what the entries of a block are off by at most, relative (0: exact);
    ``digits``: binary ones of its largest integer."""

    scalars: list[list[int]]
    blocks: list[Any]
    exponents: list[int]
    errors: list[float]
    digits: list[int]


def read(program: ConicProgram) -> ExactData:
    """The data in integers, with what their entries are off by (infinity: nobody knows, by underflow)."""
    from flint import fmpz_mat

    reserve(_READING * program.A.shape[0] * (program.q.size + 1))
    whole = sp.hstack([program.A, sp.csc_matrix(program.b[:, None])], format="csr")
    top = program.cones.zero + program.cones.nonnegative
    scalars = [over_one_power([row])[0][0] for row in whole[:top].toarray().tolist()]
    blocks, exponents, errors, digits = [], [], [], []
    for side, rows in zip(program.cones.psd, program.cones.psd_slices(), strict=True):
        stored = whole[rows].toarray()
        row, column = triangle(side)
        off = row != column
        entries = stored / np.where(off, SQRT2, 1.0)[:, None]
        lost = near_zero(stored[off])
        short = shortened(entries[off])
        exact = bool((short * SQRT2 == stored[off]).all())
        if exact:
            entries[off] = short
        table, exponent = over_one_power(entries.T.tolist())
        blocks.append(fmpz_mat(table) if table and table[0] else fmpz_mat(len(table), 0))
        exponents.append(exponent)
        digits.append(digits_of(table))
        errors.append(np.inf if lost else 0.0 if exact else 4 * UNIT)
    return ExactData(scalars, blocks, exponents, errors, digits)


def shortened(values: np.ndarray) -> np.ndarray:
    """The numbers of few binary digits next to the values."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**_DIGITS), exponent - _DIGITS)


def is_readable(lines: list[list[int]], diagonal: np.ndarray) -> bool:
    """Whether the entries of a matrix are still known when they are stored with their sqrt(2) and read again:
    off the diagonal neighbours of 53 digits may be stored as one float, those of few digits are not."""
    widths = np.where(diagonal, 53, _DIGITS).tolist()
    return all(representable(line, digits) for line, digits in zip(lines, widths, strict=True))


def annihilating(block: Any, side: int, vectors: list[list[int]]) -> list[list[int]]:
    """The rows [A | b] of the equations ``S u = 0``."""
    place = {pair: n for n, pair in enumerate(zip(*(v.tolist() for v in triangle(side)), strict=True))}
    table = table_of(block)
    found = []
    for u in vectors:
        reserve()
        for i in range(side):
            used = [(place[min(i, j), max(i, j)], v) for j, v in enumerate(u) if v]
            row = [sum(line[n] * v for n, v in used) for line in table]
            common = math.gcd(*row)
            if common:
                found.append([v // common for v in row])
    return found
