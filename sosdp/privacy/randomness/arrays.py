"""Noise arrays on public grids: the entry points, their parameters and their error.

Laws and total variation: docs/proofs/noise.md
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

import sosdp.privacy.randomness.bits as sources
import sosdp.privacy.randomness.cells as cells
import sosdp.privacy.randomness.opendp_sampler as opendp_sampler
from sosdp.privacy.calibrate import one_of
from sosdp.privacy.randomness.bits import RandomBits, open_bits
from sosdp.privacy.randomness.grid import noise_units

Counts = npt.NDArray[np.int64]
Shape = int | tuple[int, ...]

GAUSSIAN_LAWS = ("rounded", "discrete")
BACKENDS = ("cells", "opendp")

_FLIPS = 1 << 16
_FEW = 1 << 12


def gaussian(
    shape: Shape,
    scale: float | Fraction,
    grid: float | Fraction,
    *,
    law: str = "rounded",
    backend: str = "cells",
    source: RandomBits | None = None,
    insecure_seed: int | None = None,
    out: Counts | None = None,
) -> Counts:
    """Independent Gaussian counts on a grid; the noise is counts * grid. s = scale/grid.

    Args:
        shape: shape of the array of counts.
        scale, grid: public; s must lie in [0.1, 2^40]. s is rounded up to a float64 (exact when the grid is a
            power of two).
        law: "rounded": round(Z), Z ~ N(0, s^2), so that integer data plus noise is post-processing of the
            continuous Gaussian mechanism; or "discrete": P(k) proportional to exp(-k^2 / (2 s^2)).
        backend: "cells", or "opendp" (discrete law only; slow).
        source: random bits for this call, made by the calling thread; default a fresh one.
        insecure_seed: seed of a predictable generator, for tests; the release is then not private.
        out: contiguous int64 array to write into instead of a new one.

    Raises:
        ValueError: s out of range, an unknown law or backend. Depends on public values only.

    Cost: about 10 nanoseconds a count (40 without the ChaCha20 keystream), 2 MB besides the result. Exact.
    Source: docs/proofs/noise.md, Theorem 1.
    """
    one_of(law, "law", GAUSSIAN_LAWS)
    if backend == "opendp" and law != "discrete":
        raise ValueError('OpenDP has the discrete Gaussian only: pass law="discrete" with backend="opendp"')
    return _drawn(law, shape, noise_units(scale, grid), backend, source, insecure_seed, out)


def laplace(
    shape: Shape,
    scale: float | Fraction,
    grid: float | Fraction,
    *,
    backend: str = "cells",
    source: RandomBits | None = None,
    insecure_seed: int | None = None,
    out: Counts | None = None,
) -> Counts:
    """Independent discrete Laplace counts: P(k) = (1-a)/(1+a) a^|k| with a = exp(-grid/scale).

    Exact, with all integers in its support (saturated beyond 2^62), so integer data plus this noise are
    purely private. Arguments, errors and cost as for `gaussian`.
    """
    return _drawn("laplace", shape, noise_units(scale, grid), backend, source, insecure_seed, out)


def coin_flips(
    shape: Shape, threshold: int, *, source: RandomBits | None = None, insecure_seed: int | None = None
) -> npt.NDArray[np.bool_]:
    """Independent booleans, each True with probability exactly threshold / 2^64, from os.urandom or `source`.

    Raises:
        ValueError: threshold not an integer in [0, 2^64].

    Cost: 8 random bytes a flip, about 60 million a second.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int) or not 0 <= threshold <= 1 << 64:
        raise ValueError(f"threshold must be an integer between 0 and 2^64, got {threshold!r}")
    flips = np.ones(_sizes(shape), dtype=np.bool_)
    if threshold == 1 << 64:
        return flips
    bits, flat = _bits(source, insecure_seed, 0), flips.reshape(flips.size)
    for start in range(0, flat.size, _FLIPS):
        part = flat[start : start + _FLIPS]
        np.less(bits.u64(part.size), np.uint64(threshold), out=part)
    return flips


def generator_assumption(backend: str = "cells") -> str:
    """The sentence about randomness that every guarantee made with this package carries."""
    return opendp_sampler.assumption() if backend == "opendp" else sources.generator_assumption()


def _bits(source: RandomBits | None, insecure_seed: int | None, count: int) -> RandomBits:
    if source is None:
        # Setting up a keystream costs more than a few bytes from the operating system.
        return open_bits(insecure_seed, keystream=False if count < _FEW else None)
    if insecure_seed is not None:
        raise ValueError("give a source or insecure_seed, not both")
    return source


def _drawn(
    law: str,
    shape: Shape,
    units: float,
    backend: str,
    source: RandomBits | None,
    insecure_seed: int | None,
    out: Counts | None,
) -> Counts:
    """Counts of a law, in a new array or in `out`."""
    sizes = _sizes(shape)
    drawn = np.empty(sizes, dtype=np.int64) if out is None else out
    if drawn.dtype != np.int64 or drawn.shape != sizes or not drawn.flags.c_contiguous:
        raise ValueError(
            f"out must be a contiguous int64 array of shape {sizes}, got {drawn.dtype} {drawn.shape}"
        )
    one_of(backend, "backend", BACKENDS)
    if backend == "cells":
        bits = _bits(source, insecure_seed, drawn.size)
        cells.fill(drawn.reshape(drawn.size), cells.plan(law, units), bits)
        return drawn
    if source is not None or insecure_seed is not None:
        raise ValueError('OpenDP draws its own random bits: use backend="cells" with a source or a seed')
    drawn[...] = opendp_sampler.counts(law, drawn.size, units).reshape(sizes)
    return drawn


def _sizes(shape: Shape) -> tuple[int, ...]:
    sizes = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(size) for size in shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"sizes must be >= 0, got {sizes}")
    return sizes
