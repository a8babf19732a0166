"""Exact numbers as float64, on the safe side: what is promised is rounded up, what may be spent down.

Where it matters: docs/proofs/composition.md
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

LARGEST = 1 << 20
"""Binary numbers with a larger exponent are refused: as a fraction they have as many digits."""


def rational(number: Any) -> Fraction:
    """The number of any kind in Python's own integers: those of numpy, which a `Fraction` keeps, wrap around.

    Raises:
        TypeError, ValueError, OverflowError, AttributeError: it is no finite number.
    """
    if hasattr(number, "__index__"):
        return Fraction(operator.index(number))
    if hasattr(number, "_mpf_"):  # of mpmath and sympy: a binary number, or a special one without digits
        sign, digits, exponent, _ = number._mpf_
        if (not digits and exponent) or abs(exponent) > LARGEST:
            raise OverflowError("no finite number, or one of too many digits")
        return Fraction(2) ** int(exponent) * (-int(digits) if sign else int(digits))
    if hasattr(number, "as_integer_ratio"):
        return Fraction(*map(int, number.as_integer_ratio()))
    return Fraction(operator.index(number.numerator), operator.index(number.denominator))


def float_up(number: Fraction) -> float:
    """The least float64 that is at least `number` (one step above it at most).

    Raises:
        ValueError: beyond float64.
    """
    value = _nearest(number)
    return value if Fraction(value) >= number else math.nextafter(value, math.inf)


def float_down(number: Fraction) -> float:
    """The largest float64 that is at most `number` (one step below it at most).

    Raises:
        ValueError: beyond float64.
    """
    value = _nearest(number)
    return value if Fraction(value) <= number else math.nextafter(value, -math.inf)


def float_near(number: Fraction) -> float:
    """The nearest float64, the largest of its sign beyond float64: for what is shown, not for a promise."""
    try:
        return float(number)
    except OverflowError:
        return sys.float_info.max if number > 0 else -sys.float_info.max


def digits_up(value: float) -> str:
    """The number for people, in six digits: rounded up where these are not all, for it is a promise."""
    text = f"{value:.6g}"
    if float(text) >= value:
        return text
    return f"{float(Context(prec=6, rounding=ROUND_CEILING).create_decimal(Decimal(value))):.6g}"


def add_up(numbers: Iterable[float]) -> float:
    """The sum of the numbers, rounded up when it is not exact."""
    return float_up(sum((Fraction(number) for number in numbers), Fraction(0)))


def root_down(square: Fraction) -> Fraction:
    """A rational at most the square root, within 2^-100 of it."""
    return Fraction(math.isqrt(math.floor(square * (1 << 200))), 1 << 100)


def _nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError as error:
        raise ValueError("a number is beyond the range of float64: rescale the problem") from error
