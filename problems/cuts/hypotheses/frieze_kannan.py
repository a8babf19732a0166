"""Additive updates (Frieze and Kannan): least-squares steps towards measured answers, inside the box.

B(g) = ||D - D_1||^2 max ||q||^2 / g^2; published with step alpha / |X| and start 0.
Proof: docs/proofs/cuts_constructions.md, section 1
"""

from __future__ import annotations

import numpy as np

from ..queries import Query
from .base import Hypothesis, Measurement, start_matrix


class FriezeKannan(Hypothesis):
    """Dense additive updates.

    Args:
        n: vertices. density: start, in [0, 1] (0: as published).
        step: None for measured steps (distance less its slack, over ||q||^2), or the published fixed alpha:
        each
            update then adds sign * alpha / |X| times the query.
        box: keep entries in [0, 1] (a simple graph lies there).
        refit: sweeps of cyclic projection over all measurements after each update.
    """

    def __init__(
        self, n: int, density: float = 0.0, *, step: float | None = None, box: bool = True, refit: int = 3
    ) -> None:
        self.n, self.start, self.step, self.box, self.refit = n, float(density), step, box, refit
        self._belief = start_matrix(n, self.start)
        self._measured: list[Measurement] = []

    def answer(self, query: Query) -> float:
        """The believed answer."""
        return query.apply(self._belief)

    def update(self, measurement: Measurement) -> None:
        """Move towards a measured answer."""
        self._measured.append(measurement)
        if self.step is not None:
            gap = measurement.answer - self.answer(measurement.query)
            pairs = self.n * (self.n - 1) / 2.0
            measurement.query.add(self._belief, float(np.sign(gap)) * self.step / pairs)
            self._clip()
            return
        self._towards(measurement)
        for _ in range(self.refit if len(self._measured) > 1 else 0):
            for earlier in self._measured:
                self._towards(earlier)

    def _towards(self, measurement: Measurement) -> None:
        """Project onto the slab |q(.) - answer| <= slack (where it is outside), then onto the box."""
        query = measurement.query
        gap = measurement.answer - self.answer(query)
        excess = abs(gap) - measurement.slack
        norm = query.squared_norm()
        if excess > 0.0 and norm > 0.0:
            query.add(self._belief, float(np.sign(gap)) * excess / norm)
            self._clip()

    def _clip(self) -> None:
        if self.box:
            np.clip(self._belief, 0.0, 1.0, out=self._belief)
            np.fill_diagonal(self._belief, 0.0)

    def bound(self, gap: float) -> float:
        """N (n^2 / 4) / g^2 times the worst squared distance of a simple graph from the start, per pair."""
        pairs = self.n * (self.n - 1) / 2.0
        farthest = max(self.start, 1.0 - self.start) ** 2 * pairs
        return farthest * pairs / gap**2

    def matrix(self) -> np.ndarray:
        """The belief as a dense symmetric (n, n) matrix."""
        return self._belief.copy()
