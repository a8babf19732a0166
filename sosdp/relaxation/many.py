"""Bounds of many objectives on one set: what they have in common is made once (``assemble.structure``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .answers import Question, bounds_of
from .assemble.structure import monomials
from .candidate import State
from .ladder import begin_together, run
from .low_rank.answer import low_rank_answer

if TYPE_CHECKING:
    from ..algebra.polynomial import Polynomial
    from .pseudoexpectation import PseudoExpectation


Numbers = tuple[float, float | None, str]  # the bound, the certified bound and the status


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of many objectives, one entry each.

    ``bounds`` and ``certified_bounds``: shape (n,), NaN where nothing is proven; ``status``: as of single
    answers. ``result[k]`` is the whole answer of one, which is solved for when it is asked for, by
    ``minimize(objectives[k])``.
    """

    bounds: np.ndarray
    certified_bounds: np.ndarray
    status: np.ndarray
    objectives: tuple[Polynomial, ...]
    minimize: Callable[[Polynomial], PseudoExpectation]

    @classmethod
    def of(
        cls,
        single: Sequence[Numbers],
        objectives: Sequence[Polynomial],
        minimize: Callable[[Polynomial], PseudoExpectation],
    ) -> Bounds:
        """From the numbers of single answers."""
        bounds, proofs, status = zip(*single, strict=True) if single else ((), (), ())
        numbers = np.array(bounds, dtype=float), np.array(proofs, dtype=float)
        return cls(*numbers, np.array(status, dtype=object), tuple(objectives), minimize)

    def __len__(self) -> int:
        return self.bounds.size

    def __getitem__(self, k: int) -> PseudoExpectation:
        return self.minimize(self.objectives[k])

    def __repr__(self) -> str:
        counts = Counter(self.status.tolist()).most_common()
        shown = ", ".join(f"{count} {status}" for status, count in counts)
        return f"Bounds({len(self)} objectives: {shown or 'none'})"


def in_numbers(questions: Sequence[tuple[State, Question]]) -> list[Numbers]:
    """The numbers of answers, without their moments and multipliers; they differ in polynomials
    alone."""
    quick = [low_rank_answer(state, wanted) for state, wanted in questions]
    alike: dict[Hashable, list[State]] = {}
    for (state, _), known in zip(questions, quick, strict=True):
        if known is None:
            alike.setdefault(monomials(state.statement.demands[0].parts[0]), []).append(state)
    for states in alike.values():
        if len(states) > 1:
            begin_together(states)
    return [_numbers(state, known) for (state, _), known in zip(questions, quick, strict=True)]


def _numbers(state: State, known: PseudoExpectation | None) -> Numbers:
    if known is not None:
        return known.bound, known.certified_bound, known.status
    best = run(state)
    return *bounds_of(state, best), best.status
