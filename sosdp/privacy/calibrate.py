"""How much noise: Gaussian calibrations, each proven for the noise that is really added.

Floating point finds a candidate; ball arithmetic (python-flint) then proves the inequality that privacy rests
on, and the candidate is enlarged until the proof goes through. Every function here depends on public numbers
only.

Proofs: docs/proofs/gaussian_release.md
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sosdp.privacy.guarantee.rounding import float_down, float_up, rational

SMALLEST_SMOOTHING = 2.85
"""Least smoothing variance r^2 (squared grid units); error of at most 2^-80 a coordinate."""

SMALLEST = 4096
"""Binary digits after the point to which an upper bound is rounded up."""

LARGEST_COUNT_LOG2 = 61
"""Data counts stay below 2^61, so that adding noise cannot overflow 64-bit integers."""


def shown(value: Any) -> str:
    """An argument in a message: a number or a text as it is, anything else by its type: it may be data."""
    return (
        repr(value)
        if isinstance(value, int | float | str | Fraction | None)
        else f"an object of type {type(value).__name__}"
    )


def check_epsilon(epsilon: Any) -> float:
    """`epsilon` as a float, rounded down.

    Raises:
        ValueError: not a finite number > 0.
    """
    number = _budget(epsilon, "epsilon")
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"epsilon must be a finite number > 0, got {shown(epsilon)}")
    return number


def check_delta(delta: Any) -> float:
    """`delta` as a float, rounded down.

    Raises:
        ValueError: not a number strictly between 0 and 1.
    """
    number = _budget(delta, "delta")
    if not 0.0 < number < 1.0:
        raise ValueError(f"delta must lie strictly between 0 and 1 (for example 1e-6), got {shown(delta)}")
    return number


LARGE_DELTA = 1e-3


def large_delta(delta: float, n: int = 1) -> str:
    """What a delta promises too little of, in a line; "" for one below `LARGE_DELTA` and, of n > 1 records,
    1/n^2."""
    most = min(LARGE_DELTA, 1 / n**2 if n > 1 else 1.0)
    return f"delta = {delta:g} is above {most:.2g}: some person's record may be shown" if delta > most else ""


def check_positive(value: Any, name: str, *, zero: bool = False) -> float:
    """`value` as a finite float > 0 (>= 0 with `zero`), rounded down.

    Raises:
        ValueError: otherwise, naming the argument.
    """
    number = _budget(value, name)
    if not (math.isfinite(number) and (number > 0.0 or (zero and number == 0.0))):
        raise ValueError(f"{name} must be a finite number {'>= 0' if zero else '> 0'}, got {shown(value)}")
    return number


def between(value: Any, name: str, interval: str) -> Fraction:
    """The number as an exact rational; ValueError unless it lies in an interval, written as ``(0, 1]``."""
    low, high = map(float, interval[1:-1].split(","))
    number = _exact(value, name)
    at_end = (number == low and interval[0] == "[") or (number == high and interval[-1] == "]")
    if not (low < number < high or at_end):
        raise ValueError(f"{name} must lie in {interval}, got {shown(value)}")
    return rational(number)


def one_of(value: Any, name: str, words: Iterable[str]) -> str:
    """The value; ValueError unless it is one of these words."""
    known = list(words)
    if not isinstance(value, str) or value not in known:
        two = " or ".join(f'"{word}"' for word in known)
        listed = two if len(known) == 2 else f"one of {', '.join(map(str, known))}"
        raise ValueError(f"{name} must be {listed}, got {shown(value)}")
    return value


def _budget(value: Any, name: str) -> float:
    given = _exact(value, name)
    return float_down(given) if isinstance(given, Fraction) else given


def _exact(value: Any, name: str) -> Fraction | float:
    """The number as it is: of a decimal, or of more digits than a float has, no float is near enough."""
    number = _as_number(value, name)
    if number is not value:
        with contextlib.suppress(TypeError, ValueError, AttributeError, OverflowError):
            return rational(value)
    return number  # a float as the object that it is: a fit keeps its parameters


def _as_number(value: Any, name: str) -> float:
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if isinstance(value, bool | str | bytes) or kind in ("b", "c"):
        raise ValueError(f"{name} must be a number, got {shown(value)}")
    try:
        return float(value)
    except OverflowError:  # an exact number beyond float64
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a number, got {shown(value)}") from error


# ------------------------------------------------------------------------------------------------------------
# One continuous Gaussian


def gaussian_delta(epsilon: float, multiplier: float) -> float:
    """Smallest delta at which noise of `multiplier` times the l2 sensitivity is (epsilon, delta)-DP
    (float64).

    Source: Balle and Wang 2018, Theorem 8 (necessary and sufficient).
    """
    return math.exp(_log_gaussian_delta(check_epsilon(epsilon), check_positive(multiplier, "multiplier")))


def gaussian_sigma_tight(epsilon: float, delta: float) -> float:
    """Proven noise multiplier sigma / sensitivity of the analytic Gaussian mechanism.

    Within 1e-8 of the least one for epsilon >= 1e-6, less accurate (never too small) below.

    Raises:
        ValueError: epsilon or delta out of range.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    multiplier = _root_of_log_delta(epsilon, math.log(delta))
    step = 1e-13
    # The float root is good to about 1e-12; the loop ends because delta(epsilon) decreases strictly in sigma.
    while not delta_at_most(epsilon, 1 / Fraction(multiplier) ** 2, Fraction(delta)):
        multiplier *= 1.0 + step
        step *= 2.0
    return multiplier


def gaussian_sigma_paper(epsilon: float, delta: float) -> float:
    """Textbook multiplier sqrt(2 log(2/delta)) / epsilon, checked against the exact condition.

    Raises:
        ValueError: epsilon or delta out of range, or so large an epsilon that the formula is not private
            there.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    multiplier = math.sqrt(2.0 * math.log(2.0 / delta)) / epsilon
    if not delta_at_most(epsilon, 1 / Fraction(multiplier) ** 2, Fraction(delta)):
        raise ValueError(
            f"the published Gaussian formula is not private at epsilon = {epsilon}, delta = {delta} "
            '(it is meant for epsilon <= 1 and fails from about 9 on); use calibration="tight"'
        )
    return multiplier


def _log_gaussian_delta(epsilon: float, multiplier: float) -> float:
    from scipy.special import log_ndtr

    mu = 1.0 / multiplier
    first = float(log_ndtr(mu / 2.0 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2.0 - epsilon / mu))
    if second >= first:  # far in the tail the two terms agree to all digits
        return first - 745.0
    return first + math.log1p(-math.exp(second - first)) if second > -math.inf else first


def _root_of_log_delta(epsilon: float, log_delta: float) -> float:
    from scipy.optimize import brentq

    def excess(log_multiplier: float) -> float:
        return _log_gaussian_delta(epsilon, math.exp(log_multiplier)) - log_delta

    low, high = 0.0, 0.0
    while excess(high) > 0.0:
        high += 1.0
    while excess(low) <= 0.0:
        low -= 1.0
    return math.exp(float(brentq(excess, low, high, xtol=1e-14, rtol=1e-15)))


def delta_at_most(epsilon: float, mu_squared: Fraction, delta: Fraction) -> bool:
    """Whether a Gaussian with (sensitivity / sigma)^2 = `mu_squared` is proven (epsilon, delta)-DP.

    Ball arithmetic; the precision doubles until the comparison is decided, and an undecided one (never seen)
    counts as "no", which is the safe side.
    """
    if delta <= 0:
        return False
    return bool(decide(lambda: _arb_delta(epsilon, mu_squared) - ball(delta)) is False)


def decide(build: Any, bits: int = 128, most: int = 1 << 14) -> bool | None:
    """True if the ball is positive, False if it is negative or zero exactly, None if undecided."""
    import flint

    while bits <= most:
        with flint.ctx.workprec(bits):
            ball = build()
            if ball > 0:
                return True
            if ball <= 0:
                return False
        bits *= 2
    return None


def least(holds: Callable[[int], bool], low: int = 0, high: int = 1) -> int:
    """The least integer above `low` that holds, where all above one that holds do: doubling, then halving."""
    while not holds(high):
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def narrowed(holds: Callable[[float], bool], low: float, high: float, within: float) -> tuple[float, float]:
    """Numbers > 0 within a factor 1 + `within`: the larger holds as `high` does, the smaller does not."""
    while high > low * (1.0 + within):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def ball(number: Fraction | float | int) -> Any:
    """The number as a python-flint ball at the current precision."""
    import flint

    exact = rational(number)
    return flint.arb(exact.numerator) / flint.arb(exact.denominator)


def upper(build: Any, bits: int = 256) -> Fraction:
    """An upper bound of the number that `build` computes in ball arithmetic.

    Raises:
        ValueError: a number beyond the range of float64.
    """
    import flint

    with flint.ctx.workprec(bits):
        mantissa, exponent = map(int, build().upper().man_exp())
    size = mantissa.bit_length() + exponent
    if mantissa > 0 and size > 1024:
        raise ValueError("a number is beyond the range of float64: rescale the problem")
    if mantissa and size < -SMALLEST:  # not computed: it may have any number of digits
        return Fraction(1, 2**SMALLEST) if mantissa > 0 else Fraction(0)
    return mantissa * Fraction(2) ** exponent


def _arb_delta(epsilon: float, mu_squared: Fraction) -> Any:
    """Ball around Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""
    import flint

    mu = ball(mu_squared).sqrt()
    eps = ball(epsilon)
    root_two = flint.arb(2).sqrt()

    def normal_cdf(x: Any) -> Any:
        return (-x / root_two).erfc() / 2

    return normal_cdf(mu / 2 - eps / mu) - eps.exp() * normal_cdf(-mu / 2 - eps / mu)


# ------------------------------------------------------------------------------------------------------------
# Zero-concentrated differential privacy


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Epsilon such that rho-zCDP implies (epsilon, delta)-DP, optimal over the Renyi order, rounded up.

    Source: Canonne, Kamath and Steinke 2020, Proposition 12 (every order gives a valid bound).
    """
    from scipy.optimize import minimize_scalar

    rho, delta = float_up(between(rho, "rho", "[0, inf)")), check_delta(delta)
    if rho == 0.0:
        return 0.0
    rho = max(rho, 1e-300)  # the search for an order divides by it

    def bound(log_excess: float) -> float:
        return _zcdp_bound(rho, delta, log_excess)

    centre = 0.5 * math.log(max(math.log(1.0 / delta), 1e-300) / rho)
    bracket = (centre - 8.0, centre + 8.0)
    best = minimize_scalar(bound, bounds=bracket, method="bounded", options={"xatol": 1e-10})
    return max(0.0, min(bound(float(best.x)), bound(centre)) * (1.0 + 1e-12) + 1e-12)


def _zcdp_bound(rho: float, delta: float, log_excess: float) -> float:
    """Bound at the Renyi order 1 + exp(log_excess)."""
    excess = math.exp(log_excess)  # order - 1
    order = 1.0 + excess
    log_ratio = log_excess - math.log1p(excess)  # log(1 - 1/order)
    return rho * order + log_ratio + (-math.log(delta) - math.log1p(excess)) / excess


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Largest rho (rounded down) whose conversion `zcdp_epsilon` gives at most `epsilon` at `delta`."""
    return _largest_rho(check_epsilon(epsilon), check_delta(delta))


@lru_cache(maxsize=1024)  # plans ask for the same few some hundred times
def _largest_rho(epsilon: float, delta: float) -> float:
    """`zcdp_rho` of checked arguments."""
    low, high = 0.0, epsilon
    while zcdp_epsilon(high, delta) <= epsilon:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if zcdp_epsilon(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    if low == 0.0:
        raise ValueError(
            f"no rho > 0 gives ({epsilon}, {delta})-DP in float64; use a larger epsilon or delta"
        )
    return low


def root_up(number: Fraction) -> float:
    """A float64 at least the square root of `number` >= 0, within one step of it; exact for exact squares.

    Raises:
        ValueError: beyond float64.
    """
    number = Fraction(number)
    if number == 0:
        return 0.0
    # Scaled by 4^shift to an integer of at least 120 bits, where the integer root is good to 2^-59.
    shift = max(0, (122 - number.numerator.bit_length() + number.denominator.bit_length()) // 2)
    scaled = -((-number.numerator << (2 * shift)) // number.denominator)
    root = math.isqrt(scaled)
    root += root * root < scaled
    return float_up(Fraction(root, 1 << shift))


def range_rho(epsilon: float) -> float:
    """zCDP of an epsilon-DP mechanism whose privacy loss has range at most epsilon: epsilon^2 / 8."""
    return float_up(between(epsilon, "epsilon", "(0, inf)") ** 2 / 8)
