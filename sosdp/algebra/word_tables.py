"""Words as rows of numbers, one a party, and their products by tables: whole bases at once.

The first number of a row is a power of i, 0 or 1: a combination with the coefficient a + ib has a times the
word and b times i times the word, so that numbers are real. Every party numbers its reduced words as they
come, 0 for the empty one. A product of rows is a look-up a party: of the distinct pairs that occur only, each
rewritten once. Numbers are coefficients of the exact kinds; nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra.coefficients import as_coefs, peak
from sosdp.algebra.words import Terms, Word, Words, multiple

_RADIX = 1 << 62
RealTerm = tuple[Word, int, Fraction]
"""A word, a power of i, and the number that multiplies both."""


class Combination(NamedTuple):
    """One combination of words: rows, and a real number of each."""

    monos: np.ndarray
    coefs: np.ndarray


@dataclass(frozen=True, eq=False)
class Entries:
    """Terms of many combinations: ``index`` (of the combination), ``rows`` (their words) and ``values``."""

    index: np.ndarray
    rows: np.ndarray
    values: np.ndarray


def real_terms(p: Terms) -> list[RealTerm]:
    """The terms of a combination with real numbers."""
    return [(word, power, c[power]) for word, c in p.items() for power in (0, 1) if c[power]]


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of numbers, exactly: below 2**62, or Python's numbers."""
    if (peak(a) or 0) * (peak(b) or 0) >= _RADIX:
        a = a.astype(object)
    result: np.ndarray = a * b
    return result


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the first of each of the distinct rows, and the place of every row among them."""
    if rows.shape[0] == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    key, size = np.zeros(rows.shape[0], dtype=np.int64), 1
    for column in rows.T:
        base = int(column.max()) + 1
        if size * base >= _RADIX:  # what there is so far, by its rank
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = int(key.max()) + 1
        key, size = key * base + column, size * base
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return first, place.reshape(-1)


def as_rows(words: Sequence[Word]) -> np.ndarray:
    """Words as rows of letter numbers from 1 on, 0 for nothing, as the engine has monomials."""
    return mono.padded([[i + 1 for i in w] for w in words])


def as_words(rows: np.ndarray) -> list[Word]:
    """The words of such rows."""
    return [tuple([i - 1 for i in row if i]) for row in rows.tolist()]


class Tables:
    """Rows of the words of an algebra (see the module docstring)."""

    def __init__(self, words: Words):
        self.words = words
        self.width = 1 + len(words.parties)
        self._code: list[dict[Word, int]] = [{(): 0} for _ in words.parties]
        self._word: list[list[Word]] = [[()] for _ in words.parties]
        self._sandwiches: list[dict[tuple[int, int, int], list[RealTerm]]] = [{} for _ in words.parties]

    def _number(self, party: int, word: Word) -> int:
        result = self._code[party].setdefault(word, len(self._word[party]))
        if result == len(self._word[party]):
            self._word[party].append(word)
        return result

    def rows(self, words: Sequence[Word], power: int = 0) -> np.ndarray:
        """Rows of words in normal form times a power of i, shape (m, 1 + parties)."""
        table = np.zeros((len(words), self.width), dtype=np.int64)
        table[:, 0] = power
        for k, word in enumerate(words):
            for party, piece in self.words.split(word):
                table[k, 1 + party] = self._number(party, piece)
        return table

    def combination(self, p: Terms) -> Combination:
        """A combination in normal form."""
        result = real_terms(p)
        rows = self.rows([word for word, _, _ in result])
        rows[:, 0] = [power for _, power, _ in result]
        return Combination(rows, as_coefs([c for _, _, c in result]))

    def decoded(self, rows: np.ndarray) -> list[Word]:
        """The words of rows, without powers of i."""
        return [
            tuple(i for p, c in enumerate(row) if c for i in self._word[p][c]) for row in rows[:, 1:].tolist()
        ]

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """The number of letters of each row's word."""
        total = np.zeros(rows.shape[0], dtype=np.int64)
        for party, known in enumerate(self._word):
            total += np.array([len(w) for w in known])[rows[:, 1 + party]]
        return total

    def sandwich(self, left: np.ndarray, middle: np.ndarray, right: np.ndarray) -> Entries:
        """Normal forms of ``left* middle right``, row by row."""
        rows = np.zeros((left.shape[0], self.width), dtype=np.int64)
        rows[:, 0] = left[:, 0] + middle[:, 0] + right[:, 0]
        result = Entries(np.arange(left.shape[0]), rows, 1 - 2 * left[:, 0])
        for party in range(self.width - 1):
            triple = np.stack([m[:, 1 + party] for m in (left, middle, right)], axis=1)
            if not triple.any():
                continue
            first, place = distinct(triple)
            terms = [self._sandwiched(party, tuple(t)) for t in triple[first].tolist()]
            result = self._expanded(party, terms, place, result)
        rows, sign = _reduced(result.rows)
        return Entries(result.index, rows, multiply(result.values, sign))

    def _sandwiched(self, party: int, triple: tuple[int, int, int]) -> list[RealTerm]:
        known = self._sandwiches[party]
        if triple not in known:
            left, middle, right = (self._word[party][c] for c in triple)
            number, star = self.words.adjoint(left)
            product = self.words.reduced(star + middle + right)
            known[triple] = real_terms(multiple(number, product))
        return known[triple]

    def _expanded(
        self, party: int, terms: list[list[RealTerm]], place: np.ndarray, entries: Entries
    ) -> Entries:
        """Entries times, in the column of a party, what stands at the place of each index."""
        counts = np.array([len(t) for t in terms])
        listed = [term for t in terms for term in t]
        codes = np.array([self._number(party, w) for w, _, _ in listed], dtype=np.int64)
        powers = np.array([power for _, power, _ in listed], dtype=np.int64)
        start = np.cumsum(counts) - counts
        which = place[entries.index]
        source, inner = mono.unfolded(counts[which])
        at = start[which[source]] + inner
        rows = entries.rows[source]
        rows[:, 1 + party] = codes[at]
        rows[:, 0] += powers[at]
        values = multiply(entries.values[source], as_coefs([c for _, _, c in listed])[at])
        return Entries(entries.index[source], rows, values)

    def mapped(
        self,
        rows: np.ndarray,
        image: Callable[[int, Word], Terms],
        target: Sequence[int] | None = None,
        conjugates: bool = False,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Images of rows under a map of the words of each party (into party ``target[p]``), and of i to -i
        where it ``conjugates``: rows, factors, and the number of terms of the image (those with another
        number than 1 have no row)."""
        out = np.zeros_like(rows)
        out[:, 0] = rows[:, 0]
        factor = 1 - 2 * rows[:, 0] if conjugates else np.ones(rows.shape[0], dtype=np.int64)
        count = np.ones(rows.shape[0], dtype=np.int64)
        for party in range(self.width - 1):
            there = party if target is None else target[party]
            codes, place = np.unique(rows[:, 1 + party], return_inverse=True)
            terms = [real_terms(image(party, self._word[party][c])) for c in codes.tolist()]
            single = [t[0] if len(t) == 1 else ((), 0, Fraction(1)) for t in terms]
            out[:, 1 + there] = np.array([self._number(there, w) for w, _, _ in single])[place]
            out[:, 0] += np.array([power for _, power, _ in single])[place]
            factor = multiply(factor, as_coefs([c for _, _, c in single])[place])
            count *= np.array([len(t) for t in terms])[place]
        out, sign = _reduced(out)
        return out, multiply(factor, sign), count


def _reduced(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose powers of i are 0 or 1 (in place), and the sign that this takes out."""
    sign = 1 - (rows[:, 0] & 2)
    rows[:, 0] &= 1
    return rows, sign
