"""Thresholds for releasing an answer when a noisy integer statistic is large enough.

The noise is a discrete Laplace L with P(L = k) = (1-a)/(1+a) a^|k|, a = exp(-1/units), exactly as
`sosdp.privacy.noise.laplace` draws it; its tail is P(L >= j) = a^j / (1+a) for integers j >= 1. An answer
whose statistic changes by at most `step` between neighbours, and which the neighbour shares whenever the
statistic exceeds `step`, is released when statistic + L >= step + j with a^j / (1+a) <= delta.

Proof: docs/proofs/certificate_stability.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sosdp.privacy import calibrate


@dataclass(frozen=True)
class AcceptRule:
    """Release iff `statistic > 0` and `statistic + L >= threshold`, in integers.

    Attributes:
        step: S, the sensitivity of the integer statistic.
        units: parameter of the noise: P(L = k) proportional to exp(-|k| / units); S / units <= epsilon.
        margin: j, the smallest integer >= 1 with P(L >= j) <= delta.
        epsilon, delta: what the rule is calibrated for.
    """

    step: int
    units: float
    margin: int
    epsilon: float
    delta: float

    @property
    def threshold(self) -> int:
        """What statistic + noise has to reach."""
        return self.step + self.margin

    def accepts(self, statistic: int, noise: int) -> bool:
        """The decision; Python integers, so nothing overflows."""
        return statistic > 0 and statistic + noise >= self.threshold

    def release_probability(self, statistic: int) -> float:
        """Exact law of the decision given the integer statistic (evaluated in float64)."""
        if statistic <= 0:
            return 0.0
        return self.tail(self.threshold - statistic)

    def tail(self, j: int) -> float:
        """P(L >= j) for any integer j."""
        if j >= 1:
            return math.exp(-j / self.units) / (1.0 + math.exp(-1.0 / self.units))
        return 1.0 - self.tail(1 - j)

    def statistic_needed(self, failure: float) -> int:
        """Smallest integer statistic that is released with probability at least 1 - `failure`.

        Raises:
            ValueError: failure outside (0, 1/2].
        """
        if not 0.0 < failure <= 0.5:
            raise ValueError(f"failure must lie in (0, 1/2], got {failure!r}")
        return self.threshold + tail_margin(self.units, failure) - 1


def accept_rule(epsilon: float, delta: float, step: int) -> AcceptRule:
    """Calibrate the rule for an integer statistic of sensitivity `step`; rounded to the safe side throughout.

    Raises:
        ValueError: epsilon not > 0, delta outside (0, 1/2], step < 1, or noise beyond 2^40 units.
    """
    epsilon = calibrate.check_epsilon(epsilon)
    delta = calibrate.check_delta(delta)
    if delta > 0.5:
        raise ValueError(f"delta must be at most 1/2 for a stability release, got {delta}")
    if isinstance(step, bool) or not isinstance(step, int) or step < 1:
        raise ValueError(f"step must be an integer >= 1, got {step!r}")
    exact = Fraction(step) / Fraction(epsilon)
    if exact > 2**40:
        raise ValueError(
            f"epsilon = {epsilon} asks for noise of more than 2^40 grid units: "
            "take a coarser grid or a larger epsilon"
        )
    units = float(exact)
    if Fraction(units) < exact:
        units = math.nextafter(units, math.inf)
    units = max(units, 0.1)
    return AcceptRule(step=step, units=units, margin=tail_margin(units, delta), epsilon=epsilon, delta=delta)


def tail_margin(units: float, probability: float) -> int:
    """Smallest integer j >= 1 with P(L >= j) = a^j / (1+a) proven to be at most `probability`, a =
    exp(-1/units).

    Ball arithmetic decides: equality cannot occur (exp of a non-zero rational is transcendental), and an
    undecided comparison would count as "too large".
    """
    guess = -units * (math.log(probability) + math.log1p(math.exp(-1.0 / units)))
    j = max(1, math.floor(guess) - 1)
    while j > 1 and _tail_at_most(units, j - 1, probability):
        j -= 1
    while not _tail_at_most(units, j, probability):
        j += 1
    return j


def _tail_at_most(units: float, j: int, probability: float) -> bool:
    def excess() -> Any:
        rate = 1 / calibrate.ball(units)
        tail = (-j * rate).exp() / (1 + (-rate).exp())
        return tail - calibrate.ball(probability)

    return calibrate.decide(excess) is False
