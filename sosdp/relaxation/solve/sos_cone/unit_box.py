"""Bounds on [-1, 1]^n for polynomials given in Chebyshev coefficients: no monomial is ever formed.

    p - gamma = <Q_0, T T'> + sum_j (1 - x_j**2) <Q_j, T T'>

with T the products of Chebyshev polynomials up to half the degree (one less beside a constraint). The proof
is that of ``box_proof`` with the box itself for the set.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
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

    @classmethod
    def of(
        cls,
        found: SampledSolution,
        lowered: float,
        loss: float,
        grams: list[np.ndarray],
        points: np.ndarray,
    ) -> SampledBound:
        """The bound that Gram matrices with this shortfall prove."""
        proven = round_down(lowered - loss) if np.isfinite(loss) else -np.inf
        return cls(found, float(found.unknowns[0]), proven, grams, points, found.x)

    def of_all(self, power: int, constant: Fraction) -> tuple[SampledBound, str, float | None]:
        """The bound on ``2**power`` times the polynomial and a constant, its status, and what is proven:
        rounded down, None where it is nothing."""
        closed = self.value - self.proven <= 1e-5 * max(1.0, abs(self.value))
        value, proven = _moved(self.value, power, constant), _below(self.proven, power, constant)
        with np.errstate(all="ignore"):
            grams = [np.ldexp(g, power) for g in self.grams]
        status = "optimal" if closed and math.isfinite(value) else "inaccurate"
        whole = replace(self, value=value, proven=proven, grams=grams)
        return (whole, status, proven) if math.isfinite(proven) else (whole, "failed", None)


def _moved(value: float, power: int, constant: Fraction) -> float:
    """The float nearest ``2**power * value + constant``."""
    if not math.isfinite(value):
        return value
    try:
        return float(Fraction(value) * Fraction(2) ** power + constant)
    except OverflowError:
        return math.copysign(math.inf, value)


def _below(value: float, power: int, constant: Fraction) -> float:
    """The same, rounded down."""
    found = _moved(value, power, constant)
    if math.isfinite(found) and Fraction(found) > Fraction(value) * Fraction(2) ** power + constant:
        found = math.nextafter(found, -math.inf)
    return found


def unit_of(coefficients: Iterable[float]) -> int:
    """The exponent of the largest coefficient but the constant; the least one where there is none."""
    return math.frexp(max(map(abs, coefficients), default=0.0) or math.ulp(0.0))[1] - 1


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
    found, grams, lowered = solved_inside(program, tolerance, time_limit, verbose)
    gram_matrices = [_in_chebyshev(g, r) for g, r in zip(grams, factors, strict=True)]
    loss = loss_on_unit_box(exponents, coefficients, lowered, bases, gram_matrices)
    return SampledBound.of(found, lowered, loss, gram_matrices, points)


def solved_inside(
    program: SampledProgram, tolerance: float, time_limit: float | None, verbose: bool
) -> tuple[SampledSolution, list[np.ndarray], float]:
    """The solution of a program for the largest constant, and Gram matrices for a bound a little lower, which
    are inside the cone where that has a centre."""
    at = centre(program, np.ones(program.points))
    found = solve_sampled(program, tolerance, time_limit, verbose=verbose, at=at)
    if at is None or found.status not in ("optimal", "floor"):
        return found, found.grams, float(found.unknowns[0])
    grams, delta = inside(program, at, polish(program, at, found.grams, found.unknowns))
    return found, grams, float(found.unknowns[0]) - delta


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
