"""Privacy of an interaction whose free outcomes cost nothing: at most B rounds end in anything but one
symbol.

Every round is h-differentially private, chosen after seeing all earlier ones; its outcome is either "no
update"
(free) or anything else (paid); the interaction ends with the B-th paid outcome. How many rounds there are
does not
matter.

Theorems B and C with proofs: docs/proofs/cuts_paid_rounds.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sosdp.privacy.arguments import integer, positive, settle
from sosdp.privacy.calibrate import check_delta, check_epsilon, narrowed

CALIBRATIONS = ("tight", "tight-rdp", "paper")

PAPER_FACTOR = 1000
"""The constant of Gupta, Roth and Ullman's noise scale, as recalled; the proof needs 10."""

MARGIN = 1e-3
"""The exact curve is evaluated in float64, from above; it must undercut delta by this much (relative)."""

LEAST_DELTA = 1e-13
LEAST_SCALE = 0.5
"""No scale is below: beyond, differences of exponentials lose digits, and answers are integers anyway."""

MOST_PAID = 2000

_BITS = 20  # scales are multiples of 2^-20, so that 1/b is a rational and b a float64


@dataclass(frozen=True)
class PaidRounds:
    """Noise scale of an interaction and what it promises.

    Attributes:
        scale: b, exact; every round adds Laplace noise of scale b times the query's sensitivity: h = 1/b.
        paid: B, the most rounds with an outcome other than "no update".
        epsilon, delta: what is promised. calibration: "tight", "tight-rdp" or "paper".
    """

    scale: Fraction
    paid: int
    epsilon: float
    delta: float
    calibration: str

    def __post_init__(self) -> None:
        settle(self, scale=positive(self.scale, "scale"), paid=integer(self.paid, "paid"))
        settle(self, epsilon=check_epsilon(self.epsilon), delta=check_delta(self.delta))

    def renyi(self, order: float) -> float:
        """Bound on the Rényi divergence of this order; infinite beyond the orders of Theorem B."""
        return renyi_bound(order, self.scale, self.paid)

    def renyi_curve(self, orders: tuple[float, ...] | None = None) -> tuple[tuple[float, float], ...]:
        """Pairs (order, bound), finite ones only: what dp-accounting's Rényi functions take.

        Default orders: a spread below the largest one that Theorem B covers.
        """
        chosen = orders or default_orders(self.scale)
        return tuple((order, bound) for order in chosen if (bound := self.renyi(order)) < math.inf)

    def delta_at(self, epsilon: float) -> float:
        """The least delta at this epsilon over all interactions of this form, from above (Theorem C)."""
        return exact_delta(epsilon, self.scale, self.paid)


def paid_rounds(epsilon: float, delta: float, paid: int, calibration: str = "tight") -> PaidRounds:
    """The least noise scale of a calibration, and at least 1/2.

    Args:
        epsilon, delta: budget; delta >= 1e-13.
        paid: B in 1..2000.
        calibration: "tight": the exact curve (Theorem C); "tight-rdp": the Rényi curve (Theorem B), a few per
            cent larger; "paper": 1000 sqrt(B) ln(4/delta) / epsilon.

    Raises:
        ValueError: public numbers out of range; "paper" where epsilon > ln(4/delta), for which it is not
        proven.

    Cost: a second at B = 100. Source: docs/proofs/cuts_paid_rounds.md.
    """
    epsilon, delta, paid = check_epsilon(epsilon), check_delta(delta), integer(paid, "paid")
    if not LEAST_DELTA <= delta < 0.5:
        raise ValueError(f"delta must lie in [{LEAST_DELTA}, 0.5), got {delta}")
    if paid > MOST_PAID:
        raise ValueError(f"at most {MOST_PAID} paid rounds are calibrated, got {paid}")
    if calibration == "paper":
        log = math.log(4.0 / delta)
        if epsilon > log:
            raise ValueError(f"the published scale is proven for epsilon <= ln(4/delta) = {log:.4g}")
        result = PAPER_FACTOR * math.sqrt(paid) * log / epsilon
    elif calibration in CALIBRATIONS:
        result = _by_renyi(epsilon, delta, paid)
        if calibration == "tight":
            result = _by_curve(epsilon, delta, paid, result)
    else:
        raise ValueError(f"calibration must be one of {', '.join(CALIBRATIONS)}, got {calibration!r}")
    return PaidRounds(_on_grid(result), paid, epsilon, delta, calibration)


def _on_grid(scale: float) -> Fraction:
    """Rounded up by a millionth and to a multiple of 2^-20."""
    return Fraction(math.ceil(Fraction(scale) * Fraction(1_000_001, 1_000_000) * 2**_BITS), 2**_BITS)


# ------------------------------------------------------------------------------------------------------------
# Theorem B: Rényi divergence


def charge(order: float, scale: float | Fraction) -> float:
    """s(l) of Theorem B: (l - 1) times what one paid round adds to the divergence of order l; rounded up.

    Infinite for l >= ln(1 + e^h) / h, where the theorem says nothing.
    """
    h = 1.0 / float(scale)
    if not order > 1.0:
        raise ValueError(f"the order must be above 1, got {order}")
    if h * order >= math.log1p(math.exp(h)) * (1.0 - 1e-12):
        return math.inf
    last = 1.0 + math.exp(h) - math.exp(h * order)
    terms = (
        -h * (order - 1.0) - math.log(last),  # no update after a 0, an answer after a 1
        h * order - math.log(1.0 + math.exp(h) - math.exp(-h * (order - 1.0))),  # the other way round
        math.log(
            (math.exp(h * order) + math.exp(-h * (order - 1.0))) / (1.0 + math.exp(h))
        ),  # always an answer
    )
    # the terms are differences of numbers near ln 2 and near h l: an absolute error of a few units
    return max(terms) + 8e-16 * (1.0 + 1.0 / last + h * order)


def renyi_bound(order: float, scale: float | Fraction, paid: int) -> float:
    """Bound on the Rényi divergence of order l > 1 of the whole interaction: B s(l) / (l - 1)."""
    return paid * charge(order, scale) / (order - 1.0) * (1.0 + 1e-14)


def largest_order(scale: float | Fraction) -> float:
    """ln(1 + e^h) / h: Theorem B covers the orders below it."""
    h = 1.0 / float(scale)
    return math.log1p(math.exp(h)) / h


def default_orders(scale: float | Fraction, count: int = 60) -> tuple[float, ...]:
    """Orders between 1 and the largest one, denser towards 1 (for export)."""
    top = largest_order(scale)
    return tuple(1.0 + (top - 1.0) * (k / (count + 1.0)) ** 2 for k in range(1, count + 1))


def _renyi_epsilon(scale: float, paid: int, delta: float) -> float:
    """Epsilon at delta by Theorem B, at the best order (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    top = largest_order(scale)

    def at(share: float) -> float:
        order = 1.0 + (top - 1.0) * share
        bound = renyi_bound(order, scale, paid)
        return bound + math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)

    shares = np.linspace(0.002, 0.998, 50)
    values = [at(share) for share in shares]
    best = int(np.argmin(values))
    low, high = shares[max(best - 1, 0)], shares[min(best + 1, len(shares) - 1)]
    for _ in range(60):  # any order is valid: the search need not find the best one
        first, second = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, second) if at(first) < at(second) else (first, high)
    return min(values[best], at((low + high) / 2.0)) + 1e-12


def _by_renyi(epsilon: float, delta: float, paid: int) -> float:
    low, high = LEAST_SCALE, 1.0
    while _renyi_epsilon(high, paid, delta) > epsilon:
        low, high = high, 2.0 * high
    return narrowed(lambda scale: _renyi_epsilon(scale, paid, delta) <= epsilon, low, high, 1e-9)[1]


# ------------------------------------------------------------------------------------------------------------
# Theorem C: the exact curve


def exact_delta(epsilon: float, scale: float | Fraction, paid: int) -> float:
    """Largest hockey-stick divergence over all interactions with B paid rounds, from above.

    Dynamic programme over the log-likelihood ratio in units of h (a lattice) and the paid rounds left,
    iterated
    from above: the operator is monotone, so every iterate is an upper bound, and a contraction by e^h / (1
    + e^h).
    """
    h = 1.0 / float(scale)
    top = math.ceil((epsilon + 14.0) / h + 8.0 * math.sqrt(paid)) + 80
    ratio = np.arange(-top, top + 1) * h
    keep = 1.0 / (1.0 + math.exp(-h))
    leave = 1.0 / (1.0 + math.exp(h))
    # the relative rounding of 1 - e^(epsilon - h j) is that of its exponent
    value = np.maximum(0.0, -np.expm1(np.minimum(epsilon - ratio, 1.0))) * (1.0 + 1e-13) + 1e-17
    value = np.pad(value, 1, mode="edge")  # below the bottom as at the bottom, above the top 1
    value[-1] = 1.0
    sweeps = math.ceil(math.log(1e-17) / math.log(keep)) + 2
    for _ in range(paid):
        below = value[1:-1].copy()
        # stop; an outcome that is free after a 0 and paid after a 1; and the other way round
        paid_after_one, paid_after_zero = leave * value[:-2], keep * value[2:]
        value[:] = 1.0
        for _ in range(sweeps):
            first = keep * value[2:]
            first += paid_after_one
            second = leave * value[:-2]
            second += paid_after_zero
            value[1:-1] = np.minimum(np.maximum(below, np.maximum(first, second)), 1.0)
            value[0] = value[1]
    return float(value[1 + top])


def _by_curve(epsilon: float, delta: float, paid: int, enough: float) -> float:
    """The least scale whose exact curve stays below delta (1 - margin), by bisection below a scale that
    does."""
    target = delta * (1.0 - MARGIN)
    high = enough * (1.0 + 2e-3)
    while exact_delta(epsilon, high, paid) > target:
        high *= 1.05
    low = max(high / 1.4, LEAST_SCALE)
    while exact_delta(epsilon, low, paid) <= target:
        if low == LEAST_SCALE:
            return low
        high, low = low, max(low / 1.4, LEAST_SCALE)
    return narrowed(lambda scale: exact_delta(epsilon, scale, paid) <= target, low, high, 2e-5)[1]
