"""The units of conic programs: rows, columns, cost and right side times powers of two, exactly.

A program is stated in units of its own once, for all that is solved and proven of it: rows and columns of
numbers about one, where theirs are far from it, and a cost and a right side of size one where they are small,
since whether two bounds agree is judged relative to the value or to one. For a solver's tolerances, which ask
for more, the cost and the right side of each solve are brought to one too; that changes nothing but its
digits. Source of rows and columns: Ruiz, RAL-TR-2001-034 (its square roots, rounded).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from .exact.integers import rounded
from .program import ConicProgram, ConicSolution

_USUAL = 1e4  # numbers within this factor of one are left alone
_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Scaled:
    """A program in other units: row i times ``2**rows[i]``, column j times ``2**columns[j]``, the right side
    and the cost times ``2**right`` and ``2**cost``, the constant times both."""

    program: ConicProgram
    rows: np.ndarray
    columns: np.ndarray
    right: int = 0
    cost: int = 0

    def value(self, result: float, whole: ConicProgram, direction: int) -> float:
        """A bound on the value of the whole program from one on that of the scaled program, rounded upwards
        (``direction`` 1) or downwards (-1)."""
        if not np.isfinite(result):
            return result
        power = Fraction(2) ** (self.cost + self.right)
        without = (Fraction(result) - Fraction(self.program.constant)) / power
        return rounded(without + Fraction(whole.constant), direction)

    def restore(self, solution: ConicSolution, whole: ConicProgram) -> ConicSolution:
        """An answer to the scaled program as one to the whole program, with what is proven of it."""
        if self.program is whole:
            return solution
        reason = solution.reason
        if reason:
            reason += " (its numbers are those of the program scaled by powers of two)"
        return replace(
            solution,
            x=np.ldexp(solution.x, self.columns - self.right),
            s=np.ldexp(solution.s, -self.rows - self.right),
            z=np.ldexp(solution.z, self.rows - self.cost),
            value=self.value(solution.value, whole, 1 if solution.value > 0 else -1),
            lower=self.value(solution.lower, whole, -1),
            upper=self.value(solution.upper, whole, 1),
            reason=reason,
        )

    def largest(self, entry: float) -> float:
        """What the entries of the scaled program's x are at most, where those of x are at most ``entry``."""
        return float(np.ldexp(entry, self.right - self.columns).max(initial=0.0))


def own_units(program: ConicProgram) -> Scaled:
    """The program in units of its own; as it is where its numbers are of usual size."""
    rows, columns = _balance(program)
    right, cost = _to_one(program.b, rows), _to_one(program.q, columns)
    return _scaled(program, rows, columns, right if right > 7 else 0, cost if cost > 7 else 0)


def for_a_solver(program: ConicProgram) -> Scaled:
    """The program without its constant, with numbers about one; as it is where they are of usual size."""
    rows, columns = _balance(program)
    ends = [float(np.abs(v).max(initial=0.0)) for v in (program.q, program.b)]
    if not (rows.any() or columns.any()) and _usual(np.array(ends)):
        return Scaled(program, rows, columns)
    plain = replace(program, constant=0.0)
    return _scaled(plain, rows, columns, _to_one(program.b, rows), _to_one(program.q, columns))


def _scaled(program: ConicProgram, rows: np.ndarray, columns: np.ndarray, right: int, cost: int) -> Scaled:
    """The program times powers of two; as it is where digits would be lost, or with a quadratic objective."""
    plain = Scaled(program, np.zeros_like(rows), np.zeros_like(columns))
    changed = right or cost or rows.any() or columns.any()
    if not changed or not program.q.size or program.P is not None and program.P.nnz:
        return plain
    A = sp.coo_matrix(program.A)
    # as exponents: a factor by itself may be beyond the range of doubles
    powers = (rows[A.row] + columns[A.col], columns + cost, rows + right, cost + right)
    given = (A.data, program.q, program.b, np.array(program.constant))
    entries, q, b, constant = (np.ldexp(v, power) for v, power in zip(given, powers, strict=True))
    back = (np.ldexp(v, -power) for v, power in zip((entries, q, b, constant), powers, strict=True))
    if not all(np.array_equal(u, v) for u, v in zip(back, given, strict=True)):
        return plain
    matrix = sp.csc_matrix(sp.coo_matrix((entries, (A.row, A.col)), shape=A.shape))
    scaled = replace(program, q=q, A=matrix, b=b, constant=float(constant))
    return Scaled(scaled, rows, columns, right, cost)


def _balance(program: ConicProgram) -> tuple[np.ndarray, np.ndarray]:
    """Exponents of rows, one for each scalar and each block, and of columns; zeros where the largest entries
    of all rows and columns are of usual size."""
    entries = sp.coo_matrix(program.A)
    used = entries.data != 0
    size, row, column = np.log2(np.abs(entries.data[used])), entries.row[used], entries.col[used]
    top = program.cones.zero + program.cones.nonnegative
    group = np.arange(program.b.size)
    for k, place in enumerate(program.cones.psd_slices()):
        group[place] = top + k
    rows, columns = np.zeros(top + len(program.cones.psd)), np.zeros(program.q.size)
    largest = [_largest(size, row, program.b.size), _largest(size, column, columns.size)]
    if not _usual(np.exp2(np.concatenate(largest))):
        for _ in range(_ROUNDS):
            rows -= _largest(size + rows[group[row]] + columns[column], group[row], rows.size) / 2
            columns -= _largest(size + rows[group[row]] + columns[column], column, columns.size) / 2
    return np.round(rows).astype(int)[group], np.round(columns).astype(int)


def _usual(sizes: np.ndarray) -> bool:
    """Whether numbers other than zero are within a factor of one."""
    sizes = sizes[sizes > 0]
    return not sizes.size or bool(sizes.min() >= 1 / _USUAL and sizes.max() <= _USUAL)


def _largest(values: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """The largest value at each place, zero where there is none."""
    result = np.full(count, -np.inf)
    np.maximum.at(result, places, values)
    return np.where(np.isfinite(result), result, 0.0)


def _to_one(values: np.ndarray, exponents: np.ndarray) -> int:
    """The exponent that takes the largest of the scaled values near one."""
    used = values != 0
    return -int((np.frexp(values[used])[1] + exponents[used]).max()) if used.any() else 0
