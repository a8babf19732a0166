"""What is proven about the completion score, in numbers.

Proofs: docs/proofs/gaussian_scores.md and docs/proofs/gaussian_lifts.md
"""

from __future__ import annotations

import math

import numpy as np


def default_lam(n: int, d: int, contamination: float = 0.0) -> float:
    """Public bound on the covariance, in units of sigma^2: 1 + 1.5 sqrt(d/n), and 3 eta log(1/eta) more."""
    extra = 3.0 * contamination * math.log(1.0 / contamination) if contamination > 0 else 0.0
    return 1.0 + 1.5 * math.sqrt(d / n) + extra


def separation(distance: float, n: int, lam: float) -> float:
    """Least possible sum of the scores of two candidates u apart, for any data: n u^2 / (4 lam + u^2)."""
    return n * distance**2 / (4.0 * lam + distance**2)


def level_diameter(eta: float, lam: float) -> float:
    """Largest possible diameter of {score <= eta n}, for any data; infinite from eta = 1/2 on."""
    return math.inf if eta >= 0.5 else math.sqrt(8.0 * lam * eta / (1.0 - 2.0 * eta))


def level_radius(kappa: float, lam: float) -> float:
    """A ball of this radius about any candidate has scores of at most its score + kappa (n - its score)."""
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
