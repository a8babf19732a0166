"""Values, gradients and second derivatives of polynomials in floats, for local searches.

Every monomial is a row of variables with their powers, which the product rule differentiates one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..algebra.monomials import concatenate
from ..algebra.polynomial import Polynomial
from .statement import tallest


class Jets:
    """Polynomials in the variables ``ids``, evaluated together, each in units of its largest coefficient.

    Parameters
    ----------
    polynomials : sequence of Polynomial
        At least one, in no other variables.
    ids : list of int
        The variables, sorted; a point is an array of their values.

    Attributes
    ----------
    sizes : list of Fraction
        The largest coefficient of each, by which it is divided; 1 of the zero polynomial.
    """

    def __init__(self, polynomials: Sequence[Polynomial], ids: list[int]) -> None:
        monos = concatenate([p.monos for p in polynomials])
        self.count, self.side = len(polynomials), len(ids)
        self._owner = np.repeat(np.arange(self.count), [len(p.coefs) for p in polynomials])
        self.sizes = [tallest(p) or Fraction(1) for p in polynomials]
        relative = [
            Fraction(c) / s for p, s in zip(polynomials, self.sizes, strict=True) for c in p.coefs.tolist()
        ]
        self._coefs = np.array(relative, dtype=float)
        # the place of each variable and its power; an empty place has the value 1, behind the point
        places = np.where(monos > 0, np.searchsorted(ids, monos), self.side)
        fresh = np.ones(places.shape, dtype=bool)
        fresh[:, 1:] = places[:, 1:] != places[:, :-1]
        fresh &= monos > 0
        column, row = np.cumsum(fresh, axis=1) - 1, np.arange(places.shape[0])[:, None]
        shape = places.shape[0], int(fresh.sum(axis=1).max(initial=0))
        self._places, self._powers = np.full(shape, self.side), np.zeros(shape, dtype=int)
        at = (np.broadcast_to(row, places.shape)[monos > 0], column[monos > 0])
        self._places[at] = places[monos > 0]
        np.add.at(self._powers, at, 1)

    def values(self, x: np.ndarray) -> np.ndarray:
        """The values at a point, shape (polynomials,)."""
        return np.bincount(self._owner, self._products(x), self.count)

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """The gradients at a point, shape (polynomials, variables)."""
        width, table = self.side + 1, np.zeros(self.count * (self.side + 1))
        for k in range(self._places.shape[1]):
            cells = self._owner * width + self._places[:, k]
            table += np.bincount(cells, self._products(x, k), table.size)
        return table.reshape(self.count, width)[:, :-1]

    def bends(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Second derivatives of a sum with ``weights``, shape (variables, variables)."""
        width, places = self.side + 1, self._places
        table = np.zeros(width * width)
        for k in range(places.shape[1]):
            for j in range(k + 1):
                cells = places[:, j] * width + places[:, k]
                terms = weights[self._owner] * self._products(x, j, k)
                table += np.bincount(cells, terms / 2 if j == k else terms, table.size)
        matrix = table.reshape(width, width)[:-1, :-1]
        return matrix + matrix.T

    def _products(self, x: np.ndarray, *columns: int) -> np.ndarray:
        """The terms, differentiated by the variables in these columns."""
        powers, factors = self._powers.copy(), self._coefs
        for k in columns:
            factors = factors * powers[:, k]
            powers[:, k] -= powers[:, k] > 0
        return factors * (np.append(x, 1.0)[self._places] ** powers).prod(axis=1)
