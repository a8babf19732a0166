"""Noisy iteration and a private vote for k communities: rows in k - 1 dimensions in place of signs.

Statement and proof: docs/proofs/sbm_rounds.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from sosdp.privacy import randomness as noise
from sosdp.privacy.calibrate import check_positive
from sosdp.privacy.randomness.bits import RandomBits

from .clustering import cluster
from .edges import CanonicalEdges
from .rounds import WORD, GaussianRounds, gaussian_scale, laplace_scale, public_words
from .rounds_planning import EPSILON_SHARES, MOST_ROUNDS, PlannedRounds, gaussian_noise
from .votes import group_law

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


# ------------------------------------------------------------------------------------------------------------
# Planning


def plan_groups(
    n: int, average_degree: float, gamma: float, communities: int, epsilon: float, delta: float
) -> PlannedRounds:
    """The best Gaussian plan for k equal communities, one round longer than the optimum."""
    for name, value in (("average_degree", average_degree), ("gamma", gamma), ("epsilon", epsilon)):
        check_positive(value, name)
    if not delta > 0:
        raise ValueError("rounds for more than two communities need delta > 0")
    return _plan(int(n), float(average_degree), float(gamma), int(communities), float(epsilon), float(delta))


@lru_cache(maxsize=500)
def _plan(n: int, d: float, gamma: float, k: int, epsilon: float, delta: float) -> PlannedRounds:
    result = []
    for share in EPSILON_SHARES:
        for rounds in range(2, MOST_ROUNDS):
            theta = _rough_error(n, d, gamma, k, share * epsilon, delta, rounds)
            result.append((theta, share, rounds))
    best = max(
        (
            _voted(n, d, gamma, k, epsilon, theta, GaussianRounds(rounds + 1, share))
            for theta, share, rounds in result
        ),
        key=lambda planned: (round(planned.exact, 3), -planned.error),
    )
    return best


def _rough_error(n: int, d: float, gamma: float, k: int, epsilon: float, delta: float, rounds: int) -> float:
    """Share of wrong labels after the rounds: overlap by a normal recursion, then nearest centres."""
    width = k - 1
    deviation = math.sqrt(d / width + gaussian_noise(epsilon, delta, rounds + 1).scale ** 2)
    overlap, signal = 0.1 / math.sqrt(n), gamma * d / deviation
    for _ in range(rounds):
        reached = overlap * signal
        overlap = reached / math.sqrt(1 + reached**2)
    centres = math.sqrt(k / (2 * (k - 1)))  # half the distance of two corners of the simplex
    return min(1 - 1 / k, width * float(ndtr(-overlap * signal * centres)))


def _voted(
    n: int, d: float, gamma: float, k: int, epsilon: float, theta: float, plan: GaussianRounds
) -> PlannedRounds:
    law, offset = group_law(n, d, gamma, k, theta)
    values = np.arange(len(law)) - offset
    scale = 2 / ((1 - plan.share) * epsilon)
    # the difference of two geometric noises is discrete Laplace
    tail = 0.5 * np.exp(-np.abs(values) / scale)
    error = (k - 1) * float(law @ np.where(values >= 0, tail, 1 - tail))
    error = min(error, 1 - 1 / k)
    return PlannedRounds(plan, math.exp(-min(n * error, 700.0)), error)
