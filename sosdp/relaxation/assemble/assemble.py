"""From blocks to one sparse matrix, from which every form of the relaxation is a transposition."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.coefficients import binary, settle
from ...algebra.polynomial import Polynomial
from ...algebra.products import Products
from ...algebra.word_tables import Combination
from ...conic.svec import roots, stored, triangle
from ...reduction.quotient import NO_QUOTIENT, Quotient
from ...reduction.rows import distinct_rows
from .entries import Coefficients, Entries, merged
from .identity import Block, EqualityRows, Identity, slices_of


class Multiplied(Protocol):
    """What products of letters of one kind are: gathered part by part, then told apart all at once."""

    def add(
        self, left: np.ndarray, i: np.ndarray, right: np.ndarray, j: np.ndarray, terms: np.ndarray
    ) -> None:
        """The products of the pairs (i, j), each with every row of ``terms``, pair by pair."""

    def placed(self) -> tuple[np.ndarray | None, np.ndarray, np.ndarray | None, np.ndarray]:
        """Of every term of a product that product's number (None: one term each), its column (-1: vanishes)
        and factor (None: all 1), and the columns."""


class Collector:
    """Gathers (row, monomial, coefficient) triples, then sorts all monomials at once; sqrt(2) comes last."""

    def __init__(self, monomials: Multiplied) -> None:
        self.monomials = monomials
        self.height = 0
        self.rows: list[np.ndarray] = []
        self.values: list[np.ndarray] = []
        self.sources: list[Coefficients] = []  # of every part: its coefficients, before rounding
        self.terms: list[np.ndarray | None] = []  # of every entry: its term (None: the entries run through)

    def products(
        self,
        left: np.ndarray,
        right: np.ndarray,
        pair: tuple,
        poly: Polynomial | Combination,
        rows: np.ndarray | None = None,
    ) -> None:
        """Entries ``left[i] * right[j] * term`` for the pairs (i, j) and every term of the polynomial, in
        these rows, or in new ones."""
        i, j = pair
        if rows is None:
            rows = np.arange(self.height, self.height + i.size)
            self.height += i.size
        source = Coefficients(poly.coefs)
        terms = source.floats.size
        self.values.append(np.broadcast_to(source.floats, (i.size, terms)).reshape(-1))
        self.rows.append(rows if terms == 1 else np.repeat(rows, terms))
        self.monomials.add(left, i, right, j, poly.monos)
        self.sources.append(source)
        self.terms.append(None)

    def numbers(self, entries: np.ndarray, factor: np.ndarray | None) -> np.ndarray:
        """What the values of some entries, by position, were rounded from, times these numbers."""
        ends = np.cumsum([r.size for r in self.rows])
        part = np.searchsorted(ends, entries, side="right")
        result = np.empty(entries.size, dtype=object)
        for k in np.unique(part).tolist():
            here = np.flatnonzero(part == k)
            local = entries[here] - (ends[k] - self.rows[k].size)
            terms = self.terms[k]
            source = self.sources[k].given
            result[here] = binary(source)[local % source.size if terms is None else terms[local]].tolist()
        return settle(result if factor is None else result * factor)

    def multiples(self, equalities: list[EqualityRows]) -> None:
        """Entries of every equality times each of its multipliers, a new row each. All equalities at once:
        there can be hundreds of short ones."""
        if not equalities:
            return
        counts = np.array([e.multipliers.shape[0] for e in equalities])
        terms = np.array([e.polynomial.coefs.size for e in equalities])
        left = mono.concatenate([e.multipliers for e in equalities])
        right = mono.concatenate([e.polynomial.monos for e in equalities])
        source = Coefficients.together([e.polynomial.coefs for e in equalities])
        i, j = mono.unfolded(np.repeat(terms, counts))  # entries of each row
        j += np.repeat(np.cumsum(terms) - terms, counts)[i]
        self.values.append(source.floats[j])
        self.rows.append(i + self.height)
        self.monomials.add(left, i, right, j, mono.constant(1))
        self.sources.append(source)
        self.terms.append(j)
        self.height += left.shape[0]


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
    collect = Collector(Products(ids, None if quotient.trivial else quotient.normal_form))
    scale, heights = gather(collect, blocks, equalities, target, unknowns)
    entries, columns = merged_entries(collect, scale)
    return partition(entries, columns, heights, blocks, equalities, quotient)


def gather(
    collect: Collector,
    blocks: list[Block],
    equalities: list[EqualityRows],
    target: Polynomial,
    unknowns: list[Polynomial],
) -> tuple[np.ndarray, tuple[int, int, int]]:
    """Collect every entry of the matrix; the factor of every row (1 or sqrt(2)), and where rows of Gram
    matrices, of equalities, and all end."""
    one, only = mono.constant(1), (np.zeros(1, dtype=np.int64),) * 2
    scales: list[np.ndarray] = []
    for block in blocks:
        row, column = triangle(block.side)
        scales.append(roots(block.side))
        if block.entry is None:
            collect.products(block.basis, block.basis, (row, column), block.multiplier)
        else:
            matrix = block.multiplier
            for a in range(matrix.shape[0]):
                for b in range(matrix.shape[0]):
                    here = np.flatnonzero((block.entry[row] == a) & (block.entry[column] == b))
                    if here.size and len(matrix[a, b].coefs):
                        pair = (row[here], column[here])
                        rows = collect.height + here
                        collect.products(block.basis, block.basis, pair, matrix[a, b], rows)
            collect.height += row.size
    gram_height = collect.height
    collect.multiples(equalities)
    free_end = collect.height
    for poly in [target, *unknowns]:
        collect.products(one, one, only, poly)
    scales.append(np.ones(collect.height - gram_height))
    return np.concatenate(scales), (gram_height, free_end, collect.height)


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
    free, target = entries.part(gram_height, free_end, width), slice(*entries.indptr[free_end : free_end + 2])
    if free_end > gram_height:
        free, equalities = _without_repetition(free, equalities)
    return Identity(
        blocks=tuple(blocks),
        equalities=tuple(equalities),
        columns=columns,
        gram=entries.part(0, gram_height, width),
        free=free,
        target=np.bincount(entries.indices[target], entries.data[target], minlength=width),
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
    rows = []
    for equality, part in zip(equalities, slices_of([e.multipliers for e in equalities]), strict=True):
        here = kept[(kept >= part.start) & (kept < part.stop)] - part.start
        if here.size:
            rows.append(EqualityRows(equality.index, equality.polynomial, equality.multipliers[here]))
    return sp.csr_matrix(free[kept]), rows


def merged_entries(collect: Collector, scale: np.ndarray) -> tuple[Entries, np.ndarray]:
    """The whole matrix, every entry the exact sum of its coefficients, rounded once, times its row's factor,
    and its columns."""
    height = collect.height
    if not collect.rows:
        return Entries.empty(height), mono.constant(0)
    entry, column, factor, columns = collect.monomials.placed()
    rows, values = np.concatenate(collect.rows), np.concatenate(collect.values)
    if factor is None and (np.diff(rows) >= 0).all():
        # rows in order and no two terms of a row alike: this is the matrix already
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=height))])
        data = stored(values, scale[rows])
        return Entries(data, column.astype(np.int32), pointers.astype(np.int32)), columns
    kept = np.flatnonzero(column >= 0)
    source = kept if entry is None else entry[kept]
    factor = None if factor is None else factor[kept]

    def numbers(entries: np.ndarray) -> np.ndarray:
        return collect.numbers(source[entries], None if factor is None else factor[entries])

    def exact() -> np.ndarray:
        parts = zip(collect.sources, collect.rows, strict=True)
        return np.concatenate([np.full(r.size, s.exact) for s, r in parts])[source]

    values = values[source]
    if factor is not None and (factor.dtype == object or np.abs(factor).max(initial=0) > 1):
        products = Coefficients(numbers(np.arange(kept.size)))  # which may not be floats where factors are
        values, exact = products.floats, lambda: np.full(kept.size, products.exact)
    elif factor is not None:
        values = values * factor
    result = merged(rows[source], column[kept], values, (height, columns.shape[0]), exact, numbers)
    return replace(result, data=stored(result.data, np.repeat(scale, np.diff(result.indptr)))), columns
