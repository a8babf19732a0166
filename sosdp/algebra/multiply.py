"""Products of polynomials, as arrays of terms; large ones in bounded memory and without a loop over terms.

Three ways, by size. Few term pairs: all at once. Few monomials for so many pairs: FLINT, in integers.
Otherwise the range of the 64-bit keys is cut into intervals: as both factors are sorted by key, the pairs
whose product falls into an interval are found by bisection, so that each interval is merged on its own, in
cache, and the results only need to be strung together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra import terms as merging
from sosdp.algebra.coefficients import (
    Scale,
    are_exact,
    lows,
    object_array,
    scale_of,
    settle,
    whole,
)
from sosdp.algebra.sparse import Sparse
from sosdp.algebra.terms import distinct_ids

_AT_ONCE = 1 << 17  # term pairs handled without further ado
_INTERVAL = 1 << 18  # term pairs aimed at for one interval of keys: what the cache holds
_SLOT_BITS = 18  # of the table into which the keys of one interval are hashed
_FLINT_GAIN = 64  # term pairs for each term of the product from which on FLINT is worth the conversion
_EXACT_FLOAT = 53  # bits

Terms = tuple[np.ndarray, np.ndarray, np.ndarray]


def multiply(
    left: Sparse, right: Sparse, a: np.ndarray, b: np.ndarray, scale: Scale, checked: bool = False
) -> Terms:
    """Monomials, coefficients and keys of the product of two polynomials that are not constant.

    ``a``, ``b``: their coefficients, both exact or both floats; ``scale``: that of the result, which tells
    that floats round nothing and int64 does not overflow. ``checked``: floats for which it does not, of
    factors with one term; Rounded if something would be. Zero coefficients may remain.
    """
    small, large = (left, right) if a.size <= b.size else (right, left)
    a, b = (a, b) if a.size <= b.size else (b, a)
    if checked:
        low = (lows(a)[:, None] + lows(b)).reshape(-1)
        with np.errstate(over="ignore"):
            if not are_exact((a[:, None] * b).reshape(-1), low).all():
                raise merging.Rounded
    return _multiply(small, large, a, b, scale)


def _multiply(small: Sparse, large: Sparse, a: np.ndarray, b: np.ndarray, scale: Scale) -> Terms:
    pairs = a.size * b.size
    if a.dtype == b.dtype == np.int64 and not scale.fits_integers:
        a = a.astype(object)
    if pairs <= _AT_ONCE:
        keys = (small.keys[:, None] + large.keys).reshape(-1)
        first, keys, coefs = merging.merge(
            keys,
            (a[:, None] * b).reshape(-1),
            None,
            lambda: (small.second_keys[:, None] + large.second_keys).reshape(-1),
        )
        i = first // b.size
        return _rows(small.monos[i], large.monos[first - i * b.size]), coefs, keys
    exact = a.dtype != np.float64
    in_floats = not exact or (a.dtype == b.dtype == np.int64 and scale.bits <= _EXACT_FLOAT)
    ids = distinct_ids(np.concatenate([small.monos.reshape(-1), large.monos.reshape(-1)]))
    degree = small.degree + large.degree
    if math.comb(ids.size + degree, degree) * _FLINT_GAIN <= pairs and _are_integers(a, b, scale):
        return _by_flint(small, large, a, b, ids)
    monos, coefs, keys = _by_intervals(small, large, a, b, in_floats)
    return mono.trim(monos), coefs, keys


def _rows(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    monos = np.concatenate([left, right], axis=1)
    monos.sort(axis=1)
    return monos


def _are_integers(a: np.ndarray, b: np.ndarray, scale: Scale) -> bool:
    """Whether the numbers are integers, or floats whose products and sums are floats."""
    if np.float64 in (a.dtype, b.dtype):
        return scale.fits_floats
    return all(c.dtype == np.int64 or all(type(v) is int for v in c.tolist()) for c in (a, b))


def _by_flint(small: Sparse, large: Sparse, a: np.ndarray, b: np.ndarray, ids: np.ndarray) -> Terms:
    """The product of integers, or of floats times powers of two, by FLINT, whose dense algorithms win where
    few terms come of many pairs."""
    import flint

    context = flint.fmpz_mpoly_ctx.get([f"x{k}" for k in range(ids.size)], flint.Ordering.lex)
    factors, unit = [], 0
    for terms, coefs in ((small, a), (large, b)):
        if coefs.dtype == np.float64:
            own = scale_of(coefs)
            coefs, unit = whole(coefs, own), unit + own.unit
        rows = map(tuple, mono.exponents(terms.monos, ids).tolist())
        factors.append(context.from_dict(dict(zip(rows, coefs.tolist()))))
    product = factors[0] * factors[1]
    values = [int(c) for c in product.coeffs()]
    monos = mono.from_exponents(
        np.array(product.monoms(), dtype=np.int64).reshape(len(values), ids.size), ids
    )
    keys = mono.keys(monos)
    order = mono.key_order(keys)
    if a.dtype == np.float64:
        coefs = np.ldexp(np.array(values, dtype=np.float64), unit)
    else:
        coefs = settle(object_array(values))
    return monos[order], coefs[order], keys[order]


# ---------------------------------------------------------------------- intervals of keys


@dataclass(frozen=True)
class _Batch:
    """All pairs (i, j) whose key lies in one interval that begins at ``low``, ordered by i."""

    low: int
    counts: np.ndarray  # pairs of each i
    j: np.ndarray

    def rows_of(self, positions: np.ndarray) -> np.ndarray:
        """The i of the pairs at these positions."""
        if positions.size * 16 > self.j.size:
            return np.repeat(np.arange(self.counts.size), self.counts)[positions]
        return np.searchsorted(np.cumsum(self.counts), positions, side="right")


def _by_intervals(small: Sparse, large: Sparse, a: np.ndarray, b: np.ndarray, in_floats: bool) -> Terms:
    """The product, one interval of keys after another. ``in_floats``: float64 holds the sums exactly."""
    parts: list[Terms] = []
    pieces = -(-a.size * b.size // _INTERVAL)
    slots = _Slots(pieces) if in_floats else None
    for batch in _batches(small.keys, large.keys, pieces):
        keys = np.repeat(small.keys, batch.counts) + large.keys[batch.j]
        products = np.repeat(a, batch.counts) * b[batch.j]
        second = np.repeat(small.second_keys, batch.counts) + large.second_keys[batch.j]
        first, keys, coefs = (
            slots.merge(batch.low, keys, products, second)
            if slots
            else merging.merge(keys, products, None, second.view)
        )
        i = batch.rows_of(first)
        parts.append((_rows(small.monos[i], large.monos[batch.j[first]]), coefs, keys))
    monos, coefs, keys = (np.concatenate(arrays) for arrays in zip(*parts))
    return monos, coefs, keys


def _batches(left: np.ndarray, right: np.ndarray, pieces: int) -> Iterator[_Batch]:
    """All pairs in batches by the interval, one of ``pieces``, that holds ``left[i] + right[j]`` modulo
    2**64.

    For each i the j that belong to an interval are consecutive, cyclically.
    """
    if pieces < 2:
        counts = np.full(left.size, right.size)
        yield _Batch(0, counts, np.tile(np.arange(right.size), left.size))
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
            j = np.arange(total)
            j += np.repeat(start - (np.cumsum(counts) - counts), counts)
            np.subtract(j, right.size, out=j, where=j >= right.size)
            yield _Batch(edges[k - 1], counts, j)
        low, start = high, stop


class _Slots:
    """Adds up equal keys of one interval by hashing: several times faster than sorting, and verified.

    A key goes to the slot that its leading bits within the interval name. Where two different keys meet in a
    slot, all pairs but those of one key are sorted instead.
    """

    def __init__(self, pieces: int) -> None:
        width = -(-(1 << 64) // pieces)
        self.shift = np.uint64(max(0, (width - 1).bit_length() - _SLOT_BITS))
        self.key_in = np.zeros(1 << _SLOT_BITS, dtype=np.uint64)
        self.pair_in = np.zeros(1 << _SLOT_BITS, dtype=np.int64)
        self.second_in = np.zeros(1 << _SLOT_BITS, dtype=np.uint64)

    def merge(self, low: int, keys: np.ndarray, products: np.ndarray, second: np.ndarray) -> Terms:
        """As ``terms.merge``: a representative of each key, the sorted keys, the sums."""
        slot = ((keys - np.uint64(low)) >> self.shift).astype(np.int64)
        self.key_in[slot] = keys
        self.pair_in[slot] = np.arange(keys.size)
        self.second_in[slot] = second
        collides = self.key_in[slot] != keys
        if np.count_nonzero((self.second_in[slot] != second) > collides):
            raise mono.KeyCollision
        collisions = np.flatnonzero(collides)
        weights = products.astype(np.float64)
        weights[collisions] = 0.0
        sums = np.bincount(slot, weights=weights)
        used = np.flatnonzero(sums)
        first, result = self.pair_in[used], self.key_in[used]
        coefs = sums[used] if products.dtype == np.float64 else np.rint(sums[used]).astype(products.dtype)
        if collisions.size:
            others, more, extra = merging.merge(
                keys[collisions], products[collisions], None, second[collisions].view
            )
            result = np.concatenate([result, more])
            order = np.argsort(result)
            first = np.concatenate([first, collisions[others]])[order]
            result, coefs = result[order], np.concatenate([coefs, extra])[order]
        return first, result, coefs
