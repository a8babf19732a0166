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
    side = matrix.shape[0]
    half = (side - 1) // 2
    k = np.concatenate([np.arange(half + 1), np.arange(1, half + 1)])
    sine = np.arange(side) > half
    above = np.add.outer(k, k).reshape(-1)
    difference = np.subtract.outer(k, k)  # row minus column
    separate = np.abs(difference).reshape(-1)
    both = np.equal.outer(sine, sine).reshape(-1)
    # of a mixed pair only (cosine row a, sine column b) is counted, twice: sin(a + b) - sin(a - b)
    mixed = np.logical_and.outer(~sine, sine).reshape(-1)
    turn = -np.sign(difference).reshape(-1).astype(float)
    plus = np.where(np.logical_and.outer(sine, sine).reshape(-1), -1.0, 1.0)
    length = 2 * half + 1

    def add(low: np.ndarray) -> np.ndarray:
        even = np.bincount(above[both], (plus * low)[both], length)
        even += np.bincount(separate[both], low[both], length)
        odd = np.bincount(above[mixed], 2 * low[mixed], length)
        odd += np.bincount(separate[mixed], (2 * turn * low)[mixed], length)
        return np.concatenate([even, odd[1:]])  # sin 0 is nothing

    limb = 50 - max(1, 4 * matrix.size).bit_length()
    sums = in_limbs(np.ldexp(matrix, scale).reshape(-1), limb, add)
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
