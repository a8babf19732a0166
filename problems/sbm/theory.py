"""What to expect before any budget is spent: predicted errors, thresholds, required slack, a lower bound.

All functions take public parameters only. Conventions: n vertices, average degree d, contrast gamma.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from sosdp.privacy.arguments import integer
from sosdp.privacy.calibrate import (
    between,
    check_delta,
    check_epsilon,
    check_positive,
    gaussian_sigma_paper,
    gaussian_sigma_tight,
)
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile, accept_rule
from sosdp.privacy.mechanisms.propose_test_release.stability import StabilityRule

from .program import DEFAULT_TAU0, STATISTIC_ERROR, chosen_decision

Calibration = Literal["tight", "paper"]

GRID_UNITS = 1 << 20
"""The grid of the noisy statistic."""


def gaussian_multiplier(epsilon: float, delta: float, calibration: Calibration = "tight") -> float:
    """Noise per unit of sensitivity, sigma / Delta, of one Gaussian release."""
    if calibration == "tight":
        return gaussian_sigma_tight(epsilon, delta)
    return gaussian_sigma_paper(epsilon, delta)


def predict_error(
    n: int,
    average_degree: float,
    gamma: float,
    epsilon: float,
    delta: float,
    lam: float = 0.75,
    calibration: Calibration = "tight",
) -> float:
    """Predicted fraction of wrong labels of `ProjectionRecovery`, in [0, 1/2]; 1/2 means no information.

    lam: leading eigenvalue of the projected matrix X (0.5 to 0.9 in practice; 0.75 on average). Spiked-matrix
    formula: a^2 = 1 - n sigma^2 / lam^2, error = Phi(-a / sqrt(1 - a^2)); a prediction, not a bound.
    Measured at n = 1000, epsilon = 1, gamma d = 100 and 200: predicted .21 and .04, observed .24 and .04.
    """
    n = integer(n, "n", 2)
    signal = check_positive(average_degree, "average_degree") * check_positive(gamma, "gamma")
    lam = check_positive(lam, "lam")
    multiplier = gaussian_multiplier(epsilon, delta, calibration)
    # Upper-triangle sensitivity of X = C / n, Lemma 5.5 (paper) and its sharp form (tight).
    unit = math.sqrt((12.0 if calibration == "paper" else 2.0) / (n * signal))
    squared = 1.0 - n * (multiplier * unit) ** 2 / lam**2
    if squared <= 0:
        return 0.5
    if squared >= 1:
        return 0.0
    return 0.5 * math.erfc(math.sqrt(squared / (1 - squared) / 2))


def projection_threshold(
    epsilon: float, delta: float, lam: float = 0.75, calibration: Calibration = "tight"
) -> float:
    """Signal gamma * d above which `ProjectionRecovery` is predicted to know anything; does not depend on
    n.
    """
    factor = 12.0 if calibration == "paper" else 2.0
    return factor * gaussian_multiplier(epsilon, delta, calibration) ** 2 / check_positive(lam, "lam") ** 2


def randomised_response_threshold(n: int, epsilon: float) -> float:
    """Signal gamma * d above which spectral recovery after edge flipping is predicted to know anything.

    sqrt(n q (1 - q)) / (1 - 2 q), q = 1 / (1 + e^epsilon); the graph's own noise is ignored.
    """
    q = 1 / (1 + math.exp(check_epsilon(epsilon)))
    return math.sqrt(integer(n, "n", 2) * q * (1 - q)) / (1 - 2 * q)


def weak_recovery_possible(average_degree: float, gamma: float) -> bool:
    """Whether labels better than chance are possible at all, without privacy: gamma^2 d > 1."""
    return gamma**2 * average_degree > 1


def exact_recovery_possible(n: int, average_degree: float, gamma: float) -> bool:
    """Whether all labels can be recovered without privacy: d (sqrt(1 + gamma) - sqrt(1 - gamma))^2 > 2 log
    n.
    """
    contrast = (math.sqrt(1 + gamma) - math.sqrt(max(0.0, 1 - gamma))) ** 2
    return average_degree * contrast > 2 * math.log(integer(n, "n", 2))


def release_law(epsilon: float, delta: float, decision: str = "auto") -> Callable[[float], float]:
    """Probability of a release as a function of r - tau0 (r >= lambda / 2), for one budget and decision."""
    rule = _rule(epsilon, delta)
    if chosen_decision(decision, epsilon) == "noise":
        return lambda statistic: rule.accept.release_probability(math.floor(GRID_UNITS * statistic))
    curve = accept_profile(epsilon, delta)
    return lambda statistic: float(curve.probability(rule.steps(statistic)))


def _rule(epsilon: float, delta: float) -> StabilityRule:
    """The release rule of the certificate without its shift."""
    step = math.ceil((1 + 2 * Fraction(STATISTIC_ERROR)) * GRID_UNITS)
    accept = accept_rule(check_epsilon(epsilon), check_delta(delta), step)
    return StabilityRule(accept, STATISTIC_ERROR, 0.0, 1.0 / GRID_UNITS)


def required_slack(
    epsilon: float,
    delta: float,
    failure: float = 0.01,
    tau0: float = DEFAULT_TAU0,
    decision: str = "auto",
) -> float:
    """Dual slack lambda(G, x) with which `CertificateRecovery` surely releases with probability 1 - failure.

    Half of it is the r that is needed, and r >= lambda / 2 (2 to 16 % more on planted graphs).

    About 2 tau0 + 2 + (2 / epsilon) (log(1 / (2 delta)) + log(1 / (2 failure))) with noise, less with a coin.
    failure in (0, 1/2]: at 1/2, the slack at which a release is as likely as a refusal.
    """
    rule = _rule(epsilon, delta)
    if chosen_decision(decision, epsilon) == "coin":
        failure = float(between(failure, "failure", "(0, 0.5]"))
        return 2 * (tau0 + (1 + 2 * STATISTIC_ERROR) * accept_profile(epsilon, delta).reach(1 - failure))
    return 2 * (tau0 + rule.statistic_needed(failure))


def certificate_offered(n: int, epsilon: float, delta: float, tau: float = 0.5) -> bool:
    """Whether some graph on n vertices has the slack with which the certificate answers with probability 1/2.

    The slack matrix has n - 1 directions and a trace of at most n (n - 1) max(tau, 1 - tau), whatever the
    graph and the labels, so its slack is at most n max(tau, 1 - tau).
    """
    return 0 < delta <= 0.5 and n * max(tau, 1 - tau) >= required_slack(epsilon, delta, failure=0.5)


def release_probability(
    slack: float, epsilon: float, delta: float, tau0: float = DEFAULT_TAU0, decision: str = "auto"
) -> float:
    """Least probability that `CertificateRecovery` releases a certified labelling of this dual slack.

    The slack of a real graph is private; use this for planning on simulated graphs.
    """
    return release_law(epsilon, delta, decision)(slack / 2 - tau0)


def lower_bound_epsilon(
    n: int, average_degree: float, gamma: float, error: float | None = None, failure: float = 0.01
) -> float:
    """Epsilon below which no pure epsilon-edge-DP algorithm reaches this error on every balanced labelling.

    error: wanted fraction of wrong labels, exclusive (default 1/n: exact recovery); failure: allowed
    probability of missing it. Explicit form of Theorem 5.22 (packing of balanced labellings, group privacy
    over coupled graphs); n even. Proof: docs/proofs/sbm_weak_recovery.md, last section.
    """
    n = integer(n, "n", 2)
    if n % 2:
        raise ValueError(f"the lower bound is for balanced labellings: n must be even, got {n}")
    failure = float(between(failure, "failure", "(0, 1)"))
    zeta = 1 / n if error is None else float(error)
    if not 1 / n <= zeta < 0.5:
        raise ValueError(f"error must be in [1/n, 1/2), got {zeta}")
    half = n // 2
    signal = check_positive(average_degree, "average_degree") * check_positive(gamma, "gamma")

    def log_binomial(k: int) -> float:
        return math.lgamma(half + 1) - math.lgamma(k + 1) - math.lgamma(half - k + 1)

    # Balanced vectors within Hamming distance below 2 zeta n of a fixed one (in pairs of flips), both signs.
    radius = max(1, math.ceil(zeta * n - 1e-9))
    ball = [2 * log_binomial(j) for j in range(min(radius, half + 1))]
    top = max(ball)
    log_ball = math.log(2) + top + math.log(sum(math.exp(value - top) for value in ball))
    best = 0.0
    for a in range(1, half // 2 + 1):
        log_packing = 2 * log_binomial(a) - log_ball
        if log_packing <= math.log(2):
            continue
        log_others = log_packing + math.log1p(-math.exp(-log_packing))
        numerator = log_others + 2 * math.log1p(-failure) - math.log(failure)
        if numerator <= 0:
            continue
        pairs = 2 * a * (n - 2 * a)
        best = max(best, 0.5 * math.log1p(n / (2 * signal) * math.expm1(numerator / pairs)))
    return best
