"""All labellings of a small graph as an exact law: cells of them with bounds, heavy ones listed.

A cell fixes the labels of the first vertices of an order. Where its bound allows much weight all its
labellings are listed; the others keep an integer below all their levels, from the dual of the relaxation of
the rest, and a labelling of them is kept with the probability that is missing. Whatever the cells, the law
drawn is exact. After a public number of rejections all labellings are listed, so a draw ends.

Statement and proof: docs/proofs/sbm_exponential.md
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from sosdp.conic.eigenvalues import eigenvectors_between
from sosdp.conic.rigorous import least_eigenvalue_bound
from sosdp.estimator.base import NUMERICAL_FAILURES
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.structured import StructuredMatrix, maximise_over_elliptope

LARGEST = 40
"""Most vertices."""

WHOLE = 22
"""Up to so many vertices all labellings are one listed cell."""

LISTED = 12
"""Vertices whose labels a listed cell leaves open, beyond `WHOLE`."""

FIRST, LAST = 1 << 12, 1 << 18
"""Most cells that are listed: at first, and after many rejections."""

PATIENCE = 256
"""Rejections after which the cells are made anew, with four times as many listed."""

ROUND = 1 << 17
"""Labellings that are listed in the time of a round, about."""

STEP = 8
"""Bounds on scores are multiples of 1 / STEP edges."""

MARGIN = 2.0**-16
"""Added to every bound: far more than the roundings of computing it."""


def most_rounds(n: int) -> int:
    """Rejections after which all labellings of n vertices are listed: as long as that takes, about."""
    return max(8 * PATIENCE, (1 << (n - 1)) // ROUND)


def most_listed(n: int) -> int:
    """A bound on the labellings that a draw lists, its rounds counted as `ROUND` each; public."""
    return 4 << (n - 1) if n <= WHOLE else (4 << (n - 1)) + 8 * PATIENCE * ROUND + (2 * LAST << LISTED)


class Labellings:
    """The law P(z) ~ exp(-rate level(z)) of the labellings z of a graph with z_0 = +1: private.

    With density b = N / M in lowest terms the level of z is N (s^2 - n) - 2 M H, an integer: H is the sum of
    z_i z_j over the edges, s the sum of z.
    """

    def __init__(
        self, adjacency: np.ndarray, density: Fraction, rate: Fraction, listed: int | None = None
    ) -> None:
        self.n, self.density, self.rate = len(adjacency), density, rate
        self.scale = 2 * density.denominator
        self.order, self.best = np.arange(self.n), np.ones(self.n)
        whole = self.n <= WHOLE and listed is None
        if not whole:
            with suppress(*NUMERICAL_FAILURES):  # the order as it is will do: draws take longer
                self.order, self.best = _promising(adjacency.astype(float) - float(density))
        self.adjacency = np.asarray(adjacency, dtype=np.int64)[np.ix_(self.order, self.order)]
        self.open = self.n - 1 if whole else min(LISTED if listed is None else listed, self.n - 1)
        self.cells = FIRST
        self.edges = int(self.adjacency.sum()) // 2
        self.make()

    def level(self, code: int) -> int:
        """The level of the labellings with this code, see `listed`."""
        h, s = (code >> 8) - self.edges, (code & 255) - self.n
        return self.density.numerator * (s * s - self.n) - self.scale * h

    def make(self) -> None:
        """The cells: those of `kept` are listed, `bounded` has prefixes of the others by their bound."""
        self.bounded: dict[int, list[np.ndarray]] = {}
        kept = np.ones((1, 1), dtype=np.int64)
        for depth in range(2, self.n - self.open + 1):
            kept = np.repeat(kept, 2, axis=0)
            kept = np.column_stack([kept, np.tile([1, -1], len(kept) // 2)])
            bounds = self._bounds(kept)
            weight = (self.n - depth) * math.log(2) + float(self.rate * self.scale) * bounds / STEP
            heavy = np.argsort(-weight, kind="stable")[: self.cells]
            heavy = heavy[weight[heavy] >= self._least]
            light = np.ones(len(kept), dtype=bool)
            light[heavy] = False
            for bound in np.unique(bounds[light]).tolist():
                level = math.floor(Fraction(-self.scale * bound, STEP))
                self.bounded.setdefault(level, []).append(kept[light & (bounds == bound)])
            kept = kept[~light]
        self.kept: np.ndarray | None = kept
        self._count()

    def _count(self) -> None:
        """How many labellings are listed at each level, or in cells bounded by it."""
        self.counts: Counter[int] = Counter()
        codes: Counter[int] = Counter()
        for prefixes in self.pieces():
            tally = np.bincount(self.listed(prefixes).ravel())
            places = np.flatnonzero(tally)
            codes.update(dict(zip(places.tolist(), tally[places].tolist(), strict=True)))
        for code, count in codes.items():
            self.counts[self.level(code)] += count
        for level, groups in self.bounded.items():
            self.counts[level] += sum(len(group) << (self.n - group.shape[1]) for group in groups)

    def pieces(self) -> Iterator[np.ndarray]:
        """Prefixes (c, m) of +-1 of the listed cells, 256 at a time; with `kept` None those of all."""
        depth = self.n - self.open
        for first in range(0, 1 << (depth - 1) if self.kept is None else len(self.kept), 256):
            if self.kept is not None:
                yield self.kept[first : first + 256]
                continue
            numbers = np.arange(first, min(first + 256, 1 << (depth - 1)))
            signs = 1 - 2 * ((numbers[:, None] >> np.arange(depth - 1)) & 1)
            yield np.column_stack([np.ones_like(numbers), signs])

    def list_all(self) -> None:
        """One cell a prefix, all of them listed: every round returns then."""
        self.kept, self.bounded = None, {}
        self._count()

    @property
    def _least(self) -> float:
        """Logarithm of a weight below which all cells together weigh little beside one good labelling."""
        density = float(self.density)
        score = float(self.best @ (self.adjacency - density) @ self.best) + self.n * density
        return float(self.rate * self.scale) * score / 2 - math.log(self.cells) - 5

    def _bounds(self, prefixes: np.ndarray) -> np.ndarray:
        """Integers u >= STEP (H - b (s^2 - n) / 2) for all labellings with each prefix.

        With B = A - b (J - I) of the rest, h what the prefix pulls at it, D diagonal and M = D - B positive
        semidefinite: <h, z> + <z, B z> / 2 <= (tr D + <y, M y>) / 2 + |h - M y|_1 for all signs z and all y.
        """
        depth = prefixes.shape[1]
        matrix = self.adjacency - float(self.density)
        np.fill_diagonal(matrix, 0.0)
        rest, rows = matrix[depth:, depth:], prefixes.astype(float)
        fixed = ((rows @ matrix[:depth, :depth]) * rows).sum(axis=1) / 2
        pulls = rows @ matrix[:depth, depth:]
        result = np.abs(pulls).sum(axis=1) + np.abs(rest).sum() / 2
        mean = self.best[:depth] @ matrix[:depth, depth:]
        for inverse, dual in _duals(rest, mean):
            points = np.clip(np.nan_to_num(pulls @ inverse), -1.0, 1.0)
            slopes = points @ dual
            tangent = np.diagonal(dual).sum() + (points * slopes).sum(axis=1)
            result = np.minimum(result, tangent / 2 + np.abs(pulls - slopes).sum(axis=1))
        return np.ceil(STEP * (fixed + result + MARGIN)).astype(np.int64)

    def listed(self, prefixes: np.ndarray) -> np.ndarray:
        """(c, 2^k) codes (agreement + edges << 8) + sum + n >= 0 of all labellings with these prefixes.

        In labelling number j of a row the vertex m + i has label -1 iff bit i of j is set.
        """
        count, depth = prefixes.shape
        inside = (prefixes @ self.adjacency[:depth, :depth] * prefixes).sum(axis=1) // 2
        agreement, total = inside[:, None].astype(np.int16), prefixes.sum(axis=1)[:, None].astype(np.int16)
        pulls = (prefixes @ self.adjacency[:depth]).astype(np.int16)
        for vertex in range(depth, self.n):
            field = pulls[:, vertex : vertex + 1]
            for other in range(depth, vertex):
                edge = np.int16(self.adjacency[vertex, other])
                field = np.concatenate([field + edge, field - edge], axis=1)
            agreement = np.concatenate([agreement + field, agreement - field], axis=1)
            total = np.concatenate([total + np.int16(1), total - np.int16(1)], axis=1)
        return (agreement.astype(np.int64) + self.edges << 8) + (total.astype(np.int64) + self.n)

    def draw(self, bits: RandomBits) -> np.ndarray:
        """A labelling (n,) of +-1, exactly from the law, after at most `most_rounds` rejections.

        Its time depends on the graph and is not covered; `most_listed` bounds it.
        """
        rejected = 0
        while True:
            level = exact.categorical_exp(self.counts, self.rate, bits)
            place = exact.random_below(self.counts[level], bits)
            labels, true = self.member(level, place)
            if true == level or exact.bernoulli_exp(self.rate * (true - level), bits):
                result = np.empty(self.n, dtype=np.int64)
                result[self.order] = labels
                return result
            rejected += 1
            if rejected == most_rounds(self.n):
                self.list_all()
            elif rejected % PATIENCE == 0 and self.cells < LAST:
                self.cells *= 4
                self.make()

    def member(self, level: int, place: int) -> tuple[np.ndarray, int]:
        """The labelling with this number among those at a level or bound, in the own order, and its level."""
        for group in self.bounded.get(level, ()):
            size = 1 << (self.n - group.shape[1])
            if place < len(group) * size:
                labels = self.completed(group[place // size], place % size)
                return labels, self.level(self.code(labels))
            place -= len(group) * size
        for prefixes in self.pieces():
            codes = self.listed(prefixes).ravel()
            tally = np.bincount(codes)
            chosen = np.zeros(len(tally), dtype=bool)
            chosen[[code for code in np.flatnonzero(tally).tolist() if self.level(code) == level]] = True
            count = int(tally[chosen].sum())
            if place < count:
                row, number = divmod(int(np.flatnonzero(chosen[codes])[place]), 1 << self.open)
                return self.completed(prefixes[row], number), level
            place -= count
        raise AssertionError("the counts are those of the cells")

    def code(self, labels: np.ndarray) -> int:
        """The code of one labelling, in the own order."""
        agreement = int(labels @ self.adjacency @ labels) // 2
        return (agreement + self.edges << 8) + int(labels.sum()) + self.n

    def completed(self, prefix: np.ndarray, number: int) -> np.ndarray:
        """A prefix with the labels that a number says."""
        bits = (number >> np.arange(self.n - len(prefix))) & 1
        return np.concatenate([prefix, 1 - 2 * bits]).astype(np.int64)


def _duals(rest: np.ndarray, mean: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Matrices M = D - B, D diagonal, proven to be positive semidefinite, each after about its inverse.

    D solves the dual of the relaxation of the rest: alone, pulled by the mean, and half way between.
    """
    size, result = len(rest), []
    pulled = np.block([[np.zeros((1, 1)), mean[None, :]], [mean[:, None], rest]])
    try:
        ends = [
            maximise_over_elliptope(StructuredMatrix(sp.csr_array(matrix), 1.0, 0.0), tolerance=0.05).dual
            for matrix in (rest, pulled)
        ]
        for diagonal in (ends[0], ends[1][-size:], (ends[0] + ends[1][-size:]) / 2):
            dual = np.diag(diagonal) - rest
            dual += np.eye(size) * max(0.0, 1e-3 - float(np.linalg.eigvalsh(dual)[0]))
            if least_eigenvalue_bound(dual) >= 0 and np.abs(dual).max() < 2.0**12:
                result.append((np.linalg.inv(dual), dual))
    except NUMERICAL_FAILURES:  # bounds are looser then, and a draw takes longer
        return result
    return result


def _promising(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order of the vertices, the surest first, and a good labelling in that order, for speed."""
    np.fill_diagonal(matrix, 0.0)
    best, most = np.ones(len(matrix)), -math.inf
    for start in eigenvectors_between(matrix, 0, len(matrix) - 1).T:
        labels = np.where(start >= 0, 1.0, -1.0)
        for _ in range(5 * len(matrix)):
            votes = labels * (matrix @ labels)
            worst = int(votes.argmin())
            if votes[worst] >= 0:
                break
            labels[worst] = -labels[worst]
        if votes.sum() > most:
            best, most = labels * labels[0], float(votes.sum())
    votes = best * (matrix @ best)
    order = np.array([0, *(1 + np.argsort(-votes[1:], kind="stable"))])
    return order, best[order]
