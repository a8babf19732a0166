"""Discrete Gaussian and Laplace noise from OpenDP's arbitrary-precision samplers (an option, and an oracle).

Canonne, Kamath and Steinke 2020, fed by OpenSSL's private generator, which the operating system seeds.

What is assumed of it: docs/proofs/gaussian_release.md
"""

from __future__ import annotations

import importlib.metadata
import os

import numpy as np
import numpy.typing as npt

from sosdp.extras import need

Counts = npt.NDArray[np.int64]

_CHUNK = 1 << 16
_THREADED_FROM = 1 << 14
# Before 0.14.2 OpenDP's samplers were biased (its issue 2638, a fault in rational division).
_OLDEST_OPENDP = (0, 14, 2)


def counts(law: str, count: int, units: float) -> Counts:
    """`count` draws of "discrete" or "laplace" with parameter `units` on all cores; 15 or 9 us each."""
    if count < _THREADED_FROM:
        return single_thread(law, count, units)
    from concurrent.futures import ThreadPoolExecutor

    # OpenDP releases the interpreter lock; every piece builds its own measurement, so nothing is shared.
    workers = min(os.cpu_count() or 1, 8)
    pieces = max(workers, -(-count // _CHUNK))
    sizes = [count // pieces + (1 if i < count % pieces else 0) for i in range(pieces)]
    with ThreadPoolExecutor(max_workers=workers) as pool:
        return np.concatenate(list(pool.map(lambda size: single_thread(law, size, units), sizes)))


def single_thread(law: str, count: int, units: float) -> Counts:
    """As `counts`, by one call of one measurement in this thread."""
    check_installed()
    dp = need("opendp.prelude", "OpenDP's noise")
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    # The integer measurement turns `units` into the exact rational it is, samples with big integers, and
    # saturates at the ends of 64 bits (see `add`).
    if law == "discrete":
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=units)
    else:
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=units)
    return np.asarray(measurement([0] * count), dtype=np.int64)


def check_installed() -> None:
    """Refuse versions with a biased sampler, and allow the rest.

    Raises:
        RuntimeError: OpenDP older than 0.14.2.
    """
    dp = need("opendp.prelude", "OpenDP's noise")
    installed = tuple(
        int(part) for part in importlib.metadata.version("opendp").split(".")[:3] if part.isdigit()
    )
    if installed < _OLDEST_OPENDP:
        raise RuntimeError(
            f"OpenDP {importlib.metadata.version('opendp')} draws biased noise (fixed in 0.14.2): "
            "upgrade it before releasing anything"
        )
    # OpenDP keeps measurements without a peer-reviewed proof behind this flag.
    dp.enable_features("contrib")


def assumption() -> str:
    """The sentence about randomness that a guarantee made with these samplers carries."""
    return (
        "random bits of the operating system (through OpenSSL's private generator, in OpenDP) are fair and "
        "independent"
    )
