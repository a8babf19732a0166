"""Operators and a state from a flat moment matrix (Gelfand, Naimark, Segal), checked before they are
shown."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from ...algebra.operator import OperatorPolynomial
from ...algebra.words import ONE, Terms, Word, Words
from ..atoms import factored, spans
from .statement import OperatorStatement

_RANKS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # of the largest eigenvalue, what counts as none: tried in this order
_DEFECT = 1e-3  # of a relation, an adjoint, a commutator, or the value


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Matrices of the letters, shape (rank, rank) each, a unit vector, and how far they are from the
    relations."""

    letters: list[np.ndarray]
    state: np.ndarray
    defect: float

    def evaluate(self, p: Terms) -> np.ndarray:
        """The matrix of a combination of words."""
        total = np.zeros((self.state.size, self.state.size), dtype=complex)
        for word, c in p.items():
            matrix = np.eye(self.state.size, dtype=complex)
            for i in word:
                matrix = matrix @ self.letters[i]
            total += complex(*map(float, c)) * matrix
        return total


class OperatorMatrices(dict[str, np.ndarray]):
    """Matrices by the names of letters; also by operators, and by polynomials in them."""

    def __init__(self, evaluate: Any, statement: OperatorStatement):
        letters = enumerate(statement.algebra.letters)
        super().__init__({letter.name: evaluate({(i,): ONE}) for i, letter in letters})
        self._evaluate, self._statement = evaluate, statement

    def __missing__(self, key: Any) -> np.ndarray:
        if not isinstance(key, OperatorPolynomial):
            raise KeyError(key)
        result: np.ndarray = self._evaluate(self._statement.local(key))
        return result


def reconstruct(
    words: Words, basis: list[Word], matrix: np.ndarray, target: Terms, bound: float
) -> tuple[Reconstruction | None, str]:
    """Operators and a state of the least rank defect, or None and why."""
    if np.isnan(matrix).any() or () not in basis:
        return None, "the blocks of a sparse relaxation do not know all moments: use sparsity=None"
    place = {w: k for k, w in enumerate(basis)}
    images = [[words.normal((i, *w)) for i in range(len(words.letters))] for w in basis]
    inner = [k for k, result in enumerate(images) if all(v in place for p in result for v in p)]
    if not inner:
        return None, "no word can be multiplied by every letter: raise the level"
    shifts = np.zeros((len(words.letters), len(inner), len(basis)), dtype=complex)  # of (letter v)*
    for (row, k), i in itertools.product(enumerate(inner), range(len(words.letters))):
        for v, c in images[k][i].items():
            shifts[i, row, place[v]] = complex(*map(float, c)).conjugate()
    best: Reconstruction | None = None
    why = "the moment matrix is not flat: a higher level may be"
    for none in _RANKS:
        factor = factored(matrix, none)
        if not spans(factor[inner], none):
            continue
        letters = [la.lstsq(factor[inner], shift @ factor)[0].conj().T for shift in shifts]
        state = factor[place[()]].conj().astype(complex)
        result = Reconstruction(letters, state / np.linalg.norm(state), 0.0)
        defect = max(
            _defect(words, result), abs(float((state.conj() @ result.evaluate(target) @ state).real) - bound)
        )
        if best is None or defect < best.defect:
            best = Reconstruction(letters, result.state, defect)
    if best is None:
        return None, why
    if best.defect > _DEFECT * max(1.0, abs(bound)):
        return (
            None,
            f"{why} (operators of rank {best.state.size} miss the relations by {best.defect:.1g})",
        )
    return best, ""


def _defect(words: Words, result: Reconstruction) -> float:
    """The largest entry by which the matrices miss a rule, an adjoint or a commutator."""
    m, pairs = result.letters, itertools.combinations(range(len(words.letters)), 2)
    missed = [result.evaluate({word: ONE}) - result.evaluate(dict(p)) for word, p in words.rules.items()]
    missed += [a.conj().T - complex(*map(float, c)) * m[j] for a, (c, j) in zip(m, words.star, strict=True)]
    missed += [m[i] @ m[k] - m[k] @ m[i] for i, k in pairs if words.party[i] != words.party[k]]
    return max(float(np.abs(difference).max()) for difference in missed)
