"""Vectorised arithmetic on arrays of monomials.

A monomial is a sorted multiset of variable ids, stored as one row of an ``(m, w)`` int32 array, padded with
zeros on the left: with ids 1, 2, 3 the monomial ``x1**2 * x3`` is ``[0, 1, 1, 3]``. The id 0 stands for 1, so
the constant is a row of zeros. The width ``w`` is at least the largest degree: thousands of variables cost
nothing at low degree, which a dense exponent matrix could not say.

``keys`` maps each row to an additive 64-bit hash, ``key(a*b) = key(a) + key(b)`` modulo 2**64, so that all
products of a basis are one broadcast addition. Two different monomials share a key with probability about
2**-64; for M monomials expect M**2 / 2**65 collisions (3e-8 at M = 10**6). The weights are the same in every
process, as the order of terms comes from them, so that collisions can be constructed. Hence keys stay inside
this package, and none is believed: the rows of equal keys are compared, or their ``second_keys``, whose
weights are secret and new in each process. Others tell monomials apart by ``group``, ``unique``, ``Index``
and ``Products``, which are right whatever the keys; a polynomial with two monomials of one key is refused
(``KeyCollision``), as its terms are ordered by key. ``RadixKeys`` is the exact variant for few variables.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

MONOMIAL = np.int32
_PATTERN_SIDE = 30  # bases in more variables are seldom wanted twice


def _weight(identifier: int, secret: bytes = b"") -> int:
    """The weight of a variable in keys: odd, and in no relation to the others (Blake2).

    The multiplications and shifts of splitmix64 would be cheaper, but they nearly commute with doubling:
    keys of x_a**2 x_2b and x_2a x_b**2 agreed for a pair (a, b) in some thousands.
    """
    digest = hashlib.blake2b(identifier.to_bytes(8, "little"), digest_size=8, key=secret).digest()
    return int.from_bytes(digest, "little") | 1


class _Keys:
    """Additive 64-bit keys of rows, shape (m,), uint64: sums of the weights of their ids."""

    def __init__(self, secret: bytes = b"") -> None:
        self._secret = secret
        self.table = np.zeros(1, dtype=np.uint64)  # a longer one is a new array: other threads may replace it

    def weights(self, largest_id: int) -> np.ndarray:
        """Of the ids 0..largest_id at least, uint64; the weight of id 0 is 0."""
        known = self.table
        if known.size <= largest_id:
            more = range(known.size, max(largest_id + 1, 2 * known.size, 64))
            fresh = np.array([_weight(i, self._secret) for i in more], dtype=np.uint64)
            self.table = known = np.concatenate([known, fresh])
        return known

    def __call__(self, monos: np.ndarray) -> np.ndarray:
        if monos.size == 0:
            return np.zeros(monos.shape[0], dtype=np.uint64)
        return self.weights(int(monos.max()))[monos].sum(axis=1, dtype=np.uint64)


keys = _Keys()
weights = keys.weights
# of other weights, secret and new in each process: only compared, never ordered by, stored or pickled; that
# both keys of two monomials agree is beyond reckoning
second_keys = _Keys(os.urandom(32))


class KeyCollision(ArithmeticError, ValueError):
    """Two different monomials have one key: nothing was added up."""

    def __init__(self) -> None:
        super().__init__(
            "two different monomials have the same 64-bit key, which does not happen by chance: "
            "rename or reorder the variables"
        )


def constant(rows: int = 1, width: int = 1) -> np.ndarray:
    """``rows`` copies of the constant monomial, shape (rows, width)."""
    return np.zeros((rows, width), dtype=MONOMIAL)


def degrees(monos: np.ndarray) -> np.ndarray:
    """Total degree of each row, shape (m,)."""
    return np.count_nonzero(monos, axis=1)


def run_starts(monos: np.ndarray) -> np.ndarray:
    """Where a variable stands for the first time in its row, boolean."""
    first = monos != 0
    first[:, 1:] &= monos[:, 1:] != monos[:, :-1]
    return first


def degree(monos: np.ndarray) -> int:
    """Largest total degree of the rows; 0 where there are none."""
    trimmed = trim(monos)
    return trimmed.shape[1] if np.count_nonzero(trimmed) else 0


def pad(monos: np.ndarray, width: int) -> np.ndarray:
    """The same monomials in an array of width ``width`` (at least the present one)."""
    extra = width - monos.shape[1]
    if extra < 0:
        raise ValueError(f"cannot pad monomials of width {monos.shape[1]} to {width}; use trim")
    if extra == 0:
        return monos
    return np.concatenate([np.zeros((monos.shape[0], extra), dtype=MONOMIAL), monos], axis=1)


def padded(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Monomials from lists of ids, of any lengths."""
    width = max([1, *map(len, rows)])
    return np.array([[0] * (width - len(row)) + [*row] for row in rows], dtype=MONOMIAL).reshape(-1, width)


def trim(monos: np.ndarray) -> np.ndarray:
    """The same monomials without the columns that are zero in every row (one column always stays)."""
    if np.count_nonzero(monos[:, 0]):  # the usual case: no column is padding
        return monos
    used = np.flatnonzero(monos.any(axis=0))
    return monos[:, used[0] if used.size else -1 :]


def concatenate(parts: list[np.ndarray]) -> np.ndarray:
    """Stack monomial arrays of different widths."""
    if not parts:
        return constant(0)
    width = max(p.shape[1] for p in parts)
    return np.concatenate([pad(p, width) for p in parts], axis=0)


def multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Row-wise products of two monomial arrays with the same number of rows (or one of them a single row)."""
    rows = max(left.shape[0], right.shape[0])
    if min(left.shape[0], right.shape[0]) == 0:
        rows = 0
    left = np.broadcast_to(left, (rows, left.shape[1]))
    right = np.broadcast_to(right, (rows, right.shape[1]))
    product = np.concatenate([left, right], axis=1)
    product.sort(axis=1)
    return product


def multiply_outer(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """All products ``left[i] * right[j]``, row ``i * len(right) + j``."""
    a, b = left.shape[0], right.shape[0]
    product = np.empty((a, b, left.shape[1] + right.shape[1]), dtype=MONOMIAL)
    product[:, :, : left.shape[1]] = left[:, None, :]
    product[:, :, left.shape[1] :] = right[None, :, :]
    product = product.reshape(a * b, product.shape[2])
    product.sort(axis=1)
    return product


def group_numbers(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position of one representative of each distinct number, in ascending order, and the inverse map.

    What ``np.unique`` does with a stable sort; any representative will do here, so the fast sort serves.
    """
    order = np.argsort(numbers)
    ordered = numbers[order]
    starts = np.empty(numbers.size, dtype=bool)
    starts[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    inverse = np.empty(numbers.size, dtype=np.int64)
    inverse[order] = np.cumsum(starts) - 1
    return order[starts], inverse


def contains(sorted_numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Which of the wanted numbers occur in the sorted array, shape (m,)."""
    if sorted_numbers.size == 0:
        return np.zeros(wanted.size, dtype=bool)
    place = np.searchsorted(sorted_numbers, wanted)
    place[place == sorted_numbers.size] = 0
    return sorted_numbers[place] == wanted


def same(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether arrays, of any widths, hold the same monomial in each row, shape (m,); one may have one row."""
    extra = left.shape[1] - right.shape[1]
    if extra < 0:
        return same(right, left)
    equal = (left[:, extra:] == right).all(axis=1)
    return equal & ~left[:, :extra].any(axis=1) if extra else equal


def group(monos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position of one representative of each distinct row, ordered by key, and the inverse map (shape (m,)).

    Rows of one key are compared; where two differ, all are sorted by their entries instead.
    """
    first, inverse = group_numbers(keys(monos))
    if first.size < monos.shape[0] and not np.array_equal(monos[first][inverse], monos):
        _, first, inverse = np.unique(monos, axis=0, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def split(monos: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parts of monomials in these variables and in the others."""
    here = np.isin(monos, ids)
    inner, outer = np.where(here, monos, MONOMIAL(0)), np.where(here, MONOMIAL(0), monos)
    inner.sort(axis=1)
    outer.sort(axis=1)
    return inner, outer


def unique(monos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows and the inverse map, as ``group`` finds them."""
    first, inverse = group(monos)
    return monos[first], inverse


class Index:
    """The rows of an array of monomials, to be found again: keys propose, the rows decide."""

    def __init__(self, monos: np.ndarray) -> None:
        self.monos = monos
        key = keys(monos)
        self._order = np.argsort(key, kind="stable")
        self._keys = key[self._order]

    def find(self, wanted: np.ndarray) -> np.ndarray:
        """Position of each wanted monomial, the first one where it occurs repeatedly, -1 where it does not;
        shape (m,)."""
        result = np.full(wanted.shape[0], -1)
        if self._keys.size == 0:
            return result
        key = keys(wanted)
        place = np.searchsorted(self._keys, key)
        pending = np.arange(result.size)
        while pending.size:  # more than once only where different monomials have one key
            pending = pending[place[pending] < self._keys.size]
            pending = pending[self._keys[place[pending]] == key[pending]]
            position = self._order[place[pending]]
            equal = same(self.monos[position], wanted[pending])
            result[pending[equal]] = position[equal]
            pending = pending[~equal]
            place[pending] += 1
        return result


def key_order(key: np.ndarray) -> np.ndarray:
    """The order of the keys of different monomials; KeyCollision when two are equal."""
    order = np.argsort(key)
    ordered = key[order]
    if np.count_nonzero(ordered[1:] == ordered[:-1]):
        raise KeyCollision
    return order


def grade_order(monos: np.ndarray) -> np.ndarray:
    """Permutation that sorts the rows by degree, then lexicographically by variable ids."""
    columns = [monos[:, j] for j in range(monos.shape[1] - 1, -1, -1)]
    return np.lexsort([*columns, degrees(monos)])


def basis(ids: np.ndarray, degree: int) -> np.ndarray:
    """All monomials in the variables ``ids`` of degree at most ``degree``, graded, shape (C(n+d, d), max(d,
    1)).

    Built degree by degree (each row times every variable that is not smaller than its last), with no loop
    over monomials.
    """
    ids = np.sort(np.asarray(ids, dtype=MONOMIAL))
    if ids.size > _PATTERN_SIDE:
        return _basis(ids, degree)
    return np.concatenate([np.zeros(1, dtype=MONOMIAL), ids])[_pattern(ids.size, degree)]


@lru_cache(maxsize=64)
def _pattern(count: int, degree: int) -> np.ndarray:
    """The basis in variables 1, ..., count: what thousands of cliques of one size have in common."""
    return _basis(np.arange(1, count + 1, dtype=MONOMIAL), degree)


def _basis(ids: np.ndarray, degree: int) -> np.ndarray:
    levels = [constant(1, max(degree, 1))]
    last = np.zeros(1, dtype=np.int64)  # position in ids from which the next factor may be taken
    for _ in range(degree):
        rows, last = extend(levels[-1], last, ids)
        levels.append(rows)
    return np.concatenate(levels, axis=0)


def extend(rows: np.ndarray, last: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Multiply each row by every variable ``ids[k]`` with ``k >= last``: the next degree, each monomial once.

    Returns the new rows (same width: the leftmost column must still be free) and their own ``last``.
    """
    source, offset = unfolded(ids.size - last)
    position = last[source] + offset
    grown = np.empty((source.size, rows.shape[1]), dtype=MONOMIAL)
    grown[:, :-1] = rows[source, 1:]
    grown[:, -1] = ids[position]
    return grown, position


def unfolded(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of every count, as often as it says, and beside it 0, 1, ... up to the count."""
    source = np.repeat(np.arange(counts.size), counts)
    return source, np.arange(source.size) - np.repeat(np.cumsum(counts) - counts, counts)


def exponents(monos: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Dense exponent matrix, shape (m, len(ids)), int64, for sorted ``ids`` that contain every variable
    used."""
    ids = np.asarray(ids)
    matrix = np.zeros((monos.shape[0], ids.size), dtype=np.int64)
    row, column = np.nonzero(monos)
    np.add.at(matrix, (row, np.searchsorted(ids, monos[row, column])), 1)
    return matrix


def from_exponents(matrix: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The inverse of ``exponents``: monomial rows from a dense non-negative exponent matrix (m, len(ids))."""
    matrix = np.asarray(matrix, dtype=np.int64)
    if matrix.size and matrix.min() < 0:
        raise ValueError("exponents must be non-negative")
    total = matrix.sum(axis=1)
    width = max(int(total.max(initial=0)), 1)
    monos = np.zeros((matrix.shape[0], width), dtype=MONOMIAL)
    flat = np.repeat(np.tile(np.asarray(ids, dtype=MONOMIAL), matrix.shape[0]), matrix.reshape(-1))
    row, place = unfolded(total)
    monos[row, width - total[row] + place] = flat
    monos.sort(axis=1)
    return monos


@dataclass(frozen=True)
class RadixKeys:
    """Exact additive keys in mixed radix: injective on monomials in ``ids`` of degree at most ``degree``."""

    table: np.ndarray

    @classmethod
    def build(cls, ids: np.ndarray, degree: int) -> RadixKeys | None:
        """Keys for the variables ``ids`` up to ``degree``, or None when 63 bits cannot hold them."""
        ids = np.asarray(ids)
        base = degree + 1
        if ids.size and base ** int(ids.size) >= 1 << 63:
            return None
        table = np.zeros(int(ids.max(initial=0)) + 1, dtype=np.uint64)
        table[ids] = [base**k for k in range(ids.size)]
        return cls(table)

    def __call__(self, monos: np.ndarray) -> np.ndarray:
        """Keys of the rows, shape (m,), uint64."""
        return self.table[monos].sum(axis=1, dtype=np.uint64)
