"""Rounded noise of density proportional to exp(-|x| / scale) in R^d, exactly.

Law: docs/proofs/ball_noise.md, 1
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from sosdp.privacy.randomness.bits import RandomBits, open_bits
from sosdp.privacy.randomness.exact import discrete_gaussian, exp_bounds

CELLS = 40  # bits after the point of the cell that a normal variate is drawn in
STEP = 64  # bits within the cell that are drawn at a time, until the rounded vector is decided


def ball_noise(dimension: int, scale: Fraction, bits: RandomBits | None = None) -> list[int]:
    """`dimension` integers: x rounded, x = scale |h| g with normal g in R^d and h in R^(d+1).

    The law is exactly that of round(x); the standard deviation of one integer is scale sqrt(d + 1).

    Raises ValueError for dimension < 1 or scale <= 0. Cost: 2d + 1 normal variates of .15 ms.
    """
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}")
    if scale <= 0:
        raise ValueError(f"scale must be greater than 0, got {float(scale):.6g}")
    bits = bits or open_bits(None)
    variates = [_half_normal(bits) for _ in range(2 * dimension + 1)]
    signs, most = bits.integer(dimension), max(places for _, places in variates)
    while True:
        variates = [(k << most - had | bits.integer(most - had), most) for k, had in variates]
        ends = [_rounded([k + end for k, _ in variates], end, most, dimension, scale) for end in (0, 1)]
        if ends[0] == ends[1]:
            return [-size if signs >> j & 1 else size for j, size in enumerate(ends[0])]
        most += STEP


def _rounded(sizes: list[int], end: int, places: int, dimension: int, scale: Fraction) -> list[int]:
    """|x| of the lower (0) or upper (1) ends of all variates, halves up; a bound of it from that side."""
    length = isqrt(sum(h * h for h in sizes[dimension:])) + end
    shift = 2 * (CELLS + places)
    factor, divisor = 2 * scale.numerator * length, scale.denominator << shift
    return [(factor * g + divisor) // (2 * divisor) for g in sizes[:dimension]]


def _half_normal(bits: RandomBits) -> tuple[int, int]:
    """(k, places): |Z| is uniform in [k, k + 1) 2^-(CELLS + places) given what was drawn.

    A cell m >= 0 has P(m) ~ e^(-(m w)^2 / 2), w = 2^-CELLS; a uniform x in [m w, (m + 1) w) is kept with
    probability e^(-(x^2 - (m w)^2) / 2), decided by as many digits of x as that takes.
    """
    while True:
        cell = discrete_gaussian(1 << 2 * CELLS, bits)
        if cell < 0:
            continue
        place, places, known = cell, 0, 0
        while True:
            place, known = place << STEP | bits.integer(STEP), known << STEP | bits.integer(STEP)
            places += STEP
            above, below = (
                exp_bounds(x**2 - (cell << places) ** 2, 1 << 2 * (CELLS + places) + 1, places)
                for x in (place, place + 1)
            )
            if known + 1 <= below[0]:
                return place, places
            if known >= above[1]:
                break
