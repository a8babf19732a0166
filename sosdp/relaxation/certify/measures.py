"""Bounds on the masses of several measures, which is what a shortfall of multipliers costs.

Let the measures mu_k live on sets K_k, minimise ``sum_k mu_k(f_k)`` subject to ``sum_k mu_k(a_ik) = b_i`` (or
``>= b_i``), and let ``f_k - sum_i y_i a_ik >= -l_k`` on K_k, with ``y_i >= 0`` for inequalities. Integrated
and summed:

    sum_k mu_k(f_k)  >=  sum_i y_i b_i - sum_k l_k mu_k(1).

So a shortfall l_k costs l_k times a bound on the mass of mu_k. Such bounds are deduced from the constraints
that speak of masses only; the sum is done in fractions and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ...algebra.coefficients import Number, to_float
from ...algebra.polynomial import Polynomial

_DENOMINATOR = 10**6  # of the combinations that bound masses; what is found is checked exactly


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
    usable = [i for i, row in enumerate(rows) if all(p.is_constant for p in row)]
    if not usable:
        return [None] * count
    table = [[Fraction(p.constant) for p in rows[i]] for i in usable]
    right = [Fraction(values[i]) for i in usable]
    dense = np.array([[to_float(c) for c in row] for row in table])
    limits = [(None, 0.0) if at_least[i] else (None, None) for i in usable]
    result: list[Fraction | None] = []
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
                bound = max(sum((v * b for v, b in zip(y, right, strict=True)), Fraction(0)), Fraction(0))
        result.append(bound)
    return result
