"""Coefficients: int64 while they fit, Python integers and Fractions when they do not, float64 otherwise.

An array of coefficients is exact when its dtype is int64 or object (elements ``int`` or ``Fraction``, a
Fraction only where an integer would not do), else float64. Where exact numbers meet floats nothing exact is
rounded: the array is float64 only if the exact ones are floats, and otherwise the floats in it are the binary
numbers that they are.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

Number = int | float | Fraction

# int64 arithmetic is used only while bounds on the result stay below this
INT_LIMIT = 1 << 62

# integers below are floats, whatever they are added to
SMALL_LIMIT = 1 << 53

# powers of two or ten in a decimal or a float of any width: beyond, writing the number out takes for ever
_EXPONENT_LIMIT = 1_000_000


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
        return plain(value)
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
        _check_exponent(value.as_tuple().exponent, value)
        return as_number(Fraction(value))
    if isinstance(value, numbers.Real):
        return _wide_float(value)
    module = kind.__module__ or ""  # classes made by sympy may have none
    if module.startswith("gmpy2") and hasattr(value, "as_integer_ratio"):
        return _wide_float(value)
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
        if values.dtype.kind == "f" and values.dtype.itemsize <= 8:
            return check_finite(values.astype(np.float64))
        if values.dtype.kind in "bi" or values.dtype in (np.uint8, np.uint16, np.uint32):
            return values.astype(np.int64)
        if values.dtype.kind == "c":
            raise TypeError("coefficients must be real numbers, not complex ones")
        values = list(values) if values.dtype.kind == "f" else values.tolist()
    items = []
    inexact = False
    for value in values:
        number = as_number(value)
        if number is None:
            raise TypeError(f"a coefficient must be a real number, not {type(value).__name__}")
        inexact = inexact or type(number) is float
        items.append(number)
    if inexact and all(type(c) is float or reads_as_float(c) for c in items):
        return np.array([float(c) for c in items], dtype=np.float64)
    return settle(object_array(binary_value(c) if type(c) is float else c for c in items))


def _wide_float(value: Any) -> Number:
    """A real number of another kind (numpy's, mpmath's): a float where that is the same number."""
    if hasattr(value, "_mpf_"):
        _check_exponent(value._mpf_[2], value)
    try:
        if hasattr(value, "as_integer_ratio"):
            top, bottom = value.as_integer_ratio()
            exact = Fraction(int(top), int(bottom))
        elif hasattr(value, "_mpf_"):  # mpmath, sympy
            sign, mantissa, exponent, _ = value._mpf_
            if not mantissa and exponent:
                raise ValueError
            exact = Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** int(exponent)
        else:
            exact = Fraction(float(value))
    except (OverflowError, ValueError):
        raise ValueError(f"a coefficient must be a finite number, not {value}") from None
    narrow = as_equal_floats(object_array([exact]))
    return plain(exact) if narrow is None else float(narrow[0])


def _check_exponent(exponent: Any, value: Any) -> None:
    """ValueError for a number that cannot be written out."""
    if abs(exponent) > _EXPONENT_LIMIT:
        raise ValueError(f"the exponent of {value} is too large: rescale")


def plain(value: Fraction) -> int | Fraction:
    """A Fraction, as an int where it is one."""
    return value.numerator if value.denominator == 1 else value


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
    return plain(Fraction(repr(float(value))))


def reads_as_float(value: Number) -> bool:
    """Whether an exact number may become a float beside floats: it is below 2**53, a float, and the shortest
    decimal of that float is the number as well.

    True for small integers and 1/2, false for 1/3, 1/2**60 and all that reaches 2**53: 10**20 is a float, but
    in float arithmetic with it an integer would vanish.
    """
    if not -SMALL_LIMIT < value < SMALL_LIMIT:
        return False
    if type(value) is int:
        return True
    rounded = float(value)
    return Fraction(rounded) == value and Fraction(repr(rounded)) == value


def are_small(coefs: np.ndarray) -> bool:
    """Whether the numbers of an array are integers below 2**53, in int64."""
    return coefs.dtype == np.int64 and _peak_int(coefs) < SMALL_LIMIT


def read_as_floats(coefs: np.ndarray) -> bool:
    """Whether every number of an exact array is a float, however that is read."""
    return are_small(coefs) or all(map(reads_as_float, coefs.tolist()))


def plus(left: Number, right: Number) -> Number:
    """The sum of two numbers, in which nothing exact is rounded, as in sums of polynomials."""
    return _across(left, right, lambda a, b: a + b, sums=True)


def times(left: Number, right: Number) -> Number:
    """The product of two numbers, in which nothing exact is rounded, as in products of polynomials."""
    return _across(left, right, lambda a, b: a * b)


def _across(left: Number, right: Number, operation: Callable[[Any, Any], Any], sums: bool = False) -> Number:
    exact = left if type(right) is float else right
    if (type(left) is float) == (type(right) is float):
        return as_number(operation(left, right))  # type: ignore[return-value]
    if type(exact) is int and -SMALL_LIMIT < exact < SMALL_LIMIT:
        found = as_number(operation(float(left), float(right)))
        assert type(found) is float
        if not sums or abs(found) < SMALL_LIMIT:
            return found
    precise = as_number(operation(Fraction(left), Fraction(right)))
    assert precise is not None
    floats = as_equal_floats(object_array([precise])) if reads_as_float(exact) else None
    return precise if floats is None else float(floats[0])


def binary(coefs: np.ndarray) -> np.ndarray:
    """The numbers that the floats of an array are, exactly; an exact array as it is."""
    if coefs.dtype != np.float64:
        return coefs
    if (np.abs(coefs) < SMALL_LIMIT).all() and (coefs == np.rint(coefs)).all():
        return coefs.astype(np.int64)
    return settle(object_array(map(binary_value, coefs.tolist())))


def as_equal_floats(coefs: np.ndarray) -> np.ndarray | None:
    """An exact array in float64, or None where that would round a number."""
    items = coefs.tolist()
    try:
        rounded = [float(c) for c in items]
    except OverflowError:
        return None
    return np.array(rounded) if all(Fraction(f) == c for f, c in zip(rounded, items)) else None


def binary_value(value: float) -> int | Fraction:
    """The rational that a float is."""
    return plain(Fraction(value))
