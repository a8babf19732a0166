"""Rounded noise of density proportional to exp(-|x| / scale) in R^d, to within a proven distance.

Law and distance: docs/proofs/ball_noise.md, 1
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

from sosdp.privacy.randomness.arrays import gaussian
from sosdp.privacy.randomness.bits import open_bits

CELLS = 40  # bits after the point that a normal variate is drawn to exactly
WITHIN = 64  # and that are uniform within its cell
LARGEST_SCALE = 1 << 40


def ball_noise(dimension: int, scale: Fraction, bits: Any = None) -> list[int]:
    """`dimension` integers: x rounded, x = scale |h| g with normal g in R^d and h in R^(d+1).

    The law is within `distance(dimension)` in total variation of round(x); the standard deviation of one
    integer is scale sqrt(d + 1).

    Raises ValueError for dimension < 1 or a scale outside [1, 2^40]. Cost: 2d + 1 normal variates.
    """
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}")
    if not 1 <= scale <= LARGEST_SCALE:
        raise ValueError(f"scale must lie in [1, 2^40], got {float(scale):.6g}")
    bits = open_bits(None) if bits is None else bits
    normals = _normals(2 * dimension + 1, bits)
    size = isqrt(sum(h * h for h in normals[dimension:]))
    places = 2 * (CELLS + WITHIN + 1)  # of a product of two
    factor = scale.numerator * size
    divisor = scale.denominator << places
    return [(2 * factor * g + divisor) // (2 * divisor) for g in normals[:dimension]]


def distance(dimension: int) -> Fraction:
    """A bound on the total variation distance of `ball_noise` to the rounded density, for any scale >= 1."""
    return Fraction(2 * dimension + 2, 1 << CELLS)


def _normals(count: int, bits: Any) -> list[int]:
    """Normal variates as integers over 2^105: the cell of width 2^-40 exactly, uniform digits within."""
    cells = gaussian(count, float(1 << CELLS), 1.0, source=bits).tolist()
    # the middle of the cell lies at 2 * cell in halves of it, its lower end one half below
    return [((2 * cell - 1) << WITHIN) + 2 * bits.integer(WITHIN) + 1 for cell in cells]
