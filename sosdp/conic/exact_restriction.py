"""The face to which equations confine the points of a conic program, in exact arithmetic.

Where equations, a zero on a diagonal or a shared kernel leave the slack ``S(x) = B - sum x_i A_i`` no
interior (a moment matrix under ``x + y == 1``), no float point is provably feasible, however good. Here the
equations are solved in integers, ``x = x_0 + N t``; vectors u with ``S(x) u = 0`` for all t are read off
exactly and are equations again, until there are none (facial reduction; Borwein and Wolkowicz 1981). With the
kernel spanned by U, in echelon form, S is positive semidefinite exactly when the principal submatrix of the
rows without a pivot is: that program has an interior again, and its points t give x exactly. Contradicting
equations prove that there is no point, weak infeasibility included.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from .clock import otherwise, reserve
from .exact_data import ExactData, annihilating, is_readable, read
from .exact_numbers import (
    absolute,
    as_floats,
    as_row,
    entries_of,
    representable,
    square,
    table_of,
    vanishes,
)
from .exact_points import Face, Kernels, Restricted
from .integer_matrices import digits_of, pivots_of, reserve_elimination, reserve_product, solutions
from .program import Cones, ConicProgram
from .rigorous import UNIT
from .svec import SQRT2, triangle

_WORK = 1e8  # entries times columns of the data that are looked at
_SEEN = 1e-9  # what floats see as a kernel; only what is one exactly counts


@otherwise(False)
def restrict(program: ConicProgram, guess: Face | None = None) -> Restricted | bool:
    """The program on the face to which its equations confine it (False: too large, no time, or the numbers
    break the arithmetic; True: proven to have no point).

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
        rows += annihilating(data.blocks[k], cones.psd[k], found)
    while True:
        solved = solutions(rows, columns)
        if solved is None:
            return guess is None or guess.implied
        coordinates, denominator, rows = solved
        width = digits_of(table_of(coordinates))
        fresh, tables = [], []
        for k, side in enumerate(cones.psd):
            reserve_product(coordinates, data.blocks[k], (width, data.digits[k]))
            tables.append(table_of(coordinates * data.blocks[k]))
            if data.errors[k]:
                continue
            found = _forced(tables[k], side, kernels[k])
            if found:
                kernels[k] = kernels[k] + found
                fresh += annihilating(data.blocks[k], side, found)
        if not fresh:
            break
        rows += fresh
    kept = []
    for side, found in zip(cones.psd, kernels, strict=True):
        pivots = set()
        if found:
            reserve_elimination(found)
            pivots = set(pivots_of(fmpz_mat(found).rref()[0].tolist()))
        kept.append([i for i in range(side) if i not in pivots])
    made = _assembled(program, data, coordinates, denominator, tables, kernels, tight, kept)
    implied = guess is None or guess.implied
    if made is True:
        return implied
    return replace(made, implied=implied) if isinstance(made, Restricted) else made


def _assembled(
    program: ConicProgram,
    data: ExactData,
    coordinates: Any,
    denominator: int,
    tables: list[list[list[int]]],
    kernels: Kernels,
    tight: tuple[int, ...],
    kept: list[list[int]],
) -> Restricted | bool:
    cones = program.cones
    parts, errors, chosen_rows, chosen_blocks, exact = [], [], [], [], True
    turned = coordinates.transpose()
    for i in range(cones.zero, cones.zero + cones.nonnegative):
        reserve()
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
        table = tables[k]
        lines = [[row[c] for row in table] for c in chosen]
        exact = exact and not data.errors[k] and is_readable(lines, low == high)
        found = as_floats(lines)
        if any(vanishes(line, numbers) for line, numbers in zip(lines, found, strict=True)):
            return False
        found *= np.where(low == high, 1.0, SQRT2)[:, None]
        parts.append(found)
        sides.append(len(keep))
        chosen_blocks.append(k)
        sizes = 1.0
        if data.errors[k]:
            wide = max(abs(v) for row in table for v in row) or 1
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
        _digits=digits_of(table_of(coordinates)),
        kept=kept,
    )


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
            reserve_elimination([list(line) for line in lines])
            basis, nullity = fmpz_mat([list(line) for line in lines]).nullspace()
            found += [[int(basis[i, j]) for i in range(side)] for j in range(nullity)]
    fresh: list[list[int]] = []
    rank = len(known)
    for u in found:
        reserve()
        if fmpz_mat([*known, *fresh, u]).rank() > rank:
            common = math.gcd(*u)
            fresh.append([v // common for v in u])
            rank += 1
    return fresh
