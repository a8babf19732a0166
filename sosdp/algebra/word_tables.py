"""Words as rows of numbers, one a party, and their products by tables: whole bases at once.

Every party numbers its reduced words as they come, 0 for the empty one. A product of rows is a look-up a
party: of the distinct pairs that occur only, each rewritten once. Coefficients are integers where they can
be, else fractions; nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sosdp.algebra.words import ONE, Terms, Word, Words, times

_RADIX = 1 << 62
_WHOLE = 1 << 40  # integers of rewriting up to which int64 is used


@dataclass(frozen=True, eq=False)
class Entries:
    """Terms of many combinations: ``index`` (of the combination), ``rows`` (their words), ``re`` and
    ``im``."""

    index: np.ndarray
    rows: np.ndarray
    re: np.ndarray
    im: np.ndarray


def numbers(values: Sequence[Fraction]) -> np.ndarray:
    """Exact numbers as int64 where all are small integers, as fractions otherwise."""
    if all(v.denominator == 1 and abs(v) < _WHOLE for v in values):
        return np.array([int(v) for v in values], dtype=np.int64)
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def fitting(values: np.ndarray, room: int) -> np.ndarray:
    """The numbers, as Python's where ``room`` times the largest is too much for int64."""
    small = values.dtype == object or int(np.abs(values).max(initial=0)) * room < _RADIX
    return values if small else values.astype(object)


def multiply(
    a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Products of complex numbers given by their parts, exactly: below 2**62, or Python's numbers."""
    room = 2 * max([1, *(int(np.abs(v).max(initial=0)) for v in b if v.dtype != object)])
    a = fitting(a[0], room), fitting(a[1], room)
    if not a[1].any() and not b[1].any():
        return a[0] * b[0], a[1]
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


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


class Tables:
    """Rows of the words of an algebra (see the module docstring)."""

    def __init__(self, words: Words):
        self.words = words
        self.width = max(len(words.parties), 1)
        self._code: list[dict[Word, int]] = [{(): 0} for _ in range(self.width)]
        self._word: list[list[Word]] = [[()] for _ in range(self.width)]
        self._sandwiches: list[dict[tuple[int, int, int], Terms]] = [{} for _ in range(self.width)]

    def _number(self, party: int, word: Word) -> int:
        result = self._code[party].setdefault(word, len(self._word[party]))
        if result == len(self._word[party]):
            self._word[party].append(word)
        return result

    def rows(self, words: Sequence[Word]) -> np.ndarray:
        """Rows of words in normal form, shape (m, parties)."""
        table = np.zeros((len(words), self.width), dtype=np.int64)
        for k, word in enumerate(words):
            for party, piece in self.words.split(word):
                table[k, party] = self._number(party, piece)
        return table

    def decoded(self, rows: np.ndarray) -> list[Word]:
        """The words of rows."""
        return [tuple(i for p, c in enumerate(row) if c for i in self._word[p][c]) for row in rows.tolist()]

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """The number of letters of each row's word."""
        total = np.zeros(rows.shape[0], dtype=np.int64)
        for party, known in enumerate(self._word):
            total += np.array([len(w) for w in known])[rows[:, party]]
        return total

    def sandwich(self, left: np.ndarray, middle: np.ndarray, right: np.ndarray) -> Entries:
        """Normal forms of ``left* middle right``, row by row."""
        index = np.arange(left.shape[0])
        rows = np.zeros((left.shape[0], self.width), dtype=np.int64)
        re = np.ones(left.shape[0], dtype=np.int64)
        im = np.zeros(left.shape[0], dtype=np.int64)
        for party in range(self.width):
            triple = np.stack([left[:, party], middle[:, party], right[:, party]], axis=1)
            if not triple.any():
                continue
            first, place = distinct(triple)
            result = [self._sandwiched(party, tuple(t)) for t in triple[first].tolist()]
            expanded = self._expanded(party, result, place, Entries(index, rows, re, im))
            index, rows, re, im = expanded.index, expanded.rows, expanded.re, expanded.im
        return Entries(index, rows, re, im)

    def _sandwiched(self, party: int, triple: tuple[int, int, int]) -> Terms:
        known = self._sandwiches[party]
        if triple not in known:
            left, middle, right = (self._word[party][c] for c in triple)
            number, star = self.words.adjoint(left)
            known[triple] = {
                w: times(number, d) for w, d in self.words.reduced(star + middle + right).items()
            }
        return known[triple]

    def _expanded(self, party: int, result: list[Terms], place: np.ndarray, entries: Entries) -> Entries:
        """Entries times, in the column of a party, what stands at the place of each index."""
        counts = np.array([len(t) for t in result])
        codes = np.array([self._number(party, w) for t in result for w in t], dtype=np.int64)
        values = [c for t in result for c in t.values()]
        parts = numbers([c[0] for c in values]), numbers([c[1] for c in values])
        start = np.cumsum(counts) - counts
        which = place[entries.index]
        length = counts[which]
        source = np.repeat(np.arange(which.size), length)
        inner = np.arange(source.size) - np.repeat(np.cumsum(length) - length, length)
        at = start[which[source]] + inner
        rows = entries.rows[source]
        rows[:, party] = codes[at]
        re, im = multiply((entries.re[source], entries.im[source]), (parts[0][at], parts[1][at]))
        return Entries(entries.index[source], rows, re, im)

    def mapped(
        self, rows: np.ndarray, image: Callable[[int, Word], Terms], target: Sequence[int] | None = None
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
        """Images of rows under a map of the words of each party (into party ``target[p]``): rows, factors
        by their parts, and the number of terms of the image (those with another number than 1 have no
        row)."""
        out = np.zeros_like(rows)
        re, im = np.ones(rows.shape[0], dtype=np.int64), np.zeros(rows.shape[0], dtype=np.int64)
        terms = np.ones(rows.shape[0], dtype=np.int64)
        for party in range(self.width):
            there = party if target is None else target[party]
            codes, place = np.unique(rows[:, party], return_inverse=True)
            result = [image(party, self._word[party][c]) for c in codes.tolist()]
            count = np.array([len(t) for t in result])
            single = [next(iter(t.items())) if len(t) == 1 else ((), ONE) for t in result]
            out[:, there] = np.array([self._number(there, w) for w, _ in single])[place]
            factor = numbers([c[0] for _, c in single])[place], numbers([c[1] for _, c in single])[place]
            re, im = multiply((re, im), factor)
            terms *= count[place]
        return out, (re, im), terms
