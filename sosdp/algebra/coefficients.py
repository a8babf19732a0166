"""Coefficients: int64, Python integers and Fractions, or floats. A float is the binary number that it is.

An array of coefficients has the dtype int64, float64, or object (elements ``int`` or ``Fraction``, a Fraction
only where an integer would not do). Arithmetic rounds nothing: it is done in float64 only where every number
that occurs is a float. That is seen from the *scale* of an array: its numbers are ``k * 2**unit`` for
integers ``|k| <= 2**bits``. Where they need more than 53 bits, the integers k take their place.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

Number = int | float | Fraction

# int64 arithmetic is used only while bounds on the result stay below this
INTEGER_BITS = 62
INT_LIMIT = 1 << INTEGER_BITS

_WHOLE = 53  # bits of a float
_LEAST, _MOST = -1074, 1023  # powers of two that a float may be a multiple of, and reach
DENOMINATOR_BITS = 512  # of fractions that are integers over one denominator
_FEW = 8  # numbers that are looked at one by one

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
        top, bottom = value.numerator, value.denominator
        # a Fraction may be made of numpy's integers, which wrap around
        return plain(value if type(top) is int is type(bottom) else Fraction(int(top), int(bottom)))
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


def as_numbers(values: Iterable[Any]) -> list[Number]:
    """Real numbers of any kind as Python's, whose negatives and sums are what they should be (numpy's wrap
    around); TypeError for anything else."""
    items = []
    for value in values:
        number = as_number(value)
        if number is None:
            raise TypeError(f"a coefficient must be a real number, not {type(value).__name__}")
        items.append(number)
    return items


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
    items = as_numbers(values)
    if not any(type(c) is float for c in items):
        return settle(object_array(items))
    narrow = as_equal_floats(object_array(items))
    return settle(object_array(Fraction(c) for c in items)) if narrow is None else narrow


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
    return _settled(exact, True)


def _check_exponent(exponent: Any, value: Any) -> None:
    """ValueError for a number that cannot be written out."""
    if abs(exponent) > _EXPONENT_LIMIT:
        raise ValueError(f"the exponent of {value} is too large: rescale")


def plain(value: Fraction) -> int | Fraction:
    """A Fraction, as an int where it is one."""
    return value.numerator if value.denominator == 1 else value


def object_array(items: Iterable[Any]) -> np.ndarray:
    """One-dimensional object array whose elements are the items themselves."""
    return np.fromiter(items, dtype=object)


def settle(coefs: np.ndarray) -> np.ndarray:
    """The same exact numbers in the canonical dtype: int64 if they all fit, else objects."""
    items = [c.numerator if type(c) is Fraction and c.denominator == 1 else c for c in coefs.tolist()]
    if all(type(c) is int for c in items) and all(-INT_LIMIT < c < INT_LIMIT for c in items):
        return np.array(items, dtype=np.int64)
    return object_array(items)


TOO_LARGE = "a coefficient is too large for a float: rescale, or stay with exact numbers"


def to_float(value: Number) -> float:
    """The nearest float; ValueError when it would be infinite."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError(TOO_LARGE) from None


def rounded_up(value: Fraction) -> float:
    """The least float that is not smaller; ValueError when it would be infinite."""
    near = to_float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


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


def plus(left: Number, right: Number) -> Number:
    """The sum of two numbers, not rounded."""
    return _exactly(left, right, lambda a, b: a + b)


def times(left: Number, right: Number) -> Number:
    """The product of two numbers, not rounded."""
    return _exactly(left, right, lambda a, b: a * b)


def power(number: Number, exponent: int) -> Number:
    """A power of a number, not rounded."""
    if type(number) is int:
        return number**exponent
    return _settled(Fraction(number) ** exponent, type(number) is float)


def by_squaring(
    base: Any,
    exponent: int,
    product: Callable[[Any, Any], Any],
    terms: Callable[[Any], int] = lambda p: 0,
    most: float = math.inf,
) -> Any:
    """A power with a positive exponent; ValueError before more than ``most`` products of two terms, of which
    each factor has ``terms(factor)``."""
    result, products = None, 0

    def times(left: Any, right: Any) -> Any:
        nonlocal products
        products += terms(left) * terms(right)
        if products > most:
            raise ValueError(
                f"this power needs more than {most:.0e} products of two terms: the polynomial is too large"
            )
        return product(left, right)

    while True:
        if exponent & 1:
            result = base if result is None else times(result, base)
        exponent >>= 1
        if not exponent:
            return result
        base = times(base, base)


def exact_quotient(numerator: Any, denominator: Any) -> Any:
    """The exact quotient of two numbers, an int when it is one."""
    return plain(Fraction(numerator) / Fraction(denominator))


def _exactly(left: Number, right: Number, operation: Callable[[Any, Any], Any]) -> Number:
    return _settled(operation(Fraction(left), Fraction(right)), float in (type(left), type(right)))


def _settled(value: Fraction, floating: bool) -> Number:
    """The number: where floats occurred, a float if that is the same."""
    narrow = as_equal_floats(object_array([value])) if floating else None
    return plain(value) if narrow is None else float(narrow[0])


def binary(coefs: np.ndarray) -> np.ndarray:
    """The numbers that the floats of an array are, as integers and Fractions; an exact array as it is."""
    if coefs.dtype != np.float64:
        return coefs
    if (np.abs(coefs) < 2.0**_WHOLE).all() and (coefs == np.rint(coefs)).all():
        return coefs.astype(np.int64)
    return settle(object_array(map(Fraction, coefs.tolist())))


def as_equal_floats(coefs: np.ndarray) -> np.ndarray | None:
    """An exact array in float64, or None where that would round a number."""
    items = coefs.tolist()
    try:
        rounded = [float(c) for c in items]
    except OverflowError:
        return None
    return np.array(rounded) if all(f == c for f, c in zip(rounded, items)) else None


# ---------------------------------------------------------------------- scales


class Scale(NamedTuple):
    """Numbers ``k * 2**unit`` with integers ``|k| <= 2**bits``."""

    unit: int
    bits: int

    @property
    def fits_floats(self) -> bool:
        """Whether every such number is a float."""
        return self.bits <= _WHOLE and self.unit >= _LEAST and self.unit + self.bits <= _MOST

    @property
    def fits_integers(self) -> bool:
        """Whether every k is inside ``INT_LIMIT``."""
        return self.bits < INTEGER_BITS

    def times(self, other: Scale, summands: int = 1) -> Scale:
        """Of sums of so many products."""
        return Scale(self.unit + other.unit, self.bits + other.bits + (summands - 1).bit_length())

    @classmethod
    def sums(cls, scales: Iterable[Scale], summands: int) -> Scale:
        """Of sums of so many numbers of these scales."""
        known = list(scales)
        unit = min(s.unit for s in known)
        top = max(s.unit + s.bits for s in known)
        return cls(unit, top - unit + (summands - 1).bit_length())


NO_SCALE = Scale(0, 1 << 62)  # fractions of other denominators


def scale_of(coefs: np.ndarray) -> Scale:
    """The scale of an array; NO_SCALE if a denominator is no power of two."""
    if coefs.dtype == np.int64:
        return Scale(0, max(_peak_int(coefs) - 1, 0).bit_length())
    if coefs.dtype == np.float64 and coefs.size > _FEW:
        used = coefs[coefs != 0]
        if not used.size:
            return Scale(0, 0)
        unit = int(lows(used).min())
        mantissa, exponent = np.frexp(used)
        return Scale(unit, int((exponent - (np.abs(mantissa) == 0.5)).max()) - unit)
    ends: list[tuple[int, int]] = []
    for c in coefs.tolist():
        k, d = c.as_integer_ratio()
        if d & (d - 1):
            return NO_SCALE
        if not k:
            continue
        low = (k & -k).bit_length() - d.bit_length() if type(c) is float else 1 - d.bit_length()
        high = (abs(k) - 1).bit_length() - d.bit_length() + 1
        ends.append((low, high))
    low, high = min((e[0] for e in ends), default=0), max((e[1] for e in ends), default=0)
    return Scale(low, max(high - low, 0))


def lows(coefs: np.ndarray) -> np.ndarray:
    """Of each float (not 0) the largest power of two that it is a multiple of, as an exponent."""
    mantissa, exponent = np.frexp(coefs)
    whole = (mantissa * 2.0**_WHOLE).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    return exponent + (np.frexp(lowest)[1] - 1 - _WHOLE)


def are_exact(values: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Whether floats that were computed without rounding but in their last step, from multiples of
    ``2**low``, are what they should be, element by element: they are smaller than ``2**(low + 53)``.

    For sums: sums of absolute values. Rounding is monotone, so that a sum or product that reaches the limit
    does so in floats as well.
    """
    fits = np.frexp(values)[1] - low <= _WHOLE
    return fits & (low >= _LEAST) & np.isfinite(values)


def whole(coefs: np.ndarray, scale: Scale) -> np.ndarray:
    """The integers k of an array with this scale: int64 where they fit, else Python's."""
    if coefs.dtype == np.int64 and scale.unit == 0:
        return coefs
    if coefs.dtype == np.float64 and scale.fits_integers:
        return np.ldexp(coefs, -scale.unit).astype(np.int64)
    up, down = max(-scale.unit, 0), max(scale.unit, 0)
    ratios = (c.as_integer_ratio() for c in coefs.tolist())
    result = [(top << up) // (bottom << down) for top, bottom in ratios]
    return np.array(result, dtype=np.int64) if scale.fits_integers else object_array(result)


def lifted(k: np.ndarray, shift: int, scale: Scale) -> np.ndarray:
    """Integers times ``2**shift``, whose scale is then the one given."""
    if k.dtype == np.int64 and scale.fits_integers:
        return k << shift
    return k.astype(object) << shift if shift else k.astype(object)


def multiplied(k: np.ndarray, factor: int) -> np.ndarray:
    """Integers times an integer: int64 where the products fit."""
    if k.dtype == np.int64 and not scale_of(k).times(Scale(0, factor.bit_length())).fits_integers:
        k = k.astype(object)
    return k * factor if factor != 1 else k


def over_one(coefs: np.ndarray) -> tuple[np.ndarray, int] | None:
    """Exact numbers as integers and the denominator over which they are these; None where it is long."""
    parts, denominator = [c.as_integer_ratio() for c in coefs.tolist()], 1
    for _, below in parts:
        denominator = math.lcm(denominator, below)
        if denominator.bit_length() > DENOMINATOR_BITS:
            return None
    return settle(object_array(above * (denominator // below) for above, below in parts)), denominator


def from_whole(k: np.ndarray, unit: int) -> np.ndarray:
    """The numbers ``k * 2**unit`` as floats if all of them are floats, else as integers and Fractions."""
    result = _as_floats(k, unit)
    if result is not None:
        return result
    if unit >= 0:
        return settle(object_array(i << unit for i in k.tolist()))
    denominator = 1 << -unit
    return settle(object_array(Fraction(i, denominator) for i in k.tolist()))


def _as_floats(k: np.ndarray, unit: int) -> np.ndarray | None:
    """The numbers ``k * 2**unit`` as floats, None if one of them is no float."""
    if k.dtype == np.int64 and _peak_int(k) <= 1 << _WHOLE:
        rounded = k.astype(np.float64)
    else:
        odd = []
        for i in k.tolist():
            zeros = (i & -i).bit_length() - 1
            short = i >> zeros
            if short.bit_length() > _WHOLE or not _LEAST <= zeros + unit <= _MOST + 1 - short.bit_length():
                return None
            odd.append(math.ldexp(short, zeros + unit))
        return np.array(odd, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        result = np.ldexp(rounded, unit)
        same = bool((np.ldexp(result, -unit) == rounded).all()) and bool(np.isfinite(result).all())
    return result if same else None
