"""From blocks to one sparse matrix, from which every form of the relaxation is a transposition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.coefficients import to_float
from ...algebra.polynomial import Polynomial
from ...algebra.products import Products
from ...conic.svec import SQRT2, triangle
from ...reduction.quotient import NO_QUOTIENT, Quotient
from ...reduction.rows import distinct_rows
from .entries import TINY, Coefficients, Entries
from .identity import Block, EqualityRows, Identity, RoundingErrors

_EXACT_ENTRIES = 300_000  # sums that are done in fractions: about a second


class _Collector:
    """Gathers (row, monomial, coefficient) triples, then sorts all monomials at once; sqrt(2) comes last."""

    def __init__(self, ids: np.ndarray | None) -> None:
        self.monomials = Products(ids)
        self.rows: list[np.ndarray] = []
        self.values: list[np.ndarray] = []
        self.sources: list[Coefficients] = []  # of every part: its coefficients, before rounding
        self.terms: list[np.ndarray | None] = []  # of every entry: its term (None: the entries run through)

    def products(
        self, left: np.ndarray, right: np.ndarray, pair: tuple, poly: Polynomial, rows, error=None
    ) -> None:
        """Entries ``left[i] * right[j] * term`` for the pairs (i, j) and every term of the polynomial."""
        i, j = pair
        source = Coefficients(poly.coefs, error)
        terms = source.floats.size
        if not terms:
            return  # a constraint 0 >= 0
        self.values.append(np.broadcast_to(source.floats, (i.size, terms)).reshape(-1))
        self.rows.append(rows if terms == 1 else np.repeat(rows, terms))
        self.monomials.add(left, i, right, j, poly.monos)
        self.sources.append(source)
        self.terms.append(None)

    def multiples(self, equalities: list[EqualityRows], height: int) -> int:
        """Entries of every equality times each of its multipliers, one row a multiplier from row ``height``
        on; returns the row after the last. All equalities at once: there can be hundreds of short ones."""
        if not equalities:
            return height
        counts = np.array([e.multipliers.shape[0] for e in equalities])
        terms = np.array([e.polynomial.coefs.size for e in equalities])
        left = mono.concatenate([e.multipliers for e in equalities])
        right = mono.concatenate([e.polynomial.monos for e in equalities])
        source = Coefficients.together([e.polynomial.coefs for e in equalities])
        length = np.repeat(terms, counts)  # entries of each row
        i = np.repeat(np.arange(left.shape[0]), length)
        first = np.repeat(np.cumsum(terms) - terms, counts) - (np.cumsum(length) - length)
        j = np.arange(i.size) + first[i]
        self.values.append(source.floats[j])
        self.rows.append(i + height)
        self.monomials.add(left, i, right, j, mono.constant(1))
        self.sources.append(source)
        self.terms.append(j)
        return height + left.shape[0]


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
    collect, scale, heights = gather(blocks, equalities, target, unknowns, ids)
    entries, columns = merged_entries(collect, scale, heights, quotient)
    return partition(entries, columns, heights, blocks, equalities, quotient)


def gather(
    blocks: list[Block],
    equalities: list[EqualityRows],
    target: Polynomial,
    unknowns: list[Polynomial],
    ids: np.ndarray | None,
) -> tuple[_Collector, np.ndarray, tuple[int, int, int]]:
    """Every entry of the matrix, unsorted, the factor of every row (1 or sqrt(2)), and where rows of Gram
    matrices, of equalities, and all end."""
    one = mono.constant(1)
    zero_index = np.zeros(1, dtype=np.int64)
    collect = _Collector(ids)
    scales: list[np.ndarray] = []
    height = 0
    for block in blocks:
        row, column = triangle(block.side)
        rows = np.arange(height, height + row.size)
        scales.append(np.where(row == column, 1.0, SQRT2))
        if block.entry is None:
            pair = (row, column)
            collect.products(block.basis, block.basis, pair, block.multiplier, rows, block.error)
        else:
            matrix = block.multiplier
            for a in range(matrix.shape[0]):
                for b in range(matrix.shape[0]):
                    here = np.flatnonzero((block.entry[row] == a) & (block.entry[column] == b))
                    if here.size and len(matrix[a, b].coefs):
                        pair = (row[here], column[here])
                        collect.products(block.basis, block.basis, pair, matrix[a, b], rows[here])
        height += row.size
    gram_height = height
    height = collect.multiples(equalities, height)
    free_end = height
    for poly in [target, *unknowns]:
        if len(poly.coefs):
            collect.products(one, one, (zero_index, zero_index), poly, np.array([height]))
        height += 1
    scales.append(np.ones(height - gram_height))
    return collect, np.concatenate(scales), (gram_height, free_end, height)


def partition(
    entries: Entries,
    columns: np.ndarray,
    heights: tuple[int, int, int],
    blocks: list[Block],
    equalities: list[EqualityRows],
    quotient: Quotient,
) -> Identity:
    """The identity whose rows are those of one matrix, cut at the heights."""
    gram_height, free_end, height = heights
    width = columns.shape[0]
    free, free_error = entries.part(gram_height, free_end, width)
    if free_end > gram_height:
        free, free_error, equalities = _without_repetition(free, free_error, equalities)
    gram, gram_error = entries.part(0, gram_height, width)
    unknown, unknown_error = entries.part(free_end + 1, height, width)
    target, target_error = entries.row(free_end, width)
    errors = None
    if entries.error is not None:
        assert target_error is not None
        errors = RoundingErrors(gram_error, free_error, target_error, unknown_error)
    return Identity(
        blocks=tuple(blocks),
        equalities=tuple(equalities),
        columns=columns,
        gram=gram,
        free=free,
        target=target,
        unknown=unknown,
        quotient=quotient,
        errors=errors,
    )


def _without_repetition(
    free: sp.csr_matrix, error: sp.csr_matrix | None, equalities: list[EqualityRows]
) -> tuple[sp.csr_matrix, sp.csr_matrix | None, list[EqualityRows]]:
    """Equality rows without zeros and multiples of earlier rows: one multiplier does the work of both. (Of
    rounded ones this is not known.)"""
    kept, _, _ = distinct_rows(free)
    if kept.size == free.shape[0]:
        return free, error, equalities
    rounded = [Coefficients(e.polynomial.coefs).rounded for e in equalities]
    if any(rounded):
        counts = [e.multipliers.shape[0] for e in equalities]
        kept = np.union1d(kept, np.flatnonzero(np.repeat(rounded, counts)))
    if kept.size == free.shape[0]:
        return free, error, equalities
    rows, start = [], 0
    for equality in equalities:
        stop = start + equality.multipliers.shape[0]
        here = kept[(kept >= start) & (kept < stop)] - start
        if here.size:
            rows.append(EqualityRows(equality.index, equality.polynomial, equality.multipliers[here]))
        start = stop
    return sp.csr_matrix(free[kept]), None if error is None else sp.csr_matrix(error[kept]), rows


def place(
    collect: _Collector, quotient: Quotient
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """Of every entry its row, its column (-1: vanishes) and the factor from rewriting (None: all 1), and the
    monomials of the columns."""
    rows = np.concatenate(collect.rows)
    monos, column = collect.monomials.distinct()
    if quotient.trivial:
        return rows, column, None, monos
    coefs, normal = quotient.normal_form(monos)
    alive = coefs != 0
    monos, back = mono.unique(normal[alive])
    lookup = np.full(coefs.size, -1)
    lookup[alive] = back
    return rows, lookup[column], coefs[column], mono.trim(monos)


def merged_entries(
    collect: _Collector, scale: np.ndarray, heights: tuple[int, int, int], quotient: Quotient
) -> tuple[Entries, np.ndarray]:
    """The whole matrix with a bound on what its entries differ from the true ones by, and the monomials of
    its columns."""
    height = heights[-1]
    if not collect.rows:
        return Entries.empty(height), mono.constant(0)
    rows, column, factor, monos = place(collect, quotient)
    values = np.concatenate(collect.values)
    uncertain = any(source.uncertain for source in collect.sources)
    if factor is None and not uncertain and (np.diff(rows) >= 0).all():
        # rows in order and no two terms of a row alike: this is the matrix already
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=height))])
        return Entries(values * scale[rows], column.astype(np.int32), pointers.astype(np.int32)), monos
    if factor is not None:
        values = values * factor
    width = monos.shape[0]
    kept = column >= 0
    matrix = sp.csr_matrix((values[kept], (rows[kept], column[kept])), shape=(height, width))
    matrix.sum_duplicates()
    error = None
    repeats = matrix.nnz < int(np.count_nonzero(kept))
    if uncertain or (repeats and not _sums_are_exact(collect, factor)):
        matrix, error = _with_errors(collect, rows, column, factor, matrix, heights[1])
        error = sp.csr_matrix(sp.diags_array(scale) @ error)
    matrix.data *= np.repeat(scale, np.diff(matrix.indptr))
    matrix.eliminate_zeros()
    return Entries(matrix.data, matrix.indices, matrix.indptr, error), monos


def _sums_are_exact(collect: _Collector, factor: np.ndarray | None) -> bool:
    """Whether no sum of at most 2**20 coefficients can round: they are multiples of one power of two, small
    ones. (Factors of rewriting are 0, 1 and -1.)"""
    if sum(v.size for v in collect.values) > 1 << 20 or not all(s.exact for s in collect.sources):
        return False
    coefs = np.concatenate([source.floats for source in collect.sources])
    largest = float(np.abs(coefs).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest == 0.0
    step = 2.0 ** (np.frexp(largest)[1] - 32.0)  # 32 digits, and room for 2**20 summands
    multiples = coefs / step
    return bool(step > 1e-280 and (multiples == np.rint(multiples)).all())


def _with_errors(
    collect: _Collector,
    rows: np.ndarray,
    column: np.ndarray,
    factor: np.ndarray | None,
    matrix: sp.csr_matrix,
    data_row: int,
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """The matrix with the sums that matter done exactly, and bounds on the errors of all entries.

    Exact sums: those of the objective and the unknowns (rows from ``data_row`` on), and those of coefficients
    that are exact but no floats. The others are sums of floats, with the usual bound on their rounding.
    """
    kept = np.flatnonzero(column >= 0)
    width = matrix.shape[1]
    code = rows[kept].astype(np.int64) * width + column[kept]
    owner = np.searchsorted(_codes(matrix), code)  # every entry's place among the merged ones
    values = np.concatenate(collect.values)[kept]
    slack = np.concatenate(
        [
            source.error[np.tile(np.arange(source.floats.size), size // source.floats.size)]
            if terms is None
            else source.error[terms]
            for source, terms, size in zip(
                collect.sources, collect.terms, (r.size for r in collect.rows), strict=True
            )
        ]
    )[kept]
    count = np.bincount(owner, minlength=matrix.nnz)
    size = np.bincount(owner, weights=np.abs(values), minlength=matrix.nnz)
    # a sum of k floats: k - 1 roundings; one more for what each coefficient was read from
    error = np.bincount(owner, weights=slack, minlength=matrix.nnz)
    error += np.where(count > 1, (count + 1.0) * 2.0**-52 * size, 0.0)
    hard = np.concatenate(
        [np.full(r.size, s.object) for s, r in zip(collect.sources, collect.rows, strict=True)]
    )[kept]
    hard |= rows[kept] >= data_row
    chosen = np.flatnonzero(hard & (count[owner] > 1))
    if 0 < chosen.size <= _EXACT_ENTRIES:
        starts = np.cumsum([0, *(r.size for r in collect.rows)])
        where = kept[chosen]
        part = np.searchsorted(starts, where, side="right") - 1
        sums: dict[int, Fraction] = {}
        errors: dict[int, float] = {}
        signs = np.ones(where.size, dtype=int) if factor is None else factor[where].astype(int)
        for k, p, e, s in zip(where.tolist(), part.tolist(), owner[chosen].tolist(), signs.tolist()):
            source, terms = collect.sources[p], collect.terms[p]
            local = k - int(starts[p])
            term = local % source.floats.size if terms is None else int(terms[local])
            sums[e] = sums.get(e, Fraction(0)) + s * source.fraction(term)
            errors[e] = errors.get(e, 0.0) + source.reading(term)
        whole = set(sums) - set(owner[~hard].tolist())  # no part of the sum is missing here
        for e in whole:
            matrix.data[e] = rounded = to_float(sums[e])
            exactly = Fraction(rounded) == sums[e]
            error[e] = errors[e] * (1 + 1e-12) + (0.0 if exactly else 2.0**-52 * abs(rounded) + TINY)
    found = sp.csr_matrix((error, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
    found.eliminate_zeros()
    return matrix, found


def _codes(matrix: sp.csr_matrix) -> np.ndarray:
    """Row number times width plus column of every entry, ascending."""
    matrix.sort_indices()
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows * matrix.shape[1] + matrix.indices
