"""Conic programs with a small cost or right side, stated at unit size.

Whether two bounds agree is judged relative to the value, or to one where the value is smaller. For a cost or
a right side of size 1e-9 one is far away: any two bounds would agree. Both are multiplied by powers of two
first. That is done once, for everything, and changes what ``optimal`` means; ``equilibrate`` scales rows and
columns too, for one solve or one proof at a time, and changes nothing but its digits. They choose exponents
for different reasons, and share the way back (``powers_of_two``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .powers_of_two import Scaled, in_given_units
from .program import ConicProgram

_SMALL = 2.0**-7


def at_unit_size(program: ConicProgram) -> Scaled:
    """The program with its cost and its right side of size one where they were small."""
    plain = in_given_units(program)
    cost, right = _exponent(program.q), _exponent(program.b)
    constant = float(np.ldexp(program.constant, cost + right))
    curved = program.P is not None and program.P.nnz
    if curved or not program.q.size or not (cost or right) or not np.isfinite(constant):
        return plain
    q, b = np.ldexp(program.q, cost), np.ldexp(program.b, right)
    return replace(plain, program=replace(program, q=q, b=b, constant=constant), cost=cost, right=right)


def _exponent(values: np.ndarray) -> int:
    """Zero, or for small values what makes the largest one about one."""
    largest = float(np.abs(values).max(initial=0.0))
    return -int(np.frexp(largest)[1]) if 0 < largest < _SMALL else 0
