"""The answer about operators: bounds, expectations, the multipliers of the proof, and operators that attain
it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...algebra.operator import OperatorPolynomial
from ...algebra.word_tables import as_words
from ...algebra.words import ONE, Number, Word, Words
from ...conic.svec import smat
from ..assemble.identity import Identity
from ..pseudoexpectation import Result
from .assemble import Layout, Pair
from .reconstruct import OperatorMatrices, Reconstruction, reconstruct
from .statement import OperatorStatement


@dataclass(frozen=True, eq=False)
class GramOfWords:
    """The Gram matrix of a multiplier, shape (n, n), Hermitian: ``sum gram[i, j] words[i]* p words[j]``
    with p = 1 (``kind`` ``sos``), or the polynomial number ``index`` of the inequalities (``inequality``)
    or of those in expectation (``expectation``)."""

    kind: str
    index: int
    words: tuple[Word, ...]
    gram: np.ndarray

    @classmethod
    def read(cls, identity: Identity, gram: np.ndarray, real: bool) -> Iterator[GramOfWords]:
        """All of an identity, from vector forms."""
        for block, rows in zip(identity.blocks, identity.slices(), strict=True):
            matrix = smat(gram[rows], block.side)
            words = as_words(block.basis)
            if not real and block.side == 1:  # the square of one word
                matrix = matrix.astype(complex)
            elif not real:
                n = block.side // 2
                words = words[:n]
                matrix = (matrix[:n, :n] + matrix[n:, n:]) / 2 + 1j * (matrix[:n, n:] - matrix[n:, :n]) / 2
            yield cls(block.kind, block.index[0] if block.index else -1, tuple(words), matrix)


@dataclass(frozen=True)
class WordMultiplier:
    """``value * left* h right`` and its adjoint, halved: h is the equation number ``index`` of operators
    (``kind``
    ``equality``) or of the state (``state``)."""

    kind: str
    index: int
    left: Word
    right: Word
    value: complex

    @classmethod
    def read(cls, pairs: Sequence[Pair], free: np.ndarray) -> list[WordMultiplier]:
        """All of an identity."""
        total: dict[tuple[str, int, Word, Word], complex] = {}
        for pair, value in zip(pairs, free.tolist(), strict=True):
            name = pair.kind, pair.index, pair.left, pair.right
            total[name] = total.get(name, 0j) + 1j**pair.power * value
        return [cls(*name, value) for name, value in total.items()]


@dataclass(frozen=True, eq=False)
class OperatorExpectation(Result):
    """The answer to a program in operators.

    Attributes
    ----------
    status, bound, certified_bound, reason, solver, times, steps
        As those of a ``PseudoExpectation``. ``certified_bound`` holds for all states and operators, of any
        dimension, that satisfy what was stated; ``hypotheses`` lists what it rests on besides.
    sizes
        Number of moments, sides of the (real) blocks before and after symmetry.
    words
        The words whose squares were used, in the order of ``moment_matrix``.
    gamma, blocks, multipliers
        The proof in floats: of ``statement.target - gamma``, the objective in the form of a minimum.
    """

    objective: Any
    level: Any
    statement: OperatorStatement = field(repr=False)
    gamma: float = field(repr=False)
    blocks: tuple[GramOfWords, ...] = field(repr=False)
    multipliers: tuple[WordMultiplier, ...] = field(repr=False)
    layout: Layout = field(repr=False)
    moments: np.ndarray | None = field(repr=False)

    @property
    def algebra(self) -> Words:
        """The letters and relations of the statement."""
        return self.statement.algebra

    @property
    def hypotheses(self) -> tuple[str, ...]:
        """What the bound rests on besides what was stated: norms that the user gave, and domains."""
        return self.statement.hypotheses

    @cached_property
    def words(self) -> list[OperatorPolynomial]:
        """The words whose squares were used."""
        return [self.statement.shown(w) for w in self._basis]

    @cached_property
    def _basis(self) -> list[Word]:
        used = {w for block in self.blocks if block.kind == "sos" for w in block.words}
        return [w for w in self.layout.basis if w in used]

    def __call__(self, p: Any) -> Any:
        """Expectation of a polynomial in operators: a float if it is Hermitian, else complex.

        Raises ValueError where a word is no product of two words of the relaxation, and without a solution.
        """
        q = OperatorPolynomial._of(p)
        if q is None:
            raise TypeError(f"expected a polynomial in operators, not {type(p).__name__}")
        terms = self.statement.local(q)
        if not terms:
            return 0.0
        value = self.layout.value(terms, self._known)
        if np.isnan(value.real):
            raise ValueError(f"a word of {q!r} is not part of this relaxation; raise the level")
        return value.real if self.algebra.star_of(terms) == terms else value

    @property
    def _known(self) -> np.ndarray:
        if self.moments is None:
            raise ValueError(f"there is no expectation to evaluate: the status is {self.status!r}")
        return self.moments

    def moment_matrix(self, basis: Any = None) -> np.ndarray:
        """The matrix E[u* v] for u, v in ``words``, or in the given polynomials, shape (n, n); real where all
        data are. Entries between blocks of a sparse relaxation are NaN where they are not known."""
        words: list[Word] = self._basis
        if basis is not None:
            chosen = [
                self.statement.local(OperatorPolynomial._of(p) or OperatorPolynomial({})) for p in basis
            ]
            if any(len(p) != 1 or next(iter(p.values())) != ONE for p in chosen):
                raise ValueError("a moment matrix needs a basis of words")
            words = [next(iter(p)) for p in chosen]
        result = self.layout.matrix(words, self._known)
        return result.real if self.statement.real else result

    @cached_property
    def _reconstruction(self) -> tuple[Reconstruction | None, str]:
        if self.moments is None:
            return None, f"the status is {self.status!r}"
        if self.statement.tracial:
            return None, "operators are read off states, not off traces"
        target: dict[Word, Number] = self.statement.target
        return reconstruct(
            self.algebra, self._basis, self.moment_matrix(), target, self.statement.sign * self.bound
        )

    def operators(self) -> OperatorMatrices | None:
        """Matrices of all letters, by name (``result["A[0]"]``) or operator (``result[A[0]]``, any
        polynomial), that with ``state`` attain the bound; None where the moment matrix is not flat, see
        ``operators_reason``.

        Source: Gelfand, Naimark, Segal; Navascues, Pironio and Acin 2008 (rank loop).
        """
        result = self._reconstruction[0]
        if result is None:
            return None
        return OperatorMatrices(result.evaluate, self.statement)

    def state(self) -> np.ndarray | None:
        """The unit vector of the operators, shape (rank,), or None."""
        result = self._reconstruction[0]
        return None if result is None else result.state

    @property
    def operators_reason(self) -> str:
        """Why there are no operators ('' where there are)."""
        return self._reconstruction[1]

    def _summary(self) -> str:
        if self.status == "infeasible":
            return "no operators and no state satisfy the constraints"
        return self._bounds

    def __repr__(self) -> str:
        return f"OperatorExpectation({self.status}, {self._solved()}: {self._summary()})"

    def _solved(self) -> str:
        return f"level {self.hierarchy}"

    def _facts(self) -> dict[str, object]:
        blocks = self.sizes["blocks"]
        return {
            "of": self.objective,
            "for": "traces" if self.statement.tracial else "all states",
            "rests on": "; ".join(self.hypotheses) or None,
            "moments": self.sizes["moments"],
            "size": f"{len(blocks)} blocks up to side {max(blocks, default=0)}",
        }
