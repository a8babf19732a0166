"""Sums and matrix products of arrays of polynomials: each result is merged once, not in a chain of sums."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from sosdp.algebra import sparse
from sosdp.algebra.arithmetic import combinations, inner
from sosdp.algebra.coefficients import object_array
from sosdp.algebra.polynomial import Polynomial, coerce
from sosdp.algebra.sparse import union_of_ids as union_of_ids


def total(polynomials: Iterable[Any]) -> Polynomial:
    """Sum of polynomials and numbers, merged once."""
    return sparse.total([coerce(p) for p in polynomials], Polynomial)


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
        return _numbers_times(a, b)
    if not _has_polynomials(b):
        return _numbers_times(b.T, a.T).T
    rows, columns = ([[coerce(p) for p in line] for line in lines.tolist()] for lines in (a, b.T))
    products = object_array(inner(row, column, Polynomial) for row in rows for column in columns)
    return products.reshape(len(rows), len(columns))


def _has_polynomials(a: np.ndarray) -> bool:
    return a.dtype == object and any(isinstance(p, Polynomial) for p in a.reshape(-1).tolist())


def matmul_sparse(a: Any, b: np.ndarray) -> np.ndarray:
    """A scipy sparse matrix of numbers times an array of polynomials of one or two dimensions."""
    if b.ndim == 1:
        return matmul_sparse(a, b[:, None])[:, 0]
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not fit together")
    return _numbers_times(a.tocsr(), b)


def _numbers_times(a: Any, b: np.ndarray) -> np.ndarray:
    """Numbers (m, k), dense or CSR, times polynomials (k, n): one coefficient matrix for each column."""
    columns = [combinations(a, [coerce(p) for p in column], Polynomial) for column in b.T.tolist()]
    return object_array(itertools.chain(*columns)).reshape(b.shape[1], a.shape[0]).T
