"""The published constants of private k-tuple clustering, as recalled and as derived, and its experiments.

`paper` marks what is believed to be printed (the formulas were lost in the text at hand), `derived` what is
proven in docs/proofs/tuples_published.md; mechanisms run with the proven ones only
(`sosdp.privacy.mechanisms.propose_test_release.close_tuples`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

CALIBRATIONS = ("paper", "derived")


@dataclass(frozen=True)
class TestConstants:
    """m, l and the number of tuples of PrivateTestPartition.

    Attributes:
        sample: m.
        reach: l, as a real number.
        tuples: least n >= 2 l + 2 with these.
    """

    __test__ = False  # not a class of tests

    sample: int
    reach: float
    tuples: int


def test_constants(epsilon: float, bad: float, beta: float, calibration: str = "derived") -> TestConstants:
    """The least number of tuples for which the test means something, with its sample and reach.

    Args:
        epsilon: of the whole algorithm; the test has half of it.
        bad: d_b, probability that success does not mean what it says.
        beta: failure probability on good tuples.
        calibration: "paper" (recalled; its l is a factor m / 2 short of what is proven) or "derived".

    Raises:
        ValueError: an unknown calibration.
    """
    if calibration not in CALIBRATIONS:
        raise ValueError(f"calibration must be one of {', '.join(CALIBRATIONS)}, got {calibration!r}")
    eps = epsilon / 2.0
    n = 4
    while True:
        m = _sample(n, eps, bad, beta, calibration)
        if calibration == "derived":
            reach = 2.0 * m / eps * math.log(m * m / (beta * bad))
        else:
            reach = 2.0 * m / eps * math.log(m / (beta * bad))
        if n >= 2.0 * reach + 2.0:
            return TestConstants(m, reach, n)
        n = max(n + 1, min(math.ceil(2.0 * reach + 2.0), n + max(1, n // 200)))


test_constants.__test__ = False  # type: ignore[attr-defined]


def _sample(n: int, eps: float, bad: float, beta: float, calibration: str) -> int:
    for m in range(1, n + 1):
        if calibration == "derived":
            vote = math.log1p(n / m * math.expm1(eps / 2.0))
            needed = math.log(1.0 / (beta * bad)) / vote
        else:
            inner = eps * n / (2.0 * m) - 3.0
            if inner <= 1.0:
                continue
            needed = (2.0 * math.log(1.0 / bad) + math.log(1.0 / beta)) / math.log(inner)
        if m >= needed:
            return m
    return n


def experiment_ratio(k: int, epsilon: float, delta: float, beta: float) -> float:
    """Ball ratio of the experiments: (10 / eps) k log(k / delta) sqrt(log(k / beta)); 1102 for k = 2."""
    return 10.0 / epsilon * k * math.log(k / delta) * math.sqrt(math.log(k / beta))


def learner_budget(epsilon: float, delta: float, calibration: str = "derived") -> tuple[float, float]:
    """Budget of the algorithm that learns one cluster of the published mixture algorithm.

    It runs under addition and removal on clusters that private centres cut out; a replaced record that stays
    in its cluster is a removal and an addition, which costs (1 + e^(eps/4)) delta'. "paper" gives
    (eps / 4, delta / 2), which is not enough: see `composed_delta`.

    Raises:
        ValueError: an unknown calibration.
    """
    if calibration not in CALIBRATIONS:
        raise ValueError(f"calibration must be one of {', '.join(CALIBRATIONS)}, got {calibration!r}")
    each = epsilon / 4.0
    return each, delta / 2.0 if calibration == "paper" else delta / (1.0 + math.exp(each))


def composed_delta(epsilon: float, delta: float) -> float:
    """delta of a removal and an addition, each (epsilon, delta)-DP: (1 + e^epsilon) delta, attained."""
    return (1.0 + math.exp(epsilon)) * delta
