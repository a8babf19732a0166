"""Facial reduction from exact zeros: where a polynomial vanishes, every square in it vanishes too.

If ``p = sum_k <Q_k, b_k b_k'>`` with positive semidefinite Q_k and p(z) = 0, then ``Q_k b_k(z) = 0`` for
every k: the Gram matrices lie on a face of their cone, have no positive definite representative, and a
solver finds them badly. With W a basis of the vectors orthogonal to all b_k(z), ``Q_k = W R W'`` loses
nothing, and R may be positive definite. Zeros and W are exact (integers), so what is proven about R is
proven about p. Source: Permenter and Parrilo 2018 (partial facial reduction); for zeros this is folklore.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from ..algebra import monomials as mono
from ..algebra.polynomial import Polynomial
from ..conic.clock import otherwise
from ..conic.exact.integers import kernel, over_one_denominator

_GRID = 7000  # points of {-1, 0, 1}^n up to this number are all tried
_EXACT = float(2**53)


def find_zeros(p: Polynomial, points: Any = None) -> np.ndarray:
    """Exact zeros of ``p`` whose gradient vanishes, shape (count, variables), columns by variable id,
    Fractions.

    Float coefficients are the binary numbers that they are, not their shortest decimals.
    ``points``: candidates, shape (k, variables), rational (floats are read as their shortest decimal); None
    tries {-1, 0, 1}^n, or in many variables its points with at most two non-zero entries and those without
    zeros whose entries agree up to sign alternation. Raises ValueError for a wrong shape, and for a given
    point that is no zero. Cost: one evaluation in integers a candidate.
    """
    ids = np.asarray(p.variable_ids, dtype=mono.MONOMIAL)
    if points is None:
        candidates = _candidates(ids.size)
    else:
        candidates = np.array(
            [[_fraction(v) for v in np.atleast_1d(row)] for row in points], dtype=object
        ).reshape(len(points), -1)
        if candidates.shape[1] != ids.size:
            raise ValueError(
                f"zeros need one column a variable of the polynomial ({ids.size}), not {candidates.shape[1]}"
            )
    exact = p.as_exact()  # what is proven with these zeros is proven about the floats
    power = mono.exponents(exact.monos, ids)
    coefs = np.array([Fraction(c) for c in exact.coefs], dtype=object)
    if points is None:
        candidates = candidates[_nearly_zero(candidates, power, coefs)]
    result = []
    for point in candidates:
        row = np.array([Fraction(v) for v in point], dtype=object)
        zero = _value(power, coefs, row) == 0
        if points is not None and not zero:
            raise ValueError(f"the polynomial is not zero at {tuple(map(str, row))}")
        if zero and not any(_gradient(power, coefs, row)):
            result.append(row)
    return np.array(result, dtype=object).reshape(len(result), ids.size)


def _fraction(value: Any) -> Fraction:
    if isinstance(value, (float, np.floating)):
        return Fraction(repr(float(value)))
    return Fraction(value if isinstance(value, (Fraction, str)) else int(value))


def _candidates(count: int) -> np.ndarray:
    if count == 0:
        return np.zeros((0, 0), dtype=object)
    if 3**count <= _GRID:
        return np.array(list(product((-1, 0, 1), repeat=count)), dtype=object)
    rows = [np.zeros(count, dtype=int), np.ones(count, dtype=int), -np.ones(count, dtype=int)]
    rows += [sign * np.eye(count, dtype=int)[k] for k in range(count) for sign in (1, -1)]
    if 4 * count**2 <= 2 * _GRID:
        unit = np.eye(count, dtype=int)
        for i, j in combinations(range(count), 2):
            rows += [s * unit[i] + t * unit[j] for s in (1, -1) for t in (1, -1)]
    alternating = np.where(np.arange(count) % 2 == 0, 1, -1)
    return np.array([*rows, alternating, -alternating], dtype=object)


def _nearly_zero(candidates: np.ndarray, power: np.ndarray, coefs: np.ndarray) -> np.ndarray:
    """Candidates that may be zeros, by floating point (the rest is far from one)."""
    points = candidates.astype(float)
    total, size = np.zeros(points.shape[0]), np.zeros(points.shape[0])
    for exponents, c in zip(power, coefs.astype(float), strict=True):
        used = np.flatnonzero(exponents)
        term = c * np.prod(points[:, used] ** exponents[used], axis=1)
        total += term
        size += np.abs(term)
    return np.abs(total) <= 1e-9 * size


def _value(power: np.ndarray, coefs: np.ndarray, point: np.ndarray) -> Fraction:
    return sum((c * _term(e, point) for e, c in zip(power, coefs, strict=True)), Fraction(0))


def _term(exponents: np.ndarray, point: np.ndarray) -> Fraction:
    out = Fraction(1)
    for k in np.flatnonzero(exponents).tolist():
        out *= point[k] ** int(exponents[k])
    return out


def _gradient(power: np.ndarray, coefs: np.ndarray, point: np.ndarray) -> list[Fraction]:
    out = []
    for k in range(power.shape[1]):
        rows = np.flatnonzero(power[:, k])
        lower = power[rows].copy()
        lower[:, k] -= 1
        out.append(_value(lower, coefs[rows] * power[rows, k].astype(object), point))
    return out


def functionals(columns: np.ndarray, ids: np.ndarray, zeros: np.ndarray) -> np.ndarray | None:
    """Evaluation and derivatives at the zeros as integer rows over monomials, shape (k, columns), in floats.

    Each row is a multiple of the functional; None when an integer does not fit a float exactly.
    """
    power = mono.exponents(columns, ids)
    rows = []
    for zero in zeros:
        rows.append([_term(e, zero) for e in power])
        for k in range(ids.size):
            lower = power.copy()
            lower[:, k] = np.maximum(lower[:, k] - 1, 0)
            rows.append([int(e[k]) * _term(low, zero) for e, low in zip(power, lower, strict=True)])
    return _integral(rows)


@otherwise(None)
def face(basis: np.ndarray, ids: np.ndarray, zeros: np.ndarray) -> np.ndarray | None:
    """Integer basis W of the vectors orthogonal to ``b(z)`` for all zeros, shape (side, smaller), in floats.

    By exact elimination. None when an integer does not fit a float exactly, or that would take long.
    """
    power = mono.exponents(basis, ids)
    rows = [over_one_denominator([_term(e, zero) for e in power])[0] for zero in zeros]
    vectors = kernel(rows, basis.shape[0])
    if any(abs(v) > _EXACT for vector in vectors for v in vector):
        return None
    return np.array(vectors, dtype=float).reshape(-1, basis.shape[0]).T


def _integral(rows: list[list[Fraction]]) -> np.ndarray | None:
    whole = [over_one_denominator(row)[0] for row in rows]
    return None if any(abs(v) > _EXACT for row in whole for v in row) else np.array(whole, dtype=float)
