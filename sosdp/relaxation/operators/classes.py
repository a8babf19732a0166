"""Words of one expectation: a word and its adjoint, rotations under a trace, images under a symmetry.

Every map sends a word to a number times a word (where it sends it to a sum, nothing is used). From L(w) = f
L(v), or f times the conjugate of L(v), for every pair that a map joins, each word gets a representative, a
factor and whether the conjugate is meant. A word that is some factor other than 1 times itself, without
conjugation, has expectation 0; with conjugation only its phase is known. Where all data and relations are
real, L may be replaced by its real part, since its conjugate is a state of the same relations: then
conjugation means nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...algebra.word_tables import Entries, Tables, distinct, multiply, numbers
from ...algebra.words import IMAGINARY, ONE, ZERO, Number, Terms, Word, Words, inverse, times

Map = tuple[Callable[[int, Word], Terms], tuple[int, ...] | None, bool]
"""Of the word of each party, into which party, and whether the conjugate of the expectation is meant."""


@dataclass(frozen=True, eq=False)
class Represented:
    """Of every row its representative (rows of ``rows``, by number), a factor, whether the conjugate is
    meant; of every representative whether its expectation is zero, and its phase (columns ``t * phase``;
    None: any)."""

    rows: np.ndarray
    number: np.ndarray
    re: np.ndarray
    im: np.ndarray
    flipped: np.ndarray
    zero: np.ndarray
    phase: list[Number | None]


@dataclass(frozen=True, eq=False)
class Classes:
    """What words of an algebra have one expectation (see the module docstring). ``group``: permutations of
    letters that nothing stated is changed by."""

    tables: Tables
    real: bool
    tracial: bool = False
    group: tuple[tuple[int, ...], ...] = ()

    @property
    def maps(self) -> list[Map]:
        """The maps that join words of one expectation."""
        words = self.tables.words

        def adjoint(_: int, word: Word) -> Terms:
            number, star = words.adjoint(word)
            return {w: times(number, c) for w, c in words.reduced(star).items()}

        def rotated(chosen: int) -> Callable[[int, Word], Terms]:
            return lambda p, word: words.reduced(word[1:] + word[:1]) if p == chosen else {word: ONE}

        def moved(g: tuple[int, ...]) -> Callable[[int, Word], Terms]:
            return lambda _, word: words.reduced(tuple(g[i] for i in word))

        result: list[Map] = [(adjoint, None, True)]
        if self.tracial:
            result += [(rotated(p), None, False) for p in range(len(words.parties))]
        return result + [(moved(g), parties_of(words, g), False) for g in self.group]

    def represented(self, rows: np.ndarray) -> Represented:
        """Representatives of rows."""
        first, place = distinct(rows)
        nodes, edges = self._closed(rows[first])
        order = np.lexsort([*nodes.T[::-1], self.tables.lengths(nodes)])
        label = np.empty(len(nodes), dtype=np.int64)
        label[order] = np.arange(len(nodes))
        re, im = np.ones(len(nodes), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
        if any(
            e.re.dtype == object or np.abs(e.re).max(initial=0) + np.abs(e.im).max(initial=0) > 1
            for e in edges
        ):
            re, im = re.astype(object), im.astype(object)
        flipped = np.zeros(len(nodes), dtype=bool)
        changed = True
        while changed:
            changed = False
            for e in edges:
                better = np.flatnonzero(label[e.there] < label[e.here])
                if better.size:
                    changed = True
                    here, there = e.here[better], e.there[better]
                    label[here] = label[there]
                    re[here], im[here], flipped[here] = e.composed(better, re, im, flipped)
        zero = np.zeros(len(nodes), dtype=bool)
        phase: dict[int, Number] = {}
        for e in edges:
            zero[label[e.vanishing]] = True
            same = np.flatnonzero(label[e.there] == label[e.here])
            here = e.here[same]
            other = e.composed(same, re, im, flipped)
            differ = (other[0] != re[here]) | (other[1] != im[here])
            alike = other[2] == flipped[here]
            zero[label[here[alike & differ]]] = True
            for k in np.flatnonzero(~alike).tolist():
                # L(here) = mine L(r) = theirs conj(L(r)), or with the conjugate on the other side
                mine, theirs = _number(re[here[k]], im[here[k]]), _number(other[0][k], other[1][k])
                f = times(mine, inverse(theirs)) if flipped[here[k]] else times(theirs, inverse(mine))
                r = int(label[here[k]])
                if f[0] * f[0] + f[1] * f[1] != 1 or phase.setdefault(r, _phase(f)) != _phase(f):
                    zero[r] = True
        used, number = np.unique(label, return_inverse=True)
        start = np.arange(len(first))[place]
        return Represented(
            rows=nodes[order[used]],
            number=number[start],
            re=re[start],
            im=im[start],
            flipped=flipped[start],
            zero=zero[used],
            phase=[phase.get(k) for k in used.tolist()],
        )

    def _closed(self, rows: np.ndarray) -> tuple[np.ndarray, list[_Edges]]:
        """All rows that the maps reach, the given ones first, and the edges of each map."""
        nodes, done, maps = rows, 0, self.maps
        parts: list[list[tuple[np.ndarray, ...]]] = [[] for _ in maps]
        while done < len(nodes):
            new, here = nodes[done:], np.arange(done, len(nodes))
            images = [self.tables.mapped(new, image, target) for image, target, _ in maps]
            reached = np.concatenate([nodes, *(rows for rows, _, _ in images)])
            first, place = distinct(reached)
            # nodes keep their places; what is new follows
            number = np.full(first.size, -1)
            number[place[: len(nodes)]] = np.arange(len(nodes))
            single = np.concatenate(
                [np.ones(len(nodes), dtype=bool), *(terms == 1 for _, _, terms in images)]
            )
            wanted = np.zeros(first.size, dtype=bool)
            wanted[place[single]] = True
            fresh = np.flatnonzero((number < 0) & wanted)
            number[fresh] = len(nodes) + np.arange(fresh.size)
            cut = len(nodes)
            for k, (_, factor, terms) in enumerate(images):
                there = number[place[cut : cut + len(new)]]
                cut += len(new)
                parts[k].append((here, there, *factor, terms))
            done = len(nodes)
            nodes = np.concatenate([nodes, reached[first[fresh]]])
        edges = []
        for (_, _, flips), part in zip(maps, parts, strict=True):
            here, there, re, im, terms = (np.concatenate(columns) for columns in zip(*part, strict=True))
            single = terms == 1
            # w* = e v says L(w) = conj(e) conj(L(v))
            both = here[single], there[single], re[single], -im[single] if flips else im[single]
            edges.append(_Edges(*both, flips and not self.real, here[terms == 0]))
        return nodes, edges


@dataclass(frozen=True, eq=False)
class _Edges:
    """L(here) = factor * L(there), conjugated where ``flips``; L vanishes on ``vanishing``."""

    here: np.ndarray
    there: np.ndarray
    re: np.ndarray
    im: np.ndarray
    flips: bool
    vanishing: np.ndarray

    def composed(
        self, chosen: np.ndarray, re: np.ndarray, im: np.ndarray, flipped: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Factor and conjugation of L(here) by way of there."""
        there = self.there[chosen]
        back = -im[there] if self.flips else im[there]
        both = multiply((self.re[chosen], self.im[chosen]), (re[there], back))
        return *both, flipped[there] ^ self.flips


def _number(re: Any, im: Any) -> Number:
    return Fraction(re), Fraction(im)


def _phase(f: Number) -> Number:
    """A number p with f conj(p) = p and |p| >= 1."""
    if f == ONE:
        return ONE
    if f == (-ONE[0], ZERO[0]):
        return IMAGINARY
    if f[0] >= 0:
        return 1 + f[0], f[1]
    return f[1], 1 - f[0]  # i (1 - f)


def parties_of(words: Words, g: tuple[int, ...]) -> tuple[int, ...]:
    """The party into which a permutation of letters takes each party; ValueError where it takes one apart."""
    result: dict[int, int] = {}
    for i, j in enumerate(g):
        if result.setdefault(words.party[i], words.party[j]) != words.party[j]:
            raise ValueError(f"a symmetry takes the party {words.parties[words.party[i]]!r} apart")
    if len(set(result.values())) < len(result):
        raise ValueError(
            "a symmetry puts two parties into one: letters that commute would become letters that do not"
        )
    return tuple(result[p] for p in range(len(words.parties)))


@dataclass(frozen=True, eq=False)
class Moments:
    """Expectations as real numbers: ``rows`` and ``imaginary`` say what each column is the part of;
    ``index``,
    ``column``, ``re`` and ``im`` are the terms of the combinations that were asked for."""

    rows: np.ndarray
    imaginary: np.ndarray
    index: np.ndarray
    column: np.ndarray
    re: np.ndarray
    im: np.ndarray


def moments_of(classes: Classes, entries: Entries) -> Moments:
    """Expectations of combinations of words; column 0 is that of 1."""
    one = np.zeros((1, classes.tables.width), dtype=np.int64)
    result = classes.represented(np.concatenate([one, entries.rows]))
    alive = ~result.zero
    free = np.array([p is None for p in result.phase]) & (not classes.real)
    start = np.cumsum(alive * (1 + free)) - alive * (1 + free)
    if result.zero[result.number[0]]:
        raise ValueError("the relations contradict each other: 1 = 0 follows")
    number, flipped = result.number[1:], result.flipped[1:]
    kept = np.flatnonzero(alive[number])
    number, flipped = number[kept], flipped[kept]
    re, im = multiply((entries.re[kept], entries.im[kept]), (result.re[1:][kept], result.im[1:][kept]))
    index = entries.index[kept]
    if not classes.real:
        phases = [p or ONE for p in result.phase]
        turn = numbers([p[0] for p in phases])[number], numbers([p[1] for p in phases])[number]
        re, im = multiply((re, im), (turn[0], np.where(flipped, -turn[1], turn[1])))
    both = np.flatnonzero(free[number])
    sign = np.where(flipped[both], -1, 1)
    columns = np.repeat(np.arange(alive.size), alive * (1 + free))
    inner = np.arange(columns.size) - start[columns]
    return Moments(
        rows=result.rows[columns],
        imaginary=inner > 0,
        index=np.concatenate([index, index[both]]),
        column=np.concatenate([start[number], start[number[both]] + 1]),
        re=np.concatenate([re, -im[both] * sign]),
        im=np.concatenate([im, re[both] * sign]),
    )
