"""What multipliers prove about several measures at once.

Let the measures mu_k live on sets K_k, minimise ``sum_k mu_k(f_k)`` subject to ``sum_k mu_k(a_ik) = b_i`` (or
``>= b_i``), and let ``f_k - sum_i y_i a_ik >= -l_k`` on K_k, with ``y_i >= 0`` for inequalities. Integrated
and summed:

    sum_k mu_k(f_k)  >=  sum_i y_i b_i - sum_k l_k mu_k(1).

So a shortfall l_k costs l_k times a bound on the mass of mu_k. Such bounds are deduced from the constraints
that speak of masses only; the sum is done in fractions and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...algebra.coefficients import Number, to_float
from ...algebra.polynomial import Polynomial
from ...reduction.bounds import VariableBounds
from ..build.identity import Identity
from ..build.measure_units import Units, no_units
from .bound import certify

_DENOMINATOR = 10**6  # of the combinations that bound masses; what is found is checked exactly
_READINGS = Fraction(1, 2**52)  # a float stands for two numbers that are so far apart at most, relatively


@dataclass(frozen=True, eq=False)
class Piece:
    """The identity of one measure, what bounds its variables, and a bound on its mass (None: unknown)."""

    identity: Identity
    bounds: VariableBounds
    mass: Fraction | None


def masses(
    rows: Sequence[Sequence[Polynomial]], values: Sequence[Number], at_least: Sequence[bool]
) -> list[Fraction | None]:
    """An upper bound on the mass of every measure, or None where none was found.

    ``rows[i][k]`` is what constraint i integrates against measure k, ``values[i]`` its right side, and
    ``at_least[i]`` says that it is ``>=``. A combination of the constraints in which every measure has a
    constant of at least 0, and measure k one of at least 1, bounds its mass. Found by a linear program in
    floats, checked in fractions.
    """
    from scipy.optimize import linprog

    count = len(rows[0]) if rows else 0
    # a float that is no integer stands for two numbers: as a right side its error is charged
    usable = [
        i for i, row in enumerate(rows) if all(p.is_constant and _reading(p.constant) == 0 for p in row)
    ]
    if not usable:
        return [None] * count
    table = [[Fraction(p.constant) for p in rows[i]] for i in usable]
    right = [Fraction(values[i]) for i in usable]
    dense = np.array([[to_float(c) for c in row] for row in table])
    limits = [(None, 0.0) if at_least[i] else (None, None) for i in usable]
    found: list[Fraction | None] = []
    for k in range(count):
        unit = np.eye(1, count, k)[0]
        solved = linprog([float(b) for b in right], A_ub=-dense.T, b_ub=-unit, bounds=limits)
        bound = None
        if solved.x is not None and np.isfinite(solved.x).all():
            y = [Fraction(float(v)).limit_denominator(_DENOMINATOR) for v in solved.x]
            y = [min(v, Fraction(0)) if at_least[i] else v for v, i in zip(y, usable, strict=True)]
            enough = all(
                sum((v * row[j] for v, row in zip(y, table, strict=True)), Fraction(0)) >= (j == k)
                for j in range(count)
            )
            if enough:
                given = [values[i] for i in usable]
                total = sum((v * b for v, b in zip(y, right, strict=True)), Fraction(0))
                total += sum((abs(v) * _reading(b) for v, b in zip(y, given, strict=True)), Fraction(0))
                bound = max(total, Fraction(0))
        found.append(bound)
    return found


def proven_value(
    pieces: Sequence[Piece],
    gram: np.ndarray,
    free: np.ndarray,
    unknowns: np.ndarray,
    prices: Sequence[Number],
    constant: Number,
    units: Units | None = None,
) -> tuple[float | None, str]:
    """``constant + prices @ unknowns`` less what the shortfalls cost, rounded down; None, with a reason,
    where a shortfall has no finite price.

    ``gram``, ``free``: those of the pieces, one after the other; unknowns obey their limits. These and the
    identities are in ``units``; prices, masses, the constant and what is returned are in the given ones.
    """
    units = units or no_units(len(pieces), len(prices))
    total, charge = Fraction(constant), _reading(constant)
    for u, factor, b in zip(unknowns.tolist(), units.unknowns.tolist(), prices, strict=True):
        y = Fraction(u) * Fraction(factor)
        total += y * Fraction(b)
        charge += abs(y) * _reading(b)
    row = cursor = 0
    for k, piece in enumerate(pieces):
        r, f = piece.identity.gram.shape[0], piece.identity.free.shape[0]
        part = gram[row : row + r], free[cursor : cursor + f]
        found = certify(piece.identity, *part, unknowns, piece.bounds)
        row, cursor = row + r, cursor + f
        if found.proves or (piece.mass is None and _nothing(piece, unknowns)):
            continue
        if not math.isfinite(found.loss):
            return None, found.reason
        if piece.mass is None:
            return (
                None,
                "the constraints give no bound on the mass of every measure; add one (mu.mass <= ...)",
            )
        charge += Fraction(found.loss) * units.cost(k) * piece.mass
    try:
        return math.nextafter(float(total - charge), -math.inf), ""
    except OverflowError:
        return None, "the numbers are too large to be added up"


def _nothing(piece: Piece, unknowns: np.ndarray) -> bool:
    """Whether nothing is asked of a measure, as of one that no constraint used mentions: then 0 >= 0 proves
    it, where a solver's small multipliers do not."""
    identity = piece.identity
    gram, free = np.zeros(identity.gram.shape[0]), np.zeros(identity.free.shape[0])
    return certify(identity, gram, free, unknowns, piece.bounds).proves


def all_proven(pieces: Sequence[Piece], gram: np.ndarray, free: np.ndarray, unknowns: np.ndarray) -> bool:
    """Whether every measure's polynomial is proven non-negative, so that no mass has to be bounded."""
    row = cursor = 0
    for piece in pieces:
        r, f = piece.identity.gram.shape[0], piece.identity.free.shape[0]
        part = gram[row : row + r], free[cursor : cursor + f]
        if not certify(piece.identity, *part, unknowns, piece.bounds).proves:
            return False
        row, cursor = row + r, cursor + f
    return True


def _reading(value: Number) -> Fraction:
    """How far apart the numbers are that a float stands for."""
    if not isinstance(value, float) or value.is_integer():
        return Fraction(0)
    return abs(Fraction(value)) * _READINGS
