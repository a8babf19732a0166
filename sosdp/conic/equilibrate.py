"""A program whose numbers are about one, by powers of two: exact, and what solvers' tolerances are made for.

Scalar rows and whole matrix blocks, columns, the cost and the right side are each multiplied by a power of
two; points and multipliers are taken back the same way. Source: Ruiz, RAL-TR-2001-034 (its square roots,
rounded).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from .exact_numbers import rounded
from .program import ConicProgram, ConicSolution

_USUAL = 1e4  # numbers within this factor of one are left alone
_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Equilibrated:
    """The scaled program, exactly: row i times ``2**rows[i]``, column j times ``2**columns[j]``, the right
    side and the cost times ``2**right`` and ``2**cost``; its constant is zero."""

    program: ConicProgram
    rows: np.ndarray
    columns: np.ndarray
    right: int = 0
    cost: int = 0

    def dual(self, z: np.ndarray) -> np.ndarray:
        """A dual vector of the scaled program from one of the given program."""
        return np.ldexp(z, self.cost - self.rows)

    def point(self, x: np.ndarray) -> np.ndarray:
        """A point of the scaled program from one of the given program."""
        return np.ldexp(x, self.right - self.columns)

    def errors(self, found: tuple[np.ndarray, np.ndarray] | None) -> tuple[np.ndarray, np.ndarray] | None:
        """What the entries of the scaled A and b are off by."""
        if found is None:
            return None
        matrix = allowance(found[0], self.rows[:, None] + self.columns[None, :])
        return matrix, allowance(found[1], self.rows + self.right)

    def value(self, found: float, constant: float, direction: int) -> float:
        """A bound on the given program's value from one on the scaled program's, rounded the safe way."""
        if not np.isfinite(found):
            return found
        exact = Fraction(found) * Fraction(2) ** -(self.cost + self.right) + Fraction(constant)
        return rounded(exact, direction)

    def restore(self, solution: ConicSolution, whole: ConicProgram) -> ConicSolution:
        """An answer to the scaled program as one to the given program."""
        x = np.ldexp(solution.x, self.columns - self.right)
        z = np.ldexp(solution.z, self.rows - self.cost)
        value = float(whole.q @ x) + whole.constant if np.isfinite(solution.value) else solution.value
        return replace(solution, x=x, s=np.ldexp(solution.s, -self.rows - self.right), z=z, value=value)


def allowance(found: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Errors times powers of two, never less: what would vanish is the least float."""
    return np.where(found > 0, np.nextafter(np.ldexp(found, exponents), np.inf), 0.0)


def unscaled(program: ConicProgram) -> Equilibrated:
    """The program as it is."""
    rows, columns = (np.zeros(size, dtype=int) for size in program.A.shape)
    return Equilibrated(program, rows, columns)


def equilibrated(program: ConicProgram) -> Equilibrated:
    """The scaled program; that itself, but for its constant, where its numbers are of usual size, where it
    has a quadratic objective, or where scaling would lose digits."""
    plain = unscaled(replace(program, constant=0.0))
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
    return Equilibrated(
        replace(program, q=q, A=sp.csc_matrix(scaled), b=b, constant=0.0), up, down, right, cost
    )


def _usual(program: ConicProgram) -> bool:
    """Whether every row, column, the cost and the right side have their largest entry within a factor of
    one."""
    found = abs(program.A)
    sizes = [
        found.max(axis=0).toarray().ravel(),
        found.max(axis=1).toarray().ravel(),
        np.abs(program.q).max(initial=0.0),
        np.abs(program.b).max(initial=0.0),
    ]
    every = np.concatenate([np.atleast_1d(v) for v in sizes])
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
