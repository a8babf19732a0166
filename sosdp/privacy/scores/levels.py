"""Integer levels: the rational base of r^level, its certificate, and the levels of real-valued scores.

Every exponential mechanism here has the law P(theta) ~ r^level(theta) with r = a / 2^40 rational, so that it
can be sampled with integers alone; ball arithmetic certifies 2 m ln(1/r) <= epsilon once.

Proof: docs/proofs/exponential_mechanism.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import integer, nonnegative, positive

BITS = 40


@dataclass(frozen=True)
class RationalBase:
    """r = numerator / 2^40, certified to satisfy 2 sensitivity ln(1/r) <= epsilon - ln(1/(1 - allowance)).

    Attributes:
        numerator: a, the least integer for which the inequality is certified.
        sensitivity: m, by how much a level may differ between neighbours.
        epsilon: the budget as given.
        allowance: mass of the truncated law that is charged separately (0 for the pure mechanism).
    """

    numerator: int
    sensitivity: int
    epsilon: float
    allowance: Fraction = Fraction(0)

    @property
    def ratio(self) -> Fraction:
        """r itself."""
        return Fraction(self.numerator, 1 << BITS)

    @property
    def inverse(self) -> Fraction:
        """1 / r > 1, the base that the exact samplers take."""
        return Fraction(1 << BITS, self.numerator)

    @property
    def rate(self) -> float:
        """ln(1/r) in float64, for planning only."""
        return -math.log(self.numerator / (1 << BITS))


def rational_base(epsilon: float, sensitivity: int = 1, allowance: Fraction = Fraction(0)) -> RationalBase:
    """The smallest certified base for a budget: a few ball-arithmetic comparisons.

    Raises:
        ValueError: epsilon not > 0, sensitivity < 1, allowance outside [0, 1), or a budget so small that r
            rounds to 1 (every comparison with ln(1/r) would be void).
    """
    epsilon = calibrate.check_epsilon(epsilon)
    sensitivity = check_level_sensitivity(sensitivity)
    allowance = calibrate.between(allowance, "the allowance", "[0, 1)")
    left = epsilon + math.log1p(-float(allowance))
    if left <= 0.0:
        raise ValueError(
            f"epsilon = {epsilon} does not even pay for the truncated mass {float(allowance):.3g}: "
            "take a smaller delta or a larger epsilon"
        )
    numerator = max(1, math.ceil(2.0**BITS * math.exp(-left / (2 * sensitivity))) - 2)
    while not _certified(numerator, epsilon, sensitivity, allowance):
        numerator += 1
    if numerator >= 1 << BITS:
        raise ValueError(
            f"epsilon / (2 sensitivity) = {epsilon / (2 * sensitivity):.3g} is too small for a base of "
            f"{BITS} bits"
        )
    return RationalBase(numerator, sensitivity, epsilon, allowance)


def _certified(numerator: int, epsilon: float, sensitivity: int, allowance: Fraction) -> bool:
    """Whether 2 m ln(2^b / a) <= epsilon + ln(1 - allowance) is proven."""

    def excess() -> Any:
        import flint

        spent = 2 * sensitivity * (flint.arb(2**BITS) / flint.arb(numerator)).log()
        return spent - calibrate.ball(epsilon) - calibrate.ball(1 - allowance).log()

    return calibrate.decide(excess) is False


def check_level_sensitivity(sensitivity: int) -> int:
    """A level sensitivity: an integer >= 1.

    Raises:
        ValueError: anything else.
    """
    return integer(sensitivity, "the sensitivity of a level")


def level_of(high: Fraction, quantum: Fraction) -> int:
    """ceil(high / quantum): the level of a score whose certified upper end is `high`."""
    return math.ceil(Fraction(high) / Fraction(quantum))


def level_sensitivity(sensitivity: Fraction, width: Fraction, quantum: Fraction) -> int:
    """How much `level_of` can differ between neighbours: ceil((sensitivity + width) / quantum).

    Args:
        sensitivity: of the true score. width: promised length of every bracket. quantum: > 0.

    Raises:
        ValueError: a negative width, or sensitivity or quantum not > 0.
    """
    moved = positive(sensitivity, "the sensitivity") + nonnegative(width, "the width")
    return math.ceil(moved / positive(quantum, "the quantum"))
