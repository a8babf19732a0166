"""Values of polynomials at many points at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra.coefficients import (
    INT_LIMIT,
    Number,
    as_coefs,
    as_number,
    binary,
    floats,
    object_array,
    peak,
    plain,
    to_float,
)
from sosdp.algebra.sparse import Sparse, to_variable_id, union_of_ids
from sosdp.algebra.variables import variable_name

_SMALL = 256  # entries of the monomial array of a polynomial that is evaluated by plain arithmetic
_CHUNK = 1 << 21  # values of monomials held in memory at a time


def evaluate(p: Sparse, points: Any) -> Any:
    """Values of ``p``; see ``Polynomial.evaluate``."""
    if isinstance(points, Mapping) and p.monos.size <= _SMALL:
        plain = {to_variable_id(v): c for v, c in points.items() if type(c) in (int, float, Fraction)}
        if len(plain) == len(points):
            return _plain_value(p, plain)
    table, shape = _read_points(points, p.variable_ids)
    return _shaped(_values(p, table), shape)


def evaluate_array(array: np.ndarray, points: Any) -> np.ndarray:
    """Values of an array of polynomials, shape (shape of the points, shape of the array)."""
    polynomials = array.reshape(-1).tolist()
    ids = union_of_ids(polynomials)
    table, shape = _read_points(points, ids)
    rows = table.shape[0]
    columns = []
    for p in polynomials:
        own = np.searchsorted(ids, p.variable_ids)
        columns.append(_values(p, table[:, own]))
    if not columns:
        return np.zeros((*shape, *array.shape))
    return np.stack(columns, axis=1).reshape((rows,) + array.shape).reshape(shape + array.shape)


def _plain_value(p: Sparse, values: dict[int, Number]) -> Number:
    """Value at one point by plain arithmetic, many times faster for short polynomials."""
    used = set(p.monos.reshape(-1).tolist()) - {0}
    if not values.keys() >= used:
        _check_given(values, p.variable_ids)
    rounded = any(type(values[i]) is float for i in used)
    total: Number = 0
    values[0] = 1
    try:
        for row, coef in zip(p.monos.tolist(), p.coefs.tolist() if rounded else binary(p.coefs).tolist()):
            for identifier in row:
                coef = coef * values[identifier]
            total += coef
    except OverflowError:
        raise ValueError("a value is too large for a float: rescale, or use exact numbers") from None
    return to_float(total) if rounded or not p.is_exact else plain(Fraction(total))


def _shaped(values: np.ndarray, shape: tuple[int, ...]) -> Any:
    if shape == ():
        value = values[0]
        return value.item() if isinstance(value, np.generic) else value
    return values.reshape(shape)


def _read_points(points: Any, ids: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """Points as a matrix (rows, number of ids), float64 or object (exact), and the shape of the answer."""
    if isinstance(points, Mapping):
        given = {to_variable_id(name): np.asarray(value) for name, value in points.items()}
        _check_given(given, ids)
        shape = np.broadcast_shapes(*(v.shape for v in given.values()))
        rows = int(np.prod(shape, dtype=np.int64))
        columns = [_numbers(np.broadcast_to(given[i], shape)).reshape(-1) for i in ids.tolist()]
        if not columns:
            return np.zeros((rows, 0), dtype=object), shape
        if any(c.dtype == np.float64 for c in columns):
            columns = [floats(c) if c.dtype != np.float64 else c for c in columns]
        return np.stack(columns, axis=1), shape
    array = np.asarray(points)
    if array.ndim == 0:
        array = array.reshape(1)
    if array.shape[-1] != ids.size:
        names = ", ".join(variable_name(i) for i in ids.tolist()[:10])
        raise ValueError(
            f"points of shape {array.shape} do not fit the {ids.size} variables {names} of the last axis"
        )
    shape = array.shape[:-1]
    rows = int(np.prod(shape, dtype=np.int64))
    return _numbers(array).reshape(rows, ids.size), shape


def _check_given(given: Mapping[int, Any], ids: np.ndarray) -> None:
    missing = [variable_name(i) for i in ids.tolist() if i not in given]
    if missing:
        raise ValueError(f"no value is given for {', '.join(missing[:10])}")


def _numbers(array: np.ndarray) -> np.ndarray:
    """The array as float64, or as objects when all its numbers are exact. NaN and infinities are allowed."""
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    if array.dtype.kind in "iub":
        return object_array(array.reshape(-1).tolist()).reshape(array.shape)
    if array.dtype != object:
        raise TypeError(f"points must be real numbers, not {array.dtype}")
    items = []
    for item in array.reshape(-1).tolist():
        number = item if isinstance(item, float) else as_number(item)
        if number is None:
            raise TypeError(
                f"points must be real numbers, not {type(item).__name__}; subs inserts polynomials"
            )
        items.append(number)
    if any(isinstance(c, float) for c in items):
        return np.array([to_float(c) for c in items], dtype=np.float64).reshape(array.shape)
    return object_array(items).reshape(array.shape)


def _values(p: Sparse, table: np.ndarray) -> np.ndarray:
    """Values at the rows of ``table``, whose columns belong to ``p.variable_ids``."""
    exact = p.is_exact and table.dtype == object
    if not exact and table.dtype == object:
        table = floats(table.reshape(-1)).reshape(table.shape)
    coefs = p.coefs if exact else floats(p.coefs)
    divisor = 1
    if exact and not _fits_int64(p, table):
        table, coefs, divisor = _whole(p, table)
    elif exact:
        table = table.astype(np.int64)
    if coefs.size == 0:
        return np.zeros(table.shape[0], dtype=coefs.dtype)
    pairs, factors = _power_factors(p)
    result = np.empty(table.shape[0], dtype=coefs.dtype)
    step = max(1, _CHUNK // max(coefs.size, len(pairs) + 1))
    for start in range(0, table.shape[0], step):
        block = table[start : start + step]
        powers = np.ones((block.shape[0], len(pairs) + 1), dtype=coefs.dtype)
        for k, (column, power) in enumerate(pairs):
            powers[:, k + 1] = block[:, column] ** power
        product = powers[:, factors[:, 0]]
        for k in range(1, factors.shape[1]):
            product = product * powers[:, factors[:, k]]
        result[start : start + step] = product @ coefs
    return result if divisor == 1 else object_array([plain(Fraction(v, divisor)) for v in result.tolist()])


def _whole(p: Sparse, table: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Exact points and coefficients as integers, whose sums of products are values times the divisor: no
    fraction is reduced on the way."""
    numbers = binary(p.coefs).tolist()
    unit, size = (math.lcm(*{c.denominator for c in own}) for own in (table.reshape(-1).tolist(), numbers))
    powers = object_array([unit**k for k in range(p.degree + 1)])
    coefs = object_array([c.numerator * (size // c.denominator) for c in numbers])
    whole = [c.numerator * (unit // c.denominator) for c in table.reshape(-1).tolist()]
    lifted = coefs * powers[p.degree - (p.monos > 0).sum(axis=1)] if unit > 1 else coefs
    return object_array(whole).reshape(table.shape), lifted, size * int(powers[-1])


def _fits_int64(p: Sparse, table: np.ndarray) -> bool:
    """Whether every value and every intermediate result stays inside int64."""
    if p.coefs.dtype != np.int64 or not all(type(c) is int for c in table.reshape(-1).tolist()):
        return False
    largest = max((abs(c) for c in table.reshape(-1).tolist()), default=0)
    if largest.bit_length() * p.degree > 62:
        return False
    return largest**p.degree * (peak(p.coefs) or 0) * max(p.coefs.size, 1) < INT_LIMIT


def _power_factors(p: Sparse) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Each term as a product of pure powers.

    Returns the distinct (column of the variable, power) pairs and, for each term, the positions of its
    factors plus one, 0 for none: as many columns as a term has different variables at most.
    """
    monos = p.monos
    ids = p.variable_ids
    if ids.size == 0:
        return [], np.zeros((monos.shape[0], 1), dtype=np.int64)
    width = monos.shape[1]
    position = np.flatnonzero(mono.run_starts(monos))
    row, start = np.divmod(position, width)
    following = np.append(position[1:], monos.size)
    same_row = np.append(row[1:] == row[:-1], False)
    power = np.where(same_row, following - position, width - start)
    column = np.searchsorted(ids, monos.reshape(-1)[position])
    code = column * (width + 1) + power
    seen = np.zeros(ids.size * (width + 1), dtype=bool)  # codes are small: no need to sort them
    seen[code] = True
    which = (np.cumsum(seen) - 1)[code]
    pairs = [divmod(int(c), width + 1) for c in np.flatnonzero(seen)]
    runs = np.bincount(row, minlength=monos.shape[0])
    factors = np.zeros((monos.shape[0], max(int(runs.max()), 1)), dtype=np.int64)
    factors[row, np.arange(row.size) - np.repeat(np.cumsum(runs) - runs, runs)] = which + 1
    return pairs, factors


def point_matrix(points: Any, ids: np.ndarray) -> np.ndarray:
    """Points read as ``Polynomial.evaluate`` reads them, as a float matrix (points, number of ids)."""
    table, _ = _read_points(points, ids)
    return (
        table
        if table.dtype == np.float64
        else as_coefs(table.reshape(-1)).astype(np.float64).reshape(table.shape)
    )
