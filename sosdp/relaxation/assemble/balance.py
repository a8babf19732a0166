"""Exponents of two by least squares of logarithms: terms near one, times powers that they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

_PULL = 1e-6  # of squares of exponents, where the terms say nothing


class Balance:
    """Terms, and the exponents that are chosen for them, by name."""

    def __init__(self) -> None:
        self._place: dict[Any, int] = {}
        self._columns: list[int] = []
        self._ends = [0]
        self._weights: list[float] = []
        self._logs: list[float] = []

    def add(self, names: Iterable[Any], log: float, weight: float = 1.0) -> None:
        """A term: log2 of its size, and the exponents of its factors, a power by repetition."""
        self._columns += [self._place.setdefault(name, len(self._place)) for name in names]
        self._ends.append(len(self._columns))
        self._weights.append(weight)
        self._logs.append(log)

    def solve(self, towards: Mapping[Any, float]) -> dict[Any, float]:
        """Whole exponents, drawn a little towards the given ones, or zero."""
        weights, width = np.array(self._weights), len(self._place)
        entries = np.repeat(weights, np.diff(self._ends))
        table = sp.csr_matrix((entries, self._columns, self._ends), shape=(weights.size, width))
        table.sum_duplicates()
        normal = sp.csc_matrix(table.T @ table + _PULL * sp.identity(width))
        near = np.array([towards.get(name, 0.0) for name in self._place])
        power = spsolve(normal, _PULL * near - table.T @ (weights * np.array(self._logs)))
        return dict(zip(self._place, np.round(np.atleast_1d(power)).tolist(), strict=True))
