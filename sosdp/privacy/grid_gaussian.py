"""Gaussian noise on a public power-of-two grid, calibrated with the rounding and the grid paid for.

Proof: docs/proofs/gaussian_release.md, Theorems 1 to 3
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sosdp.privacy.arguments import integer, nonnegative, positive
from sosdp.privacy.calibrate import (
    LARGEST_COUNT_LOG2,
    SMALLEST_SMOOTHING,
    delta_at_most,
    gaussian_sigma_paper,
    gaussian_sigma_tight,
    one_of,
    root_up,
)
from sosdp.privacy.guarantee.evidence import Law
from sosdp.privacy.guarantee.rounding import float_down, float_up
from sosdp.privacy.terms import Terms, on_terms


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
        rho: the zCDP that is proven; None where epsilon and delta are.
        law: to draw with.
    """

    grid: float
    units: float
    count: int
    sensitivity: float
    shift: Fraction
    smoothing: float
    charge: float
    rho: float | None
    law: str

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


@on_terms("gaussian", needs="", takes="epsilon delta rho calibration backend")
def grid_gaussian(
    terms: Terms, *, sensitivity: float, count: int, largest: float = 0.0, law: str = "rounded"
) -> GridGaussian:
    """Grid and noise for releasing `count` numbers of l2 sensitivity `sensitivity` with Gaussian noise.

    Parameters
    ----------
    terms
        Epsilon and delta, or rho; calibration ("paper" is refused where it is not proven); backend.
    sensitivity
        Proven upper bound on the l2 distance of the (unrounded) values of two neighbours.
    count
        Number of entries of the release (all of them may change).
    largest
        Public bound on the absolute value of an entry (the values are clipped to it).
    law
        "rounded" (the analytic Gaussian mechanism, rounded) or "discrete" (through the smoothing bound).

    Raises
    ------
    ValueError
        A number out of range; budget and grid that do not fit 64-bit integers; the textbook formula where it
        is not private.
    """
    sensitivity = float_up(positive(sensitivity, "sensitivity"))
    largest = float_up(nonnegative(largest, "largest"))
    count = integer(count, "count")
    one_of(terms.calibration, "calibration", ("tight", "paper"))
    if law not in ("rounded", "discrete") or (terms.backend == "opendp" and law != "discrete"):
        raise ValueError(f'law must be "rounded" or "discrete" (OpenDP: only the latter), got {law!r}')
    smoothing, charge, rho = 0.0, 0.0, None
    if terms.rho is not None:
        rho = terms.concentrated
        multiplier = 1.0 / math.sqrt(2.0 * rho)
    else:
        epsilon, delta = terms.approximate
        if law == "discrete":
            smoothing = _smoothing(epsilon, delta, count)
            charge = smoothing_charge(epsilon, count, smoothing)
        left = Fraction(delta) - Fraction(charge)
        if terms.calibration == "paper":
            multiplier = gaussian_sigma_paper(epsilon, delta)
        else:
            multiplier = gaussian_sigma_tight(epsilon, float_down(left))
    grid = _choose_grid(sensitivity, count, multiplier, largest)
    shift = Fraction(sensitivity) / Fraction(grid) + Fraction(root_up(Fraction(count)))
    if rho is not None:
        units = root_up(shift**2 / (2 * Fraction(rho)))
    elif terms.calibration == "paper":
        units = float_up(Fraction(multiplier) * shift)
    else:
        units = root_up((Fraction(multiplier) * shift) ** 2 + Fraction(smoothing))
    if rho is None:
        units = _proven_units(terms, units, shift, smoothing, left)
    return GridGaussian(
        grid=grid,
        units=units,
        count=count,
        sensitivity=sensitivity,
        shift=shift,
        smoothing=smoothing,
        charge=charge,
        rho=rho,
        law=law,
    )


def _proven_units(terms: Terms, units: float, shift: Fraction, smoothing: float, left: Fraction) -> float:
    """The least noise from `units` on (to a few last digits) whose delta is proven to be at most `left`."""
    epsilon, delta = terms.approximate

    def proven(candidate: float) -> bool:
        variance = Fraction(candidate) ** 2 - Fraction(smoothing)
        return variance > 0 and delta_at_most(epsilon, shift**2 / variance, left)

    step = 1e-15
    while not proven(units):
        if terms.calibration == "paper":
            raise ValueError(
                f"the published Gaussian formula is not proven private at epsilon = {epsilon}, "
                f'delta = {delta} with noise on a grid; use calibration="tight"'
            )
        units = math.nextafter(units * (1.0 + step), math.inf)
        step *= 2.0
    return units


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


def smoothing_charge(epsilon: float, count: int, smoothing: float) -> float:
    """Upper bound on (1 + e^eps) * count * eps_r, with eps_r = 2 sum_k exp(-2 pi^2 r^2 k^2).

    The terms from k = 2 on are below the first to the fourth power, times 2: with r^2 >= 2.85 less than
    2^-160 of it; the factor covers them and the float rounding of the exponent.
    """
    log_charge = math.log(2.0 * count) + _log_one_plus_exp(epsilon) - 2.0 * math.pi**2 * smoothing
    rounding = 1e-14 * (epsilon + 2.0 * math.pi**2 * smoothing)
    return math.exp(log_charge) * (1.0 + 1e-9 + rounding) + 5e-324


def _log_one_plus_exp(x: float) -> float:
    return x + math.log1p(math.exp(-x))
