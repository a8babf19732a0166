"""Bounds of many objectives on one set: what they have in common is made once (``assemble.structure``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .answers import Question, bounds_of
from .candidate import Candidate, State

if TYPE_CHECKING:
    from .pseudoexpectation import PseudoExpectation


Numbers = tuple[float, float | None, str]  # the bound, the certified bound and the status


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of many objectives, one entry each.

    ``bounds`` and ``certified_bounds``: shape (n,), NaN where nothing is proven; ``status``: as of single
    answers. ``answers[k]`` is the whole answer of one, which is solved for when it is asked for.
    """

    bounds: np.ndarray
    certified_bounds: np.ndarray
    status: np.ndarray
    answer: Callable[[int], PseudoExpectation]

    @classmethod
    def of(cls, single: Sequence[Numbers], answer: Callable[[int], PseudoExpectation]) -> Bounds:
        """From the numbers of single answers."""
        bounds, proofs, status = zip(*single, strict=True) if single else ((), (), ())
        numbers = np.array(bounds, dtype=float), np.array(proofs, dtype=float)
        return cls(*numbers, np.array(status, dtype=object), answer)

    def __len__(self) -> int:
        return self.bounds.size

    def __getitem__(self, k: int) -> PseudoExpectation:
        return self.answer(range(len(self))[k])

    def __repr__(self) -> str:
        good = int((self.status == "optimal").sum())
        return f"Bounds({len(self)} objectives, {good} optimal)"


def in_numbers(state: State, best: Candidate, wanted: Question) -> Numbers:
    """The numbers of an answer, without its moments and multipliers."""
    return *bounds_of(state, best), best.status
