"""Products, powers and linear combinations of polynomials, each merged once; nothing is rounded."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.algebra import monomials as mono
from sosdp.algebra import terms as merging
from sosdp.algebra.coefficients import (
    NO_SCALE,
    Number,
    are_exact,
    as_coefs,
    by_squaring,
    floats,
    lows,
    multiplied,
)
from sosdp.algebra.coefficients import power as number_power
from sosdp.algebra.multiply import multiply
from sosdp.algebra.sparse import P, Sparse, domains, finished, total

_CHUNK = 1 << 22  # term pairs held in memory at a time
_MOST_PRODUCTS = 10**9  # products of two terms in one power: about a minute
_LARGEST_DEGREE = 1 << 24  # a row of a monomial array is as long as the degree


def scaled(p: P, number: Number) -> P:
    """A polynomial times a number."""
    if number == 1 and (type(number) is int or p.from_floats):
        return p
    if number == 0:
        return p.of_number(0)
    if p.from_floats or type(number) is float:
        return _times_binary(p, p.of_number(number))
    known, factor = p.ratio(), Fraction(number)
    if known is None:
        return p._make(*merging.finish(p.monos, p.coefs * factor, p.keys))
    return p._of_ratio(p.monos, multiplied(known[0], factor.numerator), p.keys, known[1] * factor.denominator)


def _times_binary(p: P, factor: P) -> P:
    """A polynomial times a constant one, where floats occur."""
    own, other = p.scale(), factor.scale()
    both = own.times(other)
    if both.bits >= NO_SCALE.bits:
        return scaled(p.as_exact(), factor.as_exact().constant)
    if own.fits_floats and other.fits_floats and both.fits_floats:
        return p._make(p.monos, floats(p.coefs) * float(factor.constant), p.keys, both)
    if p._whole is None and p.coefs.dtype == np.float64 and other.fits_floats:
        with np.errstate(over="ignore"):
            coefs = p.coefs * float(factor.constant)
        if are_exact(coefs, lows(p.coefs) + other.unit).all():
            return p._make(p.monos, coefs, p.keys)
    k = p.whole(both._replace(unit=own.unit)) * factor.whole(other).item()
    return p._of_whole(p.monos, k, p.keys, both)


def quotient(p: P, number: Number) -> P:
    """A polynomial over a number that is not zero."""
    if not p.is_exact or type(number) is float:
        inverse = p.of_number(1 / Fraction(number))
        if inverse.scale() != NO_SCALE:  # a power of two
            return _times_binary(p, inverse)
    return scaled(p.as_exact(), 1 / Fraction(number))


def product(left: P, right: P) -> P:
    """The product."""
    if left.is_constant:
        return scaled(right, left.constant)
    if right.is_constant:
        return scaled(left, right.constant)
    fewer = min(left.keys.size, right.keys.size)
    for domain in domains([[left], [right]], fewer):
        if domain.checked and fewer > 1:
            continue
        try:
            a, b = domain.arrays
            result = multiply(left, right, a, b, domain.scale, domain.checked)
        except merging.Rounded:
            continue
        return finished(type(left), *result, domain)
    raise AssertionError("the last domain rounds nothing")


def power(base: P, exponent: int) -> P:
    """The power with a non-negative integer exponent, by repeated squaring."""
    if exponent == 0:
        return base.of_number(1)
    if base.keys.size <= 1:
        if not base:
            return base
        if base.degree * exponent > _LARGEST_DEGREE:
            raise ValueError(f"a power of degree {base.degree * exponent} is too large")
        factor = number_power(base.coefs.tolist()[0], exponent)
        if base.is_constant:
            return base.of_number(factor)
        row = np.repeat(base.monos, exponent, axis=1)
        return base._make(*merging.finish(row, as_coefs([factor]), mono.keys(row)))
    result: P = by_squaring(base, exponent, product, lambda p: p.keys.size, _MOST_PRODUCTS)
    return result


class Stack:
    """The terms of several polynomials in one set of arrays, with the position of their owner."""

    def __init__(self, polynomials: Sequence[Sparse]) -> None:
        self.counts = np.array([p.keys.size for p in polynomials], dtype=np.int64)
        self.starts = np.concatenate(([0], np.cumsum(self.counts)))
        self.monos = mono.concatenate([p.monos for p in polynomials])
        self.keys = np.concatenate([np.zeros(0, dtype=np.uint64), *(p.keys for p in polynomials)])
        self.owners = np.repeat(np.arange(len(polynomials)), self.counts)

    @cached_property
    def second_keys(self) -> np.ndarray:
        """Keys by which the first ones are checked where terms are merged."""
        return mono.second_keys(self.monos)


def inner(left: Sequence[P], right: Sequence[P], kind: type[P]) -> P:
    """Sum of the products ``left[k] * right[k]``, merged once (in chunks when there are many term pairs)."""
    if not left:
        return kind.of_number(0)
    pairs = [p.keys.size * q.keys.size for p, q in zip(left, right)]
    if sum(pairs) > _CHUNK:
        if len(left) == 1:
            return product(left[0], right[0])
        middle = len(left) // 2
        halves = [inner(left[k], right[k], kind) for k in (slice(middle), slice(middle, None))]
        return total(halves, kind)
    a, b = Stack(left), Stack(right)
    owner, offset = mono.unfolded(np.array(pairs, dtype=np.int64))
    row, column = np.divmod(offset, b.counts[owner])
    i, j = a.starts[owner] + row, b.starts[owner] + column
    for domain in domains([left, right], i.size):
        ca, cb = domain.arrays
        low = lows(ca)[i] + lows(cb)[j] if domain.checked else None
        with np.errstate(over="ignore"):
            products = ca[i] * cb[j]
        try:
            first, keys, coefs = merging.merge(
                a.keys[i] + b.keys[j], products, None, lambda: a.second_keys[i] + b.second_keys[j], low
            )
        except merging.Rounded:
            continue
        return finished(kind, mono.multiply(a.monos[i[first]], b.monos[j[first]]), coefs, keys, domain)
    raise AssertionError("the last domain rounds nothing")


def combinations(a: Any, polynomials: Sequence[P], kind: type[P]) -> list[P]:
    """The linear combinations of the polynomials with the rows of ``a`` as weights."""
    height = a.shape[0]
    rows, columns, weights = _entries(a)
    stack = Stack(polynomials)
    if not weights.size or not stack.keys.size:
        return [kind.of_number(0)] * height
    keys, first, place = np.unique(stack.keys, return_index=True, return_inverse=True)
    if not np.array_equal(stack.second_keys[first][place], stack.second_keys):
        raise mono.KeyCollision
    numbers = kind._make(mono.constant(weights.size), weights, np.zeros(weights.size, dtype=np.uint64))
    for domain in domains([[numbers], polynomials], len(polynomials)):
        w, coefs = domain.arrays
        results = []
        step = max(1, _CHUNK // keys.size)
        try:
            for start in range(0, height, step):
                here = slice(*np.searchsorted(rows, [start, start + step]))
                shape = min(step, height - start), len(polynomials)
                block = rows[here] - start, columns[here], w[here]
                if domain.checked or object in (w.dtype, coefs.dtype):
                    parts = _product(*block, stack, place, coefs, domain.checked)
                else:
                    table = sp.csr_matrix((coefs, (stack.owners, place)), shape=(shape[1], keys.size))
                    result = sp.csr_matrix((block[2], block[:2]), shape=shape) @ table
                    result.sort_indices()
                    row = np.repeat(np.arange(shape[0]), np.diff(result.indptr))
                    parts = row, result.indices, result.data
                ends = np.searchsorted(parts[0], np.arange(shape[0] + 1))
                for low, high in itertools.pairwise(ends.tolist()):
                    where = parts[1][low:high]
                    values = parts[2][low:high].copy()
                    results.append(finished(kind, stack.monos[first[where]], values, keys[where], domain))
        except merging.Rounded:
            continue
        return results
    raise AssertionError("the last domain rounds nothing")


def _entries(a: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, ascending, columns and numbers of a matrix, dense or CSR, without zeros."""
    if sp.issparse(a):
        a = sp.csr_matrix(a)
        a.sum_duplicates()
        rows, columns, numbers = (
            np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)),
            a.indices,
            as_coefs(a.data),
        )
    else:
        rows, columns = (axis.reshape(-1) for axis in np.indices(a.shape))
        numbers = as_coefs(a.reshape(-1))
    used = numbers != 0
    return rows[used], columns[used], numbers[used]


def _product(
    rows: np.ndarray,
    columns: np.ndarray,
    weights: np.ndarray,
    stack: Stack,
    place: np.ndarray,
    coefs: np.ndarray,
    checked: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, places of monomials and numbers of a matrix product, entry by entry."""
    entry, term = mono.unfolded(stack.counts[columns])
    term += stack.starts[columns][entry]
    width = int(place.max()) + 1
    code = rows[entry] * width + place[term]
    low = lows(weights)[entry] + lows(coefs)[term] if checked else None
    with np.errstate(over="ignore"):
        products = weights[entry] * coefs[term]
    _, result, sums = merging.merge(code.astype(np.uint64), products, code[:, None], low=low)
    return *np.divmod(result.astype(np.int64), width), sums
