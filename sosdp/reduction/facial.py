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

from ..algebra.polynomial import Polynomial

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
    count = len(p.variables)
    exact = p.as_exact()  # what is proven with these zeros is proven about the floats
    if points is None:
        candidates = _nearly_zero(exact, _candidates(count))
    else:
        candidates = np.array(
            [[_fraction(v) for v in np.atleast_1d(row)] for row in points], dtype=object
        ).reshape(len(points), -1)
        if candidates.shape[1] != count:
            raise ValueError(
                f"zeros need one column a variable of the polynomial ({count}), not {candidates.shape[1]}"
            )
    slopes = exact.gradient()
    result = []
    for point in candidates:
        row = np.array([Fraction(v) for v in point], dtype=object)
        at = dict(zip(exact.variables, row.tolist(), strict=True))
        zero = exact.evaluate(at) == 0
        if points is not None and not zero:
            raise ValueError(f"the polynomial is not zero at {tuple(map(str, row))}")
        if zero and not any(slope.evaluate(at) for slope in slopes):
            result.append(row)
    return np.array(result, dtype=object).reshape(len(result), count)


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


def _nearly_zero(p: Polynomial, candidates: np.ndarray) -> np.ndarray:
    """Candidates that may be zeros, by floating point (the rest is far from one)."""
    points = candidates.astype(float)
    sizes = Polynomial.from_arrays(p.monos, np.abs(p.coefs.astype(float)))
    return candidates[np.abs(p.evaluate(points)) <= 1e-9 * sizes.evaluate(np.abs(points))]
