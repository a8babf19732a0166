"""Sums and matrix products of arrays of polynomials: each result is merged once, not in a chain of sums."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.algebra import monomials as mono
from sosdp.algebra import terms as merging
from sosdp.algebra.coefficients import INT_LIMIT, as_coefs, as_number, floats, object_array, peak
from sosdp.algebra.polynomial import (
    Polynomial,
    add_at_once,
    coerce,
    constant,
    small_with_floats,
    within_floats,
)

_CHUNK = 1 << 22  # term pairs held in memory at a time


def union_of_ids(polynomials: list[Polynomial]) -> np.ndarray:
    """Sorted ids of all variables that occur in the polynomials, int32."""
    parts = [p.monos.reshape(-1) for p in polynomials]
    return merging.distinct_ids(np.concatenate(parts) if parts else np.zeros(0, dtype=mono.MONOMIAL))


class Stack:
    """The terms of several polynomials in one set of arrays, with the position of their owner.

    All exact, or all float or in integers below 2**53.
    """

    def __init__(self, polynomials: list[Polynomial]) -> None:
        self.counts = np.array([p.coefs.size for p in polynomials], dtype=np.int64)
        self.starts = np.concatenate(([0], np.cumsum(self.counts)))
        self.monos = mono.concatenate([p.monos for p in polynomials])
        self.keys = np.concatenate([np.zeros(0, dtype=np.uint64), *(p.keys for p in polynomials)])
        self.coefs = _concatenate_coefs([p.coefs for p in polynomials])
        self.owners = np.repeat(np.arange(len(polynomials)), self.counts)

    @cached_property
    def second_keys(self) -> np.ndarray:
        """Keys by which the first ones are checked where terms are merged."""
        return mono.second_keys(self.monos)


def _concatenate_coefs(parts: list[np.ndarray]) -> np.ndarray:
    if not parts:
        return np.zeros(0, dtype=np.int64)
    if any(c.dtype == np.float64 for c in parts):
        parts = [floats(c) for c in parts]
    elif any(c.dtype == object for c in parts):
        parts = [c.astype(object) for c in parts]
    return np.concatenate(parts)


def total(polynomials: list[Any]) -> Polynomial:
    """Sum of a list of polynomials, merged once."""
    items = [coerce(p) for p in polynomials]
    if not items:
        return constant(0)
    if len(items) == 1:
        return items[0]
    small = small_with_floats(items)
    if small is not False:
        stack = Stack(items)
        found = Polynomial._merged(mono.trim(stack.monos), stack.coefs, stack.keys)
        if small is None or within_floats(found.coefs):
            return found
    exact, floating = ([p for p in items if p.is_exact is kind] for kind in (True, False))
    return add_at_once(total(exact), total(floating))


def inner(left: list[Polynomial], right: list[Polynomial]) -> Polynomial:
    """Sum of the products ``left[k] * right[k]``, merged once (in chunks when there are many term pairs)."""
    if not left:
        return constant(0)
    small = small_with_floats([*left, *right])
    if small is False:
        return total([p * q for p, q in zip(left, right)])
    pairs = [p.coefs.size * q.coefs.size for p, q in zip(left, right)]
    if sum(pairs) > _CHUNK:
        if len(left) == 1:
            return left[0] * right[0]
        middle = len(left) // 2
        return inner(left[:middle], right[:middle]) + inner(left[middle:], right[middle:])
    a, b = Stack(left), Stack(right)
    counts = np.array(pairs, dtype=np.int64)
    offset = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    owner = np.repeat(np.arange(counts.size), counts)
    row, column = np.divmod(offset, b.counts[owner])
    i, j = a.starts[owner] + row, b.starts[owner] + column
    ca, cb = (floats(c) if small else c for c in (a.coefs, b.coefs))
    if ca.dtype == np.int64 and cb.dtype == np.int64:
        if (peak(ca) or 0) * (peak(cb) or 0) * max(i.size, 1) >= INT_LIMIT:
            ca = ca.astype(object)
    with np.errstate(over="ignore", invalid="ignore"):
        products = ca[i] * cb[j]
    first, keys, coefs = merging.merge(
        a.keys[i] + b.keys[j], products, None, lambda: a.second_keys[i] + b.second_keys[j]
    )
    monos = mono.multiply(a.monos[i[first]], b.monos[j[first]])
    monos, coefs, keys = merging.finish(monos, coefs, keys)
    if small and not within_floats(coefs):
        return total([p * q for p, q in zip(left, right)])
    return Polynomial._make(mono.trim(monos), coefs, keys)


def matmul(left: Any, right: Any) -> Any:
    """Matrix product with numpy's rules, either side numbers or polynomials (object arrays)."""
    left, right = np.asarray(left), np.asarray(right)
    if left.ndim == 0 or right.ndim == 0:
        raise ValueError("matmul: a scalar is not allowed; use * instead")
    a = left[None, :] if left.ndim == 1 else left
    b = right[:, None] if right.ndim == 1 else right
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: shapes {left.shape} and {right.shape} do not fit together")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    result = np.empty((*batch, a.shape[-2], b.shape[-1]), dtype=object)
    for index in np.ndindex(*batch):
        result[index] = _matmul_2d(a[index], b[index])
    if right.ndim == 1:
        result = result[..., 0]
    if left.ndim == 1:
        result = result[..., 0] if right.ndim == 1 else result[..., 0, :]
    return result if isinstance(result, np.ndarray) and result.ndim else np.asarray(result, dtype=object)[()]


def _matmul_2d(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if not _has_polynomials(a):
        return _numbers_times(_number_matrix(a), b)
    if not _has_polynomials(b):
        return _numbers_times(_number_matrix(b.T), a.T).T
    result = np.empty((a.shape[0], b.shape[1]), dtype=object)
    rows = [[coerce(p) for p in row] for row in a.tolist()]
    columns = [[coerce(p) for p in column] for column in b.T.tolist()]
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            result[i, j] = inner(row, column)
    return result


def _has_polynomials(a: np.ndarray) -> bool:
    return a.dtype == object and any(isinstance(p, Polynomial) for p in a.reshape(-1).tolist())


def _number_matrix(a: np.ndarray) -> np.ndarray:
    """A matrix of numbers in one of the coefficient dtypes, or, of exact numbers and floats, the numbers as
    they are; TypeError for anything else.
    """
    if a.dtype == object:
        items = [as_number(c) for c in a.reshape(-1).tolist()]
        if len({type(c) is float for c in items}) == 2 and None not in items:
            return object_array(items).reshape(a.shape)
    return as_coefs(a.reshape(-1)).reshape(a.shape)


def matmul_sparse(a: Any, b: np.ndarray) -> np.ndarray:
    """A scipy sparse matrix of numbers times an array of polynomials of one or two dimensions."""
    if b.ndim == 1:
        return matmul_sparse(a, b[:, None])[:, 0]
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not fit together")
    return _numbers_times(a.tocsr(), b)


def _numbers_times(a: Any, b: np.ndarray) -> np.ndarray:
    """Numbers (m, k), dense or CSR, times polynomials (k, n): one coefficient matrix for each column."""
    result = np.empty((a.shape[0], b.shape[1]), dtype=object)
    for j in range(b.shape[1]):
        result[:, j] = _combinations(a, [coerce(p) for p in b[:, j].tolist()])
    return result


def _combinations(a: Any, polynomials: list[Polynomial]) -> list[Polynomial]:
    """The linear combinations of the polynomials with the rows of ``a`` as weights."""
    if not polynomials:
        return [constant(0)] * a.shape[0]
    weights = a.data if sp.issparse(a) else a
    if weights.dtype.kind == "c":
        raise TypeError("polynomials are multiplied by real matrices, not complex ones")
    mixed = weights.dtype == object and any(type(c) is float for c in weights.reshape(-1).tolist())
    if mixed or weights.dtype.itemsize > 8 or weights.dtype == np.uint64:
        return _exact_combinations(a, polynomials)
    if sp.issparse(a) and not (a.dtype == np.float64 or a.dtype == np.int64):
        a = a.astype(np.float64 if a.dtype.kind == "f" else np.int64)
        weights = a.data
    if weights.dtype == np.float64 and not np.isfinite(weights).all():
        raise ValueError("a matrix that multiplies polynomials holds a NaN or an infinity")
    small = small_with_floats(polynomials, weights.reshape(-1))
    if small is False:
        return _exact_combinations(a, polynomials)
    stack = Stack(polynomials)
    coefs = stack.coefs
    weighted = a
    if small:
        coefs, a = floats(coefs), a.astype(np.float64)
    elif weights.dtype != np.float64 and (
        coefs.dtype == object or weights.dtype == object or _overflows(weights, coefs)
    ):
        return _exact_combinations(a, polynomials)
    keys, first, column = np.unique(stack.keys, return_index=True, return_inverse=True)
    if not np.array_equal(stack.second_keys[first][column], stack.second_keys):
        raise mono.KeyCollision
    monos = stack.monos[first]
    table = sp.csr_matrix((coefs, (stack.owners, column)), shape=(len(polynomials), keys.size))
    step = max(1, _CHUNK // max(keys.size, 1))
    results = []
    for start in range(0, a.shape[0], step):
        block = sp.csr_matrix(a[start : start + step])
        product = (block @ table).tocsr()
        product.sort_indices()
        for k in range(product.shape[0]):
            chosen = slice(product.indptr[k], product.indptr[k + 1])
            where = product.indices[chosen]
            parts = merging.finish(monos[where], product.data[chosen].copy(), keys[where])
            results.append(Polynomial._make(mono.trim(parts[0]), *parts[1:]))
    if small and weighted.dtype != np.float64 and not all(within_floats(p.coefs) for p in results):
        return _exact_combinations(weighted, polynomials)
    return results


def _overflows(weights: np.ndarray, coefs: np.ndarray) -> bool:
    return (peak(weights.reshape(-1)) or 0) * (peak(coefs) or 0) * max(coefs.size, 1) >= INT_LIMIT


def _exact_combinations(a: Any, polynomials: list[Polynomial]) -> list[Polynomial]:
    """Linear combinations one row at a time, every product and sum by the rules of polynomials."""
    rows = a.tocsr() if sp.issparse(a) else a
    results = []
    for k in range(a.shape[0]):
        pairs: Iterable[tuple[Any, int]]
        if sp.issparse(a):
            chosen = slice(rows.indptr[k], rows.indptr[k + 1])
            pairs = zip(rows.data[chosen].tolist(), rows.indices[chosen].tolist())
        else:
            pairs = ((c, i) for i, c in enumerate(rows[k].tolist()))
        results.append(total([polynomials[i] * as_number(c) for c, i in pairs if c != 0]))
    return results
