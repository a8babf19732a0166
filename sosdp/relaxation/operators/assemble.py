"""The identity of a relaxation in words, as the engine knows identities.

    target - gamma = sum <G, v* v> + sum <G_g, v* g v> + Re(mu u* h v) + (multipliers of constraints on the
    state)

holds as expectations: a column is the real or the imaginary part of that of one class of words. Complex
data make a real matrix of twice the side of a Hermitian one, as in the complex hierarchy: Q = A + iB, A =
(G11 + G22)/2 and B = (G12 - G21)/2. Entries are exact sums, rounded once.
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
from ...algebra.word_tables import Entries as WordEntries
from ...algebra.word_tables import Tables, multiply, numbers
from ...algebra.words import ONE as NUMBER_ONE
from ...algebra.words import Terms, Word, order
from ...conic.svec import position, roots, svec_length, triangle
from ...reduction.quotient import NO_QUOTIENT
from ...reduction.term_sparsity import term_sparsity
from ..assemble.assemble import partition
from ..assemble.entries import Coefficients, Entries, merged
from ..assemble.forced_zeros import consistent
from ..assemble.identity import ONE, Block, EqualityRows, Identity
from .bases import cliques, given_words, level_words
from .classes import Classes, Moments, moments_of
from .stated import Stated
from .symmetry import with_letters_permuted

_MOST_MULTIPLIERS = 20_000
Groups = Sequence[list[int] | None]
SPARSITY = (None, "term", "correlative", "correlative+term")


@dataclass(frozen=True)
class Pair:
    """One multiplier of an equation: ``left* h right``, its real or its imaginary part."""

    kind: str
    index: int
    left: Word
    right: Word
    imaginary: bool


@dataclass(frozen=True, eq=False)
class Layout:
    """What the rows and columns of the identity stand for: ``pairs`` of its free rows, ``rows`` (tables'
    words) and
    ``imaginary`` of its columns, the words of the whole basis; ``cut``: what made the hierarchy smaller."""

    tables: Tables
    classes: Classes
    rows: np.ndarray
    imaginary: np.ndarray
    pairs: tuple[Pair, ...]
    basis: tuple[Word, ...]
    cut: str

    @cached_property
    def _column(self) -> dict[tuple[tuple[int, ...], bool], int]:
        pairs = zip(map(tuple, self.rows.tolist()), self.imaginary.tolist(), strict=True)
        return {pair: k for k, pair in enumerate(pairs)}

    def values(self, combinations: Sequence[Terms], moments: np.ndarray) -> np.ndarray:
        """Expectations of combinations in normal form, NaN where one is not known."""
        pairs = [(k, w, c) for k, p in enumerate(combinations) for w, c in p.items()]
        entries = WordEntries(
            np.array([k for k, _, _ in pairs], dtype=np.int64),
            self.tables.rows([w for _, w, _ in pairs]),
            numbers([c[0] for _, _, c in pairs]),
            numbers([c[1] for _, _, c in pairs]),
        )
        return self._evaluated(entries, len(combinations), moments)

    def matrix(self, words: Sequence[Word], moments: np.ndarray) -> np.ndarray:
        """The expectations of u* v for all words u and v, NaN where one is not known."""
        rows, n = self.tables.rows(words), len(words)
        i, j = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
        entries = self.tables.sandwich(rows[i], np.zeros_like(rows[i]), rows[j])
        return self._evaluated(entries, n * n, moments).reshape(n, n)

    def _evaluated(self, entries: WordEntries, count: int, moments: np.ndarray) -> np.ndarray:
        result = moments_of(self.classes, entries)
        pairs = zip(map(tuple, result.rows.tolist()), result.imaginary.tolist(), strict=True)
        values = np.append(moments, np.nan)[[self._column.get(pair, -1) for pair in pairs]]
        out = np.zeros(count, dtype=complex)
        np.add.at(out, result.index, (floats(result.re) + 1j * floats(result.im)) * values[result.column])
        return out


@dataclass(frozen=True, eq=False)
class _Part:
    """A Gram matrix before it is cut: its kind, its words, and the polynomial between them."""

    kind: str
    index: int
    words: list[Word]
    between: Terms


def assembled(
    stated: Stated, level: int | str, basis: object, sparsity: str | None
) -> tuple[Identity, Layout]:
    """The identity, and what its rows and columns are. ValueError for a level too small or options
    unknown."""
    if sparsity not in SPARSITY:
        raise ValueError(
            f"sparsity={sparsity!r} is not known; choose one of {', '.join(map(repr, SPARSITY))}"
        )
    groups = [*cliques(stated)] if sparsity and "correlative" in sparsity else [None]
    parts, whole = _parts(stated, level, basis, groups)
    top = max(len(w) for p in parts if p.kind == "sos" for w in p.words)
    pairs = _equations(stated, top, basis is not None, whole, groups)
    tables = Tables(stated.algebra)
    classes = Classes(tables, stated.real, stated.tracial, stated.group)
    moments = moments_of(classes, _combinations(tables, stated, parts, pairs))
    sides = [len(part.words) for part in parts]
    starts = np.cumsum([0, *(svec_length(n) for n in sides)])
    shape = int(starts[-1]) + len(pairs) + 1, moments.rows.shape[0]
    re, im = (_matrix(moments, values, shape) for values in (moments.re, moments.im))
    re_and_im = sp.vstack([m.part(0, *shape) for m in (re, im)], format="csr")
    chosen = [[np.arange(n)] for n in sides]
    if sparsity and "term" in sparsity:
        chosen = _by_terms(sides, abs(re_and_im[: shape[0]]) + abs(re_and_im[shape[0] :]))
    blocks, pieces = [], []
    for part, start, cuts in zip(parts, starts[:-1].tolist(), chosen, strict=True):
        for cut in cuts:
            real = stated.real or cut.size == 1
            words = [part.words[k] for k in cut.tolist()]
            index = () if part.index < 0 else (part.index,)
            blocks.append(Block(part.kind, index, _letters(words if real else words + words), ONE))
            pieces.append(_gram(re_and_im, start, cut, real))
    both = [replace(pair, imaginary=imaginary) for pair in pairs for imaginary in (False, True)]
    free = np.arange(starts[-1], shape[0] - 1).repeat(2)
    free[1::2] += shape[0]
    pieces += [re_and_im[[*free, shape[0] - 1]], sp.csr_matrix(([-1.0], ([0], [0])), (1, shape[1]))]
    matrix = sp.csr_matrix(sp.vstack(pieces))
    ends = matrix.shape[0] - 2 - len(both), matrix.shape[0] - 2, matrix.shape[0]
    entries = Entries(matrix.data, matrix.indices, matrix.indptr, re.rounded or im.rounded)
    equalities = [EqualityRows(k, ONE, _letters([()])) for k in range(len(both))]
    columns = _letters(tables.decoded(moments.rows))
    identity = partition(entries, columns, ends, blocks, equalities, NO_QUOTIENT)
    kept = tuple(both[e.index] for e in identity.equalities)
    layout = Layout(
        tables, classes, moments.rows, moments.imaginary, kept, tuple(whole), _said(sparsity, stated)
    )
    return _reduced(replace(identity, hermitian=True), layout, stated)


def _reduced(identity: Identity, layout: Layout, stated: Stated) -> tuple[Identity, Layout]:
    """Without elements of bases whose Gram entries must vanish, and with the blocks of the symmetry."""
    missing = (identity.target != 0) & (identity.gram.getnnz(axis=0) + identity.free.getnnz(axis=0) == 0)
    if missing.any():
        word = layout.tables.decoded(layout.rows[np.flatnonzero(missing)[:1]])[0]
        raise ValueError(
            f"the level is too small: {stated.algebra.show(word)} in the objective is no product of two "
            "words of the basis"
        )
    smaller, columns = consistent(identity)  # and without moments that the cuts left to nobody
    layout = replace(layout, rows=layout.rows[columns], imaginary=layout.imaginary[columns])
    return with_letters_permuted(smaller, stated), layout


def _said(sparsity: str | None, stated: Stated) -> str:
    words = [
        f"sparsity {sparsity!r}" if sparsity else "",
        f"{len(stated.group)} symmetries" if stated.group else "",
    ]
    return ", ".join(w for w in words if w)


def _parts(stated: Stated, level: int | str, basis: object, groups: Groups) -> tuple[list[_Part], list[Word]]:
    """Every Gram matrix whole, and the words of all plain ones."""
    a = stated.algebra
    if basis is not None:
        if groups != [None]:
            raise ValueError("basis=... cannot be combined with cliques")
        whole = [given_words(stated, basis)]  # type: ignore[arg-type]
    else:
        whole = [level_words(a, level, stated.squared(group)) for group in groups]
    parts = [_Part("sos", -1, words, {(): NUMBER_ONE}) for words in whole]
    for k, g in enumerate(stated.inequalities):
        letters = {i for w in g for i in w}
        half = max(stated.lengths(g)) if stated.squares else (max(len(w) for w in g) + 1) // 2
        for group, words in zip(groups, whole, strict=True):
            if group is None or letters <= set(group):
                least = max(max(len(w) for w in words) - half, 0)
                chosen = [w for w in words if len(w) <= least]
                if basis is None:
                    chosen = level_words(a, least, stated.squared(group))
                parts.append(_Part("inequality", k, chosen, g))
    parts += [_Part("expectation", k, [()], p) for k, p in enumerate(stated.state_inequalities)]
    every = sorted({w for words in whole for w in words}, key=order)
    return parts, every


def _equations(stated: Stated, top: int, given: bool, basis: list[Word], groups: Groups) -> list[Pair]:
    """All multipliers of equations whose products are no longer than those of the squares, in each group that
    has their letters."""
    result = [Pair("state", k, (), (), False) for k in range(len(stated.state_equalities))]
    for k, h in enumerate(stated.equalities):
        letters = {i for w in h for i in w}
        pairs: dict[tuple[Word, Word], None] = {}
        for group in groups:
            if group is None or letters <= set(group):
                pairs |= dict.fromkeys(_multipliers(stated, h, top, given, basis, group))
        result += [Pair("equality", k, u, v, False) for u, v in pairs]
    return result


def _multipliers(
    stated: Stated, h: Terms, top: int, given: bool, basis: list[Word], group: list[int] | None
) -> list[tuple[Word, Word]]:
    """The words u and v of the products u* h v."""
    a = stated.algebra
    if stated.squares:
        left, right = (level_words(a, max(top - n, 0), stated.squared(group)) for n in stated.lengths(h))
        return [(u, v) for u in left for v in right]
    room = max(2 * top - max(len(w) for w in h), 0)
    words = basis if given else level_words(a, room, group)
    lengths = [len(w) for w in words]  # in order
    if sum(bisect_right(lengths, room - n) for n in lengths) > _MOST_MULTIPLIERS:
        kept = set(basis)
        words = [w for w in words if w in kept]
    return [(u, v) for u in words for v in words if len(u) + len(v) <= room]


def _combinations(tables: Tables, stated: Stated, parts: list[_Part], pairs: list[Pair]) -> WordEntries:
    """Combinations of words, numbered as they come: upper triangles of Gram matrices, column by column,
    multiples of equations, the target."""
    found: list[WordEntries] = []
    count = 0

    def add(left: np.ndarray, between: Terms, right: np.ndarray) -> None:
        nonlocal count
        for word, c in between.items():
            result = tables.sandwich(left, np.repeat(tables.rows([word]), len(left), axis=0), right)
            re, im = multiply((result.re, result.im), (numbers([c[0]]), numbers([c[1]])))
            found.append(WordEntries(result.index + count, result.rows, re, im))
        count += len(left)

    for part in parts:
        rows = tables.rows(part.words)
        i, j = triangle(len(part.words))
        add(rows[i], part.between, rows[j])
    for (kind, index), group in groupby(pairs, lambda pair: (pair.kind, pair.index)):
        left, right = zip(*((pair.left, pair.right) for pair in group), strict=True)
        h = stated.equalities[index] if kind == "equality" else stated.state_equalities[index]
        add(tables.rows(left), h, tables.rows(right))
    one = tables.rows([()])
    add(one, stated.target, one)
    return WordEntries(
        *(np.concatenate(c) for c in zip(*((e.index, e.rows, e.re, e.im) for e in found), strict=True))
    )


def _matrix(moments: Moments, values: np.ndarray, shape: tuple[int, int]) -> Entries:
    """The real or imaginary parts of the expectations of combinations (rows)."""
    used = values != 0
    source = Coefficients(values[used])
    result = merged(
        moments.index[used], moments.column[used], source.floats, shape,
        lambda: np.full(source.given.size, source.exact), lambda k: source.given[k],
    )  # fmt: skip
    return replace(result, rounded=result.rounded or not source.exact)


def _gram(re_and_im: sp.csr_matrix, start: int, cut: np.ndarray, real: bool) -> sp.csr_matrix:
    """Rows of the vector form of a principal part of a Gram matrix, whose entries begin at a row."""
    side = cut.size if real else 2 * cut.size
    r, s = triangle(side)
    i, j = r % cut.size, s % cut.size
    at = start + position(cut[i], cut[j])
    scale = roots(side)
    if real:
        return sp.csr_matrix(sp.diags_array(scale) @ re_and_im[at])
    # entry (i, n + j) is minus the imaginary part of M_ij, and M is Hermitian
    crossed = (r < cut.size) != (s < cut.size)
    at[crossed] += re_and_im.shape[0] // 2
    sign = np.where(crossed, np.where(i < j, -1.0, np.where(i > j, 1.0, 0.0)), 1.0)
    result = sp.csr_matrix(sp.diags_array(scale * sign / 2) @ re_and_im[at])
    result.eliminate_zeros()
    return result


def _by_terms(sides: list[int], occurs: sp.csr_matrix) -> list[list[np.ndarray]]:
    """The cuts of every Gram matrix: its entries are the first rows, equations and the target the others."""
    squares = np.concatenate([np.equal(*triangle(n)) for n in sides])
    wanted = np.ones(occurs.shape[0], dtype=bool)
    wanted[: squares.size] = squares
    support = occurs[wanted].getnnz(axis=0) > 0
    support[0] = True
    return term_sparsity(sides, occurs[: squares.size], occurs[squares.size :], support).members


def _letters(words: list[Word]) -> np.ndarray:
    """Words as rows of letter numbers from 1 on, 0 for nothing, as the engine has monomials."""
    width = max([1, *(len(w) for w in words)])
    return np.array(
        [(0,) * (width - len(w)) + tuple(i + 1 for i in w) for w in words], dtype=np.int32
    ).reshape(-1, width)
