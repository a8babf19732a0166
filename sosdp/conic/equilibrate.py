"""A program whose numbers are about one, by powers of two: exact, and what solvers' tolerances are made for.

Scalar rows and whole matrix blocks, columns, the cost and the right side are each multiplied by a power of
two; points and multipliers are taken back the same way. Source: Ruiz, RAL-TR-2001-034 (its square roots,
rounded). What the answer is judged by is another matter: see ``unit_size``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from .powers_of_two import Scaled, in_given_units
from .program import ConicProgram

_USUAL = 1e4  # numbers within this factor of one are left alone
_ROUNDS = 12


def equilibrated(program: ConicProgram) -> Scaled:
    """The scaled program; that itself, but for its constant, where its numbers are of usual size, where it
    has a quadratic objective, or where scaling would lose digits."""
    plain = in_given_units(replace(program, constant=0.0))
    if program.P is not None or not program.A.nnz or _usual(program):
        return plain
    A = sp.coo_matrix(program.A)
    size, row, column = np.log2(np.abs(A.data[A.data != 0])), A.row[A.data != 0], A.col[A.data != 0]
    group = _groups(program)
    rows, columns = np.zeros(int(group.max()) + 1), np.zeros(program.q.size)
    for _ in range(_ROUNDS):
        now = size + rows[group[row]] + columns[column]
        rows -= _largest(now, group[row], rows.size) / 2
        now = size + rows[group[row]] + columns[column]
        columns -= _largest(now, column, columns.size) / 2
    # as exponents: a factor by itself may be beyond the range of doubles
    up, down = np.round(rows).astype(int)[group], np.round(columns).astype(int)
    right, cost = _less_than_one(program.b, up), _less_than_one(program.q, down)
    scaled = sp.coo_matrix((np.ldexp(A.data, up[A.row] + down[A.col]), (A.row, A.col)), shape=A.shape)
    q, b = np.ldexp(program.q, down + cost), np.ldexp(program.b, up + right)
    back = (
        np.ldexp(scaled.data, -up[A.row] - down[A.col]),
        np.ldexp(q, -down - cost),
        np.ldexp(b, -up - right),
    )
    given = (A.data, program.q, program.b)
    if not all((u == v).all() for u, v in zip(back, given, strict=True)):
        return plain
    return Scaled(replace(program, q=q, A=sp.csc_matrix(scaled), b=b, constant=0.0), up, down, right, cost)


def _usual(program: ConicProgram) -> bool:
    """Whether every row, column, the cost and the right side have their largest entry within a factor of
    one."""
    columns = sp.csc_matrix(program.A)
    size = np.abs(columns.data)
    rows = np.zeros(program.b.size)
    np.maximum.at(rows, columns.indices, size)
    filled = np.flatnonzero(np.diff(columns.indptr))
    each = np.maximum.reduceat(size, columns.indptr[filled])
    ends = [np.abs(program.q).max(initial=0.0), np.abs(program.b).max(initial=0.0)]
    every = np.concatenate([rows, each, ends])
    every = every[every > 0]
    return not every.size or bool(every.min() >= 1 / _USUAL and every.max() <= _USUAL)


def _groups(program: ConicProgram) -> np.ndarray:
    """The number of the scalar row or of the block to which a row belongs."""
    top = program.cones.zero + program.cones.nonnegative
    group = np.arange(program.b.size)
    for k, rows in enumerate(program.cones.psd_slices()):
        group[rows] = top + k
    return group


def _largest(values: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """The largest value at each place, zero where there is none."""
    found = np.full(count, -np.inf)
    np.maximum.at(found, places, values)
    return np.where(np.isfinite(found), found, 0.0)


def _less_than_one(values: np.ndarray, exponents: np.ndarray) -> int:
    """The exponent that takes the largest of the scaled values near one."""
    used = values != 0
    if not used.any():
        return 0
    return -int((np.frexp(values[used])[1] + exponents[used]).max())
