"""Releasing an answer when an integer statistic of sensitivity 1 (or S) is large enough.

Two ways. `accept_profile` and `decay_curve` decide by one Bernoulli test whose acceptance probability depends
on the statistic: the largest (smallest) such probabilities that are (epsilon, delta)-DP, in exact rationals.
`accept_rule` adds noise to the statistic and compares; it can release the noisy statistic as well.

In `accept_rule` the noise is a discrete Laplace L with P(L = k) = (1-a)/(1+a) a^|k|, a = exp(-1/units), as
`sosdp.privacy.randomness.laplace` draws it; its tail is P(L >= j) = a^j / (1+a) for integers j >= 1. An
answer whose statistic changes by at most S between neighbours, and which the neighbour shares whenever the
statistic exceeds S, is released when statistic + L >= S + j with a^j / (1+a) <= delta.

Proofs: docs/proofs/truncated_mechanism.md (curves), docs/proofs/certificate_stability.md (noise)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import integer
from sosdp.privacy.guarantee.rounding import float_down
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits

_GRID_BITS = 256
_FACTOR_BITS = 64


@dataclass(frozen=True)
class AcceptRule:
    """Release iff `statistic > 0` and `statistic + L >= threshold`, in integers.

    Attributes:
        sensitivity: S, the sensitivity of the integer statistic.
        units: parameter of the noise: P(L = k) proportional to exp(-|k| / units); S / units <= epsilon.
        margin: j, the smallest integer >= 1 with P(L >= j) <= delta.
        epsilon, delta: what the rule is calibrated for.
    """

    sensitivity: int
    units: float
    margin: int
    epsilon: float
    delta: float

    @property
    def threshold(self) -> int:
        """What statistic + noise has to reach."""
        return self.sensitivity + self.margin

    def accepts(self, statistic: int, noise: int) -> bool:
        """The decision; Python integers, so nothing overflows."""
        return statistic > 0 and statistic + noise >= self.threshold

    def release_probability(self, statistic: int) -> float:
        """Exact law of the decision given the integer statistic (evaluated in float64)."""
        return self.tail(self.threshold - statistic) if statistic > 0 else 0.0

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
        failure = float_down(calibrate.between(failure, "failure", "(0, 0.5]"))
        return self.threshold + tail_margin(self.units, failure) - 1


def accept_rule(epsilon: float, delta: float, sensitivity: int) -> AcceptRule:
    """Calibrate the rule for an integer statistic of this sensitivity; rounded to the safe side throughout.

    Raises:
        ValueError: epsilon not > 0, delta outside (0, 1/2], sensitivity < 1, or noise beyond 2^40 units.
    """
    epsilon = calibrate.check_epsilon(epsilon)
    delta = calibrate.check_delta(delta)
    if delta > 0.5:
        raise ValueError(f"delta must be at most 1/2 for a stability release, got {delta}")
    sensitivity = integer(sensitivity, "sensitivity")
    wanted = Fraction(sensitivity) / Fraction(epsilon)
    if wanted > 2**40:
        raise ValueError(
            f"epsilon = {epsilon} asks for noise of more than 2^40 grid units: "
            "take a coarser grid or a larger epsilon"
        )
    units = max(calibrate.float_up(wanted), 0.1)
    return AcceptRule(
        sensitivity=sensitivity, units=units, margin=tail_margin(units, delta), epsilon=epsilon, delta=delta
    )


def tail_margin(units: float, probability: float) -> int:
    """Smallest integer j >= 1 with P(L >= j) = a^j / (1+a) proven to be at most `probability`, a =
    exp(-1/units).

    Ball arithmetic decides: equality cannot occur (exp of a non-zero rational is transcendental), and an
    undecided comparison would count as "too large".
    """
    return calibrate.least(lambda j: _tail_at_most(units, j, probability))


def _tail_at_most(units: float, j: int, probability: float) -> bool:
    def excess() -> Any:
        rate = 1 / calibrate.ball(units)
        return (-j * rate).exp() / (1 + (-rate).exp()) - calibrate.ball(probability)

    return calibrate.decide(excess) is False


# ------------------------------------------------------------------------------------------------------------
# One Bernoulli test, in exact rationals


@dataclass(frozen=True)
class AcceptCurve:
    """Probabilities of acceptance at the values 0, 1, 2, ... of an integer statistic of sensitivity 1.

    The bit it gives is (epsilon, delta)-DP, as proven for `factor` <= e^epsilon. Beyond the list the last
    value goes on: 1 for `accept_profile`, 0 for `decay_curve`.

    Attributes:
        values: exact rationals, multiples of 2^-256 (or delta itself).
        factor: rational lower bound of e^epsilon that the inequalities hold with.
        epsilon, delta: what was asked for.
    """

    values: tuple[Fraction, ...]
    factor: Fraction
    epsilon: float
    delta: Fraction

    @property
    def length(self) -> int:
        """First value of the statistic from which the probability stays at its end (1 or 0)."""
        return len(self.values) - 1

    def probability(self, statistic: int) -> Fraction:
        """Exact probability of acceptance."""
        return self.values[min(max(statistic, 0), self.length)]

    def accepts(self, statistic: int, bits: RandomBits | None = None) -> bool:
        """The Bernoulli test of this probability, drawn exactly."""
        return exact.bernoulli(self.probability(statistic), bits)

    def reach(self, probability: float) -> int:
        """Least value of the statistic whose probability is at least `probability` (rising curves)."""
        wanted = calibrate.between(probability, "probability", "[0, 1]")
        return next(k for k, value in enumerate(self.values) if value >= wanted)


def accept_profile(epsilon: float, delta: float | Fraction) -> AcceptCurve:
    """The largest probabilities pi(0) = 0, pi(1), ... for which the accept bit is (epsilon, delta)-DP.

    pi(k+1) = min(e^eps pi(k) + delta, 1 - e^-eps (1 - pi(k) - delta), 1), each rounded down to a multiple of
    2^-256. The statistic is a distance to where nothing may be released; pi reaches 1 after about
    (2/eps) ln(1 + tanh(eps/2) / delta) steps.

    Raises:
        ValueError: epsilon not > 0, or delta outside (0, 1) (at delta = 0 the profile is identically 0).

    Source: docs/proofs/truncated_mechanism.md; the recursion of optimal partition selection (Desfontaines,
    Voss, Gipson and Mandayam 2022).
    """
    factor, share = _curve_arguments(epsilon, delta)
    values = [Fraction(0)]
    while values[-1] < 1:
        last = values[-1]
        most = min(factor * last + share, 1 - (1 - last - share) / factor, Fraction(1))
        values.append(_grid_down(most))
    return AcceptCurve(tuple(values), factor, float(epsilon), share)


def decay_curve(
    epsilon: float, delta: float | Fraction, failure: float | Fraction, plateau: int = 0
) -> AcceptCurve:
    """The fastest falling (epsilon, delta)-DP probabilities that start at 1 - `failure` up to `plateau`.

    p(s+1) = max(e^-eps (p(s) - delta), 1 - e^eps (1 - p(s)) - delta, 0), rounded up to a multiple of 2^-256;
    acceptance implies statistic < `length` surely.

    Raises:
        ValueError: epsilon not > 0, delta or failure outside (0, 1), or a plateau < 0.
    """
    factor, share = _curve_arguments(epsilon, delta)
    failure, plateau = calibrate.between(failure, "failure", "(0, 1)"), integer(plateau, "plateau", 0)
    values = [_grid_down(1 - failure)] * (plateau + 1)
    while values[-1] > 0:
        last = values[-1]
        least = max((last - share) / factor, 1 - factor * (1 - last) - share, Fraction(0))
        values.append(min(last, -_grid_down(-least)))
    return AcceptCurve(tuple(values), factor, float(epsilon), share)


def _curve_arguments(epsilon: float, delta: float | Fraction) -> tuple[Fraction, Fraction]:
    epsilon = calibrate.check_epsilon(epsilon)
    share = calibrate.between(delta, "delta (at 0 nothing is ever accepted)", "(0, 1)")
    if share < Fraction(1, 1 << 200):
        raise ValueError(f"delta = {float(share)} is below what the grid of 2^-256 resolves")
    if epsilon > 700.0 or epsilon < 1e-6:
        raise ValueError(f"accept curves take epsilon in [1e-6, 700], got {epsilon}")
    # e^eps is at least its 64-bit lower bound, by outward-rounded integer arithmetic
    gamma = Fraction(epsilon)
    _, high = exact.exp_bounds(gamma.numerator, gamma.denominator, 1100)
    inverse_down = Fraction(1 << 1100, high)
    factor = Fraction(math.floor(inverse_down * (1 << _FACTOR_BITS)), 1 << _FACTOR_BITS)
    return factor, share


def _grid_down(value: Fraction) -> Fraction:
    return Fraction(math.floor(value * (1 << _GRID_BITS)), 1 << _GRID_BITS)
