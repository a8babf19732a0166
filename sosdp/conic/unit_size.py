"""Conic programs with a small cost or right side, stated at unit size.

Whether two bounds agree is judged relative to the value, or to one where the value is smaller. For a cost or
a right side of size 1e-9 one is far away: any two bounds would agree. Both are multiplied by powers of two
first, which is exact, and answers are brought back, bounds rounded outwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .program import ConicProgram, ConicSolution

_SMALL = 2.0**-7


@dataclass(frozen=True)
class UnitSize:
    """Exponents of the powers of two that cost and right side were multiplied by."""

    cost: int = 0
    right: int = 0

    def restore(self, found: ConicSolution) -> ConicSolution:
        """The answer to the program as it was given."""
        if not (self.cost or self.right):
            return found
        value = -self.cost - self.right
        reason = found.reason
        if reason:
            reason += " (its numbers are those of the program with cost and right side scaled to one)"
        return replace(
            found,
            x=np.ldexp(found.x, -self.right),
            s=np.ldexp(found.s, -self.right),
            z=np.ldexp(found.z, -self.cost),
            value=float(np.ldexp(found.value, value)),
            lower=_outward(found.lower, value, -np.inf),
            upper=_outward(found.upper, value, np.inf),
            reason=reason,
        )


def at_unit_size(program: ConicProgram) -> tuple[ConicProgram, UnitSize]:
    """The program with its cost and its right side of size one where they were small, and the way back."""
    unit = UnitSize(_exponent(program.q), _exponent(program.b))
    constant = float(np.ldexp(program.constant, unit.cost + unit.right))
    curved = program.P is not None and program.P.nnz
    if curved or not program.q.size or not (unit.cost or unit.right) or not np.isfinite(constant):
        return program, UnitSize()
    q, b = np.ldexp(program.q, unit.cost), np.ldexp(program.b, unit.right)
    return replace(program, q=q, b=b, constant=constant), unit


def _exponent(values: np.ndarray) -> int:
    """Zero, or for small values what makes the largest one about one."""
    largest = float(np.abs(values).max(initial=0.0))
    return -int(np.frexp(largest)[1]) if 0 < largest < _SMALL else 0


def _outward(bound: float, exponent: int, side: float) -> float:
    """The bound times a power of two, rounded to its own side where it underflows."""
    found = float(np.ldexp(bound, exponent))
    lost = np.isfinite(bound) and (np.ldexp(found, -exponent) - bound) * np.sign(side) < 0
    return float(np.nextafter(found, side)) if lost else found
