"""Public numbers as mechanisms use them: what a check returns is exact, and of Python's own types.

An integer of numpy wraps around in a product or a power, also inside a `Fraction`, and a `Fraction` takes no
float32. So nobody computes with an argument as it was given: a check returns the number, and frozen
dataclasses keep what their checks returned (`settle`). Where it matters: docs/proofs/composition.md
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.calibrate import shown
from sosdp.privacy.guarantee.rounding import rational
from sosdp.privacy.inputs import number, plain

Number = int | float | Fraction


def finite(value: Any, name: str, sign: str = "") -> Number:
    """The public number as an int, float or `Fraction` of the same value, of Python's own integers.

    Args:
        sign: ``"> 0"`` or ``">= 0"``, which it has to have.

    Raises:
        ValueError: no finite number, a truth value, or one of another sign.
    """
    exact = None if isinstance(value, np.longdouble | Decimal) else number(value)
    if exact is None and not isinstance(value, str | bytes):
        with contextlib.suppress(TypeError, ValueError, OverflowError, AttributeError):
            exact = rational(value)  # a decimal, or more digits than a float has
    own = plain(value)
    if not isinstance(exact, Fraction) or type(own) is bool or not _SIGNS[sign](exact):
        raise ValueError(f"{name} must be a finite number {sign}".rstrip() + f", got {shown(value)}")
    return own if type(own) in (int, float) and own == exact else exact


_SIGNS: dict[str, Callable[[Fraction], bool]] = {
    "": lambda number: True,
    "> 0": lambda number: number > 0,
    ">= 0": lambda number: number >= 0,
}


def positive(value: Any, name: str) -> Fraction:
    """The public number as an exact rational; ValueError: not a finite number above 0."""
    return Fraction(finite(value, name, "> 0"))


def nonnegative(value: Any, name: str) -> Fraction:
    """The public number as an exact rational; ValueError: not a finite number >= 0."""
    return Fraction(finite(value, name, ">= 0"))


def interval(low: Any, high: Any) -> tuple[Number, Number]:
    """The ends of a public interval; ValueError unless they are finite and low < high."""
    first, last = (finite(end, "an end of an interval low < high") for end in (low, high))
    if first >= last:
        raise ValueError(f"the interval needs finite low < high, got [{shown(low)}, {shown(high)}]")
    return first, last


def integer(value: Any, name: str, least: int = 1) -> int:
    """The public number as a Python integer; ValueError: not an integer, or below `least`."""
    known = hasattr(value, "__index__") and not isinstance(value, bool | np.bool_ | np.ndarray)
    whole = operator.index(value) if known else None  # once: what is compared is what is used
    if whole is None or whole < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {shown(value)}")
    return whole


def settle(made: Any, **checked: Any) -> None:
    """Set fields of a frozen dataclass to what their checks returned: nothing reads what was given again."""
    for name, value in checked.items():
        object.__setattr__(made, name, value)
