"""The least threshold at which a convex program has a solution, by the engine: what the scores here share.

A program is a list of symmetric matrices of polynomials of degree 1 that have to be positive semidefinite,
with exact coefficients. That there is none is a proven refutation; that there is one, a point at which every
matrix is positive semidefinite, decided in rationals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np

from sosdp.algebra import PSD
from sosdp.algebra.polynomial import Polynomial
from sosdp.conic.exact.integers import is_semidefinite_within, over_one_denominator
from sosdp.model.system import System
from sosdp.relaxation.attained import at
from sosdp.relaxation.relaxation import Relaxation


def least_threshold(decide: Callable[[float], int], most: float, width: float) -> tuple[float, float]:
    """Bracket [low, high] within [0, most] of the least T with `decide` above 0, by bisection.

    decide: 1, it is at most T; -1, it is more; 0, not known: then a quarter of the width to either side is
    tried once, and the search ends.
    """
    low, high = 0.0, float(most)
    while high - low > width:
        middle = (low + high) / 2
        verdict = decide(middle)
        if not verdict:
            above, below = min(high, middle + width / 4), max(low, middle - width / 4)
            high = above if decide(above) > 0 else high
            low = below if decide(below) < 0 else low
            break
        low, high = (low, middle) if verdict > 0 else (middle, high)
    return low, high


def decided(
    matrices: Iterable[np.ndarray], unknowns: Iterable[Polynomial], reach: Fraction, norm: bool = False
) -> int:
    """1: there are numbers of at most `reach`, each or in Euclidean norm, at which all matrices are positive
    semidefinite; -1: there are none, each; 0: neither is proven."""
    wanted, variables = list(matrices), list(unknowns)
    box = [bound for v in variables for bound in (v <= reach, v >= -reach)]
    answer = Relaxation(System(*map(PSD, wanted), *box), 1).feasible()
    if answer.status == "infeasible":
        return -1
    values = [Fraction(float(answer(v))) for v in variables]
    size = sum(x * x for x in values) if norm else max(x * x for x in values)
    point = {int(v.variable_ids[0]): x for v, x in zip(variables, values, strict=True)}
    exact = np.frompyfunc(lambda p: at(p, point), 1, 1)
    return int(size <= reach**2 and all(semidefinite(exact(matrix)) for matrix in wanted))


def semidefinite(matrix: np.ndarray) -> bool:
    """Whether a symmetric matrix of fractions is proven to be positive semidefinite."""
    whole, _ = over_one_denominator(matrix.ravel().tolist())
    side = len(matrix)
    return is_semidefinite_within([whole[k * side : (k + 1) * side] for k in range(side)], Fraction(0))
