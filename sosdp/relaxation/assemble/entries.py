"""Entries of the matrix: exact sums of coefficients, each rounded once to a float.

A coefficient is an integer, a Fraction or a float, which is the binary number that it is. Sums are done in
floats where nothing is rounded, and otherwise in integers or Fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...algebra.coefficients import (
    NO_SCALE,
    TOO_LARGE,
    Scale,
    are_exact,
    floats,
    lifted,
    lows,
    object_array,
    scale_of,
    whole,
)

TINY = 2.0**-1000
"""Products of smaller numbers may be no normal floats."""


_TOO_SMALL = (
    f"a coefficient is too small for a float (below {TINY:.0e}): rescale the polynomial, or its variables "
    "where other coefficients are larger"
)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of polynomials as they were given, and rounded."""

    given: np.ndarray

    @classmethod
    def together(cls, parts: list[np.ndarray]) -> Coefficients:
        """The coefficients of several polynomials, one after the other."""
        if len({part.dtype for part in parts}) == 1:
            return cls(np.concatenate(parts))
        return cls(object_array([c for part in parts for c in part.tolist()]))

    @cached_property
    def floats(self) -> np.ndarray:
        """Each coefficient rounded once; ValueError for one beyond the largest or below the least float."""
        result = floats(self.given)
        if (np.abs(result) < TINY).any():
            raise ValueError(_TOO_SMALL)
        return result

    @cached_property
    def exact(self) -> bool:
        """Whether the floats are the coefficients."""
        if self.given.dtype == np.float64:
            return True
        return all(c == f for c, f in zip(self.given.tolist(), self.floats.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Entries:
    """A sparse matrix by rows; ``rounded``: whether an entry with several summands is not their sum."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    rounded: bool = False

    @classmethod
    def empty(cls, height: int) -> Entries:
        """A matrix without entries."""
        return cls(np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(height + 1, dtype=np.int32))

    def part(self, low: int, high: int, width: int) -> sp.csr_matrix:
        """Rows ``low`` to ``high``."""
        start, stop = self.indptr[low], self.indptr[high]
        pointers = self.indptr[low : high + 1] - start
        return sp.csr_matrix(
            (self.data[start:stop], self.indices[start:stop], pointers), shape=(high - low, width)
        )


def sums(
    values: np.ndarray, starts: np.ndarray, exact: np.ndarray, numbers: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, bool]:
    """Sums of consecutive values from each start on, each rounded once, and whether one of several was.

    ``values``: floats; ``exact``: whether a value is what it was rounded from, ``numbers(k)``, for an array k
    of positions.
    """
    result = np.add.reduceat(values, starts)
    counts = np.diff(np.append(starts, values.size))
    fits = np.logical_and.reduceat(exact, starts)
    fits &= are_exact(np.add.reduceat(np.abs(values), starts), np.minimum.reduceat(lows(values), starts))
    hard = np.flatnonzero(~fits & (counts > 1))
    if not hard.size:
        return result, False
    member = np.repeat(~fits & (counts > 1), counts)
    given = numbers(np.flatnonzero(member))
    first = np.cumsum(counts[hard]) - counts[hard]
    scale = Scale.sums([scale_of(given)], given.size)
    rounded = False
    if scale.bits < NO_SCALE.bits:
        whole_sums = np.add.reduceat(lifted(whole(given, scale), 0, scale), first).tolist()
        denominator, factor = 1 << max(-scale.unit, 0), 1 << max(scale.unit, 0)
        pairs = [(k * factor, denominator) for k in whole_sums]
    else:
        pairs = [
            Fraction(t).as_integer_ratio() for t in np.add.reduceat(given.astype(object), first).tolist()
        ]
    for place, (k, denominator) in zip(hard.tolist(), pairs, strict=True):
        try:
            result[place] = near = k / denominator
        except OverflowError:
            raise ValueError(TOO_LARGE) from None
        if k and abs(near) < TINY:
            raise ValueError(_TOO_SMALL)
        rounded = rounded or Fraction(near) * denominator != k
    return result, rounded


def merged(
    rows: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    shape: tuple[int, int],
    exact: Callable[[], np.ndarray],
    numbers: Callable[[np.ndarray], np.ndarray],
) -> Entries:
    """The matrix whose entries are the sums of the values at their rows and columns, each exact, then rounded
    once; ``exact()`` and ``numbers`` as for `sums`, by position among the values."""
    code = rows.astype(np.int64) * shape[1] + columns
    order = np.argsort(code, kind="stable")
    code, values = code[order], values[order]
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1]))[: code.size]
    rounded = False
    if starts.size < code.size:
        values, rounded = sums(values, starts, exact()[order], lambda k: numbers(order[k]))
    used = values != 0
    row, column = np.divmod(code[starts][used], shape[1])
    pointers = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=shape[0]))]).astype(np.int32)
    return Entries(values[used], column.astype(np.int32), pointers, rounded)
