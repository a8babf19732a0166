"""From blocks to one sparse matrix, from which every form of the relaxation is a transposition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.polynomial import Polynomial
from ...conic.svec import SQRT2, triangle
from ...reduction.quotient import NO_QUOTIENT, Quotient
from ...reduction.rows import distinct_rows
from .identity import Block, EqualityRows, Identity


class _Collector:
    """Gathers (row, key, value) triples, then makes one sort of all keys."""

    def __init__(self, keys: Callable[[np.ndarray], np.ndarray]) -> None:
        self.keys = keys
        self.rows: list[np.ndarray] = []
        self.raw: list[np.ndarray] = []
        self.values: list[np.ndarray] = []
        self.factors: list[tuple[np.ndarray, ...]] = []  # what the monomial of each entry is a product of
        self.scales: list[np.ndarray] = []
        self.height = 0

    def products(
        self, left: np.ndarray, right: np.ndarray, pair: tuple, poly: Polynomial, rows, scale
    ) -> None:
        """Entries ``left[i] * right[j] * term`` for the pairs (i, j) and every term of the polynomial."""
        i, j = pair
        raw = self.keys(left)[i] + self.keys(right)[j]
        coefs = poly.coefs.astype(float)
        terms = coefs.size
        if terms == 1 and mono.degrees(poly.monos)[0] == 0:
            self.raw.append(raw)
            self.values.append(scale * coefs[0])
            self.rows.append(rows)
        else:
            self.raw.append((raw[:, None] + self.keys(poly.monos)[None, :]).reshape(-1))
            self.values.append((scale[:, None] * coefs[None, :]).reshape(-1))
            self.rows.append(np.repeat(rows, terms))
        self.factors.append((left, i, right, j, poly.monos))
        self.scales.append(scale)

    def multiples(self, equalities: list[EqualityRows], height: int) -> int:
        """Entries of every equality times each of its multipliers, one row a multiplier from row ``height``
        on; returns the row after the last. All equalities at once: there can be hundreds of short ones."""
        if not equalities:
            return height
        counts = np.array([e.multipliers.shape[0] for e in equalities])
        terms = np.array([e.polynomial.coefs.size for e in equalities])
        self.scales += [np.ones(count) for count in counts]
        left = mono.concatenate([e.multipliers for e in equalities])
        right = mono.concatenate([e.polynomial.monos for e in equalities])
        coefs = np.concatenate([e.polynomial.coefs.astype(float) for e in equalities])
        length = np.repeat(terms, counts)  # entries of each row
        i = np.repeat(np.arange(left.shape[0]), length)
        first = np.repeat(np.cumsum(terms) - terms, counts) - (np.cumsum(length) - length)
        j = np.arange(i.size) + first[i]
        self.raw.append(self.keys(left)[i] + self.keys(right)[j])
        self.values.append(coefs[j])
        self.rows.append(i + height)
        self.factors.append((left, i, right, j, mono.constant(1)))
        return height + left.shape[0]

    def check(self, expected: np.ndarray, column: np.ndarray) -> None:
        """Compare an independent key of every entry with that of its column: no collision went unnoticed."""
        start = 0
        for raw, (left, i, right, j, terms) in zip(self.raw, self.factors, strict=True):
            pair = mono.second_keys(left)[i] + mono.second_keys(right)[j]
            found = (pair[:, None] + mono.second_keys(terms)[None, :]).reshape(-1)
            if not np.array_equal(found, expected[column[start : start + raw.size]]):
                raise ArithmeticError(
                    "two different monomials share a 64-bit key (probability about 1e-8): "
                    "declare the variables in another order"
                )
            start += raw.size

    def representatives(self, positions: np.ndarray) -> np.ndarray:
        """Monomials of the entries at the given positions of the concatenated arrays (sorted positions)."""
        bounds = np.cumsum([r.size for r in self.raw])
        cut = np.searchsorted(positions, bounds)
        parts, start = [], 0
        for k, stop in enumerate(cut):
            if stop > start:
                left, i, right, j, terms = self.factors[k]
                local = positions[start:stop] - (bounds[k] - self.raw[k].size)
                pair, term = np.divmod(local, terms.shape[0])
                factors = [left[i[pair]], right[j[pair]]]
                if terms.shape[0] > 1 or terms.any():
                    factors.append(terms[term])
                parts.append(np.concatenate(factors, axis=1))
            start = stop
        rows = mono.concatenate(parts)
        rows.sort(axis=1)
        return mono.trim(rows)


def assemble(
    blocks: list[Block],
    equalities: list[EqualityRows],
    target: Polynomial,
    unknowns: list[Polynomial],
    quotient: Quotient = NO_QUOTIENT,
    ids: np.ndarray | None = None,
) -> Identity:
    """Assemble the identity; cost: one sort of all entries (1 ms at a block of side 66, 90 ms at side
    969)."""
    collect, heights = gather(blocks, equalities, target, unknowns, ids)
    data, indices, indptr, columns = _columns(collect, heights[-1], quotient)
    return partition((data, indices, indptr), columns, heights, blocks, equalities, quotient)


def gather(
    blocks: list[Block],
    equalities: list[EqualityRows],
    target: Polynomial,
    unknowns: list[Polynomial],
    ids: np.ndarray | None,
) -> tuple[_Collector, tuple[int, int, int]]:
    """Every entry of the matrix, unsorted, and where rows of Gram matrices, of equalities, and all end."""
    one = mono.constant(1)
    zero_index = np.zeros(1, dtype=np.int64)
    keys = _key_function(blocks, equalities, target, unknowns, ids)
    collect = _Collector(keys)
    height = 0
    for block in blocks:
        row, column = triangle(block.side)
        rows = np.arange(height, height + row.size)
        scale = np.where(row == column, 1.0, SQRT2)
        if block.entry is None:
            collect.products(block.basis, block.basis, (row, column), block.multiplier, rows, scale)
        else:
            matrix = block.multiplier
            for a in range(matrix.shape[0]):
                for b in range(matrix.shape[0]):
                    here = np.flatnonzero((block.entry[row] == a) & (block.entry[column] == b))
                    if here.size and len(matrix[a, b].coefs):
                        pair = (row[here], column[here])
                        collect.products(
                            block.basis, block.basis, pair, matrix[a, b], rows[here], scale[here]
                        )
        height += row.size
    gram_height = height
    height = collect.multiples(equalities, height)
    free_end = height
    for poly in [target, *unknowns]:
        if len(poly.coefs):
            collect.products(one, one, (zero_index, zero_index), poly, np.array([height]), np.ones(1))
        height += 1
    return collect, (gram_height, free_end, height)


def partition(
    matrix: tuple[np.ndarray, np.ndarray, np.ndarray],
    columns: np.ndarray,
    heights: tuple[int, int, int],
    blocks: list[Block],
    equalities: list[EqualityRows],
    quotient: Quotient,
) -> Identity:
    """The identity whose rows are those of one matrix (data, indices, indptr), cut at the heights."""
    data, indices, indptr = matrix
    gram_height, free_end, height = heights

    def part(low: int, high: int) -> sp.csr_matrix:
        start, stop = indptr[low], indptr[high]
        pointers = indptr[low : high + 1] - start
        return sp.csr_matrix(
            (data[start:stop], indices[start:stop], pointers), shape=(high - low, columns.shape[0])
        )

    free = part(gram_height, free_end)
    if free_end > gram_height:
        free, equalities = _without_repetition(free, equalities)
    target_row = free_end
    wanted = np.zeros(columns.shape[0])
    entries = np.arange(indptr[target_row], indptr[target_row + 1])
    wanted[indices[entries]] = data[entries]
    return Identity(
        blocks=tuple(blocks),
        equalities=tuple(equalities),
        columns=columns,
        gram=part(0, gram_height),
        free=free,
        target=wanted,
        unknown=part(target_row + 1, height),
        quotient=quotient,
    )


def _without_repetition(
    free: sp.csr_matrix, equalities: list[EqualityRows]
) -> tuple[sp.csr_matrix, list[EqualityRows]]:
    """Equality rows without zeros and multiples of earlier rows: one multiplier does the work of both."""
    kept, _, _ = distinct_rows(free)
    if kept.size == free.shape[0]:
        return free, equalities
    rows, start = [], 0
    for equality in equalities:
        stop = start + equality.multipliers.shape[0]
        here = kept[(kept >= start) & (kept < stop)] - start
        if here.size:
            rows.append(EqualityRows(equality.index, equality.polynomial, equality.multipliers[here]))
        start = stop
    return sp.csr_matrix(free[kept]), rows


def _key_function(blocks, equalities, target, unknowns, ids):
    if ids is None or ids.size > 62:
        return mono.keys
    top = max([target.degree, *(u.degree for u in unknowns), 0])
    for block in blocks:
        if block.side:
            multiplier = block.multiplier
            high = multiplier.degree if block.entry is None else max(p.degree for p in multiplier.reshape(-1))
            top = max(top, 2 * int(mono.degrees(block.basis).max()) + high)
    # a width is at least the degree of every row, and for bases equal to it
    top = max([top, *(e.multipliers.shape[1] + e.polynomial.degree for e in equalities)])
    return mono.RadixKeys.build(ids, int(top)) or mono.keys


def place(
    collect: _Collector, quotient: Quotient
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """Of every entry its row, its column (-1: vanishes) and the factor from rewriting (None: all 1), and the
    monomials of the columns."""
    raw = np.concatenate(collect.raw)
    rows = np.concatenate(collect.rows)
    first, column = mono.group(raw)
    order = np.argsort(first)
    sorted_monos = collect.representatives(first[order])
    monos = np.empty_like(sorted_monos)
    monos[order] = sorted_monos
    if collect.keys is mono.keys:
        collect.check(mono.second_keys(monos), column)
    if quotient.trivial:
        return rows, column, None, monos
    coefs, normal = quotient.normal_form(monos)
    alive = coefs != 0
    monos, back = mono.unique(normal[alive])
    lookup = np.full(coefs.size, -1)
    lookup[alive] = back
    return rows, lookup[column], coefs[column], mono.trim(monos)


def _columns(
    collect: _Collector, height: int, quotient: Quotient
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Data, column indices and row pointers of the whole matrix, and the monomials of its columns."""
    if not collect.raw:
        return (
            np.zeros(0),
            np.zeros(0, dtype=np.int32),
            np.zeros(height + 1, dtype=np.int32),
            mono.constant(0),
        )
    rows, column, factor, monos = place(collect, quotient)
    values = np.concatenate(collect.values)
    if factor is not None:
        keep = column >= 0
        rows, column, values = rows[keep], column[keep], (values * factor)[keep]
    if quotient.trivial and (np.diff(rows) >= 0).all():
        # rows in order and no two terms of a row alike: this is the matrix already
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=height))])
        return values, column.astype(np.int32), pointers.astype(np.int32), monos
    matrix = sp.csr_matrix((values, (rows, column)), shape=(height, monos.shape[0]))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix.data, matrix.indices, matrix.indptr, monos
