"""The median rule on all databases of a fixed size: for a handful of pairs, to check the theory.

B = size * log2 N. Proof: docs/proofs/cuts_constructions.md, section 3
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np

from ..queries import Query
from .base import Hypothesis, Measurement

MOST = 20_000
"""More databases than this are refused."""


class MedianMechanism(Hypothesis):
    """Keeps a set of small databases and answers with the median of their answers.

    Args:
        n: vertices. mass: total weight of every database. size: number of unit parts a database is made of.

    Raises:
        ValueError: more than 20000 databases.
    """

    def __init__(self, n: int, mass: float, size: int) -> None:
        pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        if math.comb(len(pairs) + size - 1, size) > MOST:
            raise ValueError(f"{len(pairs)} pairs and size {size} make more than {MOST} databases")
        self.n, self.size, self.pairs = n, size, len(pairs)
        self._databases = []
        for chosen in combinations_with_replacement(pairs, size):
            matrix = np.zeros((n, n))
            for i, j in chosen:
                matrix[i, j] += mass / size
                matrix[j, i] += mass / size
            self._databases.append(matrix)

    def answer(self, query: Query) -> float:
        """The believed answer."""
        values = sorted(query.apply(matrix) for matrix in self._databases)
        return values[(len(values) - 1) // 2] if values else 0.0

    def update(self, measurement: Measurement) -> None:
        """Drop the half of the databases on the wrong side of the median (the median included)."""
        middle = self.answer(measurement.query)
        low = measurement.answer < middle
        self._databases = [
            matrix
            for matrix in self._databases
            if (measurement.query.apply(matrix) < middle if low else measurement.query.apply(matrix) > middle)
        ]

    @property
    def left(self) -> int:
        """Number of databases that are still possible."""
        return len(self._databases)

    def bound(self, gap: float) -> float:
        """size * log2(number of pairs): every update drops at least half, and a good database survives."""
        return self.size * math.log2(self.pairs)
