"""Short rationals near floats, and numbers as users write them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np


def short_decimal(low: float | Fraction, high: float | Fraction) -> Fraction:
    """The largest multiple in [low, high], low < high, of the largest power of ten that has one there."""
    bottom, top = Fraction(low), Fraction(high)
    if not bottom < top:
        raise ValueError(f"empty interval [{low}, {high}]")
    for power in range(20, -380, -1):
        unit = Fraction(10) ** power
        if top // unit * unit >= bottom:
            return top // unit * unit
    raise ValueError(f"no short decimal between {low} and {high}")


def simplest_fraction(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator in [low, high], by continued fractions; ValueError for low > high."""
    if low > high:
        raise ValueError(f"no fraction was asked for between {low} and {high}")
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(0 if low <= 0 <= high else whole)
    below = math.floor(low)
    return below + 1 / simplest_fraction(1 / (high - below), 1 / (low - below))


def nice_fraction(value: float, radius: float) -> Fraction | None:
    """The simplest fraction within the radius of a value, where so short a one is there by chance for fewer
    than one value in a hundred; else None."""
    low, high = Fraction(value) - Fraction(radius), Fraction(value) + Fraction(radius)
    result = simplest_fraction(low, high)
    return result if 200 * result.denominator**2 * Fraction(radius) <= 1 else None


def decimal(value: Fraction, places: int) -> str:
    """A rational in decimals, rounded."""
    whole = round(value * 10**places)
    digits = str(abs(whole)).rjust(places + 1, "0")
    return f"{'-' if whole < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def exact_number(value: Any) -> Fraction:
    """A bound as users write it: int, Fraction, text, or a float as its shortest decimal; ValueError."""
    if isinstance(value, bool):
        raise ValueError("a bound must be a number")
    try:
        return Fraction(repr(float(value))) if isinstance(value, (float, np.floating)) else Fraction(value)
    except (TypeError, ValueError, ZeroDivisionError):
        raise ValueError(f"a bound must be a finite number, not {value!r}") from None


def binary(value: Any, bits: int) -> Fraction:
    """A number rounded to so many binary places."""
    return Fraction(round(Fraction(value) * (1 << bits)), 1 << bits)
