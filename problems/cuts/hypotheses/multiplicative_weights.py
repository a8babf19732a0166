"""Multiplicative updates: the belief keeps its mass and moves towards measured answers in relative entropy.

B(g) = m^2 ln(N / m) / (2 g^2) for a simple graph with m edges, from the uniform start; published with
eta = alpha / (2 m) and B = 4 m^2 ln N / alpha^2. Proof: docs/proofs/cuts_constructions.md, section 2
"""

from __future__ import annotations

import math

import numpy as np

from ..queries import CutQuery, Query
from .base import Hypothesis, Measurement, start_matrix


class MultiplicativeWeights(Hypothesis):
    """Dense multiplicative updates of a belief with fixed total mass.

    Args:
        n: vertices. mass: of the belief, > 0 (public, or released privately).
        step: None for the exact step of 0/1 queries (the new answer meets the measured one, less its slack;
        other
            queries step by eta = 4 gap / mass), or the published eta as a fixed alpha: eta = alpha / (2
            mass).
        refit: sweeps of proportional fitting over all measurements after each update.

    Raises:
        ValueError: mass <= 0.
    """

    def __init__(self, n: int, mass: float, *, step: float | None = None, refit: int = 3) -> None:
        if not mass > 0.0:
            raise ValueError(f"multiplicative weights need a mass > 0, got {mass}")
        self.n, self.mass, self.step, self.refit = n, float(mass), step, refit
        self._belief = start_matrix(n, self.mass / (n * (n - 1) / 2.0))
        self._measured: list[Measurement] = []

    def answer(self, query: Query) -> float:
        """The believed answer."""
        return query.apply(self._belief)

    def update(self, measurement: Measurement) -> None:
        """Move towards a measured answer."""
        self._measured.append(measurement)
        if self.step is not None:
            sign = 1.0 if measurement.answer > self.answer(measurement.query) else -1.0
            self._tilt(measurement.query, sign * self.step / (2.0 * self.mass))
            return
        self._towards(measurement)
        for _ in range(self.refit if len(self._measured) > 1 else 0):
            for earlier in self._measured:
                self._towards(earlier)

    def _towards(self, measurement: Measurement) -> None:
        """Move the answer into the measured slab; the target is the near end, which cannot overshoot the
        truth."""
        query = measurement.query
        current = self.answer(query)
        gap = measurement.answer - current
        if abs(gap) <= measurement.slack:
            return
        target = current + math.copysign(abs(gap) - measurement.slack, gap)
        if isinstance(query, CutQuery) and query.delta <= 1.0:
            self._scale_cut(query, current, target)
        else:
            weight = query.delta
            self._tilt(query, 4.0 * (target - current) / (weight * self.mass) / weight)

    def _scale_cut(self, query: CutQuery, current: float, target: float) -> None:
        """Exact projection in relative entropy: the pairs of the cut times one factor, all others times
        another."""
        least = 1e-12 * self.mass
        target = min(max(target, least), self.mass * (1.0 - 1e-12))
        if not least <= current <= self.mass - least:
            return
        inside, outside = target / current, (self.mass - target) / (self.mass - current)
        self._belief *= outside
        for rows, columns, _ in query.blocks():
            self._belief[np.ix_(rows, columns)] *= inside / outside
            if rows is not columns:
                self._belief[np.ix_(columns, rows)] *= inside / outside

    def _tilt(self, query: Query, eta: float) -> None:
        """p(x) times exp(eta * weight), renormalised."""
        weights = np.zeros_like(self._belief)
        query.add(weights, eta)
        self._belief *= np.exp(np.clip(weights, -60.0, 60.0))
        np.fill_diagonal(self._belief, 0.0)
        self._belief *= 2.0 * self.mass / self._belief.sum()

    def bound(self, gap: float) -> float:
        """m^2 ln(N / m) / (2 g^2) with the mass in the place of m (at least one pair's worth of entropy)."""
        pairs = self.n * (self.n - 1) / 2.0
        return self.mass**2 * max(math.log(pairs / self.mass), 0.0) / (2.0 * gap**2)

    def matrix(self) -> np.ndarray:
        """The belief as a dense symmetric (n, n) matrix."""
        return self._belief.copy()
