"""How much noise: Gaussian calibrations, each proven for the noise that is really added.

Floating point finds a candidate; ball arithmetic (python-flint) then proves the inequality that privacy rests
on, and the candidate is enlarged until the proof goes through. Every function here depends on public numbers
only.

Proofs: docs/proofs/gaussian_release.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sosdp.privacy.guarantee.evidence import Law
from sosdp.privacy.guarantee.rounding import float_down, float_up

SMALLEST_SMOOTHING = 2.85
"""Least smoothing variance r^2 (squared grid units); error of at most 2^-80 a coordinate."""

LARGEST_COUNT_LOG2 = 61
"""Data counts stay below 2^61, so that adding noise cannot overflow 64-bit integers."""


def check_epsilon(epsilon: Any) -> float:
    """`epsilon` as a float, an exact rational rounded down.

    Raises:
        ValueError: not a finite number > 0.
    """
    number = _budget(epsilon, "epsilon")
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"epsilon must be a finite number > 0, got {epsilon!r}")
    return number


def check_delta(delta: Any) -> float:
    """`delta` as a float, an exact rational rounded down.

    Raises:
        ValueError: not a number strictly between 0 and 1.
    """
    number = _budget(delta, "delta")
    if not 0.0 < number < 1.0:
        raise ValueError(f"delta must lie strictly between 0 and 1 (for example 1e-6), got {delta!r}")
    return number


def check_positive(value: Any, name: str, *, zero: bool = False) -> float:
    """`value` as a finite float > 0 (>= 0 with `zero`).

    Raises:
        ValueError: otherwise, naming the argument.
    """
    number = _as_number(value, name)
    if not (math.isfinite(number) and (number > 0.0 or (zero and number == 0.0))):
        raise ValueError(f"{name} must be a finite number {'>= 0' if zero else '> 0'}, got {value!r}")
    return number


def _budget(value: Any, name: str) -> float:
    if isinstance(value, Fraction):
        return float_down(value)
    number = _as_number(value, name)
    if isinstance(value, int) and number > value:
        return math.nextafter(number, 0.0)
    return number


def _as_number(value: Any, name: str) -> float:
    truth = isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    if truth or isinstance(value, str | bytes):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be a number, got {value!r}") from error


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


def ball(number: Fraction | float | int) -> Any:
    """The number as a python-flint ball at the current precision."""
    import flint

    exact = Fraction(number)
    return flint.arb(exact.numerator) / flint.arb(exact.denominator)


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

    rho, delta = check_positive(rho, "rho", zero=True), check_delta(delta)
    if rho == 0.0:
        return 0.0

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


# ------------------------------------------------------------------------------------------------------------
# Gaussian noise on a public grid


@dataclass(frozen=True)
class GridGaussian:
    """Gaussian noise on a power-of-two grid, with what has been proven about it.

    Attributes:
        grid: the power of two; the released value is `counts * grid`.
        units: the noise parameter s in grid units, as in `noise.gaussian`.
        scale: `units * grid`, the noise's standard deviation to within 1e-6 when units >= 2^20.
        count: number of entries that receive noise.
        sensitivity: l2 sensitivity of the unrounded values that was charged.
        shift: the l2 sensitivity in grid units after rounding to the grid: sensitivity/grid + sqrt(count).
        smoothing: r^2, see the proof page; 0 for the rounded law.
        charge: delta spent on the law being discrete (an upper bound); 0 for the rounded law.
        epsilon, delta, rho: what was asked for and is proven.
        calibration: as asked; with rho the noise is the same for both, only the sensitivity differs.
        law, backend: to draw with.
    """

    grid: float
    units: float
    count: int
    sensitivity: float
    shift: Fraction
    smoothing: float
    charge: float
    epsilon: float | None
    delta: float | None
    rho: float | None
    calibration: str
    law: str
    backend: str

    @property
    def scale(self) -> float:
        """The noise parameter in the units of the values."""
        return self.units * self.grid

    def laws(self) -> tuple[Law, ...]:
        """The law of the noise with its sensitivity, in grid units; none where delta pays for its form."""
        if self.law == "rounded":
            return (Law("rounded gaussian", (Fraction(self.units), self.shift)),)
        if self.rho is not None:
            return (Law("discrete gaussian", (Fraction(self.units) ** 2, self.shift)),)
        return ()

    def assumptions(self) -> tuple[str, ...]:
        """What went into the noise, one sentence each, for the guarantee."""
        lines = [
            f"values rounded to the public grid {self.grid!r}; rounding charged as sqrt({self.count}) "
            "grid units of l2 sensitivity"
        ]
        noise = f"{self.law} Gaussian noise of {self.units!r} grid units"
        if self.rho is None and self.law == "discrete":
            noise += f"; {self.charge:.3g} of delta pays for the noise being discrete"
        return (*lines, noise)


def grid_gaussian(
    *,
    sensitivity: float,
    count: int,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    calibration: str = "tight",
    largest: float = 0.0,
    law: str = "rounded",
    backend: str = "cells",
) -> GridGaussian:
    """Grid and noise for releasing `count` numbers of l2 sensitivity `sensitivity` with Gaussian noise.

    Args:
        sensitivity: proven upper bound on the l2 distance of the (unrounded) values of two neighbours.
        count: number of entries of the release (all of them may change).
        epsilon, delta: the guarantee wanted; or else
        rho: zero-concentrated differential privacy wanted.
        calibration: "tight", or "paper" (textbook multiplier; refused where it is not proven).
        largest: public bound on the absolute value of an entry (the values are clipped to it).
        law: "rounded" (the analytic Gaussian mechanism, rounded) or "discrete" (through the smoothing bound).
        backend: what will draw, as in `noise.gaussian`.

    Raises:
        ValueError: a number out of range; budget and grid that do not fit 64-bit integers; the textbook
            formula where it is not private.

    Source: docs/proofs/gaussian_release.md, Theorems 1 to 3.
    """
    sensitivity = check_positive(sensitivity, "sensitivity")
    largest = check_positive(largest, "largest", zero=True)
    count = int(count)
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    if calibration not in ("tight", "paper"):
        raise ValueError(f'calibration must be "tight" or "paper", got {calibration!r}')
    if law not in ("rounded", "discrete") or (backend == "opendp" and law != "discrete"):
        raise ValueError(f'law must be "rounded" or "discrete" (OpenDP: only the latter), got {law!r}')
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise ValueError("give epsilon and delta, or rho, not both")
        multiplier = 1.0 / math.sqrt(2.0 * check_positive(rho, "rho"))
        grid = _choose_grid(sensitivity, count, multiplier, largest)
        shift = Fraction(sensitivity) / Fraction(grid) + _sqrt_up(count)
        return GridGaussian(
            grid=grid,
            units=root_up(shift**2 / (2 * Fraction(rho))),
            count=count,
            sensitivity=sensitivity,
            shift=shift,
            smoothing=0.0,
            charge=0.0,
            epsilon=None,
            delta=None,
            rho=rho,
            calibration=calibration,
            law=law,
            backend=backend,
        )
    if epsilon is None or delta is None:
        raise ValueError("give epsilon and delta, or rho")
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    smoothing, charge = 0.0, 0.0
    if law == "discrete":
        smoothing = _smoothing(epsilon, delta, count)
        charge = _smoothing_charge(epsilon, count, smoothing)
    left = Fraction(delta) - Fraction(charge)
    if calibration == "paper":
        multiplier = gaussian_sigma_paper(epsilon, delta)
    else:
        multiplier = gaussian_sigma_tight(epsilon, float_down(left))
    grid = _choose_grid(sensitivity, count, multiplier, largest)
    shift = Fraction(sensitivity) / Fraction(grid) + _sqrt_up(count)
    if calibration == "paper":
        units = float_up(Fraction(multiplier) * shift)
    else:
        units = root_up((Fraction(multiplier) * shift) ** 2 + Fraction(smoothing))

    def proven(candidate: float) -> bool:
        variance = Fraction(candidate) ** 2 - Fraction(smoothing)
        return variance > 0 and delta_at_most(epsilon, shift**2 / variance, left)

    if not proven(units):
        if calibration == "paper":
            raise ValueError(
                f"the published Gaussian formula is not proven private at epsilon = {epsilon}, "
                f'delta = {delta} with noise on a grid; use calibration="tight"'
            )
        step = 1e-15
        while not proven(units):
            units = math.nextafter(units * (1.0 + step), math.inf)
            step *= 2.0
    return GridGaussian(
        grid=grid,
        units=units,
        count=count,
        sensitivity=sensitivity,
        shift=shift,
        smoothing=smoothing,
        charge=charge,
        epsilon=epsilon,
        delta=delta,
        rho=None,
        calibration=calibration,
        law=law,
        backend=backend,
    )


def truncated_laplace_delta(units: float, bound: int, shift: int) -> float:
    """Upper bound on the delta of integer data plus `noise.truncated_laplace`, beside epsilon = shift/units.

    r^(T-D+1) (1 - r^D) / (1 + r - 2 r^(T+1)) for r = exp(-1/units), T = bound, D = shift = the integer l1
    sensitivity of the whole vector (exact in one coordinate while D <= T + 1). Source: docs/proofs/noise.md,
    Theorem 3.

    Raises:
        ValueError: units not positive, bound < 1 or shift < 0.
    """
    import flint

    units = check_positive(units, "units")
    if bound < 1 or shift < 0:
        raise ValueError(f"bound must be >= 1 and shift >= 0, got {bound} and {shift}")
    if shift == 0:
        return 0.0
    if shift > bound + 1:
        return 1.0
    with flint.ctx.workprec(256):
        step = -ball(1 / Fraction(units))
        below = ((bound - shift + 1) * step).exp() * (1 - (shift * step).exp())
        upper = (below / (1 + step.exp() - 2 * ((bound + 1) * step).exp())).upper()
        return min(1.0, math.nextafter(float(upper), math.inf))


def grid_delta(
    epsilon: float, *, units: float, shift: float, count: int = 1, smoothing: float = SMALLEST_SMOOTHING
) -> float:
    """Delta proven for discrete Gaussian noise of `units` on an integer query of l2 sensitivity `shift`.

    The bound of Theorem 3 of the proof page (float64), for a given smoothing variance r^2 < units^2.

    Raises:
        ValueError: a number out of range, or smoothing >= units^2.
    """
    epsilon = check_epsilon(epsilon)
    variance = check_positive(units, "units") ** 2 - check_positive(smoothing, "smoothing")
    if variance <= 0.0:
        raise ValueError(f"smoothing {smoothing} must be below units^2 = {units**2}: use a finer grid")
    multiplier = math.sqrt(variance) / check_positive(shift, "shift")
    return gaussian_delta(epsilon, multiplier) + _smoothing_charge(epsilon, count, smoothing)


def _choose_grid(sensitivity: float, count: int, multiplier: float, largest: float) -> float:
    """A power of two so fine that rounding costs about 2^-20 of the noise, and coarse enough for 64 bits."""
    rounding = multiplier * math.sqrt(count)
    if not math.isfinite(rounding) or rounding > 2.0**38:
        raise ValueError(
            "this budget asks for noise beyond 64-bit integers on any useful grid; "
            "use a larger epsilon or delta, or fewer entries"
        )
    fineness = min(38, max(20, 20 + math.ceil(math.log2(rounding)) if rounding > 0 else 20))
    exponent = math.frexp(multiplier * sensitivity)[1] - 1 - fineness
    if largest > 0.0:
        # frexp: largest <= 2^e, so this grid keeps |value| / grid below 2^61.
        exponent = max(exponent, math.frexp(largest)[1] - LARGEST_COUNT_LOG2)
    if not -960 <= exponent <= 900:
        raise ValueError(f"sensitivity {sensitivity!r} is too far from 1 for float64; rescale the values")
    return math.ldexp(1.0, exponent)


def _smoothing(epsilon: float, delta: float, count: int) -> float:
    """r^2 with count * 2 exp(-2 pi^2 r^2) (1 + e^eps) below 2^-20 delta, and never below
    SMALLEST_SMOOTHING.
    """
    log_wanted = math.log(2.0 * count) + _log_one_plus_exp(epsilon) - math.log(delta) + 20.0 * math.log(2.0)
    return max(SMALLEST_SMOOTHING, math.ceil(100.0 * log_wanted / (2.0 * math.pi**2) + 1.0) / 100.0)


def _smoothing_charge(epsilon: float, count: int, smoothing: float) -> float:
    """Upper bound on (1 + e^eps) * count * eps_r, with eps_r = 2 sum_k exp(-2 pi^2 r^2 k^2).

    The terms from k = 2 on are below the first to the fourth power, times 2: with r^2 >= 2.85 less than
    2^-160 of it; the factor covers them and the float rounding of the exponent.
    """
    log_charge = math.log(2.0 * count) + _log_one_plus_exp(epsilon) - 2.0 * math.pi**2 * smoothing
    rounding = 1e-14 * (epsilon + 2.0 * math.pi**2 * smoothing)
    return math.exp(log_charge) * (1.0 + 1e-9 + rounding) + 5e-324


def _log_one_plus_exp(x: float) -> float:
    return x + math.log1p(math.exp(-x))


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


def _sqrt_up(number: int) -> Fraction:
    return Fraction(root_up(Fraction(number)))
