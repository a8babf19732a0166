"""Rows of a matrix that repeat another one up to a factor: multipliers of equalities that add nothing.

Multiplying ``x**2 = x`` and ``x*y = z`` by all monomials produces the same equation many times, and some rows
vanish under the rewriting rules. Dropping them changes neither the cone nor the bound.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..algebra import monomials as mono


def distinct_rows(
    matrix: sp.csr_matrix, digits: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that are neither zero nor multiples of an earlier row.

    Returns ``kept`` (row numbers), ``owner`` (m,), the position in ``kept`` of the row that each one repeats
    or -1 for a zero row, and ``factor`` (m,) with ``row = factor * kept row``. Rows repeat one another when
    they are equal entry by entry, divided by their first entry; ``digits``: after rounding to so many digits.
    Candidates are found by hashing, then compared exactly. Cost: one pass over the entries and one sort.
    """
    matrix = sp.csr_matrix(matrix, copy=True)
    matrix.sum_duplicates()
    if digits is not None and matrix.nnz:
        matrix.data[np.abs(matrix.data) < 10.0**-digits * float(np.abs(matrix.data).max())] = 0.0
    matrix.eliminate_zeros()
    height = matrix.shape[0]
    owner, factor = np.full(height, -1), np.ones(height)
    counts = np.diff(matrix.indptr)
    filled = np.flatnonzero(counts)
    if filled.size == 0:
        return filled, owner, factor
    lead = matrix.data[matrix.indptr[:-1][filled]]
    ratio = matrix.data / np.repeat(lead, counts[filled])
    if digits is not None:
        ratio = np.round(ratio, digits)
    ratio += 0.0  # no negative zeros among the bit patterns
    code = ratio.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    place = mono.weights(matrix.shape[1])[1:][matrix.indices]
    mixed = (code ^ (code >> np.uint64(29))) * place + place
    hashes = np.add.reduceat(mixed, matrix.indptr[:-1][filled])
    first, group = mono.group_numbers(hashes)
    if first.size == filled.size:  # the usual case: nothing to compare
        owner[filled] = np.arange(filled.size)
        return filled, owner, factor
    leader = np.full(first.size, filled.size)
    np.minimum.at(leader, group, np.arange(filled.size))
    # a hash proposes, equality of the rows disposes: a row unlike its leader stands for itself
    normal = sp.csr_matrix((ratio, matrix.indices, matrix.indptr), shape=matrix.shape)
    unlike = abs(normal[filled] - normal[filled[leader[group]]]).sum(axis=1)
    target = np.where(np.asarray(unlike).ravel() == 0, leader[group], np.arange(filled.size))
    kept, position = np.unique(target, return_inverse=True)
    owner[filled] = position
    factor[filled] = lead / lead[target]
    return filled[kept], owner, factor
