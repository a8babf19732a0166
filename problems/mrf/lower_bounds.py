"""How many records any private learner needs: calculators with explicit constants.

All logarithms are natural; sizes are lower bounds on n under replacing one record.

Source: Zhang, Kamath, Kulkarni and Wu 2020, sections 5 and 7; corrected: docs/proofs/mrf_lower_bounds.md
"""

from __future__ import annotations

import math

from scipy.optimize import brentq, minimize_scalar

from sosdp.privacy.calibrate import between


def parameter_records(p: int, alpha: float, epsilon: float) -> float:
    """n of any (epsilon, 3 / (64 n))-private learner of a perfect matching with E max_ij err^2 <= alpha^2.

    sqrt(p / 2) / (72 alpha epsilon), for alpha^2 <= 1/54 and weights up to log(2) / 2.

    Raises:
        ValueError: alpha^2 > 1/54, p odd or below 2, or epsilon <= 0.
    """
    if p < 2 or p % 2:
        raise ValueError(f"a perfect matching needs an even number of nodes, got {p}")
    if not (0.0 < alpha and alpha**2 <= 1.0 / 54.0 and epsilon > 0.0):
        raise ValueError("alpha must lie in (0, 54^(-1/2)] and epsilon be > 0")
    return math.sqrt(p / 2.0) / (72.0 * alpha * epsilon)


def matching_distance(p: int, eta: float) -> float:
    """Bound on the total variation of one record between two matchings' models of weight eta on p nodes.

    sqrt(1 - ((1 + sqrt(1 - tanh^2 eta)) / 2)^(p / 2)): the Hellinger form, from one model to independence.
    """
    return math.sqrt(max(0.0, 1.0 - ((1.0 + math.sqrt(1.0 - math.tanh(eta) ** 2)) / 2.0) ** (p / 2.0)))


def log_matchings(p: int) -> float:
    """log M of the packing of 2^(p/2) graphs: each pair of a fixed matching is an edge or not."""
    return p / 2.0 * math.log(2.0)


def pure_records(log_graphs: float, epsilon: float, success: float, distance: float = 1.0) -> float:
    """n of any epsilon-DP learner that finds one of M structures with this probability.

    log((M - 1) s / (1 - s)) / epsilon; with total variation v < 1 of one record also, for every c > 1/s,
    log((M - 1) (s - 1/c) / (1 - s)) / (c v epsilon), and the best of all is returned (0 where M = 1).
    """
    success = float(between(success, "success", "(0, 1)"))
    if log_graphs <= 0.0:
        return 0.0
    others = log_graphs + math.log1p(-math.exp(-log_graphs))
    best = (others + math.log(success / (1.0 - success))) / epsilon

    def negative(log_excess: float) -> float:
        c = (1.0 + math.exp(log_excess)) / success
        return -(others + math.log((success - 1.0 / c) / (1.0 - success))) / (c * distance * epsilon)

    result = minimize_scalar(negative, bounds=(-20.0, 20.0), method="bounded")
    return max(0.0, best, -float(result.fun))


def zcdp_records(log_graphs: float, rho: float, success: float, distance: float = 1.0) -> float:
    """n of any rho-zCDP learner that finds one of M structures with this probability.

    Fano and group privacy: rho (n^2 v^2 + n v) >= s log M - log 2, v the total variation of one record; with
    v = 1 the sharper rho n^2 >= s log M - log 2. The larger of the two.
    """
    success = float(between(success, "success", "(0, 1)"))
    information = success * log_graphs - math.log(2.0)
    if information <= 0.0:
        return 0.0
    plain = math.sqrt(information / rho)
    wanted = information / rho
    coupled = (math.sqrt(1.0 + 4.0 * wanted) - 1.0) / (2.0 * distance)
    return max(plain, coupled)


def approximate_records(log_graphs: float, epsilon: float, delta: float, success: float) -> float:
    """n of any (epsilon, delta)-DP learner of one of M structures, from group privacy alone; small by design.

    The largest n with e^(n epsilon) / (M - 1) * (1 - s) + delta (e^(n epsilon) - 1) / (e^epsilon - 1) < s is
    what remains impossible: (epsilon, delta) with delta > 0 escapes the p / epsilon of pure privacy.
    """
    success = float(between(success, "success", "(0, 1)"))
    if log_graphs <= 0.0:
        return 0.0
    others = log_graphs + math.log1p(-math.exp(-log_graphs))

    def slack(n: float) -> float:
        grown = math.exp(min(n * epsilon, 700.0))
        return (
            math.exp(min(n * epsilon - others, 700.0)) * (1 - success)
            + delta * (grown - 1) / math.expm1(epsilon)
            - success
        )

    if slack(0.0) >= 0.0:
        return 0.0
    return float(brentq(slack, 0.0, 700.0 / epsilon))


def pairwise_log_packing(p: int, alphabet: int) -> float:
    """log of the number of weight matrices of Theorem 7.4's packing that are distinct in normal form.

    p/2 blocks, each with a {0, eta} matrix whose first row and column are zero: (p / 2) (k - 1)^2 log 2. It
    bounds learning the weights to below eta / 2, not the edge set.
    """
    return p / 2.0 * (alphabet - 1) ** 2 * math.log(2.0)
