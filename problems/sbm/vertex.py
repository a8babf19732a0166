"""Noisy signs that every vertex computes for itself: the mechanism behind `VertexRecovery`.

What all vertices but one are told moves little when all edges of that one change. Public: the key, and with
it starts, ties and the order in which lists of neighbours are cut.

Statement and proof: docs/proofs/sbm_vertex.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtr

from sosdp.estimator.planner import best
from sosdp.privacy import randomness as noise
from sosdp.privacy.randomness.bits import RandomBits

from .rounds import public_words, scale_of, signs_with_coin, start
from .rounds_planning import PATHS, fluctuations, random_overlaps

GRID = 1024
"""Counts and the weight of the mean are whole multiples of 1 / GRID."""

MOST_ROUNDS = 32

FAILED = 0.1
"""From this share of wrong labels on a fit has failed."""


@dataclass(frozen=True)
class VertexPlan:
    """Public constants: n vertices, of which each counts for at most `degree` others; `mean` is what every
    label counts against everybody, in units of 1 / GRID; the number of rounds, epsilon and delta; `memory`:
    the weight of earlier noisy counts beside the last, in [0, 1]. Forecasts of `plan_vertex`: `wrong_share`,
    the share of wrong labels to expect, and `failure`, the probability that `FAILED` or more is wrong."""

    n: int
    degree: int
    mean: int
    rounds: int
    epsilon: float
    delta: float
    memory: float = 0.0
    wrong_share: float = 0.5
    failure: float = 1.0

    @property
    def squared_sensitivity(self) -> int:
        """Of all rounds together, in squared units of 1 / GRID: the first one starts from public labels."""
        least = min(self.mean, GRID // 2)
        same = min(2 * self.degree, self.n - 1) * GRID**2
        other = 4 * (self.degree * (GRID - least) ** 2 + (self.n - 1 - self.degree) * least**2)
        return same + (self.rounds - 1) * max(same, other)

    @property
    def scale(self) -> float:
        """Standard deviation of the noise of a count, in units of 1 / GRID."""
        return scale_of(self.epsilon, self.delta, self.squared_sensitivity)

    def forecast(self, gamma: float, average_degree: float) -> VertexPlan:
        """This plan with the memory that grows small overlaps fastest, and what comes of it in `PATHS` runs.

        A sign is right by `mean`, and all signs together by as much and a fluctuation of their number, which
        lasts as far as noise is remembered. `total`, `variance`: of remembered overlaps, and of their noise.
        """
        signal = gamma * average_degree / math.hypot(self.scale / GRID, math.sqrt(average_degree))
        memory = 1.0 / math.hypot(1.0, math.sqrt(2.0 / math.pi) * signal)
        overlap = random_overlaps(self.n, PATHS)
        total, fluctuation, variance = np.zeros(PATHS), np.zeros(PATHS), 0.0
        for number in range(self.rounds):
            kept = memory * math.sqrt(variance)
            total, variance = overlap + memory * total, 1.0 + kept**2
            mean = 1.0 - 2.0 * ndtr(-signal * total / math.sqrt(variance))
            # signs of two sums have this correlation where both are mostly noise
            same = 2.0 / math.pi * math.asin(kept / math.sqrt(variance))
            fluctuation = same * fluctuation + math.sqrt(1.0 - same**2) * fluctuations(number, PATHS)
            overlap = mean + fluctuation * np.sqrt((1.0 - mean**2) / self.n)
        wrong = (1.0 - np.abs(mean)) / 2.0
        return replace(
            self, memory=memory, wrong_share=float(wrong.mean()), failure=float((wrong >= FAILED).mean())
        )


def plan_vertex(
    n: int, budget: tuple[float, float], gamma: float, average_degree: float, max_degree: int | None
) -> VertexPlan:
    """The number of rounds with the best forecast, from public numbers. budget: epsilon and delta."""
    mean = min(round(GRID * average_degree / n), GRID // 2)
    most = n - 1 if max_degree is None else min(int(max_degree), n - 1)  # those of numpy wrap around
    plans = [VertexPlan(n, most, mean, rounds, *budget) for rounds in range(1, MOST_ROUNDS + 1)]
    return best(plans, lambda plan: plan.forecast(gamma, average_degree), lambda plan: plan.wrong_share)


def cut_lists(adjacency: sp.csr_array, degree: int, key: int) -> sp.csr_array:
    """(n, n) 0/1: row w marks the first `degree` neighbours of w, in a public order; those w counts for."""
    n = adjacency.shape[0]
    order = np.argsort(public_words(n, key, 1), kind="stable")
    lists = sp.csr_array(adjacency[:, order])
    lists.sort_indices()
    rows = np.repeat(np.arange(n), np.diff(lists.indptr))
    kept = np.arange(lists.nnz) - lists.indptr[rows] < degree
    ones = np.ones(int(kept.sum()), dtype=np.int64)
    return sp.csr_array((ones, (rows[kept], order[lists.indices[kept]])), shape=(n, n))


def vertex_counts(lists: sp.csr_array, plan: VertexPlan, z: np.ndarray) -> np.ndarray:
    """(n,) int64, in units of 1 / GRID: sum of the labels of those that count for u, less the mean of all."""
    labels = np.asarray(z, dtype=np.int64)
    return GRID * (lists.T @ labels) - min(plan.mean, GRID // 2) * int(labels.sum())


def vertex_rounds(adjacency: sp.csr_array, plan: VertexPlan, key: int, bits: RandomBits) -> np.ndarray:
    """(n,) labels of +-1: entry u is for vertex u alone."""
    lists = cut_lists(adjacency, plan.degree, key)
    z, seen = start(plan.n, key).astype(np.int64), np.zeros(plan.n)
    for _ in range(plan.rounds):
        drawn = noise.gaussian(plan.n, plan.scale, 1, law="rounded", source=bits)
        seen = noise.add(vertex_counts(lists, plan, z), drawn) + plan.memory * seen
        z = signs_with_coin(seen, key)
    return z
