"""Ball and box constraints that the system implies, added to it on request.

They exclude no point of the set, but they bound the moments: values of ill-conditioned relaxations become
what they should be, sums of squares gain interior, and exact certificates become possible.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ..algebra import monomials as mono
from ..algebra.polynomial import Polynomial
from ..algebra.variables import variable_name
from ..model.system import System
from .bounds import deduce_bounds
from .quotient import find_quotient

_LEAST = Fraction(1, 2**1000)


def with_redundant(system: System, kind: str | None) -> System:
    """The system with ``R - sum x_i**2 >= 0`` (``ball``) or ``R_i - x_i**2 >= 0`` for every variable
    (``box``).

    R is deduced from the system and rounded up to eleven binary digits. Variables that rewriting rules make
    binary are left out. Raises ValueError for a variable without a deduced bound.
    """
    if kind is None:
        return system
    ruled = find_quotient(system.equalities).power
    ids = np.array([v for v in system.variable_ids if int(v) not in ruled], dtype=mono.MONOMIAL)
    if ids.size == 0:
        return system
    bounds = deduce_bounds(system.equalities, system.inequalities, system.matrices)
    missing = bounds.missing(ids[:, None])
    if missing:
        names = ", ".join(variable_name(v) for v in missing[:5])
        raise ValueError(
            f"redundant={kind!r} needs a bound on every variable, but the system gives none on {names}; "
            "add one that you can justify (for example x**2 <= R**2)"
        )
    squares = [_up(Fraction(bounds.largest[int(v)]) ** 2) for v in ids]
    if kind == "box":
        extra = [_centred(ids[k : k + 1], squares[k]) for k in range(ids.size)]
    else:
        radius = sum(squares, Fraction(0))
        for members, result in bounds.balls:
            if set(ids.tolist()) <= members:
                radius = min(radius, _up(result))
        extra = [_centred(ids, _up(radius))]
    return system & System(*(g >= 0 for g in extra))


def _up(value: float | Fraction) -> Fraction:
    """A dyadic number of eleven digits not below ``value``, however large or small."""
    value = Fraction(value)
    if value <= 0:
        return Fraction(0)
    digits = value.numerator.bit_length() - value.denominator.bit_length()  # of its size, to one digit
    unit = Fraction(2) ** (digits - 11)
    return math.ceil(value / unit) * unit


def _centred(ids: np.ndarray, level: Fraction) -> Polynomial:
    """``level - sum x_i**2``; a level that is no normal float is raised to the least that is assembled."""
    level = max(level, _LEAST) if level else level
    squares = np.repeat(ids[:, None], 2, axis=1)
    monos = mono.concatenate([mono.constant(1), squares])
    return Polynomial.from_arrays(monos, [level, *([-1] * ids.size)])
