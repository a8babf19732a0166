"""Rounded numbers, changed so that linear equations over the rationals hold exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

Effects = dict[int, Any]  # what one unit of a number adds to each equation, in FLINT's rationals


class Equations:
    """Equations ``sum_k numbers_k effects_k = goal`` of so many rows; which of them are solved for which
    numbers is read off in floats once."""

    def __init__(self, effects: Sequence[Effects], width: int) -> None:
        from flint import fmpq_mat

        self.effects = effects
        dense = in_floats(effects, width).toarray().T
        scale = np.maximum(np.hypot.reduce(dense, initial=0.0), 1e-300)  # squares may overflow
        self.chosen = independent_columns(dense / scale).tolist()
        rank = len(self.chosen)
        self.used = independent_columns(dense[:, self.chosen].T, rank).tolist()
        position = {row: k for k, row in enumerate(self.used)}
        self.table = fmpq_mat(rank, rank)
        for k, c in enumerate(self.chosen):
            for row, value in effects[c].items():
                if row in position:
                    self.table[position[row], k] = value

    def corrected(self, numbers: list[Any], goal: list[Any]) -> list[Any] | None:
        """Rationals near the given ones that satisfy all equations exactly, or None when there are none."""
        from flint import fmpq_mat

        residual = self._residual(numbers, goal)
        if not self.chosen:
            return numbers if not any(residual) else None
        try:
            change = self.table.solve(fmpq_mat([[residual[row]] for row in self.used]))
        except ZeroDivisionError:
            return None
        result = list(numbers)
        for k, c in enumerate(self.chosen):
            result[c] += change[k, 0]
        return result if not any(self._residual(result, goal)) else None

    def _residual(self, numbers: list[Any], goal: list[Any]) -> list[Any]:
        rest = list(goal)
        for effects, value in zip(self.effects, numbers, strict=True):
            if value:
                for row, effect in effects.items():
                    rest[row] -= effect * value
        return rest


def on_face(effects: Sequence[Effects], columns: Sequence[Sequence[int]]) -> list[Effects]:
    """What the entries of R add where ``W R W'`` stands for a matrix, from what its entries add: lower
    triangles row by row, an entry off the diagonal stands for two; ``columns``: those of W."""
    from flint import fmpq

    support = [[(i, v) for i, v in enumerate(column) if v] for column in columns]
    result = []
    for a, first in enumerate(support):
        for b, second in enumerate(support[: a + 1]):
            total: Effects = {}
            for i, v in first:
                for j, w in second:
                    weight = v * w * (2 if i == j else 1)
                    for row, value in effects[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)].items():
                        total[row] = total.get(row, 0) + value * weight
            half = fmpq(1, 2) if a == b else fmpq(1)
            result.append({row: value * half for row, value in total.items() if value})
    return result


def dyadic(values: np.ndarray, bits: int) -> list[Any]:
    """Numbers rounded to so many binary places relative to the largest of them, as rationals."""
    from flint import fmpq

    size = float(np.abs(values).max(initial=0.0))
    places = bits - (math.frexp(size)[1] if size > 0 else 0)
    return [fmpq(int(v)) * fmpq(2) ** -places for v in np.rint(np.ldexp(values, places)).tolist()]


def in_floats(effects: Sequence[Effects], width: int) -> sp.csr_matrix:
    """The effects, one a row."""
    pointers = np.cumsum([0, *map(len, effects)])
    indices = [row for each in effects for row in each]
    data = [float(Fraction(int(v.p), int(v.q))) for each in effects for v in each.values()]
    return sp.csr_matrix((data, indices, pointers), shape=(len(effects), width))


def independent_columns(matrix: np.ndarray, rank: int | None = None) -> np.ndarray:
    """A largest set of independent columns (of ``rank`` ones where that is known) as floats see them, by
    pivoted QR; a wrong choice costs accuracy, or makes a search fail, and no truth."""
    r, pivot = la.qr(matrix, mode="r", pivoting=True)[:2]
    if rank is None:
        size = np.abs(np.diag(r[: min(r.shape)]))
        rank = int((size > 1e-9 * size.max(initial=1e-300)).sum())
    return np.sort(pivot[:rank])
