"""The identity of a relaxation in words, as the engine knows identities.

    target - gamma = sum <G, v* v> + sum <G_g, v* g v> + Re(mu u* h v) + (multipliers of constraints on the
    state)

holds as expectations: a column is the real part L of that of one class of words, or of i times words. Complex
data have squares of sums of words and of i times words: Gram matrices of twice the side. Entries are exact
sums, rounded once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
import scipy.sparse as sp

from ...algebra.coefficients import floats
from ...algebra.word_tables import Tables, as_rows, multiply
from ...algebra.words import MINUS, Terms, Word, order
from ...algebra.words import ONE as NUMBER_ONE
from ...conic.svec import position, roots, triangle
from ...reduction.quotient import NO_QUOTIENT
from ...reduction.term_sparsity import term_sparsity
from ..assemble.assemble import Collector, merged_entries, partition
from ..assemble.forced_zeros import consistent
from ..assemble.identity import ONE, Block, EqualityRows, Identity
from ..assemble.splitting import cut
from .bases import cliques, given_words, level_words
from .classes import Classes, WordProducts
from .statement import OperatorStatement
from .symmetry import with_letters_permuted

_MOST_MULTIPLIERS = 20_000
Groups = Sequence[list[int] | None]
SPARSITY = (None, "term", "correlative", "correlative+term")


@dataclass(frozen=True)
class Pair:
    """One multiplier of an equation: ``left* h right``, of which the real part is meant, or with ``power`` 1
    ``i left* h right``."""

    kind: str
    index: int
    left: Word
    right: Word
    power: int = 0


@dataclass(frozen=True, eq=False)
class Layout:
    """What the rows and columns of the identity stand for: ``pairs`` of its free rows, ``rows`` (tables'
    words) of its columns, the words of the whole basis; ``real``: whether L of i times a word may be
    taken as 0; ``cut``: what made the hierarchy smaller."""

    classes: Classes
    rows: np.ndarray
    pairs: tuple[Pair, ...]
    basis: tuple[Word, ...]
    real: bool
    cut: str

    @property
    def tables(self) -> Tables:
        """What the words of rows are."""
        return self.classes.tables

    @cached_property
    def _column(self) -> dict[tuple[int, ...], int]:
        return {row: k for k, row in enumerate(map(tuple, self.rows.tolist()))}

    def value(self, p: Terms, moments: np.ndarray) -> complex:
        """The expectation of a combination in normal form, NaN where it is not known."""
        middle, coefs = self.tables.combination(p)
        one = np.zeros_like(middle)
        return complex(self._expectations(one, middle, one, moments) @ floats(coefs))

    def matrix(self, words: Sequence[Word], moments: np.ndarray) -> np.ndarray:
        """The expectations of u* v for all words u and v, NaN where one is not known."""
        rows, n = self.tables.rows(words), len(words)
        left, right = np.repeat(rows, n, axis=0), np.tile(rows, (n, 1))
        return self._expectations(left, np.zeros_like(left), right, moments).reshape(n, n)

    def _expectations(
        self, left: np.ndarray, middle: np.ndarray, right: np.ndarray, moments: np.ndarray
    ) -> np.ndarray:
        """Those of ``left* middle right``, row by row; imaginary parts: L of ``(i left)* middle right``."""
        turned = left + (np.arange(self.tables.width) == 0)
        products = self.tables.sandwich(np.r_[left, turned], np.r_[middle, middle], np.r_[right, right])
        kept, column, factor = self.classes.represented(products.rows)
        known = [self._column.get(row, -1) for row in map(tuple, kept.tolist())]
        values = np.append(moments, np.nan)[known]
        values[self.real & (kept[:, 0] > 0)] = 0
        out = np.zeros(2 * len(left))
        weights = floats(multiply(products.values, factor))
        np.add.at(out, products.index, weights * np.append(values, 0.0)[column])
        return out[: len(left)] + 1j * out[len(left) :]


@dataclass(frozen=True, eq=False)
class _Part:
    """A Gram matrix before it is cut: its kind, its words, and the polynomial between them."""

    kind: str
    index: int
    words: list[Word]
    between: Terms


def assembled(
    statement: OperatorStatement, level: int | str, basis: object, sparsity: str | None
) -> tuple[Identity, Layout]:
    """The identity, and what its rows and columns are. ValueError for a level too small or options
    unknown."""
    if sparsity not in SPARSITY:
        raise ValueError(
            f"sparsity={sparsity!r} is not known; choose one of {', '.join(map(repr, SPARSITY))}"
        )
    groups = [*cliques(statement)] if sparsity and "correlative" in sparsity else [None]
    parts, whole = _parts(statement, level, basis, groups)
    top = max(len(w) for p in parts if p.kind == "sos" for w in p.words)
    pairs = _equations(statement, top, basis is not None, whole, groups)
    classes = Classes(Tables(statement.algebra), statement.tracial, statement.group)
    tables, collect = classes.tables, Collector(WordProducts(classes))
    blocks, scales = [], []
    for part in parts:
        index = () if part.index < 0 else (part.index,)
        rows = tables.rows(part.words)
        doubled = not statement.real and len(rows) > 1
        if doubled:  # squares of sums of words and of i times them
            rows = np.concatenate([rows, tables.rows(part.words, 1)])
        scales.append(roots(len(rows)) / (1 + doubled))
        collect.products(rows, rows, triangle(len(rows)), tables.combination(part.between))
        blocks.append(Block(part.kind, index, as_rows(part.words * (1 + doubled)), ONE))
    gram_height = collect.height
    for (kind, k), group in groupby(pairs, lambda pair: (pair.kind, pair.index)):
        chosen = list(group)
        h = statement.equalities[k] if kind == "equality" else statement.state_equalities[k]
        left, right = tables.rows([q.left for q in chosen]), tables.rows([q.right for q in chosen])
        right[:, 0] = [q.power for q in chosen]
        each = np.arange(len(chosen))
        collect.products(left, right, (each, each), tables.combination(h))
    one, only = tables.rows([()]), (np.zeros(1, dtype=np.int64),) * 2
    minus_one: Terms = {(): MINUS}
    for p in (statement.target, minus_one):
        collect.products(one, one, only, tables.combination(p))
    heights = gram_height, collect.height - 2, collect.height
    entries, columns = merged_entries(collect, np.concatenate([*scales, np.ones(len(pairs) + 2)]))
    rounded = entries.rounded or not all(source.exact for source in collect.sources)
    equalities = [EqualityRows(k, ONE, as_rows([()])) for k in range(len(pairs))]
    letters = as_rows(tables.decoded(columns))
    identity = partition(replace(entries, rounded=rounded), letters, heights, blocks, equalities, NO_QUOTIENT)
    if sparsity and "term" in sparsity:
        identity = cut(identity, _by_terms(identity, [len(part.words) for part in parts]))
    kept = tuple(pairs[e.index] for e in identity.equalities)
    layout = Layout(classes, columns, kept, tuple(whole), statement.real, _hierarchy(sparsity, statement))
    return _reduced(replace(identity, hermitian=True), layout, statement)


def _reduced(identity: Identity, layout: Layout, statement: OperatorStatement) -> tuple[Identity, Layout]:
    """Without elements of bases whose Gram entries must vanish, and with the blocks of the symmetry."""
    missing = (identity.target != 0) & (identity.gram.getnnz(axis=0) + identity.free.getnnz(axis=0) == 0)
    if missing.any():
        word = layout.tables.decoded(layout.rows[np.flatnonzero(missing)[:1]])[0]
        raise ValueError(
            f"the level is too small: {statement.algebra.show(word)} in the objective is no product of two "
            "words of the basis"
        )
    smaller, columns = consistent(identity)  # and without moments that the cuts left to nobody
    layout = replace(layout, rows=layout.rows[columns])
    return with_letters_permuted(smaller, statement), layout


def _hierarchy(sparsity: str | None, statement: OperatorStatement) -> str:
    words = [
        f"sparsity {sparsity!r}" if sparsity else "",
        f"{len(statement.group)} symmetries" if statement.group else "",
    ]
    return ", ".join(w for w in words if w)


def _parts(
    statement: OperatorStatement, level: int | str, basis: object, groups: Groups
) -> tuple[list[_Part], list[Word]]:
    """Every Gram matrix whole, and the words of all plain ones."""
    a = statement.algebra
    if basis is not None:
        if groups != [None]:
            raise ValueError("basis=... cannot be combined with cliques")
        whole = [given_words(statement, basis)]  # type: ignore[arg-type]
    else:
        whole = [level_words(a, level, statement.squared(group)) for group in groups]
    parts = [_Part("sos", -1, words, {(): NUMBER_ONE}) for words in whole]
    for k, g in enumerate(statement.inequalities):
        letters = {i for w in g for i in w}
        half = max(statement.lengths(g)) if statement.squares else (max(len(w) for w in g) + 1) // 2
        for group, words in zip(groups, whole, strict=True):
            if group is None or letters <= set(group):
                least = max(max(len(w) for w in words) - half, 0)
                chosen = [w for w in words if len(w) <= least]
                if basis is None:
                    chosen = level_words(a, least, statement.squared(group))
                parts.append(_Part("inequality", k, chosen, g))
    parts += [_Part("expectation", k, [()], p) for k, p in enumerate(statement.state_inequalities)]
    every = sorted({w for words in whole for w in words}, key=order)
    return parts, every


def _equations(
    statement: OperatorStatement, top: int, given: bool, basis: list[Word], groups: Groups
) -> list[Pair]:
    """All multipliers of equations whose products are no longer than those of the squares, in each group that
    has their letters."""
    powers = (0,) if statement.real else (0, 1)
    result = [Pair("state", k, (), (), n) for k in range(len(statement.state_equalities)) for n in powers]
    for k, h in enumerate(statement.equalities):
        letters = {i for w in h for i in w}
        pairs: dict[tuple[Word, Word], None] = {}
        for group in groups:
            if group is None or letters <= set(group):
                pairs |= dict.fromkeys(_multipliers(statement, h, top, given, basis, group))
        result += [Pair("equality", k, u, v, power) for u, v in pairs for power in powers]
    return result


def _multipliers(
    statement: OperatorStatement, h: Terms, top: int, given: bool, basis: list[Word], group: list[int] | None
) -> list[tuple[Word, Word]]:
    """The words u and v of the products u* h v."""
    a = statement.algebra
    if statement.squares:
        left, right = (
            level_words(a, max(top - n, 0), statement.squared(group)) for n in statement.lengths(h)
        )
        return [(u, v) for u in left for v in right]
    room = max(2 * top - max(len(w) for w in h), 0)
    words = basis if given else level_words(a, room, group)
    lengths = [len(w) for w in words]  # in order
    if sum(bisect_right(lengths, room - n) for n in lengths) > _MOST_MULTIPLIERS:
        kept = set(basis)
        words = [w for w in words if w in kept]
    return [(u, v) for u in words for v in words if len(u) + len(v) <= room]


def _by_terms(identity: Identity, words: list[int]) -> list[list[np.ndarray]]:
    """The cuts of every Gram matrix, which is of so many words, or of these and of i times them."""
    entries, support = [], identity.free.getnnz(axis=0) + (identity.target != 0) > 0
    for n, rows in zip(words, identity.slices(), strict=True):
        i, j = triangle(n)
        here = identity.gram[rows.start + position(i, j)]
        support |= here[i == j].getnnz(axis=0) > 0
        crossed = identity.gram[rows.start + position(i, j + n)] if rows.stop - rows.start > i.size else here
        entries.append(abs(here) + abs(crossed))
    support[0] = True
    members = term_sparsity(words, sp.csr_matrix(sp.vstack(entries)), identity.free, support).members
    sides = zip(words, identity.sides, members, strict=True)
    return [[np.r_[g, g + n] if side > n else g for g in groups] for n, side, groups in sides]
