"""What is proven or known of the errors: tails, asymptotic constants, provable accuracy of the online
mechanism.

Derivations: docs/proofs/cuts_synthetic_graph.md, docs/proofs/cuts_constructions.md
"""

from __future__ import annotations

import math

from sosdp.privacy.mechanisms.interaction.paid_rounds import paid_rounds

MAX_CUT_OF_NOISE = 0.3816
"""max over S of noise(S, complement) / (sigma n^1.5) for large n: half of Parisi's constant .7632."""

OPERATOR_NORM_OF_NOISE = 2.0
"""||noise||_op / (sigma sqrt n) for large n."""


def flip_deviation(epsilon: float) -> float:
    """Standard deviation of a debiased flipped bit, whatever the bit: 1 / (2 sinh(epsilon / 2))."""
    return 1.0 / (2.0 * math.sinh(epsilon / 2.0))


def laplace_deviation(epsilon: float, unit: int = 1) -> float:
    """Standard deviation of discrete Laplace noise of scale unit / epsilon, in units of `unit`."""
    rate = epsilon / unit
    return math.sqrt(2.0 * math.exp(-rate)) / (-math.expm1(-rate)) / unit


def flip_error(epsilon: float, pairs: float, queries: float, beta: float) -> float:
    """Largest error of `queries` cuts with at most `pairs` = |S| |T| pairs on the raw flipped graph, with
    probability
    1 - beta (Hoeffding).
    """
    return math.sqrt(pairs * math.log(2.0 * queries / beta) / 2.0) / math.tanh(epsilon / 2.0)


def laplace_error(epsilon: float, pairs: float, queries: float, beta: float) -> float:
    """The same for continuous Laplace noise of scale 1 / epsilon: both regimes of the tail."""
    log = math.log(2.0 * queries / beta)
    if log <= pairs:
        return math.sqrt(8.0 * pairs * log) / epsilon
    return 2.0 * math.sqrt(2.0) * log / epsilon


def default_gap(n: int) -> float:
    """Accuracy asked of the relaxation for n vertices: n^1.5 / 4096, at least 1/2 (public; charged)."""
    return max(0.5, n**1.5 / 4096.0)


def additive_updates(distance: float, norm: float, gap: float) -> float:
    """B(g) of additive updates: ||D - D_1||^2 max ||q||^2 / g^2."""
    return distance * norm / gap**2


def multiplicative_updates(mass: float, pairs: float, gap: float) -> float:
    """B(g) of multiplicative updates: m^2 ln(N / m) / (2 g^2) for a simple graph with m edges, uniform
    start."""
    return mass**2 * math.log(pairs / mass) / (2.0 * gap**2)


def published_updates(mass: float, pairs: float, alpha: float, construction: str) -> float:
    """B(alpha) as published: |X| ||D||_2^2 / alpha^2 ("fk"), 4 m^2 ln |X| / alpha^2 ("mw").

    Raises:
        ValueError: another construction.
    """
    if construction == "fk":
        return pairs * mass / alpha**2
    if construction == "mw":
        return 4.0 * mass**2 * math.log(pairs) / alpha**2
    raise ValueError(f'construction must be "fk" or "mw", got {construction!r}')


def noise_bound(scale: float, queries: int, beta: float) -> float:
    """z: all of k discrete Laplace draws of scale b (rounded to a grid of 1) are within it with probability
    1 - beta."""
    return math.ceil(scale * math.log(queries / beta))


def provable_error(
    epsilon: float, delta: float, potential: float, queries: int, beta: float = 0.05, most: int = 1024
) -> tuple[float, int]:
    """(least proven error T + z, its B) of the online mechanism whose updates obey B(g) = potential / g^2.

    Scans B over powers of two: g = sqrt(potential / (B - 1)), z = b(B) ln(k / beta), error g + 2 z.
    """
    best = (math.inf, 0)
    paid = 2
    while paid <= most:
        scale = float(paid_rounds(epsilon, delta, paid).scale)
        error = math.sqrt(potential / (paid - 1)) + 2.0 * scale * math.log(queries / beta)
        best = min(best, (error, paid))
        paid *= 2
    return best
