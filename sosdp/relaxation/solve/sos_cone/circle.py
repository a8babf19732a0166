"""Bounds on trigonometric polynomials: one sum of squares; equally spaced points make its basis orthonormal.

    c_0 + sum_k (c_k cos kt + s_k sin kt) - gamma = <Q, b b'>,
    b = (1, cos t, ..., cos ht, sin t, ..., sin ht)

(Fejer and Riesz: with h at least half the degree this is exact.) The proof is that of ``box_proof`` with
frequencies for exponents: the exact residual is all that is paid. Docs: docs/proofs/sos_cone.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ....conic.rigorous import least_eigenvalue_bound
from .chebyshev import dyadic, integers, ratio_up
from .sampled import SampledBlock, SampledProgram
from .unit_box import SampledBound, solved_inside

_UPWARD = 1 + 1e-12
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
    block = SampledBlock(rows, np.arange(count))
    program = SampledProgram(f, np.ones((count, 1)), np.ones(1), (block,))
    found, grams, lowered = solved_inside(
        program, _FINE if tolerance is None else tolerance, time_limit, verbose
    )
    gram = grams[0] / np.multiply.outer(sizes, sizes)
    gram = 0.5 * (gram + gram.T)
    loss = loss_on_circle(cosines, sines, lowered, gram)
    return SampledBound.of(found, lowered, loss, [gram], points)


def gram_series(matrix: np.ndarray, scale: int) -> tuple[list[int], list[int], int]:
    """``<Q, b b'>`` exactly: coefficients of cos 0, ..., cos 2h and of sin 0, ..., sin 2h in the unit
    2**-scale that is returned. The entries of the symmetric Q are multiples of the given 2**-scale.

    ``2 cos a cos b = cos(a + b) + cos(a - b)`` and its like; sums of integers below 2**53 are exact in
    floats, so that the entries are cut into limbs.
    """
    side = matrix.shape[0]
    half = (side - 1) // 2
    k = np.concatenate([np.arange(half + 1), np.arange(1, half + 1)])
    sine = np.arange(side) > half
    above = np.add.outer(k, k).reshape(-1)
    difference = np.subtract.outer(k, k)  # row minus column
    apart = np.abs(difference).reshape(-1)
    both = np.equal.outer(sine, sine).reshape(-1)
    negative = np.logical_and.outer(sine, sine).reshape(-1)
    # of a mixed pair only (cosine row a, sine column b) is counted, twice: sin(a + b) - sin(a - b)
    mixed = np.logical_and.outer(~sine, sine).reshape(-1)
    turn = -np.sign(difference).reshape(-1).astype(float)
    plus = np.where(negative, -1.0, 1.0)
    values = np.ldexp(matrix, scale).reshape(-1)
    limb = 50 - max(1, 4 * values.size).bit_length()
    length = 2 * half + 1
    cosines, sines, up = [0] * length, [0] * length, 0
    while values.any():
        high = np.trunc(np.ldexp(values, -limb))
        low = values - np.ldexp(high, limb)
        even = np.bincount(above[both], weights=(plus * low)[both], minlength=length)
        even += np.bincount(apart[both], weights=low[both], minlength=length)
        odd = np.bincount(above[mixed], weights=2 * low[mixed], minlength=length)
        odd += np.bincount(apart[mixed], weights=(2 * turn * low)[mixed], minlength=length)
        cosines = [c + (p << up) for c, p in zip(cosines, even.astype(np.int64).tolist(), strict=True)]
        sines = [c + (p << up) for c, p in zip(sines, odd.astype(np.int64).tolist(), strict=True)]
        values, up = high, up + limb
    return cosines, sines, scale + 1


def loss_on_circle(
    cosines: list[float | Fraction | int],
    sines: list[float | Fraction | int],
    bound: float,
    gram: np.ndarray,
) -> float:
    """A number with ``p - bound >= -loss`` everywhere, whatever the symmetric Gram matrix is."""
    if not np.isfinite(gram).all() or not np.isfinite(bound):
        return np.inf
    floats = [float(c) for c in (*cosines, *sines)]
    hidden = sum(
        (abs(Fraction(c) - Fraction(v)) for c, v in zip((*cosines, *sines), floats, strict=True)), Fraction(0)
    )
    given, below = integers([*floats, bound])
    rounded, unit = dyadic(gram)
    even, odd, scale = gram_series(rounded, unit)
    common = max(scale, below)
    left = [-c << (common - scale) for c in even]
    right = [-s << (common - scale) for s in odd]
    length = len(left)
    assert len(cosines) <= length and len(sines) < length
    for j, c in enumerate(given[: len(cosines)]):
        left[j] += c << (common - below)
    for j, s in enumerate(given[len(cosines) : -1]):
        right[j + 1] += s << (common - below)
    left[0] -= given[-1] << (common - below)
    residual = ratio_up(sum(map(abs, left)) + sum(map(abs, right[1:])), common)
    # |b|**2 = 1 + h wherever it is taken
    short = max(0.0, -least_eigenvalue_bound(rounded)) * (1 + (gram.shape[0] - 1) // 2)
    return (residual + short + float(hidden) * (1 + 1e-9)) * _UPWARD
