"""Points of a conic program in exact arithmetic: equations, and faces to which they confine the slack.

Where equations, a zero on a diagonal or a shared kernel leave the slack ``S(x) = B - sum x_i A_i`` no
interior (a moment matrix under ``x + y == 1``), no float point is provably feasible, however good. Here the
equations are solved in integers, ``x = x_0 + N t``; vectors u with ``S(x) u = 0`` for all t are read off
exactly and are equations again, until there are none (facial reduction; Borwein and Wolkowicz 1981). With the
kernel spanned by U, in echelon form, S is positive semidefinite exactly when the principal submatrix of the
rows without a pivot is: that program has an interior again, and its points t give x exactly. Contradicting
equations prove that there is no point, weak infeasibility included. The numbers of the data are the binary
ones they are; entries off the diagonal count as exact when they are sqrt(2) times a number of few digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from .exact_numbers import (
    absolute,
    as_floats,
    as_row,
    entries_of,
    near_zero,
    over_one_denominator,
    over_one_power,
    representable,
    square,
    table_of,
    vanishes,
)
from .program import Cones, ConicProgram
from .rigorous import UNIT, least_eigenvalue_bound
from .svec import SQRT2, triangle

_WORK = 1e8  # entries times columns of the data that are looked at
_DIGITS = 32  # binary digits of numbers off the diagonal that count as exact
_SEEN = 1e-9  # what floats see as a kernel; only what is one exactly counts
_DENOMINATORS = (1, 12, 1000)
_TINY = 16  # side up to which a matrix on the boundary is decided in integers

Kernels = list[list[list[int]]]
Point = list[Fraction] | list[float]


@dataclass(frozen=True)
class Face:
    """Vectors that span, for each block, what its matrices are orthogonal to; scalars that are zero (numbers
    of rows); ``implied``: whether it is proven that no other matrices and scalars are possible."""

    kernels: Kernels
    scalars: tuple[int, ...]
    implied: bool = False


@dataclass(frozen=True, eq=False)
class _Data:
    """``[A | b]`` in integers: a row of scalars each, and a matrix (columns + 1, entries) a block, each times
    a power of two; ``errors``: what the entries of a block are off by at most, relative (0: exact)."""

    scalars: list[list[int]]
    blocks: list[Any]
    exponents: list[int]
    errors: list[float]


@dataclass(frozen=True, eq=False)
class Restricted:
    """The program in the coordinates t, on its face.

    ``errors``: of the entries of its A and b (zero: exact, those of its q too); ``constant``: its exact one;
    ``changed``: whether it is another than the whole one; ``scalars`` and ``blocks``: which of the whole
    one's are left.
    """

    program: ConicProgram
    errors: tuple[np.ndarray, np.ndarray]
    constant: Fraction
    changed: bool
    scalars: list[int]
    blocks: list[int]
    whole: ConicProgram
    kernels: Kernels
    tight: tuple[int, ...]
    implied: bool
    kept: list[list[int]]
    _data: _Data
    _map: Any  # rows: what each coordinate, and 1, adds to (-x, 1) times ``_denominator``
    _denominator: int

    @property
    def exact(self) -> bool:
        """Whether floats hold the entries of the program."""
        return not any(e.any() for e in self.errors)

    def point(self, t: Point) -> list[Fraction]:
        """The point x of given coordinates, which satisfies all equations exactly."""
        weights, bottom = over_one_denominator([*map(Fraction, t), Fraction(1)])
        total = as_row(weights) * self._map
        return [Fraction(-int(total[0, j]), bottom * self._denominator) for j in range(self.whole.q.size)]

    def upper_bound(self, t: Point) -> float:
        """The value at the point, rounded upwards, when it is feasible; infinity otherwise."""
        if not all(map(math.isfinite, t)):
            return np.inf
        x = self.point(t)
        if not self._feasible(x):
            return np.inf
        value = sum((Fraction(float(c)) * v for c, v in zip(self.whole.q, x, strict=True)), Fraction(0))
        return rounded(value + Fraction(self.whole.constant), 1)

    def _feasible(self, x: list[Fraction]) -> bool:
        top, bottom = over_one_denominator([-v for v in x] + [Fraction(1)])
        point = as_row(top)
        cones = self.whole.cones
        for row in self._data.scalars[cones.zero :]:
            if sum(a * b for a, b in zip(row, top, strict=True)) < 0:
                return False
        for k, side in enumerate(cones.psd):
            entries = entries_of(point * self._data.blocks[k])
            matrix = square(entries, side)
            off = Fraction(0)
            if self._data.errors[k]:
                size = as_row([abs(v) for v in top]) * absolute(self._data.blocks[k])
                off = Fraction(self._data.errors[k]) * max(int(v) for v in entries_of(size)) * side
            keep = self.kept[k]
            if not _definite([[matrix[i][j] for j in keep] for i in keep], off):
                return False
        return True


def near(t: np.ndarray) -> list[Point]:
    """A point in floats, and fractions of small denominators next to it: where few points are feasible, an
    integer one may be though no float near it is."""
    if not np.isfinite(t).all():
        return [t.tolist()]
    values = [Fraction(v) for v in t.tolist()]
    return [t.tolist(), *([v.limit_denominator(d) for v in values] for d in _DENOMINATORS)]


def restrict(program: ConicProgram, guess: Face | None = None) -> Restricted | bool:
    """The program on the face to which its equations confine it (False: too large, or the numbers break the
    arithmetic; True: proven to have no point).

    ``guess``: vectors for each block, and scalar rows, that are taken for kernels and for equations: points
    of what comes out are points of the program, whether that is so or not.
    """
    from flint import fmpz_mat

    cones, columns = program.cones, program.q.size
    if program.A.shape[0] * (columns + 1) * max(columns, 1) > _WORK or program.P is not None:
        return False
    if not all(np.isfinite(v).all() for v in (program.A.data, program.b, program.q)):
        return False
    data = read(program)
    if not np.isfinite(data.errors).all():
        return False
    kernels: Kernels = [[] for _ in cones.psd] if guess is None else [list(found) for found in guess.kernels]
    tight = () if guess is None else guess.scalars
    rows = [*data.scalars[: cones.zero], *(data.scalars[i] for i in tight)]
    for k, found in enumerate(kernels):
        if found and data.errors[k]:
            return False
        rows += _annihilate(data.blocks[k], cones.psd[k], found)
    while True:
        solved = _solved(rows, columns)
        if solved is None:
            return guess is None or guess.implied
        coordinates, denominator, rows = solved
        fresh = []
        for k, side in enumerate(cones.psd):
            if data.errors[k]:
                continue
            found = _forced(table_of(coordinates * data.blocks[k]), side, kernels[k])
            if found:
                kernels[k] = kernels[k] + found
                fresh += _annihilate(data.blocks[k], side, found)
        if not fresh:
            break
        rows += fresh
    kept = []
    for side, found in zip(cones.psd, kernels, strict=True):
        pivots = set()
        if found:
            pivots = set(_pivots(fmpz_mat(found).rref()[0].tolist()))
        kept.append([i for i in range(side) if i not in pivots])
    made = _assembled(program, data, coordinates, denominator, kernels, tight, kept)
    implied = guess is None or guess.implied
    if made is True:
        return implied
    return replace(made, implied=implied) if isinstance(made, Restricted) else made


def _assembled(
    program: ConicProgram,
    data: _Data,
    coordinates: Any,
    denominator: int,
    kernels: Kernels,
    tight: tuple[int, ...],
    kept: list[list[int]],
) -> Restricted | bool:
    cones = program.cones
    parts, errors, chosen_rows, chosen_blocks, exact = [], [], [], [], True
    turned = coordinates.transpose()
    for i in range(cones.zero, cones.zero + cones.nonnegative):
        row = entries_of(as_row(data.scalars[i]) * turned)
        if not any(row[:-1]):
            if row[-1] < 0:
                return True
            continue
        found = as_floats([row])
        if vanishes(row, found):
            return False
        parts.append(found)
        exact = exact and representable(row)
        errors.append(np.abs(found) * 4 * UNIT)
        chosen_rows.append(i)
    sides = []
    for k, side in enumerate(cones.psd):
        keep = kept[k]
        if not keep:
            continue
        low, high = triangle(len(keep))
        place = {pair: n for n, pair in enumerate(zip(*(v.tolist() for v in triangle(side)), strict=True))}
        chosen = [place[keep[i], keep[j]] for i, j in zip(low.tolist(), high.tolist(), strict=True)]
        table = table_of(coordinates * data.blocks[k])
        lines = [[row[c] for row in table] for c in chosen]
        exact = exact and not data.errors[k] and _readable(lines, low == high)
        found = as_floats(lines)
        if any(vanishes(line, numbers) for line, numbers in zip(lines, found, strict=True)):
            return False
        found *= np.where(low == high, 1.0, SQRT2)[:, None]
        parts.append(found)
        sides.append(len(keep))
        chosen_blocks.append(k)
        wide = max(abs(v) for row in table for v in row) or 1
        sizes = 1.0
        if data.errors[k]:
            spread = table_of(absolute(coordinates) * absolute(data.blocks[k]))
            sizes = max(1.0, float(Fraction(max(v for row in spread for v in row), wide)))
        slack = 4 * UNIT + data.errors[k] * sizes
        errors.append(
            np.full(found.shape, slack * np.abs(found).max()) if data.errors[k] else np.abs(found) * slack
        )
    width = coordinates.nrows()
    dense = np.concatenate([*parts, np.zeros((0, width))])
    error = np.concatenate([*errors, np.zeros((0, width))])
    try:
        prices = [Fraction(float(v)) for v in program.q]
        costs = [
            sum((-c * int(coordinates[i, j]) for j, c in enumerate(prices) if c), Fraction(0)) / denominator
            for i in range(width)
        ]
        cost = [float(c) for c in costs]
    except OverflowError:
        return False
    if not (np.isfinite(dense).all() and np.isfinite(cost).all()) or vanishes(costs, np.array(cost)):
        return False
    reduced = ConicProgram(
        q=np.array(cost[:-1]),
        A=sp.csc_matrix(-dense[:, :-1]),
        b=dense[:, -1],
        cones=Cones(0, len(chosen_rows), tuple(sides)),
        constant=program.constant + cost[-1],
    )
    exact = exact and all(Fraction(c) == d for c, d in zip(cost[:-1], costs, strict=False))
    if exact:
        error = np.zeros_like(error)
    return Restricted(
        program=reduced,
        errors=(error[:, :-1], error[:, -1]),
        constant=costs[-1] + Fraction(program.constant),
        changed=width <= program.q.size or bool(program.cones.zero) or len(dense) < program.b.size,
        scalars=chosen_rows,
        blocks=chosen_blocks,
        whole=program,
        kernels=kernels,
        tight=tight,
        implied=True,
        _data=data,
        _map=coordinates,
        _denominator=denominator,
        kept=kept,
    )


def read(program: ConicProgram) -> _Data:
    """The data in integers, with what their entries are off by (infinity: nobody knows, by underflow)."""
    from flint import fmpz_mat

    whole = sp.hstack([program.A, sp.csc_matrix(program.b[:, None])], format="csr")
    top = program.cones.zero + program.cones.nonnegative
    scalars = [over_one_power([row])[0][0] for row in whole[:top].toarray().tolist()]
    blocks, exponents, errors = [], [], []
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
        errors.append(np.inf if lost else 0.0 if exact else 4 * UNIT)
    return _Data(scalars, blocks, exponents, errors)


def shortened(values: np.ndarray) -> np.ndarray:
    """The numbers of few binary digits next to the values."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**_DIGITS), exponent - _DIGITS)


def _readable(lines: list[list[int]], diagonal: np.ndarray) -> bool:
    """Whether the entries of a matrix are still known when they are stored with their sqrt(2) and read again:
    off the diagonal neighbours of 53 digits may be stored as one float, those of few digits are not."""
    widths = np.where(diagonal, 53, _DIGITS).tolist()
    return all(representable(line, digits) for line, digits in zip(lines, widths, strict=True))


def _annihilate(block: Any, side: int, vectors: list[list[int]]) -> list[list[int]]:
    """The rows [A | b] of the equations ``S u = 0``."""
    place = {pair: n for n, pair in enumerate(zip(*(v.tolist() for v in triangle(side)), strict=True))}
    table = table_of(block)
    found = []
    for u in vectors:
        for i in range(side):
            used = [(place[min(i, j), max(i, j)], v) for j, v in enumerate(u) if v]
            row = [sum(line[n] * v for n, v in used) for line in table]
            common = math.gcd(*row)
            if common:
                found.append([v // common for v in row])
    return found


def _pivots(echelon: list[list[Any]]) -> list[int]:
    found = []
    for row in echelon:
        at = next((j for j, v in enumerate(row) if v != 0), None)
        if at is not None:
            found.append(at)
    return found


def _solved(rows: list[list[int]], columns: int) -> tuple[Any, int, list[list[int]]] | None:
    """All solutions of ``A x = b`` (rows [A | b]) as rows of (-x, 1) times a denominator: one a coordinate
    and a particular one; the denominator, and independent equations. None when they contradict each other."""
    from flint import fmpz_mat

    if not rows:
        table = [[-int(i == j) for j in range(columns + 1)] for i in range(columns)]
        return fmpz_mat([*table, [0] * columns + [1]]), 1, []
    reduced, common, rank = fmpz_mat(rows).rref()
    echelon = [[int(v) for v in row] for row in reduced.tolist()[:rank]]
    pivots = _pivots(echelon)
    if columns in pivots:
        return None
    bottom = int(common)
    if bottom < 0:
        bottom, echelon = -bottom, [[-v for v in row] for row in echelon]
    free = [j for j in range(columns) if j not in set(pivots)]
    table = []
    for j in [*free, columns]:
        line = [0] * (columns + 1)
        line[j] = bottom if j == columns else -bottom
        for row, p in zip(echelon, pivots, strict=True):
            line[p] = -row[j] if j == columns else row[j]
        table.append(line)
    shared = math.gcd(bottom, *(v for line in table for v in line))
    table = [[v // shared for v in line] for line in table]
    return fmpz_mat(table), bottom // shared, echelon


def _forced(table: list[list[int]], side: int, known: list[list[int]]) -> list[list[int]]:
    """Vectors, not combinations of the known ones, that every matrix of the span (rows of ``table``) takes to
    zero, or must where it is positive semidefinite, its diagonal entry being zero."""
    from flint import fmpz_mat

    if side == 0:
        return []
    matrices = [square(row, side) for row in table]
    found = [
        [int(i == j) for j in range(side)]
        for i in range(side)
        if not any(matrix[i][i] for matrix in matrices)
    ]
    floats = [as_floats(matrix) for matrix in matrices if any(any(line) for line in matrix)]
    product = sum((m @ m for m in floats), np.zeros((side, side)))
    if not floats or np.linalg.eigvalsh(product)[0] <= _SEEN * np.abs(product).max():
        lines = list({tuple(line) for matrix in matrices for line in matrix if any(line)})
        if not lines:
            found = [[int(i == j) for j in range(side)] for i in range(side)]
        else:
            basis, nullity = fmpz_mat([list(line) for line in lines]).nullspace()
            found += [[int(basis[i, j]) for i in range(side)] for j in range(nullity)]
    fresh: list[list[int]] = []
    rank = len(known)
    for u in found:
        if fmpz_mat([*known, *fresh, u]).rank() > rank:
            common = math.gcd(*u)
            fresh.append([v // common for v in u])
            rank += 1
    return fresh


def _definite(matrix: list[list[int]], off: Fraction) -> bool:
    """Whether every symmetric matrix within ``off`` of an integer one, in norm, is positive semidefinite."""
    side = len(matrix)
    if not side:
        return True
    largest = max(abs(v) for row in matrix for v in row)
    if not largest:
        return off == 0
    scale = 1 << largest.bit_length()
    floats = np.array([[v / scale for v in row] for row in matrix])
    slack = 2 * UNIT * side + float(min(off / scale, Fraction(10**6))) * (1 + 1e-12)
    if least_eigenvalue_bound(floats) >= slack:
        return True
    return off == 0 and side <= _TINY and is_semidefinite(matrix)


def is_semidefinite(matrix: list[list[int]]) -> bool:
    """Whether a symmetric matrix of integers is positive semidefinite, by elimination in integers."""
    rest = np.array(matrix, dtype=object).reshape(len(matrix), len(matrix))
    while rest.size:
        diagonal = rest.diagonal()
        if (diagonal < 0).any():
            return False
        pivot = int(np.argmax(diagonal > 0))
        if not diagonal[pivot] > 0:
            return not rest.any()
        keep = np.arange(rest.shape[0]) != pivot
        column = rest[keep, pivot]
        rest = rest[np.ix_(keep, keep)] * rest[pivot, pivot] - np.outer(column, column)
        common = math.gcd(*(int(v) for v in rest.reshape(-1))) if rest.size else 1
        rest = rest // common if common > 1 else rest
    return True


def rounded(value: Fraction, direction: int) -> float:
    """A float not below a fraction (``direction`` 1), or not above it (-1)."""
    try:
        found = value.numerator / value.denominator
    except OverflowError:
        limit = float(np.finfo(float).max) * (1 if value > 0 else -1)
        return limit if limit * direction < 0 else direction * np.inf
    if (Fraction(found) - value) * direction < 0:
        found = float(np.nextafter(found, direction * np.inf))
    return found
