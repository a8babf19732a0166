"""Rivals for a mean and a covariance: private ones as a practitioner would write them, robust ones without
privacy.

Every private rival gets the same public facts as our estimators: a ball of radius `radius` that holds the
mean, identity covariance (means), a condition bound (covariances). Their noise is continuous and in floating
point, which no release may use: read their errors as lower bounds. All are seeded, so that tables repeat.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Generator = np.random.Generator
PrivateMean = Callable[[np.ndarray, float, float, Generator], np.ndarray]


def clip_to_ball(data: np.ndarray, centre: np.ndarray, radius: float) -> np.ndarray:
    """Records (n, d) moved to the nearest point of the ball."""
    away = data - centre
    norms = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-300)
    return centre + away * np.minimum(1.0, radius / norms)


def gaussian_norm_bound(d: int, failure: float) -> float:
    """A radius a standard normal vector exceeds with probability at most `failure` (Laurent, Massart)."""
    log = math.log(1.0 / failure)
    return math.sqrt(d + 2.0 * math.sqrt(d * log) + 2.0 * log)


def laplace(data: np.ndarray, epsilon: float, radius: float, generator: Generator) -> np.ndarray:
    """Mean clipped to a cube plus Laplace noise; epsilon-DP."""
    n, d = data.shape
    scale = 2.0 * radius * d / (epsilon * n)
    return np.clip(data, -radius, radius).mean(axis=0) + generator.laplace(scale=scale, size=d)


def coinpress(
    data: np.ndarray, rho: float, radius: float, generator: Generator, steps: int = 3, failure: float = 0.01
) -> np.ndarray:
    """Iterative clipping in shrinking balls with Gaussian noise; rho-zCDP, a weaker promise than pure DP.

    Source: Biswas, Dong, Kamath, Ullman, "CoinPress" (2020), identity covariance; half of rho for the last
    step, as there.
    """
    n, d = data.shape
    centre, reach = np.zeros(d), radius
    for step in range(steps):
        share = rho / 2 if step == steps - 1 else rho / (2 * (steps - 1))
        clipped = reach + gaussian_norm_bound(d, failure / (steps * n))
        deviation = 2.0 * clipped / n / math.sqrt(2.0 * share)
        kept = clip_to_ball(data, centre, clipped)
        centre = kept.mean(axis=0) + generator.normal(scale=deviation, size=d)
        reach = math.sqrt(1.0 / n + deviation**2) * gaussian_norm_bound(d, failure / steps)
    return centre


def huang_liang_yi(data: np.ndarray, rho: float, radius: float, generator: Generator) -> np.ndarray:
    """Rotate at random, subtract private medians, clip at a private quantile of norms, add noise; rho-zCDP.

    Source: Huang, Liang and Yi, "Instance-optimal mean estimation under differential privacy" (2021): a
    random Hadamard rotation, a quarter of rho for the medians, a quarter for the clipping norm at the rank
    n - sqrt(2 d / rho) less what keeps it from the empty top (10 nats), half for the noise.
    """
    n, d = data.shape
    size = 1 << (d - 1).bit_length()
    signs = generator.choice((-1.0, 1.0), size=size)
    padded = np.zeros((n, size))
    padded[:, :d] = data
    rotated = _hadamard(padded * signs)
    broad = radius * math.sqrt(d)
    share = rho / 4.0
    each = math.sqrt(8.0 * share / size)
    centre = np.array(
        [_quantile(rotated[:, j], (n + 1) // 2, (-broad, broad), each, generator) for j in range(size)]
    )
    norms = np.linalg.norm(rotated - centre, axis=1)
    last = math.sqrt(8.0 * share)
    rank = max(n // 2, n - math.ceil(math.sqrt(2.0 * d / rho) + 20.0 / last))
    reach = _quantile(norms, rank, (0.0, 2.0 * broad), last, generator)
    kept = clip_to_ball(rotated, centre, max(reach, 1e-9))
    deviation = 2.0 * reach / n / math.sqrt(2.0 * rho / 2.0)
    result = kept.mean(axis=0) + generator.normal(scale=deviation, size=size)
    return (_hadamard(result[None])[0] * signs)[:d]


def _hadamard(rows: np.ndarray) -> np.ndarray:
    """The orthogonal Walsh-Hadamard transform of every row; its own inverse."""
    rows = rows.copy()
    size, step = rows.shape[1], 1
    while step < size:
        shaped = rows.reshape(rows.shape[0], size // (2 * step), 2, step)
        first, second = shaped[:, :, 0].copy(), shaped[:, :, 1].copy()
        shaped[:, :, 0], shaped[:, :, 1] = first + second, first - second
        step *= 2
    return rows / math.sqrt(size)


def _quantile(
    values: np.ndarray, rank: int, ends: tuple[float, float], epsilon: float, generator: Generator
) -> float:
    """A private order statistic by the exponential mechanism on an interval, in floating point."""
    inner = np.concatenate([[ends[0]], np.sort(np.clip(values, *ends)), [ends[1]]])
    gaps = np.diff(inner)
    levels = np.abs(np.arange(gaps.size) - rank + 0.5)
    with np.errstate(divide="ignore"):
        logs = np.log(gaps) - epsilon / 2.0 * levels
    chosen = int(np.argmax(logs + generator.gumbel(size=gaps.size)))
    return float(generator.uniform(inner[chosen], inner[chosen + 1]))


def quantiles(data: np.ndarray, epsilon: float, radius: float, generator: Generator) -> np.ndarray:
    """Private median of every coordinate, epsilon split evenly; epsilon-DP, by this library's mechanism."""
    from sosdp.privacy.mechanisms.basic.quantile import private_quantile

    n, d = data.shape
    return np.array(
        [
            private_quantile(
                data[:, j].tolist(), (n + 1) // 2, low=-radius, high=radius, step=1e-3, epsilon=epsilon / d,
                insecure_seed=int(generator.integers(1 << 30)),
            ).value
            for j in range(d)
        ]
    )  # fmt: skip


def opendp_mean(data: np.ndarray, epsilon: float, radius: float, generator: Generator) -> np.ndarray:
    """OpenDP's clamped mean with Laplace noise, one coordinate a measurement, epsilon split evenly; unseeded,
    for OpenDP has no seeds.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    n, d = data.shape
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n), dp.symmetric_distance()
    bounded = space >> dp.t.then_clamp((-float(radius), float(radius))) >> dp.t.then_mean()
    # replacing one record is a symmetric distance of 2
    measure = dp.binary_search_chain(lambda scale: bounded >> dp.m.then_laplace(scale), 2, epsilon / d)
    return np.array([measure(column.tolist()) for column in data.T])


# our exponential mechanism satisfies rho = epsilon^2 / 8 too; epsilon-DP implies epsilon^2 / 2 in general
PRIVATE_MEANS: dict[str, PrivateMean] = {
    "Laplace": laplace,
    "OpenDP": opendp_mean,
    "quantiles": quantiles,
    "CoinPress, eps^2/8": lambda x, epsilon, radius, g: coinpress(x, epsilon**2 / 8, radius, g),
    "CoinPress, eps^2/2": lambda x, epsilon, radius, g: coinpress(x, epsilon**2 / 2, radius, g),
    "Huang-Liang-Yi, eps^2/2": lambda x, epsilon, radius, g: huang_liang_yi(x, epsilon**2 / 2, radius, g),
}


# --- covariances -----------------------------------------------------------------------------------------


def _matrix(vector: np.ndarray, d: int) -> np.ndarray:
    i, j = np.triu_indices(d)
    matrix = np.zeros((d, d))
    matrix[i, j] = matrix[j, i] = vector / np.where(i == j, 1.0, math.sqrt(2.0))
    return matrix


def covariance_coinpress(
    data: np.ndarray, rho: float, condition: float, generator: Generator, steps: int = 3
) -> np.ndarray:
    """CoinPress for covariances: rescale by the last noisy upper bound, clip, add noise; rho-zCDP."""
    n, d = data.shape
    scale = math.sqrt(condition) * np.eye(d)
    result = np.eye(d)
    size = d * (d + 1) // 2
    for step in range(steps):
        last = step == steps - 1
        share = rho / 2 if last else rho / (2 * (steps - 1))
        reach = gaussian_norm_bound(d, 0.01 / (steps * n))
        kept = clip_to_ball(data @ np.linalg.inv(scale).T, np.zeros(d), reach)
        deviation = (math.sqrt(2.0) if d > 1 else 1.0) * reach**2 / n / math.sqrt(2.0 * share)
        noise = _matrix(generator.normal(scale=deviation, size=size), d)
        seen = kept.T @ kept / n + noise
        result = scale @ seen @ scale.T
        # sampling error and the noise in operator norm, with a margin
        slack = 2.0 * math.sqrt(d / n) + d / n + deviation * (2.0 * math.sqrt(d) + 2.0)
        values, vectors = np.linalg.eigh(seen)
        upper = np.clip(values + slack, 1e-6, 1.0)
        scale = scale @ (vectors * np.sqrt(upper))
    return result


def relative_error(result: np.ndarray, truth: np.ndarray) -> float:
    """||truth^{-1/2} found truth^{-1/2} - I||_F."""
    values, vectors = np.linalg.eigh(truth)
    root = vectors / np.sqrt(values) @ vectors.T
    return float(np.linalg.norm(root @ result @ root - np.eye(truth.shape[0])))
