"""The one path on which private data become numbers: record by record, whatever a record is, one meaning.

No method of a record's own runs: types are looked up, not asked, and values are read by the methods of the
plain types (`float.__float__`, `numpy.ndarray.tolist`), so a subclass that raises is the number it holds.
What is no number is None, or NaN, or a public constant of the mechanism. Where the length of a record is not
given, it is that of more than half of them, and what is released is conditional on this (`rows.py`).

Proof that the choice made here is the exponential mechanism: docs/proofs/noisy_max.md
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.entries import are_numbers, entries, length_of, listed, require_computed
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.silence import no_warnings

LONGEST = 1 << 12
"""Integers of more bits count as infinite: no arithmetic on one record may take the machine."""

MOST_DIGITS = 1200
"""Decimal numbers of more digits, before or after the mark, count as the nearest float."""

DEEPEST = 8
"""What is nested deeper is no number and no key."""

# ------------------------------------------------------------------------------------------------------------
# One entry


def plain(value: Any) -> Any:
    """The value as a bool, int, float, str or bytes of Python itself, or None for every other kind of object.

    numpy's scalars and arrays of no dimension are what they hold, decimal numbers integers where they are
    whole, else the nearest float; masked entries, times, complex numbers and longer arrays are None. Never
    raises, and calls no method of a subclass.
    """
    kind = type(value)
    if kind is float or kind is int or kind is bool or kind is str or kind is bytes or value is None:
        return value
    if issubclass(kind, np.ma.MaskedArray):
        return None
    if issubclass(kind, np.ndarray):
        if np.ndarray.shape.__get__(value) != ():  # type: ignore[attr-defined]
            return None
        held = np.ndarray.item(value)
        return None if issubclass(type(held), np.ndarray) else plain(held)
    if issubclass(kind, float):
        return float.__float__(value)
    if issubclass(kind, int):
        return int.__index__(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, bytes):
        return bytes.__add__(b"", value)
    if issubclass(kind, Decimal):
        exact = _decimal(value)
        if isinstance(exact, Fraction):  # float() of one may overflow
            return exact.numerator if exact.denominator == 1 else Decimal.__float__(value)
        return exact
    if issubclass(kind, np.bool_):
        return bool(np.generic.item(value))
    if issubclass(kind, np.integer) and not issubclass(kind, np.timedelta64):
        return int.__index__(np.generic.item(value))
    if issubclass(kind, np.longdouble):
        return np.longdouble.__float__(value)
    return float.__float__(np.generic.item(value)) if issubclass(kind, np.floating) else None


def number(value: Any) -> Fraction | float | None:
    """The value as an exact rational, an infinity, or None for NaN and for what is no number; texts are none.

    Never raises, for any object.
    """
    # a class may have a metaclass with code of its own, which `issubclass` of an abstract base would run
    if any(base is Fraction for base in type.__dict__["__mro__"].__get__(type(value))):
        return _fraction(value)
    result = _decimal(value) if issubclass(type(value), Decimal) else plain(value)
    if type(result) is Fraction:
        return result
    if type(result) is float:
        return None if result != result else result if math.isinf(result) else Fraction(result)
    if type(result) is int or type(result) is bool:
        return Fraction(result) if result.bit_length() <= LONGEST else math.inf if result > 0 else -math.inf
    return None


def _fraction(value: Any) -> Fraction | float | None:
    """A `Fraction`, rebuilt from the two integers it holds (numpy's would overflow later)."""
    try:
        parts = [plain(Fraction.__dict__[name].__get__(value)) for name in ("_numerator", "_denominator")]
    except AttributeError:  # it was made without its integers
        return None
    if not all(type(part) is int for part in parts) or parts[1] <= 0:
        return None
    if max(part.bit_length() for part in parts) > LONGEST:
        return math.inf if parts[0] > 0 else -math.inf
    return Fraction(parts[0], parts[1])


def _decimal(value: Decimal) -> Fraction | float:
    """A `Decimal` exactly, or where it has too many digits or none as a float."""
    if Decimal.is_nan(value):  # a signalling one raises where it is converted
        return math.nan
    digits, exponent = Decimal.as_tuple(value)[1:]
    if not isinstance(exponent, int) or max(len(digits), abs(exponent)) > MOST_DIGITS:
        return Decimal.__float__(value)
    return Fraction(*Decimal.as_integer_ratio(value))


def as_float(value: Any) -> float:
    """The entry as float64: NaN for what is no number; a text is the number it spells."""
    result = plain(value)
    if type(result) is str:
        return number_in(result)
    if result is None or type(result) is bytes:
        result = number(value)
    try:
        return math.nan if result is None else float(result)
    except OverflowError:
        return math.inf if result > 0 else -math.inf


TRUTHS = {
    spelling: float(word == "true")
    for word in ("true", "false")
    for spelling in (word, word.title(), word.upper())
}


def number_in(text: str, decimal: str = ".") -> float:
    """The finite number that a text spells, 1 and 0 for true and false; NaN for every other text.

    More than `LONGEST` characters, and texts of infinities, are no numbers. A function of this text alone.
    """
    word = text.strip() if len(text) <= LONGEST else ""
    if decimal != ".":
        word = "" if "." in word else word.replace(decimal, ".")
    try:
        result = float(word)
    except ValueError:  # not the text of a number
        return TRUTHS.get(word, math.nan)
    return result if math.isfinite(result) else math.nan


def whole(value: Any, unit: Fraction, origin: Fraction, low: int, high: int) -> int:
    """floor((value - origin) / unit), clipped to [low, high]; `low` for NaN and for what is no number.

    A function of one value only, and total: hostile data change one record's integer and raise nothing.
    """
    result = number(value)
    if result is None:
        return low
    if isinstance(result, float):
        return high if result > 0 else low
    return min(max((result - origin) // unit, low), high)


# ------------------------------------------------------------------------------------------------------------
# Many records


UNREADABLE = {
    "M": "dates: count days since a public one",
    "m": "times: divide them by a public unit",
    "V": "structures: make them numbers publicly",
}


def check_schema(values: Any, *, text: bool = False) -> None:
    """Refuse a container whose public schema cannot be meant: names and types of columns, not entries.

    The schema of a data frame is public (docs/threat_model.md): declare the types where a file is read, or
    convert with pandas.to_numeric(column, errors="coerce"), so that no record decides about them. Lists and
    arrays have no schema beyond their shape: there each record is read by itself.

    Args:
        text: texts are records here.

    Raises:
        TypeError: a text or a mapping where records are expected, a table whose members are its columns, a
            computation that is not done, or a frame with columns, or an array, that are no numbers.
        ValueError: an array of complex numbers.
    """
    kind = values.dtype.kind if isinstance(values, np.ndarray) else ""
    if kind == "c":
        raise ValueError("Complex data not supported: pass real and imaginary parts as columns")
    if kind in UNREADABLE and not text:
        raise TypeError(f"numbers are expected, got an array of {UNREADABLE[kind]}")
    if isinstance(values, str | bytes):
        raise TypeError("records are expected, got a text")
    if isinstance(values, Mapping) and not hasattr(
        type(values), "toarray"
    ):  # some sparse matrices are mappings
        raise TypeError(
            "records are expected, got a mapping, whose members are its keys: pass a column of it"
        )
    require_computed(values)
    if not hasattr(values, "to_numpy"):
        if hasattr(type(values), "column_names") or hasattr(type(values), "columns"):
            kind = type(values).__name__
            raise TypeError(
                f"a table of type {kind} lists its columns, not its records: pass to_pandas() of it"
            )
        return
    if text:
        return
    wrong = [name for name, kind in column_types(values) if not is_numeric(kind)]
    if wrong:
        raise TypeError(no_numbers(wrong))


def no_numbers(names: Sequence[str]) -> str:
    """What to do about columns, by their public names, whose public type is not one of numbers."""
    listed = ", ".join(repr(name) for name in names[:5] if name)
    which = f"column{'s' if len(names) > 1 else ''} {listed}" if listed else "the column"
    return (
        f"no numbers in {which}: leave out, recode publicly (dates: days since a public one), or use "
        'pandas.to_numeric(column, errors="coerce"). Regressions take categories by a public schema=; '
        'decimal commas: "decimal": "," in a schema'
    )


def name_of(values: Any) -> str:
    """The public name of one column, "" where it has none."""
    names = [name for name, _ in column_types(values)] if hasattr(values, "to_numpy") else []
    return names[0] if len(names) == 1 else ""


def column_types(values: Any) -> list[tuple[str, Any]]:
    """Names and types of the columns of a frame, or of the one that a series is."""
    if hasattr(type(values), "columns") and hasattr(values, "dtypes"):
        return list(zip(map(str, values.columns), values.dtypes, strict=True))
    name = getattr(values, "name", None)
    kind = getattr(values, "dtype", getattr(values, "type", None))  # a type of Arrow
    return [("" if name is None else str(name), kind)]


def is_numeric(kind: Any) -> bool:
    """Whether a column type of numpy, pandas, polars or Arrow holds numbers or booleans; unknown ones may."""
    if hasattr(kind := getattr(kind, "pyarrow_dtype", kind), "to_pandas_dtype"):
        return are_numbers(kind)
    letter = getattr(kind, "kind", None)
    if isinstance(letter, str):
        return letter in "biuf"
    test = getattr(kind, "is_numeric", None)
    return bool(test()) or str(kind) == "Boolean" if callable(test) else True


def check_keys(values: Any) -> None:
    """Raise TypeError for a column whose public type is one of times, no entry of which is a key."""
    if times := [name for name, kind in column_types(values) if _is_temporal(kind)]:
        raise TypeError(
            f"dates and times are no keys ({', '.join(times) or 'this column'}): give texts, as "
            "column.astype(str), or whole numbers of days"
        )


def _is_temporal(kind: Any) -> bool:
    """Whether a column type of numpy, pandas or polars holds times or their differences."""
    test = getattr(kind, "is_temporal", None)
    return getattr(kind, "kind", "") in ("M", "m") or (callable(test) and bool(test()))


def column(values: Any, *, text: bool = False) -> list[Any]:
    """The entries of one column: a list, an array (n,) or (n, 1), a series, a frame of one column.

    Raises:
        TypeError: a frame or an array of several columns, or what `check_schema` refuses.
    """
    if hasattr(values, "to_numpy") and hasattr(type(values), "columns"):
        names = [str(name) for name in values.columns]
        if len(names) != 1:
            shown = ", ".join(names[:5])
            raise TypeError(
                f"one column is expected, got a frame of {len(names)} ({shown}): pass "
                f"frame[{names[:1]!r}], or one column at a time"
            )
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape) > 1 and (len(shape) > 2 or shape[1] != 1):
        raise TypeError(f"one column is expected, got a table of shape {shape}: pass one column at a time")
    records = members(values, text=text)
    return [record[0] for record in records] if isinstance(shape, tuple) and len(shape) == 2 else records


def members(values: Any, *, text: bool = True) -> list[Any]:
    """The records of a container as they are: a list, tuple or array, a data frame or another iterable.

    The container is trusted (it is whoever holds the data that calls), its members are not. Masked entries of
    an array are None. Raises TypeError where `check_schema` does.
    """
    check_schema(values, text=text)
    result = listed(values)
    return result.tolist() if isinstance(result, np.ndarray) else result


LEFT_OUT: Hashable = object()
"""What a record that has no key becomes."""

LARGEST_INTEGER = 1 << 256


def canonical(value: Any) -> Hashable:
    """One object for all objects that Python holds equal, so that no count depends on who came first.

    Total: integers beyond 2^256, and tuples that are nested deeper than 8 or have more than 4096 parts and
    characters, are left out, as other objects are.
    """
    return _key(value, DEEPEST, [LONGEST])


def canonicals(values: Iterable[Any]) -> list[Hashable]:
    """`canonical` of every member; equal ones are one object, and take the memory of one."""
    known: dict[Hashable, Hashable] = {}
    return [known.setdefault(key, key) for key in map(canonical, values)]


def _key(value: Any, depth: int, room: list[int]) -> Hashable:
    """The key of a part; what tuples hold takes room, also where they share it."""
    if issubclass(type(value), tuple):
        room[0] -= tuple.__len__(value)
        keys: list[Hashable] = []
        for part in tuple.__iter__(value) if depth and room[0] >= 0 else (LEFT_OUT,):
            keys.append(_key(part, depth - 1, room))
            if keys[-1] is LEFT_OUT:
                return LEFT_OUT
        return tuple(keys)
    result = plain(value)
    if result is None:
        return None if value is None else LEFT_OUT
    if type(result) is str or type(result) is bytes:
        room[0] -= len(result) if depth < DEEPEST else 0
        return result if room[0] >= 0 else LEFT_OUT
    if type(result) is float and result.is_integer():
        result = int(result)
    if type(result) is float:
        return LEFT_OUT if result != result else result
    return int(result) if abs(result) <= LARGEST_INTEGER else LEFT_OUT


def floats(values: Any, row: tuple[int, ...] | None = None) -> npt.NDArray[np.float64]:
    """The array as float64, each entry by itself: NaN for what is no number, for any entry whatever.

    Of nested lists, the shape of a member is `row`, where that is public, else that of most members, which is
    for answers and matrices, not for records (`rows.numbers`). A member of another shape is NaN all over, and
    what is nested deeper than 8 is no number. Where `row` is (1,), a record may be its entry or a list of it,
    in arrays, frames and lists alike. A copy where a conversion was needed.
    """
    if type(values) is np.ndarray and values.dtype.kind in "biuf":
        with no_warnings():
            return _records(np.asarray(values, dtype=np.float64), row)
    if isinstance(values, array | range) or _is_column(values):
        return _records(np.array([as_float(v) for v in members(values)], dtype=np.float64), row)
    nested = values
    if hasattr(values, "__iter__") and type(values) not in (list, tuple, np.ndarray, str, bytes):
        nested = members(values, text=False)
    members_of = None if isinstance(nested, np.ndarray) else entries(nested)
    if isinstance(nested, np.ndarray):
        shape = nested.shape
    elif row is None or members_of is None:
        shape = _shape(nested)
    else:
        one = row == (1,)
        nested = [_alone(record) for record in members_of] if one else nested
        shape = (len(members_of),) if one else (len(members_of), *row)
    flat: list[float] = []
    _flatten(nested, shape, flat)
    return _records(np.array(flat, dtype=np.float64).reshape(shape), row)


def _is_column(values: Any) -> bool:
    """Whether the type says that there is one number in every record: a series of numbers."""
    kind = None if hasattr(type(values), "columns") else getattr(values, "dtype", None)
    return str(kind) not in ("None", "object") and hasattr(values, "to_numpy") and is_numeric(kind)


def _alone(record: Any) -> Any:
    """The entry of a list of one; everything else as it is."""
    parts = entries(record, 1)
    return record if parts is None else parts[0]


def _records(array: npt.NDArray[np.float64], row: tuple[int, ...] | None) -> npt.NDArray[np.float64]:
    """The array with records of the shape `row`, where that is (1,)."""
    return array.reshape(-1, 1) if row == (1,) and array.ndim == 1 else array


def _shape(value: Any) -> tuple[int, ...]:
    """The lengths of most lists at each depth, at most `DEEPEST`; a list of another length is not opened."""
    shape: list[int] = []
    layer = [value]
    while len(shape) < DEEPEST:
        length = _most_common(map(length_of, layer))
        if length is None:
            break
        shape.append(length)
        layer = [part for parts in layer for part in entries(parts, length) or ()]
    return tuple(shape)


def _flatten(value: Any, shape: tuple[int, ...], flat: list[float]) -> None:
    if not shape:
        flat.append(as_float(value))
        return
    parts = entries(value, shape[0])
    if parts is None:
        flat.extend([math.nan] * math.prod(shape))
        return
    for part in parts:
        _flatten(part, shape[1:], flat)


def _most_common(kinds: Any) -> Any:
    """The most frequent member; of several the least, so that no order of records matters."""
    counts = Counter(kinds)
    most = max(counts.values(), default=0)
    return min((key for key, count in counts.items() if count == most), key=repr, default=None)


def wholes(values: Any, unit: Fraction, origin: Fraction, low: int, high: int) -> list[int]:
    """`whole` of every entry of a column."""
    return [whole(value, unit, origin, low, high) for value in column(values)]


def choose(levels: Sequence[int], rate: Fraction, bits: RandomBits) -> int:
    """Index i with probability exactly proportional to exp(-rate * levels[i])."""
    level = exact.categorical_exp(Counter(levels), rate, bits)
    same = [index for index, other in enumerate(levels) if other == level]
    return same[exact.random_below(len(same), bits)]
