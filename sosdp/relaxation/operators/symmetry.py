"""Blocks adapted to a symmetry of letters: moments of one orbit are one column already (`classes`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...algebra.words import ONE, Words
from ...reduction.permutation import Action
from ..assemble.identity import Identity
from ..assemble.symmetry import Sites, Symmetry, diagonalised
from .statement import OperatorStatement


@dataclass(frozen=True, eq=False)
class LetterAction(Action):
    """A permutation of letters on rows of words, as `Sites` asks for images; constraints go to
    constraints."""

    words: Words

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Images of words; of a word that goes to another combination than a word, one that is nowhere."""
        moved = [self._word(tuple(i - 1 for i in row if i)) for row in rows.tolist()]
        width = max(rows.shape[1], *(len(w) for w in moved))
        return np.array([(0,) * (width - len(w)) + tuple(i + 1 for i in w) for w in moved], dtype=rows.dtype)

    def _word(self, word: tuple[int, ...]) -> tuple[int, ...]:
        result = self.words.normal(tuple(self.image[list(word)].tolist()))
        ((w, c),) = result.items() if len(result) == 1 else (((), (0, 0)),)
        return w if c == ONE else (len(self.words.letters),)


def with_letters_permuted(identity: Identity, statement: OperatorStatement) -> Identity:
    """The identity with blocks that the symmetry leaves; the same where words are not permuted without
    factors, where blocks overlap or are not mapped to blocks, and for complex data: then moments alone are
    merged."""
    if not statement.group or not statement.real:
        return identity
    try:
        sites = Sites(identity)
        moves = [sites.image(_action(statement, g)) for g in statement.group]
        pair, pieces = diagonalised(identity, sites, moves)
    except ValueError:
        return identity
    column = np.arange(identity.columns.shape[0])
    return replace(
        identity, symmetry=Symmetry(len(statement.group), np.zeros(1, dtype=int), column, pair, pieces)
    )


def _action(statement: OperatorStatement, g: tuple[int, ...]) -> LetterAction:
    a = statement.algebra
    families = {"inequality": statement.inequalities, "expectation": statement.state_inequalities}
    images = {
        kind: [family.index(a.reduce({tuple(g[i] for i in w): c for w, c in p.items()})) for p in family]
        for kind, family in families.items()
    }
    return LetterAction(np.array(g), images, a)
