"""What the estimators share: groups of coordinates, their budgets, and how fine a lattice may be."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sosdp.estimator.base import RecordEstimator
from sosdp.privacy.calibrate import check_delta, check_epsilon, zcdp_epsilon
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.rounding import add_up
from sosdp.privacy.inputs import range_rho


class TableEstimator(RecordEstimator):
    """Base of the estimators here: `RecordEstimator` for at least two records."""

    least_records = 2


def groups(d: int, size: int) -> list[list[int]]:
    """Coordinates 0..d-1 in as few groups of at most ``size`` as can be, of nearly equal lengths."""
    count = math.ceil(d / size)
    return [list(map(int, part)) for part in np.array_split(np.arange(d), count)]


def shares(epsilon: float, delta: float, count: int) -> tuple[float, float | None]:
    """The epsilon of each of ``count`` equal draws of an exponential mechanism, and the delta to compose at.

    With delta > 0 their zCDP (epsilon^2 / 8 each) may add up to less than their epsilons do.
    """
    epsilon = check_epsilon(epsilon)
    plain = split(epsilon, count)[0]
    if delta == 0.0 or count == 1:
        return plain, None
    delta = check_delta(delta)

    def fits(each: float) -> bool:
        rho = range_rho(each)
        return zcdp_epsilon(add_up([math.nextafter(rho, math.inf)] * count), delta) <= epsilon

    low, high = plain, epsilon
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return (low, delta) if low > plain else (plain, None)


def check_fineness(n: int, scale: float, reach: float) -> None:
    """ValueError where a lattice for n records would have over 2^50 steps up to the public ``reach``."""
    if not reach < float(spacing_for(n, scale)) * 2.0**50:
        raise ValueError(
            f"a lattice of {float(spacing_for(n, scale)):.3g} is too fine for numbers up to {reach:.3g}: "
            "make the radius smaller, or sigma larger"
        )


def spacing_for(n: int, scale: float) -> Fraction:
    """A power of two at most ``scale / (100 n)``: the score moves by less than .01 from point to point."""
    return Fraction(2) ** math.floor(math.log2(scale / (100.0 * n)))
