"""Queries on a graph: cuts, linear and rank-one forms, each with a sensitivity from the query alone.

A query is a fixed weight for every unordered pair of vertices; its answer is the sum over pairs of weight
times
the pair's entry. Weights are integers in a public grid (exact for 0/1 weights), so that answers are integers.

Sensitivities: docs/proofs/cuts_online.md, section "Queries"
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

GRID = 1 << 20
"""Weights that are not 0/1 are rounded to multiples of their public scale over 2^20."""

COUNTS = ("pairs", "bilinear")


class Query(ABC):
    """One linear query. `sensitivity` and `count` are integers in units of `unit`."""

    n: int
    unit: Fraction
    sensitivity: int

    @abstractmethod
    def count(self, adjacency: sp.csr_array) -> int:
        """The answer on an integer adjacency matrix (n, n), exact."""

    @abstractmethod
    def apply(self, matrix: np.ndarray) -> float:
        """The answer on a dense symmetric (n, n) matrix, in plain units."""

    @abstractmethod
    def add(self, matrix: np.ndarray, amount: float) -> None:
        """Add amount * weight to every pair of a dense symmetric matrix, in place."""

    @abstractmethod
    def squared_norm(self) -> float:
        """Sum over pairs of the squared weight."""

    def blocks(self) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """Rectangles (rows, columns, weight) of ordered pairs whose symmetric sum the weight matrix is.

        Empty for a query whose weights are not constant on rectangles.
        """
        return []

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for json; `query_from_dict` reads them."""

    @property
    def delta(self) -> float:
        """Sensitivity in plain units: the largest weight of a pair."""
        return float(self.sensitivity * self.unit)


def proven(query: Query) -> Query:
    """The query; TypeError where its sensitivity is that of a class of somebody else's."""
    if type(query) not in (CutQuery, RankOneQuery, LinearQuery):
        raise TypeError(f"a CutQuery, RankOneQuery or LinearQuery is expected, got {type(query).__name__}")
    return query


def _vertices(members: Iterable[int], n: int, name: str) -> np.ndarray:
    result = np.asarray(list(members) if not isinstance(members, np.ndarray) else members)
    if result.size == 0:
        result = np.zeros(0, dtype=np.int64)
    if result.dtype == np.bool_ and result.shape == (n,):
        result = np.flatnonzero(result)
    if result.ndim != 1 or result.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of vertex numbers")
    result = np.unique(result.astype(np.int64))
    if result.size and not (result[0] >= 0 and result[-1] < n):
        raise ValueError(f"the vertices of {name} must lie in 0..{n - 1}")
    return result


class CutQuery(Query):
    """Edges between S and T.

    Args:
        n: number of vertices. first, second: S and T, lists of vertex numbers or boolean masks.
        count: for sets that overlap, "pairs" (every pair once, sensitivity 1) or "bilinear" (1_S' A 1_T,
        where a
            pair inside both counts twice: sensitivity 2).

    Raises:
        ValueError: vertices out of range, or an unknown `count`.
    """

    unit = Fraction(1)

    def __init__(self, n: int, first: Iterable[int], second: Iterable[int], *, count: str = "pairs") -> None:
        if count not in COUNTS:
            raise ValueError(f"count must be one of {', '.join(COUNTS)}, got {count!r}")
        self.n = int(n)
        self.first, self.second = _vertices(first, self.n, "S"), _vertices(second, self.n, "T")
        self.mode = count
        self.both = np.intersect1d(self.first, self.second, assume_unique=True)
        self._only_first = np.setdiff1d(self.first, self.both, assume_unique=True)
        self._only_second = np.setdiff1d(self.second, self.both, assume_unique=True)
        both = len(self.both)
        separated = len(self._only_first) * len(self.second) + both * len(self._only_second)
        self.sensitivity = (2 if count == "bilinear" else 1) if both >= 2 else int(separated > 0)

    def count(self, adjacency: sp.csr_array) -> int:
        """The exact integer answer."""
        small, large = sorted((self.first, self.second), key=lambda side: int(_degrees(adjacency, side)))
        mask = np.zeros(self.n, dtype=np.int64)
        mask[large] = 1
        total = int((adjacency[small] @ mask).sum()) if len(small) else 0
        if self.mode == "pairs" and len(self.both) >= 2:
            inner = np.zeros(self.n, dtype=np.int64)
            inner[self.both] = 1
            total -= int((adjacency[self.both] @ inner).sum()) // 2
        return total

    def apply(self, matrix: np.ndarray) -> float:
        """The answer on a dense symmetric matrix."""
        return float(sum(weight * matrix[np.ix_(rows, cols)].sum() for rows, cols, weight in self.blocks()))

    def add(self, matrix: np.ndarray, amount: float) -> None:
        """Add a multiple of the weights, in place."""
        for rows, cols, weight in self.blocks():
            if rows is cols:
                matrix[np.ix_(rows, rows)] += 2.0 * weight * amount
                matrix[rows, rows] = 0.0
            else:
                matrix[np.ix_(rows, cols)] += weight * amount
                matrix[np.ix_(cols, rows)] += weight * amount

    def squared_norm(self) -> float:
        """Sum over pairs of the squared weight."""
        inner = len(self.both) * (len(self.both) - 1) / 2.0
        separated = len(self._only_first) * len(self.second) + len(self.both) * len(self._only_second)
        return separated + inner * (4.0 if self.mode == "bilinear" else 1.0)

    def blocks(self) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """Rectangles of constant weight."""
        inner = 1.0 if self.mode == "bilinear" else 0.5
        pieces = [(self._only_first, self.second, 1.0), (self.both, self._only_second, 1.0)]
        result = [piece for piece in pieces if len(piece[0]) and len(piece[1])]
        return result + ([(self.both, self.both, inner)] if len(self.both) >= 2 else [])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for json."""
        return {
            "kind": "cut", "n": self.n, "first": self.first.tolist(), "second": self.second.tolist(),
            "count": self.mode,
        }  # fmt: skip


def _degrees(adjacency: sp.csr_array, side: np.ndarray) -> np.integer:
    return (adjacency.indptr[side + 1] - adjacency.indptr[side]).sum() if len(side) else np.int64(0)


def _on_grid(values: Any, name: str) -> tuple[np.ndarray, Fraction]:
    """Integers of absolute value at most 2^20 and the power of two they are multiples of.

    The largest is above 2^19, so that numbers on the grid find the same grid again.
    """
    plain = np.asarray(values, dtype=float)
    if plain.ndim != 1 or not np.isfinite(plain).all():
        raise ValueError(f"{name} must be a vector of finite numbers")
    largest = float(np.abs(plain).max(initial=0.0))
    exponent = math.frexp(largest)[1]
    whole = np.rint(np.ldexp(plain, 20 - exponent)).astype(np.int64)
    if largest and np.abs(whole).max() <= GRID // 2:
        exponent -= 1
        whole = np.clip(np.rint(np.ldexp(plain, 20 - exponent)).astype(np.int64), -GRID, GRID)
    return whole, Fraction(2) ** exponent / GRID


class RankOneQuery(Query):
    """x' A y for real vectors x, y (n,): a pair has weight x_i y_j + x_j y_i (of x, y rounded to 2^-20)."""

    def __init__(self, x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> None:
        self.x, first = _on_grid(x, "x")
        self.y, second = _on_grid(y, "y")
        if self.x.shape != self.y.shape:
            raise ValueError(f"x and y must have the same length, got {len(self.x)} and {len(self.y)}")
        self.n = len(self.x)
        self.unit = first * second
        self._plain = self.x * float(first), self.y * float(second)
        self.sensitivity = _largest_pair(self.x, self.y)

    def count(self, adjacency: sp.csr_array) -> int:
        """The exact integer answer."""
        image = adjacency @ self.y
        return sum(a * b for a, b in zip(self.x.tolist(), image.tolist()))

    def apply(self, matrix: np.ndarray) -> float:
        """The answer on a dense symmetric matrix."""
        x, y = self._plain
        return float(x @ matrix @ y)

    def add(self, matrix: np.ndarray, amount: float) -> None:
        """Add a multiple of the weights, in place."""
        x, y = self._plain
        change = np.outer(x, y)
        matrix += amount * (change + change.T)
        np.fill_diagonal(matrix, 0.0)

    def squared_norm(self) -> float:
        """Sum over pairs of the squared weight."""
        x, y = self._plain
        off = 2.0 * (x @ x) * (y @ y) + 2.0 * (x @ y) ** 2
        return float(off - 4.0 * (x**2 @ y**2)) / 2.0

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for json."""
        return {"kind": "rank one", "x": self._plain[0].tolist(), "y": self._plain[1].tolist()}


def _largest_pair(x: np.ndarray, y: np.ndarray, rows: int = 1 << 10) -> int:
    """max over i < j of |x_i y_j + x_j y_i|, exact integers; O(n^2) for n up to 4096, else the bound 2
    max|x| max|y|."""
    n = len(x)
    if n > 4096:
        return 2 * int(np.abs(x).max()) * int(np.abs(y).max())
    largest = 0
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        block = np.abs(np.outer(x[part], y) + np.outer(y[part], x))
        block[np.arange(len(x[part])), np.arange(start, start + len(x[part]))] = 0
        largest = max(largest, int(block.max(initial=0)))
    return largest


class LinearQuery(Query):
    """A weight for each of some pairs: pairs (k, 2) of vertex numbers, weights (k,) reals (a repeated pair
    adds up)."""

    def __init__(self, n: int, pairs: Any, weights: Sequence[float]) -> None:
        self.n = int(n)
        ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        if ends.size and not (ends.min() >= 0 and ends.max() < self.n):
            raise ValueError(f"the vertices of the pairs must lie in 0..{self.n - 1}")
        if (ends[:, 0] == ends[:, 1]).any():
            raise ValueError("a pair needs two different vertices")
        plain = np.asarray(weights, dtype=float)
        if plain.shape != (len(ends),):
            raise ValueError(f"{len(ends)} pairs need as many weights, got {plain.shape}")
        low, high = ends.min(axis=1, initial=self.n), ends.max(axis=1, initial=0)
        upper = sp.csr_array((plain, (low, high)), shape=(self.n, self.n))
        upper.sum_duplicates()  # before the grid is chosen: it is that of the sums
        upper.data, self.unit = _on_grid(upper.data, "weights")
        self._upper = upper.tocoo()
        self.sensitivity = int(np.abs(self._upper.data).max(initial=0))

    def count(self, adjacency: sp.csr_array) -> int:
        """The exact integer answer."""
        rows, columns = self._upper.coords
        entries = np.asarray(adjacency[rows, columns]).ravel() if len(rows) else np.zeros(0, dtype=np.int64)
        return sum(a * b for a, b in zip(entries.tolist(), self._upper.data.tolist()))

    def apply(self, matrix: np.ndarray) -> float:
        """The answer on a dense symmetric matrix."""
        rows, columns = self._upper.coords
        return float(matrix[rows, columns] @ self._upper.data) * float(self.unit)

    def add(self, matrix: np.ndarray, amount: float) -> None:
        """Add a multiple of the weights, in place."""
        rows, columns = self._upper.coords
        change = amount * float(self.unit) * self._upper.data
        matrix[rows, columns] += change
        matrix[columns, rows] += change

    def squared_norm(self) -> float:
        """Sum over pairs of the squared weight."""
        return float((self._upper.data.astype(float) ** 2).sum()) * float(self.unit) ** 2

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for json."""
        rows, columns = self._upper.coords
        pairs = np.stack([rows, columns], axis=1).tolist()
        weights = [float(value * self.unit) for value in self._upper.data.tolist()]
        return {"kind": "linear", "n": self.n, "pairs": pairs, "weights": weights}


def query_from_dict(data: dict[str, Any]) -> Query:
    """Read what `to_dict` of a query wrote.

    Raises:
        ValueError: an unknown kind.
    """
    kind = data.get("kind")
    if kind == "cut":
        return CutQuery(data["n"], data["first"], data["second"], count=data["count"])
    if kind == "rank one":
        return RankOneQuery(data["x"], data["y"])
    if kind == "linear":
        return LinearQuery(data["n"], data["pairs"], data["weights"])
    raise ValueError(f"a query is of kind cut, rank one or linear, got {kind!r}")


@dataclass(frozen=True)
class Answer:
    """An answer of the online mechanism.

    value: in plain units; updated: it came from the data (a paid round); error_bound: with probability 1 -
    beta for
    all queries together while nothing is exhausted, else infinity; remaining: paid rounds left; exhausted:
    the data
    are read no more.
    """

    value: float
    updated: bool
    error_bound: float
    remaining: int
    exhausted: bool
