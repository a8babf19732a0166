"""Words that squares are made of: levels of the hierarchy, cliques, and blocks by term sparsity.

Source: Navascues, Pironio and Acin 2008 (levels); Klep, Magron and Povh 2021 (cliques); Wang and Magron
2021 (terms).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...algebra.operator import OperatorPolynomial
from ...algebra.words import ONE, Word, Words, order
from ...reduction.sparsity import adjacency, variable_cliques
from .statement import OperatorStatement

_MOST_WORDS, _MOST_LETTERS = 20_000, 500


def level_words(words: Words, level: Any, letters: Iterable[int] | None = None) -> list[Word]:
    """All words of a level: an integer, or terms that name parties, as "1+AB" or "2 + A A B".

    Raises ValueError for a level that cannot be read, or with more than 20,000 words or 500 letters in one.
    """
    chosen = range(len(words.letters)) if letters is None else sorted(letters)
    result: set[Word] = {()}
    for term in level_terms(words, level):
        if (term if isinstance(term, int) else len(term)) > _MOST_LETTERS:
            raise ValueError(f"the level has words of more than {_MOST_LETTERS} letters")
        if isinstance(term, int):
            steps = [list(chosen)] * term
        else:
            steps = [[i for i in chosen if words.parties[words.party[i]] == name] for name in term]
        grown: set[Word] = {()}
        for letters_ in steps:
            shorter, grown = grown, set()
            for u in shorter:
                grown.update(w for i in letters_ for w in words.normal((*u, i)))
                if len(grown) > _MOST_WORDS:
                    break
            result |= grown if isinstance(term, int) else set()
            if len(result | grown) > _MOST_WORDS:
                raise ValueError(f"level {level!r} has more than {_MOST_WORDS} words")
        result |= grown
    return sorted(result, key=order)


def level_terms(words: Words, level: Any) -> list[Any]:
    """The terms of a level: integers, and lists of names of parties; ValueError for what is no level."""
    if isinstance(level, int) and not isinstance(level, bool) and level >= 0:
        return [level]
    if not isinstance(level, str) or not level.strip():
        raise ValueError(f'level must be an integer >= 0 or a string such as "1+AB", not {level!r}')
    names = sorted(words.parties, key=len, reverse=True)
    result: list[Any] = []
    for term in level.replace(" ", "").split("+"):
        row = re.findall("|".join(map(re.escape, names)), term)
        if not term.isdecimal() and "".join(row) != term:
            raise ValueError(
                f"level {level!r}: {term!r} names no party; there are {', '.join(words.parties)}"
            )
        if not term:
            raise ValueError(f"level {level!r} has an empty term")
        result.append(int(term) if term.isdecimal() else row)
    return result


def given_words(statement: OperatorStatement, basis: Iterable[Any]) -> list[Word]:
    """The words of a user's basis, with 1, and with the suffixes that a proof at the boundary needs: of a
    projector p in front, |v|**2 - |p v|**2 is the square of v - p v; of a fermion c in front, it is that of
    c* v."""
    a = statement.algebra
    result: set[Word] = {()}
    for entry in basis:
        p = OperatorPolynomial._of(entry)
        if p is None:
            raise TypeError(f"a basis is made of words in operators, not {type(entry).__name__}")
        result |= set(statement.local(p))
    todo = list(result)
    while todo:
        word = todo.pop()
        if not word:
            continue
        head, rest = word[0], word[1:]
        star = a.letters[head].star[1]
        more: set[Word] = set()
        if a.rules.get((head, head)) == {(head,): ONE}:
            more = {rest}
        elif a.rules.get((head, head)) == {}:
            more = {rest, *a.normal((star, *rest))}
        for w in more - result:
            result.add(w)
            todo.append(w)
    return sorted(result, key=order)


def cliques(statement: OperatorStatement) -> list[list[int]]:
    """Letters by cliques of those that meet in a term, in an operator constraint, or in a rule."""
    a = statement.algebra
    groups = [
        set(w)
        for p in (statement.target, *statement.state_inequalities, *statement.state_equalities)
        for w in p
    ]
    groups += [{i for w in p for i in w} for p in statement.operators]
    groups += [{*w, *(i for v in value for i in v)} for w, value in a.rules.items()]
    groups += [{i} for i in range(len(a.letters))]
    # an adjoint is where its letter is
    whole = [np.array([j for i in group for j in (i, a.letters[i].star[1])]) for group in groups if group]
    ids = np.arange(len(a.letters))
    return [clique.tolist() for clique in variable_cliques(adjacency([], whole, ids), ids)]
