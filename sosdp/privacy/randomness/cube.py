"""Integer vectors z with probability exactly proportional to exp(-max |z_j| / scale).

Proof: docs/proofs/integer_queries.md
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

from sosdp.privacy.randomness.exact import bernoulli, geometric, random_below


def cube_noise(dimension: int, scale: Fraction, bits: Any = None) -> list[int]:
    """`dimension` integers; the standard deviation of one is about scale sqrt((d + 1)(d + 2) / 3).

    The size k is a sum of d + 1 geometrics, of P(k) ~ C(k + d, d) r^k, kept with probability
    prod_{i <= d} (2k + 1)/(2k + 2i); z is uniform in {-k..k}^d. Then P(z) ~ sum of r^k over k >= max |z_j|.

    Raises ValueError for dimension < 1 or scale <= 0. Cost: d + 1 geometrics of 40 microseconds a try; tries
    are near one while scale is large.
    """
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}")
    while True:
        k = sum(geometric(scale, bits) for _ in range(dimension + 1))
        if bernoulli(kept(k, dimension), bits):
            return [random_below(2 * k + 1, bits) - k for _ in range(dimension)]


def kept(k: int, dimension: int) -> Fraction:
    """The probability with which the size k is kept, prod_{i <= d} (2k + 1)/(2k + 2i)."""
    return Fraction((2 * k + 1) ** dimension, prod(2 * k + 2 * i for i in range(1, dimension + 1)))
