"""What is proven or known of the errors: tails, asymptotic constants, provable accuracy of the online
mechanism.

Derivations: docs/proofs/cuts_synthetic_graph.md, docs/proofs/cuts_constructions.md
"""

from __future__ import annotations

import math

MAX_CUT_OF_NOISE = 0.3816
"""max over S of noise(S, complement) / (sigma n^1.5) for large n: half of Parisi's constant .7632."""


def flip_deviation(epsilon: float) -> float:
    """Standard deviation of a debiased flipped bit, whatever the bit: 1 / (2 sinh(epsilon / 2))."""
    return 1.0 / (2.0 * math.sinh(epsilon / 2.0))


def laplace_deviation(epsilon: float, unit: int = 1) -> float:
    """Standard deviation of discrete Laplace noise of scale unit / epsilon, in units of `unit`."""
    rate = epsilon / unit
    return math.sqrt(2.0 * math.exp(-rate)) / (-math.expm1(-rate)) / unit


def default_gap(n: int) -> float:
    """Accuracy asked of the relaxation for n vertices: n^1.5 / 4096, at least 1/2 (public; charged)."""
    return max(0.5, n**1.5 / 4096.0)
