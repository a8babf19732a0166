"""From data to counts on a public grid, and back without overflow.

Rounding and saturation: docs/proofs/gaussian_release.md
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sosdp.privacy.guarantee.rounding import float_up, rational

Counts = npt.NDArray[np.int64]

SMALLEST_UNITS = 0.1
LARGEST_UNITS = 2.0**40
LARGEST_DATA = (1 << 61) - 1
"""Data counts must stay within +-(2^61 - 1); `add` keeps sums within +-2^62."""


def noise_units(scale: float | Fraction, grid: float | Fraction) -> float:
    """The parameter s = scale/grid as the float64 the sampler gets: exact where possible, else rounded up.

    Raises:
        ValueError: not positive and finite, or s outside [0.1, 2^40].
    """
    for name, value in (("scale", scale), ("grid", grid)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be a finite number > 0, got {value!r}")
    exact = rational(scale) / rational(grid)
    if not SMALLEST_UNITS <= exact <= LARGEST_UNITS:
        raise ValueError(
            f"scale must be between 0.1 and 2^40 grid units, got {float(exact):.3g}: take a grid near "
            f"{float(scale):.3g} * 2^-20"
        )
    return float_up(exact)


def quantise(
    values: npt.ArrayLike, grid: float, *, low: float, high: float, missing: float | None = None
) -> Counts:
    """Counts of the nearest grid points after clipping to the public box [low, high].

    A NaN becomes the public constant `missing` (default: the point of the box nearest to zero). Two inputs
    at l2 distance t (after that replacement) get counts at l2 distance at most t/grid + sqrt(number of
    entries): clipping and the product with a power of two are exact, rounding moves an entry by at most 1/2.

    Raises:
        ValueError: the grid is not a power of two, the box is empty, not finite, or reaches beyond 2^61 grid
            points. Never depends on `values`.
    """
    grid, low, high = float(grid), float(low), float(high)
    mantissa = math.frexp(grid)[0] if math.isfinite(grid) and grid > 0.0 else 0.0
    if mantissa != 0.5:
        raise ValueError(f"the grid must be a power of two, got {grid!r}")
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"the public box must be finite with low <= high, got [{low}, {high}]")
    if Fraction(max(abs(low), abs(high))) > LARGEST_DATA * Fraction(grid):
        raise ValueError("the public box reaches beyond 2^61 grid points; take a coarser grid")
    constant = min(max(0.0, low), high) if missing is None else min(max(float(missing), low), high)
    numbers = np.asarray(values, dtype=np.float64)
    filled = np.where(np.isnan(numbers), constant, numbers)
    clipped = np.minimum(np.maximum(filled, low), high)
    # Dividing by a power of two is exact unless the result is subnormal, and then it rounds to count 0
    # anyway.
    with np.errstate(all="ignore"):  # whether a quotient is subnormal depends on the data
        counts = np.rint(clipped / grid).astype(np.int64)
    return np.clip(counts, -LARGEST_DATA, LARGEST_DATA)


def add(counts: npt.ArrayLike, noise: npt.ArrayLike) -> Counts:
    """`counts + noise` in 64-bit integers, saturating at +-2^62.

    The result equals clip(counts + unbounded noise, +-2^62), so it is post-processing of the unbounded sum;
    counts beyond +-(2^61 - 1), which `quantise` never makes, are clipped first.
    """
    data = np.clip(np.asarray(counts, dtype=np.int64), -LARGEST_DATA, LARGEST_DATA)
    # |data| < 2^61 and |noise| <= 3 * 2^61: the sum fits in 64 bits, and where the noise was clipped the sum
    # is beyond 2^62 anyway.
    bounded = np.clip(np.asarray(noise, dtype=np.int64), -3 * (1 << 61), 3 * (1 << 61))
    return np.clip(data + bounded, -(1 << 62), 1 << 62)
