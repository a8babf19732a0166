"""Blocks adapted to a symmetry of letters: moments of one orbit are one column already (`classes`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...algebra.words import ONE, Words
from ..assemble.identity import Identity
from ..assemble.symmetry import Sites, Symmetry, diagonalised
from .stated import Stated


@dataclass(frozen=True, eq=False)
class LetterAction:
    """A permutation of letters on rows of words, as `Sites` asks for images; constraints go to
    constraints."""

    words: Words
    image: tuple[int, ...]
    inequalities: tuple[int, ...]
    means: tuple[int, ...]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Images of words; of a word that goes to another combination than a word, one that is nowhere."""
        moved = [self._word(tuple(i - 1 for i in row if i)) for row in rows.tolist()]
        width = max(rows.shape[1], *(len(w) for w in moved))
        return np.array([(0,) * (width - len(w)) + tuple(i + 1 for i in w) for w in moved], dtype=rows.dtype)

    def _word(self, word: tuple[int, ...]) -> tuple[int, ...]:
        result = self.words.normal(tuple(self.image[i] for i in word))
        ((w, c),) = result.items() if len(result) == 1 else (((), (0, 0)),)
        return w if c == ONE else (len(self.words.letters),)

    def block_index(self, kind: str, index: tuple[int, ...]) -> tuple[int, ...]:
        """The number of the constraint that a constraint goes to."""
        images = {"inequality": self.inequalities, "expectation": self.means}.get(kind, ())
        return tuple(images[k] for k in index)


def with_letters_permuted(identity: Identity, stated: Stated) -> Identity:
    """The identity with blocks that the symmetry leaves; the same where words are not permuted without
    factors, where blocks overlap or are not mapped to blocks, and for complex data: then moments alone are
    merged."""
    if not stated.group or not stated.real:
        return identity
    try:
        sites = Sites(identity)
        moves = [sites.image(_action(stated, g)) for g in stated.group]
        pair, pieces = diagonalised(identity, sites, moves)
    except ValueError:
        return identity
    column = np.arange(identity.columns.shape[0])
    return replace(
        identity, symmetry=Symmetry(len(stated.group), np.zeros(1, dtype=int), column, pair, pieces)
    )


def _action(stated: Stated, g: tuple[int, ...]) -> LetterAction:
    a = stated.algebra

    def images(family: tuple) -> tuple[int, ...]:
        return tuple(
            family.index(a.reduce({tuple(g[i] for i in w): c for w, c in p.items()})) for p in family
        )

    return LetterAction(a, g, images(stated.inequalities), images(stated.state_inequalities))
