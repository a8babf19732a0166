"""Products of polynomials, as arrays of terms; large ones in bounded memory and without a loop over terms.

Three ways, by size. Few term pairs: all at once. A small box of exponents: mixed-radix codes of the exponents and
``np.bincount``. Otherwise the range of the 64-bit keys is cut into intervals: as both factors are sorted by key,
the pairs whose product falls into an interval are found by bisection, so that each interval is merged on its own, in
cache, and the results only need to be strung together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra import terms as merging
from sosdp.algebra.coefficients import INT_LIMIT, object_array, peak

_AT_ONCE = 1 << 17  # term pairs handled without further ado
_INTERVAL = 1 << 18  # term pairs aimed at for one interval of keys: what the cache holds
_CHUNK = 1 << 22  # term pairs of one call of bincount
_BOX = 1 << 24  # largest box of exponents for the dense way
_EXACT_FLOAT = 1 << 53
_DENOMINATOR_BITS = 512

Terms = tuple[np.ndarray, np.ndarray, np.ndarray]


class HasTerms(Protocol):
    """Arrays of terms as a polynomial holds them."""

    @property
    def monos(self) -> np.ndarray:
        """Monomial rows."""

    @property
    def coefs(self) -> np.ndarray:
        """Coefficients."""

    @property
    def keys(self) -> np.ndarray:
        """Increasing keys of the rows."""


def multiply(left: HasTerms, right: HasTerms) -> Terms:
    """Monomials, coefficients and keys of the product of two polynomials that are not constant.

    ValueError if a float coefficient of the product is not finite.
    """
    small, large = (left, right) if left.coefs.size <= right.coefs.size else (right, left)
    pairs = small.coefs.size * large.coefs.size
    a, b = merging.common_kind(small.coefs, large.coefs)
    if pairs > 256 and a.dtype != np.float64 and (a.dtype == object or b.dtype == object):
        cleared = _clear_denominators(a, b)
        if cleared is not None:
            a, b, denominator = cleared
            monos, coefs, keys = _multiply(small, large, a, b)
            return monos, object_array(Fraction(c, denominator) for c in coefs.tolist()), keys
    return _multiply(small, large, a, b)


def _multiply(small: HasTerms, large: HasTerms, a: np.ndarray, b: np.ndarray) -> Terms:
    pairs = a.size * b.size
    bound = math.inf
    if a.dtype == np.int64 and b.dtype == np.int64:
        bound = (peak(a) or 0) * (peak(b) or 0) * a.size
        if bound >= INT_LIMIT:
            a = a.astype(object)
    with np.errstate(over="ignore", invalid="ignore"):  # infinities are reported by ``finish``
        if pairs <= _AT_ONCE:
            keys = np.add.outer(small.keys, large.keys).reshape(-1)
            first, keys, coefs = merging.merge(keys, np.multiply.outer(a, b).reshape(-1))
            i, j = np.divmod(first, b.size)
            return _rows(small.monos[i], large.monos[j]), coefs, keys
        if a.dtype != object and b.dtype != object:
            box = _Box.around(small.monos, large.monos)
            if box is not None and box.size <= pairs:
                return _dense(small, large, a, b, box, exact=a.dtype == np.int64 and bound >= _EXACT_FLOAT)
        monos, coefs, keys = _by_intervals(small, large, a, b)
        return mono.trim(monos), coefs, keys


def _rows(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    monos = np.concatenate([left, right], axis=1)
    monos.sort(axis=1)
    return monos


def _clear_denominators(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Integer coefficients and the denominator of the product; None without fractions or with too unlike ones."""
    scaled = []
    total = 1
    for coefs in (a, b):
        items = coefs.tolist()
        denominator = 1
        for c in items:
            denominator = math.lcm(denominator, c.denominator)
            if denominator.bit_length() > _DENOMINATOR_BITS:
                return None
        total *= denominator
        integers = [c.numerator * (denominator // c.denominator) for c in items]
        fits = all(-INT_LIMIT < c < INT_LIMIT for c in integers)
        scaled.append(np.array(integers, dtype=np.int64) if fits else object_array(integers))
    return (scaled[0], scaled[1], total) if total > 1 else None


# ---------------------------------------------------------------------- small boxes of exponents


class _Box:
    """Mixed-radix codes for the exponents of a product: additive, and small integers when the box is small."""

    def __init__(self, ids: np.ndarray, sides: np.ndarray) -> None:
        self.ids = ids
        self.sides = sides
        self.size = math.prod(sides.tolist())
        self.weights = np.concatenate(([1], np.cumprod(sides[:-1]))).astype(np.int64)

    @classmethod
    def around(cls, left: np.ndarray, right: np.ndarray) -> _Box | None:
        """The box that holds the exponents of all products; None when it has too many cells."""
        ids = np.union1d(left, right)
        ids = ids[ids > 0]
        if ids.size > 24:
            return None
        sides = 1 + sum(mono.exponents(m, ids).max(axis=0) for m in (left, right))
        return cls(ids, sides) if math.prod(sides.tolist()) <= _BOX else None

    def codes(self, monos: np.ndarray) -> np.ndarray:
        """Code of each row, int64."""
        return mono.exponents(monos, self.ids) @ self.weights

    def monomials(self, codes: np.ndarray) -> np.ndarray:
        """The monomial rows with these codes."""
        exponents = codes[:, None] // self.weights % self.sides
        return mono.from_exponents(exponents, self.ids)


def _dense(small: HasTerms, large: HasTerms, a: np.ndarray, b: np.ndarray, box: _Box, exact: bool) -> Terms:
    """The product over a box of exponents. ``exact``: the sums may exceed 2**53, bincount's floats will not do."""
    left, right = box.codes(small.monos), box.codes(large.monos)
    result = np.zeros(box.size, dtype=np.int64 if exact else np.float64)
    step = max(1, max(_CHUNK, box.size) // b.size)
    for start in range(0, a.size, step):
        where = np.add.outer(left[start : start + step], right).reshape(-1)
        values = np.multiply.outer(a[start : start + step], b).reshape(-1)
        if exact:
            np.add.at(result, where, values)
        else:
            result += np.bincount(where, weights=values, minlength=box.size)
    codes = np.flatnonzero(result)
    coefs = result[codes]
    if a.dtype == np.int64 and not exact:
        coefs = np.rint(coefs).astype(np.int64)
    monos = box.monomials(codes)
    keys = mono.keys(monos)
    order = np.argsort(keys)
    return monos[order], coefs[order], keys[order]


# ---------------------------------------------------------------------- intervals of keys


def _by_intervals(small: HasTerms, large: HasTerms, a: np.ndarray, b: np.ndarray) -> Terms:
    """The product, one interval of keys after another."""
    parts: list[Terms] = []
    for i, j in _pairs_by_key(small.keys, large.keys):
        keys = small.keys[i] + large.keys[j]
        order = _order(keys)
        ordered = keys[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        products = (a[i] * b[j])[order]
        coefs = np.add.reduceat(products, starts) if starts.size < keys.size else products
        keep = coefs != 0
        if not keep.all():
            starts, coefs = starts[keep], coefs[keep]
        first = order[starts]
        parts.append((_rows(small.monos[i[first]], large.monos[j[first]]), coefs, ordered[starts]))
    if not parts:
        return small.monos[:0], a[:0], small.keys[:0]
    return (
        np.concatenate([p[0] for p in parts]),
        np.concatenate([p[1] for p in parts]),
        np.concatenate([p[2] for p in parts]),
    )


def _pairs_by_key(left: np.ndarray, right: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions (i, j) of all pairs in batches of about ``_INTERVAL``, the batches in the order of the keys' sums.

    For each i the j with ``left[i] + right[j]`` (modulo 2**64) in an interval are consecutive, cyclically.
    """
    pieces = -(-left.size * right.size // _INTERVAL)
    if pieces < 2:
        yield tuple(np.divmod(np.arange(left.size * right.size), right.size))  # type: ignore[misc]
        return
    edges = [k * (1 << 64) // pieces for k in range(pieces)]
    low = np.uint64(0) - left
    first = start = np.searchsorted(right, low)
    for k in range(1, pieces + 1):
        # the interval [low, high) modulo 2**64, for each i; it passes through zero where low > high
        high = np.uint64(edges[k]) - left if k < pieces else np.uint64(0) - left
        stop = np.searchsorted(right, high) if k < pieces else first
        counts = np.where(low > high, right.size - start + stop, stop - start)
        total = int(counts.sum())
        if total:
            i = np.repeat(np.arange(left.size), counts)
            j = np.arange(total) + np.repeat(start - (np.cumsum(counts) - counts), counts)
            j[j >= right.size] -= right.size
            yield i, j
        low, start = high, stop


def _order(keys: np.ndarray) -> np.ndarray:
    """A permutation that sorts the keys.

    Sorting values is several times faster than sorting positions, so the leading bits of the keys and the position
    share one integer; where those bits tie for different keys, which is rare, positions are sorted after all.
    """
    bits = int(keys.size - 1).bit_length()
    low = keys.min()
    spread = int(keys.max() - low).bit_length()
    shift = np.uint64(max(0, spread + bits - 64))
    packed = ((keys - low) >> shift) << np.uint64(bits)
    packed |= np.arange(keys.size, dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64((1 << bits) - 1)).astype(np.int64)
    packed >>= np.uint64(bits)
    ordered = keys[order]
    if np.any((packed[1:] == packed[:-1]) & (ordered[1:] != ordered[:-1])):
        return np.argsort(keys)
    return order
