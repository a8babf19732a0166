"""From blocks to one sparse matrix, from which every form of the relaxation is a transposition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.coefficients import binary, settle
from ...algebra.polynomial import Polynomial
from ...algebra.products import Products
from ...conic.svec import roots, triangle
from ...reduction.quotient import NO_QUOTIENT, Quotient
from ...reduction.rows import distinct_rows
from .entries import Coefficients, Entries, merged
from .identity import Block, EqualityRows, Identity, slices_of


class _Collector:
    """Gathers (row, monomial, coefficient) triples, then sorts all monomials at once; sqrt(2) comes last."""

    def __init__(self, ids: np.ndarray | None) -> None:
        self.monomials = Products(ids)
        self.rows: list[np.ndarray] = []
        self.values: list[np.ndarray] = []
        self.sources: list[Coefficients] = []  # of every part: its coefficients, before rounding
        self.terms: list[np.ndarray | None] = []  # of every entry: its term (None: the entries run through)

    def products(
        self, left: np.ndarray, right: np.ndarray, pair: tuple, poly: Polynomial, rows: np.ndarray
    ) -> None:
        """Entries ``left[i] * right[j] * term`` for the pairs (i, j) and every term of the polynomial."""
        i, j = pair
        source = Coefficients(poly.coefs)
        terms = source.floats.size
        if not terms:
            return  # a constraint 0 >= 0
        self.values.append(np.broadcast_to(source.floats, (i.size, terms)).reshape(-1))
        self.rows.append(rows if terms == 1 else np.repeat(rows, terms))
        self.monomials.add(left, i, right, j, poly.monos)
        self.sources.append(source)
        self.terms.append(None)

    def numbers(self, entries: np.ndarray, signs: np.ndarray | None) -> np.ndarray:
        """What the values of some entries, by position, were rounded from, times these signs."""
        ends = np.cumsum([r.size for r in self.rows])
        part = np.searchsorted(ends, entries, side="right")
        found = np.empty(entries.size, dtype=object)
        for k in np.unique(part).tolist():
            here = np.flatnonzero(part == k)
            local = entries[here] - (ends[k] - self.rows[k].size)
            terms = self.terms[k]
            source = self.sources[k].given
            found[here] = binary(source)[local % source.size if terms is None else terms[local]].tolist()
        found = found if signs is None else found * signs
        return settle(found)

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
        scales.append(roots(block.side))
        if block.entry is None:
            pair = (row, column)
            collect.products(block.basis, block.basis, pair, block.multiplier, rows)
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
    free = entries.part(gram_height, free_end, width)
    if free_end > gram_height:
        free, equalities = _without_repetition(free, equalities)
    return Identity(
        blocks=tuple(blocks),
        equalities=tuple(equalities),
        columns=columns,
        gram=entries.part(0, gram_height, width),
        free=free,
        target=entries.part(free_end, free_end + 1, width).toarray()[0],
        unknown=entries.part(free_end + 1, height, width),
        quotient=quotient,
        rounded=entries.rounded,
    )


def _without_repetition(
    free: sp.csr_matrix, equalities: list[EqualityRows]
) -> tuple[sp.csr_matrix, list[EqualityRows]]:
    """Equality rows without zeros and multiples of earlier rows: one multiplier does the work of both. (Of
    rounded ones this is not known.)"""
    kept, _, _ = distinct_rows(free)
    if kept.size == free.shape[0]:
        return free, equalities
    rounded = [not Coefficients(e.polynomial.coefs).exact for e in equalities]
    if any(rounded):
        counts = [len(e.multipliers) for e in equalities]
        kept = np.union1d(kept, np.flatnonzero(np.repeat(rounded, counts)))
    if kept.size == free.shape[0]:
        return free, equalities
    rows = []
    for equality, part in zip(equalities, slices_of([e.multipliers for e in equalities]), strict=True):
        here = kept[(kept >= part.start) & (kept < part.stop)] - part.start
        if here.size:
            rows.append(EqualityRows(equality.index, equality.polynomial, equality.multipliers[here]))
    return sp.csr_matrix(free[kept]), rows


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
    """The whole matrix, every entry the exact sum of its coefficients, rounded once, times its row's factor,
    and the monomials of its columns."""
    height = heights[-1]
    if not collect.rows:
        return Entries.empty(height), mono.constant(0)
    rows, column, factor, monos = place(collect, quotient)
    values = np.concatenate(collect.values)
    if factor is None and (np.diff(rows) >= 0).all():
        # rows in order and no two terms of a row alike: this is the matrix already
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=height))])
        return Entries(values * scale[rows], column.astype(np.int32), pointers.astype(np.int32)), monos
    if factor is not None:
        values = values * factor
    kept = np.flatnonzero(column >= 0)

    def numbers(entries: np.ndarray) -> np.ndarray:
        signs = None if factor is None else factor[kept[entries]].astype(np.int64)
        return collect.numbers(kept[entries], signs)

    def exact() -> np.ndarray:
        parts = zip(collect.sources, collect.rows, strict=True)
        return np.concatenate([np.full(r.size, s.exact) for s, r in parts])[kept]

    shape = height, monos.shape[0]
    result = merged(rows[kept], column[kept], values[kept], shape, exact, numbers)
    return replace(result, data=result.data * np.repeat(scale, np.diff(result.indptr))), monos
