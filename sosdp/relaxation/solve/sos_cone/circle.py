"""Bounds on trigonometric polynomials: one sum of squares; equally spaced points make its basis orthonormal.

    c_0 + sum_k (c_k cos kt + s_k sin kt) - gamma = <Q, b b'>,
    b = (1, cos t, ..., cos ht, sin t, ..., sin ht)

(Fejer and Riesz: with h at least half the degree this is exact.) The proof is that of ``box_proof`` with
frequencies for exponents: the exact residual is all that is paid. Docs: docs/proofs/sos_cone.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .chebyshev import Series, dyadic, in_limbs
from .unit_box import SampledBound, bound_at_points, shortfall

_FINE = 1e-9  # tolerance: values are as good as coefficients here


def basis_at(points: np.ndarray, half_degree: int) -> np.ndarray:
    """``1, cos t, ..., cos ht, sin t, ..., sin ht``, shape (points, 2 h + 1)."""
    angle = np.multiply.outer(points, np.arange(half_degree + 1))
    return np.concatenate([np.cos(angle), np.sin(angle[:, 1:])], axis=1)


def bound_on_circle(
    cosines: list[float | Fraction | int],
    sines: list[float | Fraction | int],
    tolerance: float | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> SampledBound:
    """The least value over all t, with a proof. ``cosines``: c_0, ..., c_d; ``sines``: s_1, ..., s_d."""
    degree = max(len(cosines) - 1, len(sines), 1)
    half = (degree + 1) // 2
    count = 4 * half + 1
    points = 2 * np.pi * np.arange(count) / count
    sizes = np.full(2 * half + 1, np.sqrt(count / 2))
    sizes[0] = np.sqrt(count)
    rows = basis_at(points, half) / sizes
    full = basis_at(points, degree)
    f = full[:, : len(cosines)] @ np.array([float(c) for c in cosines])
    f += full[:, degree + 1 : degree + 1 + len(sines)] @ np.array([float(s) for s in sines])
    limits = _FINE if tolerance is None else tolerance, time_limit, verbose

    def loss(bound: float, grams: list[np.ndarray]) -> float:
        return loss_on_circle(cosines, sines, bound, grams[0])

    return bound_at_points(points, f, [(rows, np.diag(sizes))], loss, *limits)


def gram_series(matrix: np.ndarray, scale: int) -> Series:
    """``<Q, b b'>`` exactly, with the name k for cos kt and -k for sin kt. The entries of the symmetric Q are
    multiples of 2**-scale.

    ``2 cos a cos b = cos(a + b) + cos(a - b)`` and its like.
    """
    half = (matrix.shape[0] - 1) // 2
    k = np.arange(half + 1)
    above, difference = np.add.outer(k, k).reshape(-1), np.subtract.outer(k, k).reshape(-1)
    below, turn = np.abs(difference), -np.sign(difference)
    # with a row and a column for sin 0, which is nothing, the four blocks are alike
    whole = np.insert(np.insert(matrix, half + 1, 0.0, axis=0), half + 1, 0.0, axis=1)
    length = 2 * half + 1

    def add(low: np.ndarray) -> np.ndarray:
        cosine, mixed, _, sine = low.reshape(2, half + 1, 2, half + 1).swapaxes(1, 2).reshape(4, -1)
        even = np.bincount(above, cosine - sine, length) + np.bincount(below, cosine + sine, length)
        odd = np.bincount(above, 2 * mixed, length) + np.bincount(below, 2 * turn * mixed, length)
        return np.concatenate([even, odd[1:]])

    limb = 50 - (4 * whole.size).bit_length()
    sums = in_limbs(np.ldexp(whole, scale).reshape(-1), limb, add)
    return Series(dict(zip([*range(length), *range(-1, -length, -1)], sums, strict=True)), scale + 1)


def loss_on_circle(
    cosines: list[float | Fraction | int],
    sines: list[float | Fraction | int],
    bound: float,
    gram: np.ndarray,
) -> float:
    """A number with ``p - bound >= -loss`` everywhere, whatever the symmetric Gram matrix is."""
    if not np.isfinite(gram).all() or not np.isfinite(bound):
        return np.inf
    rounded, unit = dyadic(gram)
    named = [*range(len(cosines)), *range(-1, -1 - len(sines), -1)]
    # |b|**2 = 1 + h wherever it is taken
    made = gram_series(rounded, unit), rounded, 1 + (gram.shape[0] - 1) // 2
    return shortfall(named, [*cosines, *sines], bound, [made])
