"""Bounds on [-1, 1]^n for polynomials given in Chebyshev coefficients: no monomial is ever formed.

    p - gamma = <Q_0, T T'> + sum_j (1 - x_j**2) <Q_j, T T'>

with T the products of Chebyshev polynomials up to half the degree (one less beside a constraint). The proof
is that of ``box_proof`` with the box itself for the set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.linalg as la

from ....algebra.coefficients import to_float
from ....conic.rigorous import least_eigenvalue_bound, round_down
from .chebyshev import Series, dyadic, gram_series, integers, names, product, total
from .interior_point import SampledSolution, solve_sampled
from .points import box_points, chebyshev_products, in_basis, total_degree
from .polish import centre, inside, polish
from .sampled import SampledBlock, SampledProgram

_UPWARD = 1 + 1e-12
_FINE, _FINE_POINTS, _COARSE = 1e-9, 400, 1e-8  # tolerances: values are as good as coefficients here


@dataclass(frozen=True, eq=False)
class SampledBound:
    """The solution: ``value`` (the solver's), ``proven`` (a lower bound on the polynomial, minus infinity
    where nothing is proven), Gram matrices in the bases of the module, and the weights of a
    pseudo-expectation at the points."""

    solution: SampledSolution
    value: float
    proven: float
    grams: list[np.ndarray]
    points: np.ndarray
    weights: np.ndarray


def bound_on_unit_box(
    exponents: np.ndarray,
    coefficients: list[float | Fraction | int],
    half_degree: int,
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> SampledBound:
    """The largest gamma of the module docstring, with a proof. ``exponents``: shape (terms, n)."""
    n = exponents.shape[1]
    floats = np.array([to_float(c) for c in coefficients])
    points = box_points(n, 2 * half_degree)
    bases = [total_degree(n, half_degree)] + [total_degree(n, half_degree - 1)] * (n if half_degree else 0)
    tables = []
    for k, basis in enumerate(bases):
        table = chebyshev_products(points, basis)
        if k:
            table = np.sqrt(np.maximum(1.0 - points[:, k - 1] ** 2, 0.0))[:, None] * table
        tables.append(la.qr(table, mode="economic"))
    if tolerance is None:
        tolerance = _FINE if len(points) <= _FINE_POINTS else _COARSE

    def loss(bound: float, grams: list[np.ndarray]) -> float:
        return loss_on_unit_box(exponents, coefficients, bound, bases, grams)

    f = chebyshev_products(points, exponents) @ floats
    return bound_at_points(points, f, tables, loss, tolerance, time_limit, verbose)


def bound_at_points(
    points: np.ndarray,
    f: np.ndarray,
    tables: list[tuple[np.ndarray, np.ndarray]],
    loss: Callable[[float, list[np.ndarray]], float],
    tolerance: float,
    time_limit: float | None,
    verbose: bool,
) -> SampledBound:
    """The largest constant below a function with values f at the points, and what Gram matrices prove of a
    bound a little lower, which are inside the cone where that has a centre.

    ``tables``: of every block orthonormal rows and the triangle that leads back to its basis; ``loss``: the
    proven shortfall of a bound and Gram matrices in these bases.
    """
    blocks = tuple(SampledBlock(rows, np.arange(f.size)) for rows, _ in tables)
    program = SampledProgram(f, np.ones((f.size, 1)), np.ones(1), blocks)
    at = centre(program, np.ones(f.size))
    result = solve_sampled(program, tolerance, time_limit, verbose=verbose, at=at)
    grams, value = result.grams, float(result.unknowns[0])
    lowered = value
    if at is not None and result.status in ("optimal", "floor"):
        grams, delta = inside(program, at, polish(program, at, grams, result.unknowns))
        lowered -= delta
    grams = [in_basis(g, upper) for g, (_, upper) in zip(grams, tables, strict=True)]
    missed = loss(lowered, grams)
    proven = round_down(lowered - missed) if np.isfinite(missed) else -np.inf
    return SampledBound(result, value, proven, grams, points, result.x)


def loss_on_unit_box(
    exponents: np.ndarray,
    coefficients: list[float | Fraction | int],
    bound: float,
    bases: list[np.ndarray],
    grams: list[np.ndarray],
) -> float:
    """A number with ``p - bound >= -loss`` on [-1, 1]^n, whatever the Gram matrices are."""
    if not all(np.isfinite(g).all() for g in grams):
        return np.inf
    made = []
    for k, (basis, gram) in enumerate(zip(bases, grams, strict=True)):
        rounded, unit = dyadic(gram)
        series = gram_series(basis, rounded, unit)
        if k:
            # 1 - x**2 = (1 - T_2) / 2
            (square,) = names(2 * np.eye(1, exponents.shape[1], k - 1, dtype=np.int64))
            series = product(series, Series({0: 1, square: -1}, 1))
        made.append((series, rounded, basis.shape[0]))
    return shortfall(names(exponents), coefficients, bound, made)


def shortfall(
    named: list[int],
    coefficients: list[float | Fraction | int],
    bound: float,
    made: Iterable[tuple[Series, np.ndarray, int]],
) -> float:
    """A number with ``p - bound >= -loss``, p the series of these names: the absolute values of the exact
    residual's coefficients, what the matrices lack to positive semidefiniteness, and what floats hide.

    ``made``: of every Gram matrix the series that it stands for, the matrix, and the squared norm of what it
    multiplies.
    """
    floats = [float(c) for c in coefficients]
    numbers, scale = integers(floats)
    hidden = sum(
        (abs(Fraction(c) - Fraction(v)) for c, v in zip(coefficients, floats, strict=True)), Fraction(0)
    )
    (whole,), below = integers([bound])
    parts = [(1, Series(dict(zip(named, numbers, strict=True)), scale)), (-1, Series({0: whole}, below))]
    short = 0.0
    for series, rounded, size in made:
        parts.append((-1, series))
        short += max(0.0, -least_eigenvalue_bound(rounded)) * size
    return (total(parts).size() + short + float(hidden) * (1 + 1e-9)) * _UPWARD
