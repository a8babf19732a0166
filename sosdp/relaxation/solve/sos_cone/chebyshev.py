"""Exact arithmetic with Chebyshev coefficients: T_a T_b is half the sum of T_(a+b) and T_|a-b|.

A series is a dictionary from names to integers, all in one unit 2**-scale. A name holds the exponents in one
integer, 16 bits a variable. Every float is an integer in such a unit, so every operation here is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ....algebra.word_tables import distinct

_BITS = 78  # of the largest entry of a Gram matrix that are kept: rounding is 1e-8 of a double's
_FIELD = 16  # bits of an exponent in a name
_MASK = (1 << _FIELD) - 1
_HIGHEST = 1 << (_FIELD - 1)  # exponents stay below it, so that their sums fit


@dataclass(frozen=True, eq=False)
class Series:
    """``sum_a terms[a] 2**-scale T_a(t)`` in n variables t."""

    terms: dict[int, int]
    scale: int

    def size(self) -> float:
        """An upper bound on ``sum |coefficient|``, so on the largest absolute value on [-1, 1]^n."""
        total = sum(map(abs, self.terms.values()))
        return ratio_up(total, self.scale)


def ratio_up(value: int, scale: int) -> float:
    """A float not below ``value / 2**scale``."""
    drop = max(0, value.bit_length() - 60)
    # dropping bits loses less than 2**-59 of the value, and every rounding here 2**-53
    return float(np.ldexp(float(value >> drop) * 1.0000000001, drop - scale))


def names(exponents: np.ndarray) -> list[int]:
    """The names of the rows of exponents: variable j in the bits from 16 j on. OverflowError where an
    exponent does not fit."""
    if exponents.max(initial=0) >= _HIGHEST:
        raise OverflowError(f"an exponent of {_HIGHEST} or more")
    result = [0] * exponents.shape[0]
    for start in range(0, exponents.shape[1], 3):  # three fields fit in a machine integer
        part = exponents[:, start : start + 3].astype(np.int64)
        places = (part << (_FIELD * np.arange(part.shape[1]))).sum(axis=1).tolist()
        result = [a | b << _FIELD * start for a, b in zip(result, places, strict=True)] if start else places
    return result


def _fields(name: int) -> list[tuple[int, int]]:
    """Place (in bits) and exponent of the variables that occur."""
    result, place = [], 0
    while name >> place:
        exponent = name >> place & _MASK
        if exponent:
            result.append((place, exponent))
        place += _FIELD
    return result


def integers(values: Iterable[float]) -> tuple[list[int], int]:
    """Floats, or integers of any size, as integers in the unit 2**-scale that is returned."""
    pairs = [v.as_integer_ratio() for v in values]
    scale = max([0, *(q.bit_length() - 1 for _, q in pairs)])
    return [p << (scale - q.bit_length() + 1) for p, q in pairs], scale


def total(parts: Iterable[tuple[int, Series]]) -> Series:
    """The sum of series with integer factors."""
    listed = list(parts)
    scale = max([0, *(s.scale for _, s in listed)])
    out: dict[int, int] = {}
    for factor, series in listed:
        up = scale - series.scale
        for name, value in series.terms.items():
            out[name] = out.get(name, 0) + (factor * value << up)
    return Series({name: value for name, value in out.items() if value}, scale)


def powers(top: int, middle: float, half: float) -> tuple[list[list[int]], int]:
    """Chebyshev coefficients of ``(middle + half t)**p``, p = 0, ..., top, in one unit 2**-scale."""
    (m, h), unit = integers([middle, half])
    rows = [[1]]
    for _ in range(top):
        last = rows[-1]
        row = [2 * m * c for c in last] + [0] if m else [0] * (len(last) + 1)
        for k, c in enumerate(last):
            if c:
                row[k + 1] += h * c
                row[abs(k - 1)] += h * c
        rows.append(row)
    step = unit + 1
    return [[c << (step * (top - p)) for c in row] for p, row in enumerate(rows)], step * top


def from_monomials(
    exponents: np.ndarray, values: Iterable[float], middle: np.ndarray, half: np.ndarray
) -> Series:
    """A polynomial in x with float coefficients as a series in t, x = middle + half t."""
    numbers, scale = integers(values)
    terms = {name: value for name, value in zip(names(exponents), numbers, strict=True) if value}
    for j, top in enumerate(exponents.max(axis=0, initial=0).tolist()):
        table, unit = powers(top, float(middle[j]), float(half[j]))
        place = _FIELD * j
        rows = [[(k << place, c) for k, c in enumerate(row) if c] for row in table]
        out: dict[int, int] = {}
        for name, value in terms.items():
            power = name >> place & _MASK
            rest = name - (power << place)
            for moved, c in rows[power]:
                out[rest + moved] = out.get(rest + moved, 0) + value * c
        terms, scale = out, scale + unit
    return Series(terms, scale)


@lru_cache(maxsize=32)
def _pairs(data: bytes, side: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, list[int]]:
    """Products of all pairs of a basis: for every term the entry of the upper triangle that it belongs to,
    its weight in units of 2**-halvings, and the place of its name; halvings, and the names."""
    exponents = np.frombuffer(data, dtype=np.int64).reshape(side, width)
    row, column = np.triu_indices(side)
    left, right = exponents[row], exponents[column]
    place = np.arange(row.size)
    result = left + right
    halvings = np.zeros(row.size, dtype=np.int64)
    for j in range(width):
        both = (left[:, j] > 0) & (right[:, j] > 0)
        halvings += both
        again = np.flatnonzero(both[place])
        more = result[again].copy()
        more[:, j] = np.abs(left[place[again], j] - right[place[again], j])
        result = np.concatenate([result, more])
        place = np.concatenate([place, place[again]])
    first, target = distinct(result)
    most = int(halvings.max(initial=0))
    weight = np.where(row == column, 1.0, 2.0) * np.exp2(most - halvings)
    return place, weight[place], target, most, names(result[first])


def dyadic(matrix: np.ndarray) -> tuple[np.ndarray, int]:
    """The matrix rounded to multiples of 2**-scale (exact as floats), and the scale."""
    scale = _BITS - int(np.frexp(np.abs(matrix).max(initial=0.0))[1])
    return np.ldexp(np.rint(np.ldexp(matrix, scale)), -scale), scale


def in_limbs(values: np.ndarray, limb: int, add: Callable[[np.ndarray], np.ndarray]) -> list[int]:
    """Sums of integers of any size, given as floats, exactly: ``add`` makes them of numbers below 2**limb,
    which leaves them below 2**53, where floating point is exact."""
    sums, up = [0] * add(np.zeros_like(values)).size, 0
    while values.any():
        high = np.trunc(np.ldexp(values, -limb))
        part = add(values - np.ldexp(high, limb)).astype(np.int64).tolist()
        sums = [s + (p << up) for s, p in zip(sums, part, strict=True)]
        values, up = high, up + limb
    return sums


def gram_series(exponents: np.ndarray, matrix: np.ndarray, scale: int) -> Series:
    """``<Q, T T'>`` exactly, T the products of Chebyshev polynomials of these exponents (side, n); the
    entries of Q are multiples of 2**-scale.

    The entries are cut into limbs so short that their sums are exact.
    """
    data = np.ascontiguousarray(exponents, dtype=np.int64).tobytes()
    place, weight, target, most, named = _pairs(data, *exponents.shape)
    values = np.ldexp(matrix[np.triu_indices(matrix.shape[0])], scale)
    limb = 50 - most - max(1, place.size).bit_length()
    sums = in_limbs(values, limb, lambda low: np.bincount(target, low[place] * weight, len(named)))
    kept = {name: value for name, value in zip(named, sums, strict=True) if value}
    return Series(kept, scale + most)


def product(left: Series, right: Series) -> Series:
    """The product of two series; quick where ``right`` is short."""
    out: dict[int, int] = {}
    most = max((len(_fields(name)) for name in right.terms), default=0)
    for name, factor in right.terms.items():
        fields = _fields(name)
        factor <<= most - len(fields)
        moved = [(key, factor * value) for key, value in left.terms.items()]
        for place, exponent in fields:
            split = []
            for key, value in moved:
                old = key >> place & _MASK
                split.append((key + (exponent << place), value))
                split.append((key + (abs(old - exponent) - old << place), value))
            moved = split
        for key, value in moved:
            out[key] = out.get(key, 0) + value
    return Series({k: v for k, v in out.items() if v}, left.scale + right.scale + most)
