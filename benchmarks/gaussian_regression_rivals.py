"""Rivals of private regression and components, with exact bounds, centres and scales for nothing.

AdaSSP (Wang 2018), Tukey EM (Amin, Joseph, Ribero, Vassilvitskii 2023), clipped gradient descent with noise
for exact Gaussian accounting, and Analyze Gauss (Dwork, Talwar, Thakurta, Zhang 2014). Noise is seeded and
in floating point.
"""

from __future__ import annotations

import math

import numpy as np

from sosdp.privacy.calibrate import gaussian_sigma_tight

Array = np.ndarray
STEPS, RATE = 30, 0.6


def _centred(X: Array, y: Array) -> tuple[Array, Array, Array]:
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / scale, y - y.mean(), scale


def _symmetric(d: int, g: np.random.Generator) -> Array:
    noise = g.normal(size=(d, d))
    return np.triu(noise) + np.triu(noise, 1).T


def adassp(X: Array, y: Array, epsilon: float, delta: float, g: np.random.Generator) -> Array:
    """Sufficient statistics with a ridge that adapts."""
    Z, v, scale = _centred(X, y)
    d = Z.shape[1]
    radius, target = np.linalg.norm(Z, axis=1).max(), np.abs(v).max()
    log, part, gram = math.log(6.0 / delta), epsilon / 3.0, Z.T @ Z
    unit = math.sqrt(log) / part * radius**2
    least = max(np.linalg.eigvalsh(gram)[0] + unit * g.normal() - log / part * radius**2, 0.0)
    ridge = max(0.0, math.sqrt(d * log * math.log(2 * d * d / 0.05)) * radius**2 / part - least)
    moments = Z.T @ v + unit * target / radius * g.normal(size=d)
    return np.asarray(np.linalg.solve(gram + unit * _symmetric(d, g) + ridge * np.eye(d), moments) / scale)


def gradient_descent(X: Array, y: Array, epsilon: float, delta: float, g: np.random.Generator) -> Array:
    """Full gradients, clipped at sqrt(d)."""
    Z, v, scale = _centred(X, y)
    n, d = Z.shape
    clip, b = math.sqrt(d), np.zeros(d)
    sigma = 2.0 * clip * gaussian_sigma_tight(epsilon, delta) * math.sqrt(STEPS)
    for _ in range(STEPS):
        rows = Z * (v - Z @ b)[:, None]
        rows *= np.minimum(1.0, clip / np.maximum(np.linalg.norm(rows, axis=1), 1e-12))[:, None]
        b = b + RATE * (rows.sum(axis=0) + sigma * g.normal(size=d)) / n
    return b / scale


def tukey_em(X: Array, y: Array, epsilon: float, delta: float, g: np.random.Generator) -> Array:
    """A draw by approximate Tukey depth among fits of disjoint parts; NaN where its test refuses."""
    n, d = X.shape
    parts = max(4, min(1000, n // (d + 1)))
    full = np.column_stack([X, np.ones(n)])
    order = g.permutation(n)[: n // parts * parts].reshape(parts, -1)
    fits = np.sort(np.array([np.linalg.lstsq(full[i], y[i], rcond=None)[0] for i in order]), axis=0)
    half, t, share = parts // 2, parts // 4, epsilon / 2.0
    with np.errstate(divide="ignore"):
        volumes = np.array([np.log(fits[parts - i] - fits[i - 1]).sum() for i in range(1, half + 1)])
    if _distance(volumes, t, share, delta) + g.laplace(0, 1 / share) <= math.log(1 / (2 * delta)) / share:
        return np.full(d, np.nan)
    depths = np.arange(t, half)
    outer, inner = volumes[depths - 1], np.append(volumes[depths[1:] - 1], -np.inf)
    weights = share * depths / 2.0 + outer + np.log1p(-np.exp(np.minimum(inner - outer, -1e-12)))
    chances = np.exp(weights - weights.max())
    j = int(g.choice(depths, p=chances / chances.sum()))
    low, high = fits[j - 1], fits[parts - j]
    for _ in range(1000):
        point = low + g.random(d + 1) * (high - low)
        if j + 1 > half or not ((point >= fits[j]) & (point <= fits[parts - j - 1])).all():
            break
    return np.asarray(point[:d])


def _distance(volumes: Array, t: int, share: float, delta: float) -> int:
    """Lower bound on the distance to a table without a stable depth."""
    half, found = len(volumes), -1
    for k in range(t - 1):
        gaps = np.arange(1, half - t - k - 1)
        losses = volumes[max(0, t - k - 2)] - volumes[t + k + gaps] - share * gaps / 2.0
        if not (gaps.size and (losses <= math.log(delta / (8.0 * math.exp(share)))).any()):
            break
        found = k
    return found


def analyze_gauss(X: Array, k: int, epsilon: float, delta: float, g: np.random.Generator) -> Array:
    """Leading eigenvectors (k, d) of the centred second moments with noise for the largest norm."""
    away = X - X.mean(axis=0)
    radius = np.linalg.norm(away, axis=1).max()
    noisy = away.T @ away + gaussian_sigma_tight(epsilon, delta) * radius**2 * _symmetric(X.shape[1], g)
    return np.asarray(np.linalg.eigh(noisy)[1][:, ::-1][:, :k].T)


RIVALS = {"AdaSSP": adassp, "gradient descent": gradient_descent, "Tukey EM": tukey_em}
