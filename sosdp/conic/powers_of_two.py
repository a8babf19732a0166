"""Conic programs multiplied by powers of two, exactly, and the one way back to the given units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .exact_numbers import rounded
from .program import ConicProgram, ConicSolution


@dataclass(frozen=True, eq=False)
class Scaled:
    """A program in other units: row i times ``2**rows[i]``, column j times ``2**columns[j]``, the right side
    and the cost times ``2**right`` and ``2**cost``. What its constant is in given units, it is there."""

    program: ConicProgram
    rows: np.ndarray
    columns: np.ndarray
    right: int = 0
    cost: int = 0

    @property
    def changed(self) -> bool:
        """Whether the units are others than the given ones."""
        return bool(self.right or self.cost or self.rows.any() or self.columns.any())

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
        """A bound on the given program's value, which has this constant, from one on the scaled program's,
        rounded upwards (``direction`` 1) or downwards (-1)."""
        if not np.isfinite(found):
            return found
        without = Fraction(found) - Fraction(self.program.constant)
        exact = without / Fraction(2) ** (self.cost + self.right) + Fraction(constant)
        return rounded(exact, direction)

    def restore(self, solution: ConicSolution, whole: ConicProgram) -> ConicSolution:
        """An answer to the scaled program as one to the given program, with what is proven of it."""
        if not self.changed and self.program.constant == whole.constant:
            return solution
        reason = solution.reason
        if reason:
            reason += " (its numbers are those of the program scaled by powers of two)"
        return replace(
            solution,
            x=np.ldexp(solution.x, self.columns - self.right),
            s=np.ldexp(solution.s, -self.rows - self.right),
            z=np.ldexp(solution.z, self.rows - self.cost),
            value=self.value(solution.value, whole.constant, 1 if solution.value > 0 else -1),
            lower=self.value(solution.lower, whole.constant, -1),
            upper=self.value(solution.upper, whole.constant, 1),
            reason=reason,
        )


def allowance(found: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Errors times powers of two, never less: what would vanish is the least float."""
    return np.where(found > 0, np.nextafter(np.ldexp(found, exponents), np.inf), 0.0)


def in_given_units(program: ConicProgram) -> Scaled:
    """The program as it is."""
    rows, columns = (np.zeros(size, dtype=int) for size in program.A.shape)
    return Scaled(program, rows, columns)
