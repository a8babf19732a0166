"""What an iterative database construction is: answers queries, and moves when an answer was far off.

Definitions 3.1 and 3.2 of Gupta, Roth and Ullman 2012: docs/proofs/cuts_constructions.md
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..queries import Query


@dataclass(frozen=True)
class Measurement:
    """A paid answer: the query, its noisy answer in plain units, and `slack`, an accuracy it had (z)."""

    query: Query
    answer: float
    slack: float


class Hypothesis(ABC):
    """A public belief about all pairs. Deterministic: replaying the measurements rebuilds it."""

    @abstractmethod
    def answer(self, query: Query) -> float:
        """The believed answer, in plain units."""

    @abstractmethod
    def update(self, measurement: Measurement) -> None:
        """Move towards a measured answer."""

    @abstractmethod
    def bound(self, gap: float) -> float:
        """B(g): no sequence of updates with true gaps of at least g (queries of sensitivity 1) is longer."""

    def matrix(self) -> np.ndarray | None:
        """The belief as a dense symmetric (n, n) matrix, or None where there is none."""
        return None


def start_matrix(n: int, density: float) -> np.ndarray:
    """density * (J - I), shape (n, n)."""
    result = np.full((n, n), density)
    np.fill_diagonal(result, 0.0)
    return result
