"""Points at which an identity is compared: spread like Chebyshev's, as many as there are functionals.

Candidates are drawn in a box (arcsine distributed, so that their density is that of good interpolation nodes)
or on what the rewriting rules and equations leave, with a fixed generator, so that the same program gets the
same points; then the pivots of an LU factorisation with row exchanges of their Vandermonde matrix choose
(approximate Fekete points: Bos, De Marchi, Sommariva and Vianello 2010).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dgetrf

from ....algebra import monomials as mono
from ....algebra.chebyshev import chebyshev_table
from ....conic.program import SolverUnavailable

_SEED = 20
_RANK = 1e-9


def chebyshev_nodes(count: int) -> np.ndarray:
    """Chebyshev points of the second kind on [-1, 1], ascending, shape (count,)."""
    return -np.cos(np.pi * np.arange(count) / max(count - 1, 1))


def chebyshev_products(points: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Products of Chebyshev polynomials, one factor a coordinate, shape (points, exponents)."""
    tops = exponents.max(axis=0, initial=0).tolist()
    tables = (
        np.stack(chebyshev_table(x, top, np.ones_like(x))) for x, top in zip(points.T, tops, strict=True)
    )
    return _products(tables, exponents, points.shape[0])


def _products(tables: Iterable[np.ndarray], exponents: np.ndarray, points: int) -> np.ndarray:
    """Products of rows of one table a coordinate, shape (points, exponents)."""
    values = np.ones((exponents.shape[0], points))
    for table, column in zip(tables, exponents.T, strict=True):
        used = np.flatnonzero(column)
        if used.size == column.size:
            values *= table[column]
        elif used.size:
            values[used] *= table[column[used]]
    return np.ascontiguousarray(values.T)


def chebyshev_in_monomials(degree: int, middle: float, half: float) -> np.ndarray:
    """Row k: the coefficients of ``T_k((x - middle) / half)`` in 1, x, x**2, ..."""
    table = np.zeros((degree + 1, degree + 1))
    table[0, 0] = 1.0
    if degree:
        table[1, :2] = -middle / half, 1.0 / half
    for k in range(2, degree + 1):
        table[k] = -2.0 * middle / half * table[k - 1] - table[k - 2]
        table[k, 1:] += 2.0 / half * table[k - 1, :-1]
    return table


def in_basis(gram: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The Gram matrix in a basis of its orthonormal rows times a triangular matrix: ``R^-1 S R^-T``."""
    half = solve_triangular(upper, gram)
    result = solve_triangular(upper, half.T)
    return np.asarray(0.5 * (result + result.T))


def monomial_values(points: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Monomials at the points, shape (points, exponents)."""
    return _products(map(_powers, points.T, exponents.max(axis=0, initial=0)), exponents, points.shape[0])


def _powers(x: np.ndarray, top: int) -> np.ndarray:
    """``1, x, ..., x**top``, shape (top + 1, x.size)."""
    table = np.ones((top + 1, x.size))
    table[1:] = x
    return np.multiply.accumulate(table, axis=0, out=table)


def padua_points(degree: int) -> np.ndarray:
    """Padua points of the square: unisolvent for polynomials of this degree, shape ((d+1)(d+2)/2, 2)."""
    a, b = chebyshev_nodes(degree + 1), chebyshev_nodes(degree + 2)
    i, j = np.meshgrid(np.arange(degree + 1), np.arange(degree + 2), indexing="ij")
    chosen = (i + j) % 2 == 0
    return np.stack([a[i[chosen]], b[j[chosen]]], axis=1)


class NotSampled(SolverUnavailable):
    """This program has no form at points; the message says why."""


@dataclass(frozen=True, eq=False)
class Domain:
    """Where candidates lie. ``low``, ``high``: the box; ``choices``: by coordinate, the finitely many values
    that a rewriting rule leaves; ``zeros``: sets of coordinates whose product vanishes."""

    low: np.ndarray
    high: np.ndarray
    choices: dict[int, np.ndarray] = field(default_factory=dict)
    zeros: tuple[tuple[int, ...], ...] = ()

    def candidates(self, count: int, seed: int = _SEED) -> np.ndarray:
        """Points of the box, shape (count, coordinates); the same on every call."""
        generator = np.random.default_rng(seed)
        unit = np.cos(np.pi * generator.random((count, self.low.size)))
        points = 0.5 * (self.low + self.high) + 0.5 * (self.high - self.low) * unit
        for j, values in self.choices.items():
            points[:, j] = values[generator.integers(values.size, size=count)]
        for members in self.zeros:
            where = np.flatnonzero((points[:, list(members)] != 0).all(axis=1))
            points[where, np.array(members)[generator.integers(len(members), size=where.size)]] = 0.0
        return points


@lru_cache(maxsize=16)
def box_points(dimension: int, degree: int) -> np.ndarray:
    """Unisolvent points of [-1, 1]^dimension for polynomials of total degree at most ``degree``, read-only.

    Chebyshev points for one variable, Padua points for two, pivots among random candidates for more.
    """
    if dimension == 1:
        points = chebyshev_nodes(degree + 1)[:, None]
    elif dimension == 2:
        points = padua_points(degree)
    else:
        exponents = total_degree(dimension, degree)
        wanted = exponents.shape[0]
        domain = Domain(-np.ones(dimension), np.ones(dimension))
        candidates = domain.candidates(2 * wanted)
        chosen = pivot_rows(chebyshev_products(candidates, exponents))
        points = candidates[chosen]
    points.flags.writeable = False
    return points


@lru_cache(maxsize=16)
def total_degree(dimension: int, degree: int) -> np.ndarray:
    """Exponents of total degree at most ``degree``, graded, shape (C(n + d, d), n), read-only."""
    ids = np.arange(1, dimension + 1)
    result = mono.exponents(mono.basis(ids, degree), ids)
    result.flags.writeable = False
    return result


def pivot_rows(values: np.ndarray) -> np.ndarray:
    """Rows that make the square part of a tall matrix well conditioned: the first pivots of its LU
    factorisation; fewer than its columns when its rank is smaller."""
    tall = np.array(values, order="F")
    count = min(tall.shape)
    lu, pivots, _ = dgetrf(tall, overwrite_a=1)
    order = np.arange(values.shape[0])
    for k, other in enumerate(pivots[:count].tolist()):
        order[k], order[other] = order[other], order[k]
    diagonal = np.abs(lu.diagonal()[:count])
    if count and diagonal.min() <= _RANK * diagonal.max():
        return order[: int(np.argmax(diagonal <= _RANK * diagonal.max()))]
    return order[:count]
