"""The face to which equations confine the points of a conic program, and points on it, in exact arithmetic.

Where equations, a zero on a diagonal or a shared kernel leave the slack ``S(x) = B - sum x_i A_i`` no
interior (a moment matrix under ``x + y == 1``), no float point is provably feasible, however good. Here the
equations are solved in integers, ``x = x_0 + N t``; vectors u with ``S(x) u = 0`` for all t are read off
exactly and are equations again, until there are none (facial reduction; Borwein and Wolkowicz 1981). With the
kernel spanned by U, in echelon form, S is positive semidefinite exactly when the principal submatrix of the
rows without a pivot is: that program has an interior again, and its points t give x exactly. Contradicting
equations prove that there is no point, weak infeasibility included.

The numbers of the data are the binary ones they are; entries off the diagonal count as exact when they are
sqrt(2) times a number of few digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..clock import otherwise, reserve
from ..program import Cones, ConicProgram
from ..rigorous import UNIT
from ..svec import roots, triangle, unstored
from .integers import (
    absolute,
    as_floats,
    as_row,
    digits_of,
    echelon,
    is_readable,
    is_semidefinite_within,
    kernel,
    near_zero,
    over_one_denominator,
    over_one_power,
    primitive,
    reserve_product,
    rounded,
    solutions,
    square,
    table_of,
    vanishes,
)

_WORK = 1e8  # entries times columns of the data that are looked at
_READING = 2e-6  # seconds an entry
_SEEN = 1e-9  # what floats see as a kernel; only what is one exactly counts
_DENOMINATORS = (1, 12, 1000)

Kernels = list[list[list[int]]]
Point = list[Fraction] | list[float]
Table = list[list[int]]


@dataclass(frozen=True)
class Face:
    """Vectors that span, for each block, what its matrices are orthogonal to; scalars that are zero (numbers
    of rows); ``implied``: whether it is proven that no other matrices and scalars are possible."""

    kernels: Kernels
    scalars: tuple[int, ...]
    implied: bool = False


@dataclass(frozen=True, eq=False)
class ExactData:
    """``[A | b]`` in integers: a row of scalars each, and a matrix (columns + 1, entries) a block, each times
    a power of two (``exponents``, of the blocks); ``errors``: what the entries of a block are off by at most,
    relative (0: exact; infinity: nobody knows, by underflow); ``digits``: binary ones of its largest integer.
    """

    scalars: Table
    blocks: list[Any]
    exponents: list[int]
    errors: list[float]
    digits: list[int]


def read(program: ConicProgram) -> ExactData:
    """The data in integers, with what their entries are off by."""
    from flint import fmpz_mat

    reserve(_READING * program.A.shape[0] * (program.q.size + 1))
    whole = sp.hstack([program.A, sp.csc_matrix(program.b[:, None])], format="csr")
    top = program.cones.zero + program.cones.nonnegative
    scalars = [over_one_power([row])[0][0] for row in whole[:top].toarray().tolist()]
    blocks, exponents, errors, digits = [], [], [], []
    for side, rows in zip(program.cones.psd, program.cones.psd_slices(), strict=True):
        stored = whole[rows].toarray()
        off = np.not_equal(*triangle(side))
        entries, known = unstored(stored, roots(side)[:, None])
        lost, exact = near_zero(stored[off]), bool(known.all())
        table, exponent = over_one_power(entries.T.tolist())
        exponents.append(exponent)
        blocks.append(fmpz_mat(table) if table and table[0] else fmpz_mat(len(table), 0))
        digits.append(digits_of(table))
        errors.append(np.inf if lost else 0.0 if exact else 6 * UNIT)
    return ExactData(scalars, blocks, exponents, errors, digits)


def _annihilating(block: Any, side: int, vectors: Table) -> Table:
    """The rows [A | b] of the equations ``S u = 0``."""
    place = _places(side)
    table = table_of(block)
    result = []
    for u in vectors:
        reserve()
        for i in range(side):
            used = [(place[min(i, j), max(i, j)], v) for j, v in enumerate(u) if v]
            row = [sum(line[n] * v for n, v in used) for line in table]
            if any(row):
                result.append(primitive(row))
    return result


def _places(side: int) -> dict[tuple[int, int], int]:
    """Where the entry (i, j), i <= j, of a matrix is in its vector."""
    return {pair: n for n, pair in enumerate(zip(*(v.tolist() for v in triangle(side)), strict=True))}


@dataclass(frozen=True, eq=False)
class Restricted:
    """The program in the coordinates t, on its face.

    ``errors``: of the entries of its A and b (zero: exact, those of its q too); ``constant``: its exact one;
    ``changed``: whether it is another than the whole one; ``scalars`` and ``blocks``: which of the whole
    one's are left, and ``kept`` which rows of every block; ``implied``: whether all points are on the face.
    """

    program: ConicProgram
    errors: tuple[np.ndarray, np.ndarray]
    constant: Fraction
    changed: bool
    scalars: list[int]
    blocks: list[int]
    kept: list[list[int]]
    whole: ConicProgram
    kernels: Kernels
    tight: tuple[int, ...]
    implied: bool
    _data: ExactData
    _map: Any  # rows: what each coordinate, and 1, adds to (-x, 1) times ``_denominator``
    _denominator: int

    @property
    def exact(self) -> bool:
        """Whether floats hold the entries of the program."""
        return not any(e.any() for e in self.errors)

    def point(self, t: Point) -> list[Fraction]:
        """The point x of given coordinates, which satisfies all equations exactly."""
        weights, bottom = over_one_denominator([*map(Fraction, t), Fraction(1)])
        reserve_product(as_row(weights), self._map, (digits_of([weights]), digits_of(table_of(self._map))))
        total = as_row(weights) * self._map
        return [Fraction(-int(total[0, j]), bottom * self._denominator) for j in range(self.whole.q.size)]

    @otherwise(float("inf"))
    def upper_bound(self, t: Point) -> float:
        """The value at the point, rounded upwards, when it is feasible; infinity otherwise."""
        if not all(map(math.isfinite, t)):
            return np.inf
        x = self.point(t)
        if not self._feasible(x):
            return np.inf
        value = sum((Fraction(float(c)) * v for c, v in zip(self.whole.q, x, strict=True)), Fraction(0))
        return rounded(value + Fraction(self.whole.constant), 1)

    @otherwise(False)
    def excludes(self, t: Point) -> bool:
        """Whether the point is proven infeasible: by entries of matrices that are exact."""
        return not any(self._data.errors) and not self._feasible(self.point(t))

    def _feasible(self, x: list[Fraction]) -> bool:
        top, _ = over_one_denominator([-v for v in x] + [Fraction(1)])
        point, data, digits = as_row(top), self._data, digits_of([top])
        for row in data.scalars[self.whole.cones.zero :]:
            if sum(a * b for a, b in zip(row, top, strict=True)) < 0:
                return False
        for k, (side, keep) in enumerate(zip(self.whole.cones.psd, self.kept, strict=True)):
            reserve_product(point, data.blocks[k], (digits, data.digits[k]))
            matrix = square(table_of(point * data.blocks[k])[0], side)
            off = Fraction(0)
            if data.errors[k]:
                size = absolute(point) * absolute(data.blocks[k])
                off = Fraction(data.errors[k]) * max(table_of(size)[0]) * side
            if not is_semidefinite_within([[matrix[i][j] for j in keep] for i in keep], off):
                return False
        return True


def near(t: np.ndarray) -> list[Point]:
    """A point in floats, and fractions of small denominators next to it: where few points are feasible, an
    integer one may be though no float near it is."""
    if not np.isfinite(t).all():
        return [t.tolist()]
    values = [Fraction(v) for v in t.tolist()]
    return [t.tolist(), *([v.limit_denominator(d) for v in values] for d in _DENOMINATORS)]


@otherwise(False)
def restrict(program: ConicProgram, guess: Face | None = None) -> Restricted | bool:
    """The program on the face to which its equations confine it (False: too large, no time, or the numbers
    break the arithmetic; True: proven to have no point).

    ``guess``: vectors for each block, and scalar rows, that are taken for kernels and for equations: points
    of what comes out are points of the program, whether that is so or not.
    """
    cones, columns = program.cones, program.q.size
    if program.A.shape[0] * (columns + 1) * max(columns, 1) > _WORK or program.P is not None:
        return False
    if program.rounded or not all(np.isfinite(v).all() for v in (program.A.data, program.b, program.q)):
        return False
    data = read(program)
    if not np.isfinite(data.errors).all():
        return False
    kernels: Kernels = (
        [[] for _ in cones.psd] if guess is None else [list(result) for result in guess.kernels]
    )
    tight = () if guess is None else guess.scalars
    implied = guess is None or guess.implied
    rows = [*data.scalars[: cones.zero], *(data.scalars[i] for i in tight)]
    for k, result in enumerate(kernels):
        if result and data.errors[k]:
            return False
        rows += _annihilating(data.blocks[k], cones.psd[k], result)
    while True:
        solved = solutions(rows, columns)
        if solved is None:
            return implied
        coordinates, denominator, rows = solved
        width = digits_of(table_of(coordinates))
        fresh, tables = [], []
        for k, side in enumerate(cones.psd):
            reserve_product(coordinates, data.blocks[k], (width, data.digits[k]))
            tables.append(table_of(coordinates * data.blocks[k]))
            result = [] if data.errors[k] else _forced(tables[k], side, kernels[k])
            kernels[k] = kernels[k] + result
            fresh += _annihilating(data.blocks[k], side, result)
        if not fresh:
            break
        rows += fresh
    kept = [
        sorted(set(range(n)) - set(echelon(result)[2])) for n, result in zip(cones.psd, kernels, strict=True)
    ]
    made = _assembled(program, data, coordinates, tables, kept)
    costs = _costs(program, coordinates, denominator)
    if made is True:
        return implied
    if made is False or costs is None:
        return False
    (dense, error, costs, coordinates), scalars, exact = _moving(*made[:2], costs, coordinates), *made[2:]
    blocks = [k for k, keep in enumerate(kept) if keep]
    cost = [float(c) for c in costs]
    reduced = ConicProgram(
        q=np.array(cost[:-1]),
        A=sp.csc_matrix(-dense[:, :-1]),
        b=dense[:, -1],
        cones=Cones(0, len(scalars), tuple(len(kept[k]) for k in blocks)),
        constant=program.constant + cost[-1],
    )
    if exact and all(Fraction(c) == d for c, d in zip(cost[:-1], costs, strict=False)):
        error = np.zeros_like(error)
    return Restricted(
        program=reduced,
        errors=(error[:, :-1], error[:, -1]),
        constant=costs[-1] + Fraction(program.constant),
        changed=len(costs) <= columns or bool(cones.zero) or len(dense) < program.b.size,
        scalars=scalars,
        blocks=blocks,
        kept=kept,
        whole=program,
        kernels=kernels,
        tight=tight,
        implied=implied,
        _data=data,
        _map=coordinates,
        _denominator=denominator,
    )


def _moving(
    dense: np.ndarray, error: np.ndarray, costs: list[Fraction], coordinates: Any
) -> tuple[np.ndarray, np.ndarray, list[Fraction], Any]:
    """The same without coordinates that move nothing, which stay 0: beside them no dual vector is the only
    one."""
    from flint import fmpz_mat

    last, table = len(costs) - 1, table_of(coordinates)
    used = [k for k, c in enumerate(costs) if c or dense[:, k].any() or k == last]
    return dense[:, used], error[:, used], [costs[k] for k in used], fmpz_mat([table[k] for k in used])


def _costs(program: ConicProgram, coordinates: Any, denominator: int) -> list[Fraction] | None:
    """The cost of every coordinate, and of the particular solution; None where floats hold them badly."""
    prices = [Fraction(float(v)) for v in program.q]
    costs = [
        sum((-c * v for c, v in zip(prices, row, strict=False) if c), Fraction(0)) / denominator
        for row in table_of(coordinates)
    ]
    try:
        result = np.array([float(c) for c in costs])
    except OverflowError:
        return None
    return None if vanishes(costs, result) else costs


def _assembled(
    program: ConicProgram, data: ExactData, coordinates: Any, tables: list[Table], kept: list[list[int]]
) -> tuple[np.ndarray, np.ndarray, list[int], bool] | bool:
    """``[A | b]`` in the coordinates, minus A; what its entries are off by; the scalar rows that are left,
    and whether floats hold it all. True: a row contradicts itself; False: numbers vanish or overflow."""
    cones, turned = program.cones, coordinates.transpose()
    scalars: list[int] = []
    pieces: list[tuple[Table, np.ndarray, float]] = []  # rows, stored times what, and their relative error
    for i in range(cones.zero, cones.scalars.stop):
        reserve()
        row = table_of(as_row(data.scalars[i]) * turned)[0]
        if any(row[:-1]):
            scalars.append(i)
            pieces.append(([row], np.ones(1), 0.0))
        elif row[-1] < 0:
            return True
    for k, keep in enumerate(kept):
        low, high = (v.tolist() for v in triangle(len(keep)))
        place, table, slack = _places(cones.psd[k]), tables[k], 0.0
        chosen = [place[keep[i], keep[j]] for i, j in zip(low, high, strict=True)]
        if data.errors[k]:
            broad = max(abs(v) for row in table for v in row) or 1
            spread = max(max(row) for row in table_of(absolute(coordinates) * absolute(data.blocks[k])))
            slack = 4 * UNIT + data.errors[k] * max(1.0, float(Fraction(spread, broad)))
        if keep:
            pieces.append(([[row[c] for row in table] for c in chosen], roots(len(keep)), slack))
    parts, exact = [np.zeros((0, coordinates.nrows()))], True
    errors = list(parts)
    for lines, factors, slack in pieces:
        result = as_floats(lines)
        if any(vanishes(line, numbers) for line, numbers in zip(lines, result, strict=True)):
            return False
        exact = exact and not slack and is_readable(lines, factors == 1)
        parts.append(result * factors[:, None])
        size = np.abs(parts[-1])
        errors.append(np.full(size.shape, slack * size.max()) if slack else size * 4 * UNIT)
    dense = np.concatenate(parts)
    return (dense, np.concatenate(errors), scalars, exact) if np.isfinite(dense).all() else False


def _forced(table: Table, side: int, known: Table) -> Table:
    """Vectors, not combinations of the known ones, that every matrix of the span (rows of ``table``) takes to
    zero, or must where it is positive semidefinite, its diagonal entry being zero."""
    matrices = [square(row, side) for row in table]
    result = [
        [int(i == j) for j in range(side)]
        for i in range(side)
        if not any(matrix[i][i] for matrix in matrices)
    ]
    floats = [as_floats(matrix) for matrix in matrices if any(map(any, matrix))]
    product = sum((m @ m for m in floats), np.zeros((side, side)))
    if side and np.linalg.eigvalsh(product)[0] <= _SEEN * np.abs(product).max():
        result += kernel(list({tuple(line) for matrix in matrices for line in matrix if any(line)}), side)
    fresh: Table = []
    for u in result:
        reserve()
        if len(echelon([*known, *fresh, u])[2]) > len(known) + len(fresh):
            fresh.append(primitive(u))
    return fresh
