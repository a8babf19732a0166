"""Noise as integer counts on a public grid, drawn from exact discrete laws.

The default generator is OpenDP's arbitrary-precision sampler (Canonne, Kamath and Steinke 2020) fed by
OpenSSL's private generator, which the operating system seeds. A seeded generator exists for tests and
figures only, through `insecure_seed`; every release made with it carries no guarantee.

Laws and what is assumed of the generator: docs/proofs/gaussian_release.md
"""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]

SMALLEST_UNITS = 0.1
LARGEST_UNITS = 2.0**40
LARGEST_DATA = (1 << 61) - 1
"""Data counts must stay within +-(2^61 - 1); `add` keeps sums within +-2^62."""

_CHUNK = 1 << 16
_THREADED_FROM = 1 << 14
# Before 0.14.2 OpenDP's samplers were biased (its issue 2638, a fault in rational division).
_OLDEST_OPENDP = (0, 14, 2)


def gaussian(
    shape: int | tuple[int, ...],
    scale: float | Fraction,
    grid: float | Fraction,
    *,
    law: str = "discrete",
    insecure_seed: int | None = None,
) -> Counts:
    """Independent discrete Gaussians: int64 counts k with P(k) proportional to exp(-k^2 / (2 s^2)), s =
    scale/grid.

    Args:
        shape: shape of the array of counts.
        scale, grid: public; s must lie in [0.1, 2^40]. s is rounded up to a float64 (exact when the grid is a
            power of two).
        law: only "discrete" so far.
        insecure_seed: seed of a predictable generator, for tests; the release is then not private.

    Raises:
        ValueError: s out of range, or an unknown law. Depends on public values only.

    Cost: about 15 microseconds a count and core.
    """
    if law != "discrete":
        raise ValueError(f'the only Gaussian law available is "discrete", got {law!r}')
    units = noise_units(scale, grid)
    shape, count = _shape(shape)
    if insecure_seed is not None:
        return _seeded_gaussian(np.random.default_rng(insecure_seed), count, units).reshape(shape)
    return _opendp_counts("gaussian", count, units).reshape(shape)


def laplace(
    shape: int | tuple[int, ...],
    scale: float | Fraction,
    grid: float | Fraction,
    *,
    insecure_seed: int | None = None,
) -> Counts:
    """Independent discrete Laplace counts: P(k) = (1-a)/(1+a) a^|k| with a = exp(-grid/scale).

    Arguments and errors as for `gaussian`; cost about 9 microseconds a count and core.
    """
    units = noise_units(scale, grid)
    shape, count = _shape(shape)
    if insecure_seed is not None:
        return _seeded_laplace(np.random.default_rng(insecure_seed), count, units).reshape(shape)
    return _opendp_counts("laplace", count, units).reshape(shape)


def symmetric_gaussian(
    n: int,
    scale: float | Fraction,
    grid: float | Fraction,
    *,
    diagonal: bool = False,
    insecure_seed: int | None = None,
) -> Counts:
    """Symmetric (n, n) int64 counts: upper triangle drawn as by `gaussian`, mirrored.

    The diagonal is zero, or drawn with the same parameter when `diagonal`. Memory: the matrix and one
    triangle.
    """
    n = int(n)
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    first = 0 if diagonal else 1
    lengths = [n - i - first for i in range(n)]
    drawn = gaussian(sum(lengths), scale, grid, insecure_seed=insecure_seed)
    matrix = np.zeros((n, n), dtype=np.int64)
    start = 0
    for i, length in enumerate(lengths):
        row = drawn[start : start + length]
        matrix[i, i + first :] = row
        matrix[i + first :, i] = row
        start += length
    return matrix


def coin_flips(
    shape: int | tuple[int, ...], threshold: int, *, insecure_seed: int | None = None
) -> npt.NDArray[np.bool_]:
    """Independent booleans, each True with probability exactly threshold / 2^64, from os.urandom.

    Raises:
        ValueError: threshold not an integer in [0, 2^64].

    Cost: 8 random bytes a flip, about 60 million a second.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int) or not 0 <= threshold <= 1 << 64:
        raise ValueError(f"threshold must be an integer between 0 and 2^64, got {threshold!r}")
    shape, count = _shape(shape)
    if threshold == 1 << 64:
        return np.ones(shape, dtype=np.bool_)
    flips = np.empty(count, dtype=np.bool_)
    seeded = None if insecure_seed is None else np.random.default_rng(insecure_seed)
    for start in range(0, count, _CHUNK):
        size = min(_CHUNK, count - start)
        if seeded is None:
            words = np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
        else:
            words = seeded.integers(0, 1 << 64, size=size, dtype=np.uint64)
        flips[start : start + size] = words < np.uint64(threshold)
    return flips.reshape(shape)


def noise_units(scale: float | Fraction, grid: float | Fraction) -> float:
    """The parameter s = scale/grid as the float64 the sampler gets: exact where possible, else rounded up.

    Raises:
        ValueError: not positive and finite, or s outside [0.1, 2^40].
    """
    for name, value in (("scale", scale), ("grid", grid)):
        if isinstance(value, float | np.floating) and not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} must be a finite number > 0, got {value!r}")
        if value <= 0:
            raise ValueError(f"{name} must be > 0, got {value!r}")
    exact = Fraction(scale) / Fraction(grid)
    if not SMALLEST_UNITS <= exact <= LARGEST_UNITS:
        raise ValueError(
            f"scale must be between 0.1 and 2^40 grid units, got {float(exact):.3g}: take a grid near "
            f"{float(scale):.3g} * 2^-20"
        )
    units = float(exact)
    return units if Fraction(units) >= exact else math.nextafter(units, math.inf)


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


def tv_log2(law: str, count: int) -> float:
    """log2 of a proven bound on the total variation distance of `count` draws from their ideal law.

    -inf for the samplers used here: they are exact for the parameter `noise_units` returns, given
    independent fair bits (Canonne, Kamath and Steinke 2020, section 5).

    Raises:
        ValueError: unknown law.
    """
    if law not in ("discrete", "laplace"):
        raise ValueError(f'law must be "discrete" or "laplace", got {law!r}')
    if count < 0:
        raise ValueError(f"count must be >= 0, got {count}")
    return -math.inf


def generator_assumption() -> str:
    """The sentence about randomness that every guarantee made with this module carries."""
    return (
        "random bits of the operating system (through OpenSSL's private generator, in OpenDP) are fair and "
        "independent"
    )


def _shape(shape: int | tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    sizes = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(size) for size in shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"sizes must be >= 0, got {sizes}")
    return sizes, math.prod(sizes)


# ------------------------------------------------------------------------------------------------------------
# OpenDP


def _opendp_counts(law: str, count: int, units: float) -> Counts:
    _check_opendp()
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    if count < _THREADED_FROM:
        return _opendp_draw(law, count, units)
    from concurrent.futures import ThreadPoolExecutor

    # OpenDP releases the interpreter lock; every piece builds its own measurement, so nothing is shared.
    workers = min(os.cpu_count() or 1, 8)
    pieces = max(workers, -(-count // _CHUNK))
    sizes = [count // pieces + (1 if i < count % pieces else 0) for i in range(pieces)]
    with ThreadPoolExecutor(max_workers=workers) as pool:
        return np.concatenate(list(pool.map(lambda size: _opendp_draw(law, size, units), sizes)))


def _opendp_draw(law: str, count: int, units: float) -> Counts:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance

    if count == 0:
        return np.zeros(0, dtype=np.int64)
    domain = vector_domain(atom_domain(T="i64"))
    # The integer measurement turns `units` into the exact rational it is, samples with big integers, and
    # saturates at the ends of 64 bits (see `add`).
    if law == "gaussian":
        measurement = make_gaussian(domain, l2_distance(T="f64"), scale=units)
    else:
        measurement = make_laplace(domain, l1_distance(T="i64"), scale=units)
    return np.asarray(measurement([0] * count), dtype=np.int64)


def _check_opendp() -> None:
    from importlib.metadata import version

    from opendp.mod import enable_features

    installed = tuple(int(part) for part in version("opendp").split(".")[:3] if part.isdigit())
    if installed < _OLDEST_OPENDP:
        raise RuntimeError(
            f"OpenDP {version('opendp')} draws biased noise (fixed in 0.14.2): "
            "upgrade it before releasing anything"
        )
    # OpenDP keeps measurements without a peer-reviewed proof behind this flag.
    enable_features("contrib")


# ------------------------------------------------------------------------------------------------------------
# Seeded, insecure: tests and figures


def _seeded_gaussian(generator: np.random.Generator, count: int, units: float) -> Counts:
    if units > 256.0:
        # The rounded Gaussian differs from the discrete one by less than any test can see.
        return np.rint(generator.standard_normal(count) * units).astype(np.int64)
    support = np.arange(-math.ceil(14.0 * units), math.ceil(14.0 * units) + 1)
    weights = np.exp(-0.5 * (support / units) ** 2)
    return generator.choice(support, size=count, p=weights / weights.sum()).astype(np.int64)


def _seeded_laplace(generator: np.random.Generator, count: int, units: float) -> Counts:
    success = -math.expm1(-1.0 / units)
    return (generator.geometric(success, count) - generator.geometric(success, count)).astype(np.int64)
