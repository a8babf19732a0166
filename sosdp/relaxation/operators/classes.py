"""Words of one expectation: a word and its adjoint, rotations and conjugates under a trace, images under a
symmetry.

Expectations are real parts, L(w) = Re E[w], of words and of i times words: E[w] = L(w) - i L(i w). Every map
sends such a row to a number times a row (where it sends it to a sum, nothing is used), so that L(w) = f L(v).
Each row gets a representative and a factor; one that is some factor other than 1 times itself has L = 0.
Where all data and relations are real no i occurs: the conjugate of E is a state of the same relations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...algebra.word_tables import Entries, Tables, as_rows, as_words, distinct, multiply
from ...algebra.words import ONE, Number, Terms, Word, Words
from ...reduction.permutation import Action

Edges = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""L(here) = factor * L(there), and where L vanishes: here, there, factor, vanishing."""
Map = tuple[Callable[[int, Word], Terms], tuple[int, ...] | None, bool]
"""Of the word of each party, into which party, and whether numbers are conjugated."""


@dataclass(frozen=True, eq=False)
class LetterAction(Action):
    """A permutation of letters, as a symmetry of a statement or of blocks (`Sites`)."""

    words: Words

    @cached_property
    def _images(self) -> list[int]:
        result: list[int] = self.image.tolist()
        return result

    def word(self, word: Word) -> Word:
        """The letters' images, not reduced."""
        return tuple([self._images[i] for i in word])

    def combination(self, p: Mapping[Word, Number]) -> Terms:
        """The image of a combination."""
        return self.words.reduce({self.word(w): c for w, c in p.items()})

    def __call__(self, monos: np.ndarray) -> np.ndarray:
        """Images of words; of a word that goes to another combination than a word, one that is nowhere."""
        images = [self.words.normal(self.word(w)) for w in as_words(monos)]
        nowhere = (len(self.words.letters),)
        return as_rows([next(iter(p)) if [*p.values()] == [ONE] else nowhere for p in images])

    def parties(self) -> tuple[int, ...]:
        """The party into which each party goes; ValueError where one is taken apart."""
        words, result = self.words, dict[int, int]()
        for i, j in enumerate(self._images):
            if result.setdefault(words.party[i], words.party[j]) != words.party[j]:
                raise ValueError(f"a symmetry takes the party {words.parties[words.party[i]]!r} apart")
        if len(set(result.values())) < len(result):
            raise ValueError(
                "a symmetry puts two parties into one: letters that commute would become letters that do not"
            )
        return tuple(result[p] for p in range(len(words.parties)))


@dataclass(frozen=True, eq=False)
class Classes:
    """What words of an algebra have one expectation (see the module docstring). ``group``: symmetries of
    what is stated."""

    tables: Tables
    tracial: bool = False
    group: tuple[LetterAction, ...] = ()

    @property
    def maps(self) -> list[Map]:
        """The maps that join words of one expectation."""
        words = self.tables.words

        def adjoint(_: int, word: Word) -> Terms:
            return words.star_of({word: ONE})

        def rotated(chosen: int) -> Callable[[int, Word], Terms]:
            return lambda p, word: words.reduced(word[1:] + word[:1]) if p == chosen else {word: ONE}

        def conjugated(a: int) -> Callable[[int, Word], Terms]:
            number, star = words.adjoint((a,))

            def image(p: int, word: Word) -> Terms:
                result = words.reduce({(a, *word, *star): number}) if p == words.party[a] else {}
                return result if result and max(map(len, result)) <= len(word) else {word: ONE}

            return image

        def moved(g: LetterAction) -> Callable[[int, Word], Terms]:
            return lambda _, word: words.reduced(g.word(word))

        result: list[Map] = [(adjoint, None, True)]
        if self.tracial:
            result += [(rotated(p), None, False) for p in range(len(words.parties))]
            letters: list[Terms] = [{(a,): ONE} for a in range(len(words.letters))]
            inverse = [words.product(words.star_of(a), a) == {(): ONE} for a in letters]
            result += [(conjugated(a), None, False) for a in np.flatnonzero(inverse).tolist()]
        return result + [(moved(g), g.parties(), False) for g in self.group]

    def represented(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The representatives whose expectation may be another than 0, that of 1 first; of every row the
        place of its own (-1: the expectation is 0), and its factor."""
        rows = np.concatenate([np.zeros_like(rows, shape=(1, self.tables.width)), rows])
        first, place = distinct(rows)
        nodes, edges = self._closed(rows[first])
        order = np.lexsort([*nodes.T[::-1], self.tables.lengths(nodes)])
        label = np.empty(len(nodes), dtype=np.int64)
        label[order] = np.arange(len(nodes))
        whole = all(f.dtype != object and (np.abs(f) == 1).all() for _, _, f, _ in edges)
        factor = np.ones(len(nodes), dtype=np.int64 if whole else object)
        changed = True
        while changed:
            changed = False
            for here, there, f, _ in edges:
                better = np.flatnonzero(label[there] < label[here])
                if better.size:
                    changed = True
                    label[here[better]] = label[there[better]]
                    factor[here[better]] = f[better] * factor[there[better]]
        zero = np.zeros(len(nodes), dtype=bool)
        for here, there, f, vanishing in edges:
            differs = (label[there] == label[here]) & (f * factor[there] != factor[here])
            zero[label[vanishing]] = zero[label[here[differs]]] = True
        if zero[0]:
            raise ValueError("the relations contradict each other: 1 = 0 follows")
        used = np.unique(label[~zero[label]])
        number = np.full(len(nodes), -1)
        number[used] = np.arange(used.size)
        start = place[1:]
        return nodes[order[used]], number[label[start]], factor[start]

    def _closed(self, rows: np.ndarray) -> tuple[np.ndarray, list[Edges]]:
        """All rows that the maps reach, the given ones first, and the edges of each map."""
        nodes, done, maps = rows, 0, self.maps
        parts: list[list[tuple[np.ndarray, ...]]] = [[] for _ in maps]
        while done < len(nodes):
            new, here = nodes[done:], np.arange(done, len(nodes))
            images = [self.tables.mapped(new, *m) for m in maps]
            # an image that is no word is not followed
            followed = [np.where(terms[:, None] == 1, rows, new) for rows, _, terms in images]
            first, place = distinct(np.concatenate([nodes, *followed]))
            # nodes keep their places; what is new follows
            number = np.full(first.size, -1)
            number[place[: len(nodes)]] = np.arange(len(nodes))
            fresh = np.flatnonzero(number < 0)
            number[fresh] = len(nodes) + np.arange(fresh.size)
            there = number[place[len(nodes) :]].reshape(len(maps), len(new))
            for k, (_, factor, terms) in enumerate(images):
                parts[k].append((here, there[k], factor, terms))
            done = len(nodes)
            nodes = np.concatenate([nodes, *followed])[np.r_[: len(nodes), first[fresh]]]
        edges = []
        for part in parts:
            here, there, factor, terms = (np.concatenate(columns) for columns in zip(*part, strict=True))
            single = terms == 1
            edges.append((here[single], there[single], factor[single], here[terms == 0]))
        return nodes, edges


class WordProducts:
    """Products ``left[i]* term right[j]`` of words, gathered part by part, as `Products` are of monomials."""

    def __init__(self, classes: Classes) -> None:
        self.classes = classes
        self.count = 0
        self.parts: list[Entries] = []

    def add(
        self, left: np.ndarray, i: np.ndarray, right: np.ndarray, j: np.ndarray, terms: np.ndarray
    ) -> None:
        """The products of the pairs (i, j), each with every row of ``terms``, pair by pair."""
        n = terms.shape[0]
        middle = np.tile(terms, (i.size, 1))
        result = self.classes.tables.sandwich(left[np.repeat(i, n)], middle, right[np.repeat(j, n)])
        self.parts.append(Entries(result.index + self.count, result.rows, result.values))
        self.count += i.size * n

    def placed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of every term of a product that product's number, its column (-1: vanishes) and factor, and the
        rows of the columns."""
        columns = [[getattr(p, name) for p in self.parts] for name in ("index", "rows", "values")]
        index, rows, values = map(np.concatenate, columns)
        kept, column, factor = self.classes.represented(rows)
        return index, column, multiply(values, factor), kept
