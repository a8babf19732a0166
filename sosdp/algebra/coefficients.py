"""Coefficients: int64 while they fit, Python integers and Fractions when they do not, float64 otherwise.

An array of coefficients is exact when its dtype is int64 or object (elements ``int`` or ``Fraction``, a
Fraction only where an integer would not do). One float makes the whole array float64.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

Number = int | float | Fraction

# int64 arithmetic is used only while bounds on the result stay below this
INT_LIMIT = 1 << 62


def as_number(value: Any) -> Number | None:
    """``value`` as a Python int, Fraction or float; None when it is not a real number.

    ValueError for NaN and infinities.
    """
    kind = type(value)
    if kind is int:
        return value
    if kind is float:
        if not math.isfinite(value):
            raise ValueError(f"a coefficient must be a finite number, not {value!r}")
        return value
    if kind is Fraction:
        return value.numerator if value.denominator == 1 else value
    if isinstance(value, np.ndarray):
        return (
            as_number(value[()].item() if value.dtype != object else value[()]) if value.ndim == 0 else None
        )
    if isinstance(value, np.bool_):
        return int(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Rational):
        return as_number(Fraction(int(value.numerator), int(value.denominator)))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"a coefficient must be a finite number, not {value}")
        return as_number(Fraction(value))
    if isinstance(value, numbers.Real):
        return as_number(float(value))
    module = kind.__module__ or ""  # classes made by sympy may have none
    if module.startswith("flint") and hasattr(value, "p") and hasattr(value, "q"):
        return as_number(Fraction(int(value.p), int(value.q)))
    if module.startswith("flint") and hasattr(value, "__int__"):
        return int(value)
    return None


def as_coefs(values: Any) -> np.ndarray:
    """A one-dimensional coefficient array from numbers of any kind.

    ValueError for NaN, infinities and wrong shapes, TypeError for things that are not real numbers.
    """
    if isinstance(values, np.ndarray) and values.ndim == 1:
        if values.dtype == np.int64:
            return settle(values.astype(object)) if _peak_int(values) >= INT_LIMIT else values.copy()
        if values.dtype.kind == "f":
            return check_finite(values.astype(np.float64))
        if values.dtype.kind in "bi" or values.dtype in (np.uint8, np.uint16, np.uint32):
            return values.astype(np.int64)
        if values.dtype.kind == "c":
            raise TypeError("coefficients must be real numbers, not complex ones")
        values = values.tolist()
    items = []
    inexact = False
    for value in values:
        number = as_number(value)
        if number is None:
            raise TypeError(f"a coefficient must be a real number, not {type(value).__name__}")
        inexact = inexact or type(number) is float
        items.append(number)
    if inexact:
        return np.array([to_float(c) for c in items], dtype=np.float64)
    return settle(object_array(items))


def object_array(items: Iterable[Any]) -> np.ndarray:
    """One-dimensional object array whose elements are the items themselves."""
    items = list(items)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def settle(coefs: np.ndarray) -> np.ndarray:
    """The same exact numbers in the canonical dtype: int64 if they all fit, else objects."""
    items = [c.numerator if type(c) is Fraction and c.denominator == 1 else c for c in coefs.tolist()]
    if all(type(c) is int for c in items) and all(-INT_LIMIT < c < INT_LIMIT for c in items):
        return np.array(items, dtype=np.int64)
    return object_array(items)


def to_float(value: Number) -> float:
    """The nearest float; ValueError when it would be infinite."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError(
            "a coefficient is too large for a float: rescale, or stay with exact numbers"
        ) from None


def floats(coefs: np.ndarray) -> np.ndarray:
    """The coefficients rounded to float64."""
    if coefs.dtype == object:
        return np.array([to_float(c) for c in coefs.tolist()], dtype=np.float64)
    return coefs.astype(np.float64)


def check_finite(coefs: np.ndarray) -> np.ndarray:
    """Return the float array, or ValueError if it holds a NaN or an infinity."""
    if np.count_nonzero(np.isfinite(coefs)) != coefs.size:
        raise ValueError(
            "a coefficient is not finite: NaN or infinity in the input, or an overflow (rescale it)"
        )
    return coefs


def _peak_int(coefs: np.ndarray) -> int:
    return max(int(coefs.max()), -int(coefs.min())) if coefs.size else 0


def peak(coefs: np.ndarray) -> int | None:
    """Largest absolute value of an int64 array; None for the other kinds, which cannot overflow silently."""
    return _peak_int(coefs) if coefs.dtype == np.int64 else None


def shortest_decimal(value: float) -> int | Fraction:
    """The rational that ``repr`` writes: the one rule by which floats become exact in this project."""
    exact = Fraction(repr(float(value)))
    return exact.numerator if exact.denominator == 1 else exact


def binary_value(value: float) -> int | Fraction:
    """The rational that a float is."""
    exact = Fraction(value)
    return exact.numerator if exact.denominator == 1 else exact
