"""Bounds on [-1, 1]^n for polynomials given in Chebyshev coefficients: no monomial is ever formed.

    p - gamma = <Q_0, T T'> + sum_j (1 - x_j**2) <Q_j, T T'>

with T the products of Chebyshev polynomials up to half the degree (one less beside a constraint). The proof
is that of ``box_proof`` with the box itself for the set.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.linalg as la

from ....algebra.coefficients import to_float
from ....conic.rigorous import least_eigenvalue_bound, round_down
from .chebyshev import Series, dyadic, gram_series, integers, names, product, total
from .interior_point import SampledSolution, solve_sampled
from .points import box_points, chebyshev_products, total_degree
from .polish import centre, inside, polish
from .sampled import SampledBlock, SampledProgram

_UPWARD = 1 + 1e-12
_FINE, _FINE_POINTS, _COARSE = 1e-9, 400, 1e-8  # tolerances: values are as good as coefficients here


@dataclass(frozen=True, eq=False)
class UnitBoxBound:
    """The solution: ``value`` (the solver's), ``proven`` (a lower bound on the box, minus infinity where
    nothing is proven), Gram matrices in the products of Chebyshev polynomials of ``exponents`` (one array a
    block), and the weights of a pseudo-expectation at the points."""

    solution: SampledSolution
    value: float
    proven: float
    grams: list[np.ndarray]
    exponents: list[np.ndarray]
    points: np.ndarray
    weights: np.ndarray


def bound_on_unit_box(
    exponents: np.ndarray,
    coefficients: list[float | Fraction | int],
    half_degree: int,
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> UnitBoxBound:
    """The largest gamma of the module docstring, with a proof. ``exponents``: shape (terms, n)."""
    n = exponents.shape[1]
    floats = np.array([to_float(c) for c in coefficients])
    points = box_points(n, 2 * half_degree)
    bases = [total_degree(n, half_degree)] + [total_degree(n, half_degree - 1)] * (n if half_degree else 0)
    f = _values(points, exponents, floats)
    blocks, factors = [], []
    for k, basis in enumerate(bases):
        table = chebyshev_products(points, basis)
        if k:
            weight = np.sqrt(np.maximum(1.0 - points[:, k - 1] ** 2, 0.0))
            table = weight[:, None] * table
        rows, upper = la.qr(table, mode="economic")
        blocks.append(SampledBlock(rows, np.arange(points.shape[0])))
        factors.append(upper)
    program = SampledProgram(f, np.ones((f.size, 1)), np.ones(1), tuple(blocks))
    if tolerance is None:
        tolerance = _FINE if f.size <= _FINE_POINTS else _COARSE
    at = centre(program, np.ones(f.size))
    found = solve_sampled(program, tolerance, time_limit, verbose=verbose, at=at)
    value = float(found.unknowns[0])
    grams, lowered = found.grams, value
    if at is not None and found.status in ("optimal", "floor"):
        moved = polish(program, at, found.grams, found.unknowns)
        grams, delta = inside(program, at, moved)
        lowered = value - delta
    gram_matrices = [_in_chebyshev(g, r) for g, r in zip(grams, factors, strict=True)]
    loss = loss_on_unit_box(exponents, coefficients, lowered, bases, gram_matrices)
    proven = round_down(lowered - loss) if np.isfinite(loss) else -np.inf
    return UnitBoxBound(found, value, proven, gram_matrices, bases, points, found.x)


def loss_on_unit_box(
    exponents: np.ndarray,
    coefficients: list[float | Fraction | int],
    bound: float,
    bases: list[np.ndarray],
    grams: list[np.ndarray],
) -> float:
    """A number with ``p - bound >= -loss`` on [-1, 1]^n, whatever the Gram matrices are: the absolute values
    of the exact residual's coefficients, and what the matrices lack to positive semidefiniteness."""
    n = exponents.shape[1]
    if not all(np.isfinite(g).all() for g in grams):
        return np.inf
    floats = [float(c) for c in coefficients]
    numbers, scale = integers(floats)
    hidden = sum(
        (abs(Fraction(c) - Fraction(v)) for c, v in zip(coefficients, floats, strict=True)), Fraction(0)
    )
    one = np.zeros(n, dtype=np.int64)
    (whole,), below = integers([bound])
    parts = [
        (1, Series(dict(zip(names(exponents), numbers, strict=True)), scale)),
        (-1, Series({names(one[None])[0]: whole}, below)),
    ]
    short = 0.0
    for k, (basis, gram) in enumerate(zip(bases, grams, strict=True)):
        rounded, unit = dyadic(gram)
        series = gram_series(basis, rounded, unit)
        if k:
            square = one.copy()
            square[k - 1] = 2
            # 1 - x**2 = (1 - T_2) / 2
            series = product(series, Series({names(one[None])[0]: 1, names(square[None])[0]: -1}, 1))
        parts.append((-1, series))
        short += max(0.0, -least_eigenvalue_bound(rounded)) * basis.shape[0]
    return (total(parts).size() + short + float(hidden) * (1 + 1e-9)) * _UPWARD


def _values(points: np.ndarray, exponents: np.ndarray, floats: np.ndarray) -> np.ndarray:
    if points.shape[1] == 1:
        series = np.zeros(int(exponents.max(initial=0)) + 1)
        np.add.at(series, exponents[:, 0], floats)
        return np.asarray(np.polynomial.chebyshev.chebval(points[:, 0], series))
    return chebyshev_products(points, exponents) @ floats


def _in_chebyshev(gram: np.ndarray, upper: np.ndarray) -> np.ndarray:
    half = la.solve_triangular(upper, gram)
    found = la.solve_triangular(upper, half.T)
    return 0.5 * (found + found.T)
