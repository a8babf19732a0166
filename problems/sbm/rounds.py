"""Noisy sign iteration and a private vote: the mechanism behind `RoundsRecovery`, for two communities.

Everything here is a function of the graph only through noisy counts A z; plans, keys, starts, ties and coins
are public. Statement and proof: docs/proofs/sbm_rounds.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sosdp.privacy import randomness as noise
from sosdp.privacy.arguments import integer, positive, settle
from sosdp.privacy.calibrate import between, gaussian_sigma_tight, root_up
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_rule
from sosdp.privacy.randomness.bits import RandomBits, open_bits
from sosdp.structured.directions import unit_rows

from .edges import CanonicalEdges
from .labelling import cluster

WORD = 1 << 64
LEAST_SCALE = Fraction(noise.SMALLEST_UNITS)
"""The sampler's least noise scale in units of the grid; more noise than needed is private too."""


@dataclass(frozen=True)
class GaussianRounds:
    """T noisy counts over all edges with a share of epsilon and the whole delta, then a Laplace vote.

    rounds: T >= 1; share: of epsilon spent before the vote, in (0, 1); by_degree: balance by noisy degrees,
    which are released first as one round more (for graphs of uneven degrees).
    """

    rounds: int
    share: float
    by_degree: bool = False

    def __post_init__(self) -> None:
        settle(
            self, rounds=integer(self.rounds, "rounds"), share=float(between(self.share, "share", "(0, 1)"))
        )

    @property
    def queries(self) -> int:
        """Gaussian queries in all."""
        return self.rounds + bool(self.by_degree)


@dataclass(frozen=True)
class SplitRounds:
    """Purely private: every pair belongs to one public part, which one round sees.

    parts: shares of the pairs for the rounds, each > 0, with a sum of at most 1; what is left is for the vote
    alone. again: (p, q) with 0 <= p < q: in the vote the edges of the rounds count p / q once more, for which
    the rounds get only the rest (1 - p / q) of epsilon.
    """

    parts: tuple[float, ...]
    again: tuple[int, int] = (0, 1)

    def __post_init__(self) -> None:
        settle(self, parts=tuple(map(float, self.parts)))
        settle(self, again=tuple(integer(part, "again", 0) for part in self.again))
        if not self.parts or not all(part > 0 for part in self.parts) or sum(self.parts) > 1 + 1e-12:
            raise ValueError(f"parts must be positive shares with a sum of at most 1, got {self.parts}")
        p, q = self.again
        if not 0 <= p < q <= 64:
            raise ValueError(f"again must be (p, q) with 0 <= p < q <= 64, got {self.again}")
        if p == 0 and sum(self.parts) >= 1:
            raise ValueError("nothing is left for the vote: take smaller parts, or let edges vote again")

    @property
    def rounds(self) -> int:
        """Number of rounds before the vote."""
        return len(self.parts)

    def thresholds(self) -> np.ndarray:
        """Upper ends of the parts as 64-bit integers: a pair is in the first part above its hash."""
        ends = np.cumsum(self.parts)
        return np.array([min(round(Fraction(float(end)) * WORD), WORD - 1) for end in ends], dtype=np.uint64)


Plan = GaussianRounds | SplitRounds


# ------------------------------------------------------------------------------------------------------------
# Public randomness: hashes of the key


def mixed(words: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser (Steele, Lea and Flood 2014), a bijection of 64-bit words."""
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))


def public_words(count: int, key: int, purpose: int) -> np.ndarray:
    """(count,) uint64: one public word a position, a function of the key and of what it is for."""
    salt = mixed(np.array([(key + 0x9E3779B97F4A7C15 * (purpose + 1)) % WORD], dtype=np.uint64))
    with np.errstate(over="ignore"):
        return mixed(mixed(np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + salt))


def public_key(seed: int | None) -> int:
    """A key of 64 bits, from the operating system unless there is a seed."""
    return open_bits().integer(64) if seed is None else 0x9E3779B97F4A7C15 * (int(seed) + 1) % WORD


def part_of(first: np.ndarray, second: np.ndarray, n: int, key: int, thresholds: np.ndarray) -> np.ndarray:
    """Part number 0, 1, ... of each pair (int8), a public function of the unordered pair and the key."""
    low = np.minimum(first, second).astype(np.uint64)
    high = np.maximum(first, second).astype(np.uint64)
    salt = mixed(np.array([key % WORD], dtype=np.uint64))
    with np.errstate(over="ignore"):
        words = mixed(mixed(low * np.uint64(n) + high) ^ salt)
    return np.searchsorted(thresholds, words, side="right").astype(np.int8)


def halves(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """-1 for the n // 2 smallest values, ties by the public words `order` and then position; else +1 (int8).

    O(n).
    """
    n = len(values)
    count = n // 2
    signs = np.ones(n, dtype=np.int8)
    cut = np.partition(values, count - 1)[count - 1]
    below = values < cut
    signs[below] = -1
    tied = np.flatnonzero(values == cut)
    wanted = count - int(below.sum())
    signs[tied[np.argsort(order[tied], kind="stable")[:wanted]]] = -1
    return signs


# ------------------------------------------------------------------------------------------------------------
# Budgets and noise


def scale_of(epsilon: float, delta: float, squared: int) -> float:
    """Standard deviation of Gaussian noise for a squared l2 sensitivity, rounded up."""
    multiplier = Fraction(gaussian_sigma_tight(epsilon, delta))
    return max(root_up(multiplier**2 * squared), float(LEAST_SCALE))


def gaussian_scale(epsilon: float, delta: float, queries: int) -> float:
    """Standard deviation of the noise on every count of `queries` adaptive Gaussian rounds.

    An edge moves a vector A z by sqrt(2), so `queries` of them together by sqrt(2 queries); the multiplier is
    proven for one query of that sensitivity and the root is rounded up.
    """
    return scale_of(epsilon, delta, 2 * integer(queries, "queries"))


def laplace_scale(epsilon: float | Fraction, weight: int = 1) -> Fraction:
    """Scale of the Laplace noise on counts, two of which an edge moves by `weight`: 2 weight / epsilon."""
    return max(2 * integer(weight, "weight") / positive(epsilon, "epsilon"), LEAST_SCALE)


def rounds_epsilon(epsilon: float, again: tuple[int, int]) -> Fraction:
    """What a round of the split plan may spend: epsilon (1 - p / q), exactly."""
    return positive(epsilon, "epsilon") * (1 - Fraction(*again))


# ------------------------------------------------------------------------------------------------------------
# Post-processing of noisy counts


def centred(counts: np.ndarray, z: np.ndarray, degrees: np.ndarray | None) -> np.ndarray:
    """Noisy counts A z less what the noisy degrees k explain, k (k . z) / sum k, if there are any."""
    if degrees is None:
        return counts
    return counts - degrees * (float(degrees @ z) / max(float(degrees.sum()), 1.0))


def signs_with_coin(values: np.ndarray, key: int) -> np.ndarray:
    """Signs (int64) of the values, at 0 a fair coin of the public key."""
    coin = np.where(public_words(len(values), key, WORD - 2) >> np.uint64(63), 1, -1)
    return np.where(values > 0, 1, np.where(values < 0, -1, coin)).astype(np.int64)


# ------------------------------------------------------------------------------------------------------------
# The two plans


def start(n: int, key: int) -> np.ndarray:
    """Public random balanced signs (int8)."""
    return halves(np.zeros(n), public_words(n, key, 0))


def gaussian_rounds(
    edges: CanonicalEdges,
    plan: GaussianRounds,
    epsilons: tuple[float, float],
    delta: float,
    key: int,
    bits: RandomBits,
) -> np.ndarray:
    """Labels (n,) of +-1 by the Gaussian plan; epsilons: of the rounds, and of the vote."""
    n, unit = edges.n, edges.unit
    sigma, grid = gaussian_scale(epsilons[0], delta, plan.queries), Fraction(1, unit)

    def noisy(z: np.ndarray) -> np.ndarray:
        return noise.add(edges.counts(z), noise.gaussian(n, sigma, grid, law="rounded", source=bits))

    degrees = np.maximum(noisy(np.ones(n, dtype=np.int8)), 0.0) if plan.by_degree else None
    z = start(n, key)
    for number in range(1, plan.rounds + 1):
        z = halves(centred(noisy(z), z, degrees), public_words(n, key, number))
    drawn = noise.laplace(n, laplace_scale(epsilons[1]), grid, source=bits)
    return signs_with_coin(centred(noise.add(edges.counts(z), drawn), z, degrees), key)


def split_rounds(
    edges: CanonicalEdges, plan: SplitRounds, epsilon: float, key: int, bits: RandomBits
) -> np.ndarray:
    """Labels (n,) of +-1 by the split plan, which spends epsilon on every edge once."""
    n, grid = edges.n, Fraction(1, edges.unit)
    thresholds, (p, q) = plan.thresholds(), plan.again
    part = np.empty(len(edges.first), dtype=np.int8)
    done = 0
    for first, second, *_ in edges.blocks():
        part[done : done + len(first)] = part_of(first, second, n, key, thresholds)
        done += len(first)
    z = start(n, key)
    for number in range(plan.rounds):
        scale = laplace_scale(rounds_epsilon(epsilon, plan.again))
        seen = noise.add(edges.counts(z, part == number), noise.laplace(n, scale, grid, source=bits))
        z = halves(seen, public_words(n, key, number + 1))
    last = part == plan.rounds
    counts = q * edges.counts(z, last)
    if p:
        counts += p * edges.counts(z, ~last)
    drawn = noise.laplace(n, laplace_scale(epsilon, q), grid, source=bits)
    return signs_with_coin(noise.add(counts, drawn), key)


# ------------------------------------------------------------------------------------------------------------
# Exact or nothing: whether labels that are released already should be, by the least vote of any vertex


def least_vote(edges: CanonicalEdges, labels: np.ndarray) -> int:
    """min_v x_v (A x)_v in units of an edge: one edge changes it by at most one unit. O(edges), exact.

    Positive iff every single change of a label lowers the number of agreeing less that of disagreeing edges.
    """
    signs = np.asarray(labels, dtype=np.int64)
    return int((signs * edges.counts(signs)).min())


def passes(statistic: int, unit: int, epsilon: float, false_pass: float, bits: RandomBits) -> bool:
    """One epsilon-private test of an integer that an edge moves by at most `unit`: statistic + L >= j.

    L is discrete Laplace of scale unit / epsilon, and j the least integer >= 1 with P(L >= j) <= false_pass:
    a statistic of at most 0 passes with no larger probability.
    """
    rule = accept_rule(epsilon, false_pass, unit)
    drawn = int(noise.laplace(1, rule.units, 1, source=bits)[0])
    return statistic + drawn >= rule.margin


# ------------------------------------------------------------------------------------------------------------
# k communities: rows in k - 1 dimensions in place of signs


ROW = 1024
"""Length of a row in grid units: a vertex counts as much as one sign in `GaussianRounds`."""


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
    return unit_rows(whitened(np.column_stack(columns)), ROW)


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
        rows = unit_rows(whitened(seen), ROW)
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
