"""Noisy iteration and a private vote for k communities: rows in k - 1 dimensions in place of signs.

Statement and proof: docs/proofs/sbm_rounds.md
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sosdp.privacy import randomness as noise
from sosdp.privacy.randomness.bits import RandomBits

from .clustering import cluster
from .edges import CanonicalEdges
from .rounds import WORD, GaussianRounds, gaussian_scale, laplace_scale, public_words

ROW = 1024
"""Length of a row in grid units: a vertex counts as much as one sign in `GaussianRounds`."""


def unit_rows(values: np.ndarray) -> np.ndarray:
    """Rows (n, r) scaled to length `ROW` and truncated towards zero, as integers of length at most `ROW`.

    A row that is not finite or too short to have a direction becomes zero: the length bound, on which privacy
    rests, holds for every input and is checked in integers.
    """
    with np.errstate(all="ignore"):
        lengths = np.sqrt((values * values).sum(axis=1))
        rows = np.trunc(values / lengths[:, None] * ROW)
    rows = np.where(np.isfinite(rows).all(axis=1)[:, None], rows, 0.0).astype(np.int64)
    rows[np.abs(rows).max(axis=1) > ROW] = 0
    rows[(rows * rows).sum(axis=1) > ROW * ROW] = 0
    return rows


def whitened(values: np.ndarray) -> np.ndarray:
    """Rows centred and multiplied by the inverse square root of their covariance."""
    rows = values - values.mean(axis=0)
    with np.errstate(all="ignore"):
        covariance = rows.T @ rows / len(rows)
        if not np.all(np.isfinite(covariance)):
            return rows
        spread, axes = np.linalg.eigh(covariance)
        scale = 1 / np.sqrt(np.maximum(spread, 1e-12 * max(float(spread[-1]), 1e-300)))
        return rows @ (axes * scale)


def group_start(n: int, width: int, key: int) -> np.ndarray:
    """Public random rows (n, width) of length at most `ROW`, with mean near zero."""
    columns = [public_words(n, key, WORD // 2 + c).astype(np.float64) / WORD - 0.5 for c in range(width)]
    return unit_rows(whitened(np.column_stack(columns)))


def group_rounds(
    edges: CanonicalEdges,
    plan: GaussianRounds,
    communities: int,
    epsilons: tuple[float, float],
    delta: float,
    key: int,
    bits: RandomBits,
) -> np.ndarray:
    """Labels 0..k-1 (n,), before renumbering; epsilons: of the rounds, and of the vote. Needs n >= k."""
    n, width = edges.n, communities - 1
    sigma, grid = gaussian_scale(epsilons[0], delta, plan.rounds), Fraction(1, edges.unit * ROW)
    rows = group_start(n, width, key)
    seen = rows.astype(np.float64)
    for _ in range(plan.rounds):
        drawn = noise.gaussian((n, width), sigma, grid, law="rounded", source=bits)
        seen = noise.add(edges.counts(rows), drawn).astype(np.float64) / (edges.unit * ROW)
        rows = unit_rows(whitened(seen))
    groups = cluster(whitened(seen), communities)
    return group_vote(edges, groups, communities, epsilons[1], key, bits)


def group_counts(edges: CanonicalEdges, groups: np.ndarray, communities: int) -> np.ndarray:
    """(n, k) int64: edges from each vertex into each group, in units of `edges.unit`."""
    return edges.counts((groups[:, None] == np.arange(communities)[None, :]).astype(np.int8))


def geometric(laplace: np.ndarray) -> np.ndarray:
    """Discrete Laplace counts L folded to L >= 0: L if L >= 0, else -L - 1, so P(j) = (1 - a) a^j."""
    return np.where(laplace >= 0, laplace, -laplace - 1)


def group_vote(
    edges: CanonicalEdges, groups: np.ndarray, communities: int, epsilon: float, key: int, bits: RandomBits
) -> np.ndarray:
    """The group with the largest count after geometric noise, at every vertex; ties by a public order."""
    n = edges.n
    drawn = noise.laplace((n, communities), laplace_scale(epsilon), Fraction(1, edges.unit), source=bits)
    votes = noise.add(group_counts(edges, groups, communities), geometric(drawn))
    order = np.column_stack([public_words(n, key, WORD // 4 + c) for c in range(communities)])
    best = votes == votes.max(axis=1, keepdims=True)
    return np.where(best, order >> np.uint64(1), np.uint64(0)).argmax(axis=1)
