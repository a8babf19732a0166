"""What is proven about the completion score, in numbers, and what public facts predict.

Everything here is a function of public parameters, or (`trimmed_moments`) a diagnostic of non-private data.
Proofs: docs/proofs/gaussian_scores.md and docs/proofs/gaussian_lifts.md
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from sosdp.estimator.planner import least


def default_lam(n: int, d: int, contamination: float = 0.0) -> float:
    """Public bound on the covariance, in units of sigma^2: 1 + 1.5 sqrt(d/n), and 3 eta log(1/eta) more."""
    extra = 3.0 * contamination * math.log(1.0 / contamination) if contamination > 0 else 0.0
    return 1.0 + 1.5 * math.sqrt(d / n) + extra


def separation(distance: float, n: int, lam: float) -> float:
    """Least possible sum of the scores of two candidates u apart, for any data: n u^2 / (4 lam + u^2)."""
    return n * distance**2 / (4.0 * lam + distance**2)


def level_diameter(eta: float, lam: float) -> float:
    """Largest possible diameter of {score <= eta n}, for any data; infinite from eta = 1/2 on."""
    _share(eta)
    return math.inf if eta >= 0.5 else math.sqrt(8.0 * lam * eta / (1.0 - 2.0 * eta))


def lipschitz(distance: float, lam: float) -> float:
    """kappa with score(theta + u) <= score(theta) + kappa (n - score(theta)) for all data, |u| = distance."""
    a = distance**2 / lam
    return (-a + math.sqrt(a * a + 4.0 * a)) / 2.0


def level_radius(kappa: float, lam: float) -> float:
    """The inverse: a ball of this radius has scores below score + kappa n."""
    return math.sqrt(lam) * kappa / math.sqrt(1.0 - kappa) if kappa < 1 else math.inf


def quasi_convexity_defect(score: float, n: int) -> float:
    """By how much the score may exceed its value at two points between them: T^2 / (n - T) for T <= n / 3."""
    if not 0 <= score <= n / 3:
        raise ValueError(f"the bound is proven for scores from 0 to n / 3 = {n / 3:g}, got {score}")
    return score**2 / (n - score)


def extremal_example(n: int, given_up: int, length: float = 1.0) -> tuple[np.ndarray, float, float]:
    """Records (n, 1), lam and c > 0: scores are T at +-c and T + T^2 / (n - T) at 0, T = given_up.

    Raises:
        ValueError: not 1 <= T <= n / 3.
    """
    T = given_up
    if not 1 <= T <= n / 3:
        raise ValueError(f"given_up must lie in 1..{n // 3}, got {T}")
    records = np.concatenate([np.zeros(n - 2 * T), np.full(T, length), np.full(T, -length)])[:, None]
    lam = (T - T**2 / (n - T)) * length**2 / n
    return records, lam, T * length / (n - T)


def gaussian_resilience(eta: float) -> tuple[float, float]:
    """(d1, d2) of N(0, 1) with any 2 eta of its mass removed: the mean moves by at most d1, the second moment
    falls by at most d2.
    """
    from scipy.stats import norm

    _share(eta)
    if eta == 0:
        return 0.0, 0.0
    e = min(2.0 * eta, 1.0)
    z1, z2 = norm.isf(e), norm.isf(e / 2)
    return float(norm.pdf(z1)), float(e + 2.0 * z2 * norm.pdf(z2))


def accuracy(eta: float, lam: float, d1: float, d2: float, least: float = 1.0) -> float:
    """Largest distance from the true mean of a candidate with score <= eta n, on eta-corrupted data.

    d1, d2: resilience of the honest records at 2 eta (`gaussian_resilience`, or measured by
    `trimmed_moments`). least: least eigenvalue of their covariance. Infinite from eta = 1/2 on.
    """
    _share(eta)
    if eta >= 0.5:
        return math.inf
    root = math.sqrt(2.0 * eta)
    return (d1 + root * math.sqrt(max(0.0, lam - least + d2))) / (1.0 - root)


def trimmed_moments(records: np.ndarray, centre: np.ndarray, eta: float) -> tuple[float, float]:
    """(d1, d2) measured on data: the worst over the principal axes and the coordinate axes when any weights
    of total 2 eta n are removed; a lower bound of the worst over all directions. Not private.
    """
    away = np.asarray(records, dtype=np.float64) - centre
    n, d = away.shape
    axes = np.vstack([np.linalg.eigh(away.T @ away)[1].T, np.eye(d)])
    removed = min(n, 2.0 * _share(eta) * n)
    first, second = 0.0, -math.inf
    for v in axes:
        line = np.sort(away @ v)
        for one in (line, -line[::-1]):
            # removing the smallest moves the mean up most
            first = max(first, (one.sum() - _lowest(one, removed)) / n)
        squares = np.sort(line**2)
        second = max(second, 1.0 - _lowest(squares, n - removed) / n)
    return float(first), float(second)


def _lowest(ordered: np.ndarray, amount: float) -> float:
    """Sum of the ``amount`` smallest of ascending numbers, the last one in part."""
    whole = int(amount)
    part = amount - whole
    return float(ordered[:whole].sum() + (part * ordered[whole] if part > 0 else 0.0))


def log_volume_ratio(eta: float, d: int) -> float:
    """Bound on log Vol{score <= eta n} / Vol{score <= .8 eta n} over R^d, for any data whose least score is
    at most .7 eta n; infinite from 1.7 eta = 1 on.
    """
    t = 1.7 * _share(eta)
    if t >= 1 or eta == 0:
        return math.inf
    return d * (0.5 * math.log(4.0 * t / (1.0 - t)) - math.log(0.1 * eta))


def log_ball(d: int) -> float:
    """Logarithm of the volume of the unit ball of R^d."""
    return 0.5 * d * math.log(math.pi) - float(gammaln(0.5 * d + 1.0))


def score_quantile(n: int, d: int, epsilon: float, radius: float, lam: float, failure: float = 0.05) -> float:
    """A score that the release exceeds with probability at most ``failure`` where the least score is 0.

    Pure exponential mechanism on the cube [-radius, radius]^d whose minimiser is not near the boundary;
    infinite where n is too small for the bound (see `least_records`).
    """
    tau = min(0.5, 2.0 * d / (epsilon * n))
    inner = math.log(level_radius(tau, lam))
    far = d * (math.log(2.0 * radius) - inner) - log_ball(d)
    need = tau * n + 2.0 / epsilon * (far + math.log(2.0 / failure))
    threshold = need / n
    if threshold >= 0.25:
        return math.inf
    near = math.log(math.sqrt(4.0 * lam * threshold / (1.0 - threshold)))
    return tau * n + 2.0 / epsilon * (d * max(0.0, near - inner) + math.log(2.0 / failure))


def least_records(d: int, epsilon: float, radius: float, failure: float = 0.05) -> int:
    """The least n at which `score_quantile` is finite: below it no accuracy is promised."""
    result = least(
        lambda n: math.isfinite(score_quantile(n, d, epsilon, radius, default_lam(n, d), failure)),
        start=2,
        most=10**30,
        ratio=1.0,
    )
    assert result is not None
    return result


def _share(eta: float) -> float:
    if not 0.0 <= eta <= 1.0:
        raise ValueError(f"eta must lie in [0, 1], got {eta}")
    return float(eta)
