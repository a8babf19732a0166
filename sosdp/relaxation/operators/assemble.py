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

import numpy as np
import scipy.sparse as sp

from ...algebra.coefficients import floats
from ...algebra.word_tables import Entries, Tables, fitting, multiply, numbers
from ...algebra.words import ONE, Terms, Word, order
from ...conic.svec import roots, triangle
from ...reduction.quotient import NO_QUOTIENT
from ...reduction.rows import distinct_rows
from ..assemble.entries import Coefficients
from ..assemble.forced_zeros import consistent
from ..assemble.identity import ONE as POLYNOMIAL_ONE
from ..assemble.identity import Block, EqualityRows, Identity
from .bases import blocks_by_terms, cliques, given_words, level_words
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
        entries = Entries(
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

    def _evaluated(self, entries: Entries, count: int, moments: np.ndarray) -> np.ndarray:
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
    combinations = _Combinations(Tables(stated.algebra))
    offsets = [combinations.gram(part) for part in parts]
    free = _equations(stated, top, basis is not None, whole, groups)
    starts = combinations.multiples(stated, free)
    target = combinations.polynomial(stated.target)
    classes = Classes(combinations.tables, stated.real, stated.tracial, stated.group)
    result = moments_of(classes, combinations.entries())
    sums = _Sums(result, combinations.count)
    sides = [list(range(len(part.words))) for part in parts]
    chosen = [[np.array(side)] for side in sides]
    if sparsity and "term" in sparsity:
        chosen = _by_terms(parts, offsets, result, starts, combinations.count)
    blocks, pieces = [], []
    for part, offset, cuts in zip(parts, offsets, chosen, strict=True):
        for cut in cuts:
            words = [part.words[k] for k in cut.tolist()]
            blocks.append(_block(part, words, stated.real))
            pieces.append(sums.gram(offset, cut, stated.real or cut.size == 1))
    gram = sp.csr_matrix(sp.vstack(pieces))
    pairs, rows = [], []
    for pair, start in zip(free, starts, strict=True):
        for imaginary in (False, True):
            pairs.append(replace(pair, imaginary=imaginary))
            rows.append((start, imaginary))
    matrix = sums.parts(rows)
    used = np.flatnonzero(np.diff(matrix.indptr) > 0)
    kept = used[distinct_rows(sp.csr_matrix(matrix[used]))[0]] if used.size else used
    unknown = sp.csr_matrix((np.array([-1.0]), ([0], [0])), shape=(1, result.rows.shape[0]))
    identity = Identity(
        blocks=tuple(blocks),
        equalities=tuple(EqualityRows(k, POLYNOMIAL_ONE, _letters([()])) for k in range(kept.size)),
        columns=_letters(combinations.tables.decoded(result.rows)),
        gram=gram,
        free=sp.csr_matrix(matrix[kept]),
        target=sums.parts([(target, False)]).toarray()[0],
        unknown=unknown,
        quotient=NO_QUOTIENT,
        rounded=sums.rounded,
        hermitian=True,
    )
    layout = Layout(
        combinations.tables, classes, result.rows, result.imaginary, tuple(pairs[k] for k in kept.tolist()),
        tuple(whole), _said(sparsity, stated),
    )  # fmt: skip
    return _reduced(identity, layout, stated)


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
    parts = [_Part("sos", -1, words, {(): ONE}) for words in whole]
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


class _Combinations:
    """Combinations of words, numbered as they come: entries of Gram matrices, multiples of equations, the
    target."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.count = 0
        self._parts: list[Entries] = []

    def gram(self, part: _Part) -> int:
        """The upper triangle of a Gram matrix, column by column; the number of its first entry."""
        rows = self.tables.rows(part.words)
        i, j = triangle(len(part.words))
        return self._sandwiches(rows[i], part.between, rows[j])

    def multiples(self, stated: Stated, pairs: list[Pair]) -> list[int]:
        """``left* h right`` of every pair; their numbers."""
        result: dict[tuple[str, int], list[int]] = {}
        for k, pair in enumerate(pairs):
            result.setdefault((pair.kind, pair.index), []).append(k)
        starts = np.zeros(len(pairs), dtype=np.int64)
        for (kind, index), numbers_ in result.items():
            h = stated.equalities[index] if kind == "equality" else stated.state_equalities[index]
            left = self.tables.rows([pairs[k].left for k in numbers_])
            right = self.tables.rows([pairs[k].right for k in numbers_])
            first = self._sandwiches(left, h, right)
            starts[numbers_] = first + np.arange(len(numbers_))
        return [int(s) for s in starts]

    def polynomial(self, p: Terms) -> int:
        """One polynomial; its number."""
        one = self.tables.rows([()])
        return self._sandwiches(one, p, one)

    def _sandwiches(self, left: np.ndarray, between: Terms, right: np.ndarray) -> int:
        first, height = self.count, left.shape[0]
        for word, c in between.items():
            middle = np.repeat(self.tables.rows([word]), height, axis=0)
            result = self.tables.sandwich(left, middle, right)
            re, im = multiply((result.re, result.im), (numbers([c[0]]), numbers([c[1]])))
            self._parts.append(Entries(result.index + first, result.rows, re, im))
        self.count += height
        return first

    def entries(self) -> Entries:
        """All of them together."""
        columns = zip(*((e.index, e.rows, e.re, e.im) for e in self._parts), strict=True)
        return Entries(*(np.concatenate(c) for c in columns))


class _Sums:
    """The expectations of combinations: exact sums of their terms, by combination and column."""

    def __init__(self, result: Moments, count: int) -> None:
        width = result.rows.shape[0]
        code = result.index * width + result.column
        order_ = np.argsort(code, kind="stable")
        code = code[order_]
        starts = (
            np.flatnonzero(np.append(True, code[1:] != code[:-1]))
            if code.size
            else np.zeros(0, dtype=np.int64)
        )
        self.rounded = False
        parts = (fitting(v, max(v.size, 1))[order_] for v in (result.re, result.im))
        re, im = (self._floats(np.add.reduceat(v, starts)) for v in parts)
        row, column = np.divmod(code[starts], width)
        shape = (count, width)
        self.re = sp.csr_matrix((re, (row, column)), shape=shape)
        self.im = sp.csr_matrix((im, (row, column)), shape=shape)
        self.re.eliminate_zeros()
        self.im.eliminate_zeros()

    def _floats(self, values: np.ndarray) -> np.ndarray:
        used = values != 0
        found, result = Coefficients(values[used]), np.zeros(values.size)
        result[used] = found.floats
        self.rounded = self.rounded or not found.exact
        return result

    def parts(self, wanted: list[tuple[int, bool]]) -> sp.csr_matrix:
        """The real or the imaginary part of each of some combinations, one a row."""
        both = sp.vstack([self.re, self.im], format="csr")
        return sp.csr_matrix(both[[n + i * self.re.shape[0] for n, i in wanted]]) if wanted else both[:0]

    def gram(self, offset: int, cut: np.ndarray, real: bool) -> sp.csr_matrix:
        """Rows of the vector form of a principal part of a Gram matrix."""
        side = cut.size
        if real:
            i, j = triangle(side)
            rows = self.re[offset + _place(cut[i], cut[j])]
            return sp.csr_matrix(sp.diags_array(roots(side)) @ rows)
        r, s = triangle(2 * side)
        i, j = r % side, s % side
        low, high = np.minimum(i, j), np.maximum(i, j)
        at = offset + _place(cut[low], cut[high])
        inner = (r < side) == (s < side)
        # entry (i, n + j) is minus the imaginary part of M_ij, and M is Hermitian
        sign = np.where(inner, 0.0, np.where(i < j, -1.0, np.where(i > j, 1.0, 0.0)))
        scale = roots(2 * side) / 2
        re = sp.diags_array(np.where(inner, scale, 0.0)) @ self.re[at]
        result = sp.csr_matrix(re + sp.diags_array(scale * sign) @ self.im[at])
        result.eliminate_zeros()
        return result


def _place(i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Where the entry (i, j), i <= j, stands in the upper triangle, column by column."""
    return j * (j + 1) // 2 + i


def _by_terms(
    parts: list[_Part], offsets: list[int], result: Moments, starts: list[int], count: int
) -> list[list[np.ndarray]]:
    """The cuts of every part; entries of Gram matrices are the first combinations, the target is the last."""
    ends = [*offsets[1:], starts[0] if starts else count - 1]
    support = np.zeros(result.rows.shape[0], dtype=bool)
    support[0] = True
    support[result.column[result.index >= ends[-1]]] = True
    pairs, sizes = [], []
    for part, start, end in zip(parts, offsets, ends, strict=True):
        here = (result.index >= start) & (result.index < end)
        i, j = triangle(len(part.words))
        local = result.index[here] - start
        pairs.append((i[local], j[local], result.column[here]))
        sizes.append(len(part.words))
    return blocks_by_terms(sizes, pairs, support)


def _letters(words: list[Word]) -> np.ndarray:
    """Words as rows of letter numbers from 1 on, 0 for nothing, as the engine has monomials."""
    width = max([1, *(len(w) for w in words)])
    return np.array(
        [(0,) * (width - len(w)) + tuple(i + 1 for i in w) for w in words], dtype=np.int32
    ).reshape(-1, width)


def _block(part: _Part, words: list[Word], real: bool) -> Block:
    rows = _letters(words if real or len(words) == 1 else words + words)
    return Block(part.kind, () if part.index < 0 else (part.index,), rows, POLYNOMIAL_ONE)
