"""Constants and bounds: sensitivities, utility of Frank-Wolfe, loss to parameters.

Proofs: docs/proofs/mrf_frank_wolfe.md, docs/proofs/mrf_moments.md. Lower bounds: `problems.mrf.lower_bounds`.
"""

from __future__ import annotations

import math

from sosdp.privacy.guarantee.condition import Fact

PARITIES = Fact("sums of parities, docs/proofs/mrf_moments.md")
"""Why `parity_sensitivity` bounds what a replaced record moves."""


def flipped_parities(p: int, order: int, flips: int) -> int:
    """How many of the parities of 1 to `order` of the p coordinates change when `flips` of these do."""
    return sum(
        math.comb(flips, odd) * math.comb(p - flips, size - odd)
        for size in range(1, order + 1)
        for odd in range(1, size + 1, 2)
    )


def parity_sensitivity(p: int, order: int, *, least: int = 1) -> int:
    """Largest squared l2 distance of the sums of all parities of `least` to `order` of p signs, n public.

    4 max_m phi(m), phi(m) the number of parities that change with m coordinates; for orders 1 and 2 it is
    4 floor((p + 1)^2 / 4).
    """
    return 4 * max(
        flipped_parities(p, order, flips) - flipped_parities(p, least - 1, flips) for flips in range(p + 1)
    )


def gradient_sensitivity(radius: float, n: int) -> float:
    """Largest change of a score <s, grad>, s a vertex of the l1 ball, when a record is replaced."""
    return 2.0 * radius / (1.0 + math.exp(-radius)) / n


def noise_scale(radius: float, n: int, iterations: int, rho: float, calibration: str) -> float:
    """b of Algorithm 1: "tight" Gumbel, "paper" Laplace repaired, "printed" as in the paper (not proven)."""
    if calibration == "printed":
        return 2.0 * radius * math.sqrt(iterations) / (n * math.sqrt(rho))
    factor = {"tight": 0.5, "paper": 2.0}[calibration]
    return gradient_sensitivity(radius, n) * math.sqrt(factor * (iterations - 1) / rho)


def utility_bound(radius: float, iterations: int, scale: float, candidates: int, beta: float) -> float:
    """Excess loss of private Frank-Wolfe with Gumbel noise of this scale, with probability 1 - beta.

    2 C^2 / (T + 1) + C / (T (T + 1)) + b log(2 p T / beta), `candidates` = 2 p vertices.
    """
    error = scale * math.log(candidates * iterations / beta) if scale else 0.0
    return 2.0 * radius**2 / (iterations + 1) + radius / (iterations * (iterations + 1)) + error


def balanced_iterations(radius: float, n: int, rho: float, candidates: int, beta: float = 0.05) -> int:
    """The T that balances the terms of `utility_bound`."""
    top = 2.0 * math.sqrt(2.0) * radius * n * math.sqrt(rho)
    return max(2, math.ceil((top / math.log(candidates / beta)) ** (2.0 / 3.0)))


def parameter_error(width: float, excess_loss: float) -> float:
    """|A - Ahat|_inf of one node of an Ising model whose regression has this excess population loss.

    (e^3 / 2) e^(3 width) sqrt(gamma), where gamma < e^(-2 width) / 2 * 2 e^(-4 width - 6) (else infinite).
    """
    if excess_loss < 0.0:
        raise ValueError(f"an excess loss is not negative, got {excess_loss}")
    delta = math.exp(-2.0 * width) / 2.0
    if excess_loss >= 2.0 * delta * math.exp(-4.0 * width - 6.0):
        return math.inf
    return math.exp(3.0) / 2.0 * math.exp(3.0 * width) * math.sqrt(excess_loss)
