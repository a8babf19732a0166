"""What the mechanisms share: data to integers without ever failing, and an exact choice.

Proof that the choice is the exponential mechanism: docs/proofs/noisy_max.md
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.guarantee.rounding import float_up
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits, open_bits
from sosdp.privacy.silence import no_warnings


def number(value: Any) -> Fraction | float | None:
    """The value as an exact rational, an infinity, or None for NaN and for what is no number."""
    if isinstance(value, np.generic | np.ndarray) and value.shape == ():
        value = value.item()  # a numpy scalar would calculate in 64 bits
    if isinstance(value, float | np.floating):  # long doubles are no float
        value = float(value)
        return None if value != value else value if math.isinf(value) else Fraction(value)
    if isinstance(value, Fraction):  # Fraction(np.int64(1)) holds on to numpy's integers, which overflow
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(int(value)) if isinstance(value, int) else None


def floats(values: Any) -> npt.NDArray[np.float64]:
    """The array as float64, each entry by itself: NaN for what is no number, for any entry whatever.

    Only the shape can make what follows raise. A copy where a conversion was needed.
    """
    with no_warnings():
        try:
            return np.asarray(values, dtype=np.float64)
        except Exception:  # whatever an entry's own code raises; entry by entry it becomes NaN
            table = np.asarray(values, dtype=object)
        return np.array([_float(entry) for entry in table.ravel()], dtype=np.float64).reshape(table.shape)


def _float(entry: Any) -> float:
    try:
        found = np.asarray(entry, dtype=np.float64)
    except Exception:  # an entry that is no number, in whatever way it says so
        return math.nan
    return float(found) if found.shape == () else math.nan


def whole(value: Any, unit: Fraction, origin: Fraction, low: int, high: int) -> int:
    """floor((value - origin) / unit), clipped to [low, high]; `low` for NaN and for what is no number.

    A function of one value only, and total: hostile data change one record's integer and raise nothing.
    """
    plain = number(value)
    if plain is None:
        return low
    if isinstance(plain, float):
        return high if plain > 0 else low
    return min(max((plain - origin) // unit, low), high)


def wholes(values: Any, unit: Fraction, origin: Fraction, low: int, high: int) -> list[int]:
    """`whole` of every value."""
    plain = values.tolist() if hasattr(values, "tolist") else values
    return [whole(value, unit, origin, low, high) for value in plain]


def choose(levels: Sequence[int], rate: Fraction, bits: RandomBits) -> int:
    """Index i with probability exactly proportional to exp(-rate * levels[i])."""
    level = exact.categorical_exp(Counter(levels), rate, bits)
    members = [index for index, other in enumerate(levels) if other == level]
    return members[exact.random_below(len(members), bits)]


def positive(value: Any, name: str) -> Fraction:
    """The public number as an exact rational.

    Raises:
        ValueError: not a finite number above 0.
    """
    try:
        number = Fraction(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}") from error
    if number <= 0:
        raise ValueError(f"{name} must be > 0, got {value!r}")
    return number


def integer(value: Any, name: str, least: int = 1) -> int:
    """The public number as a Python integer.

    Raises:
        ValueError: not an integer, or below `least`.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
    return int(value)


def range_rho(epsilon: float) -> float:
    """zCDP of an epsilon-DP mechanism whose privacy loss has range at most epsilon: epsilon^2 / 8."""
    return float_up(Fraction(epsilon) ** 2 / 8)


def source(insecure_seed: int | None) -> RandomBits:
    """The randomness of one release."""
    return open_bits(insecure_seed)
