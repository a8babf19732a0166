"""The exponential mechanism over all labellings of a small graph, drawn exactly (Algorithm 5.19, rough step).

Statement and proof: docs/proofs/sbm_exponential.md
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from sosdp.estimator.field import Field, budget, positive
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import range_rho
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import open_bits

from ..graph_input import CanonicalGraph
from .base import RecoveryEstimator, release_value

LARGEST = 22
"""Most vertices for which the 2^(n-1) labellings are listed."""


def agreements(adjacency: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """H(z) = sum over edges of z_i z_j and s(z) = sum of z, for all 2^(n-1) labellings with z_0 = +1.

    adjacency: (n, n) of 0/1, dense. In labelling number k, vertex j >= 1 is -1 iff bit j - 1 of k is set. Two
    int16 arrays; O(2^n) time.
    """
    matrix = np.asarray(adjacency, dtype=np.int16)
    n = matrix.shape[0]
    agreement, total = np.zeros(1, dtype=np.int16), np.ones(1, dtype=np.int16)
    for vertex in range(1, n):
        field = np.full(1, matrix[vertex, 0], dtype=np.int16)
        for other in range(1, vertex):
            field = np.concatenate([field + matrix[vertex, other], field - matrix[vertex, other]])
        agreement = np.concatenate([agreement + field, agreement - field])
        total = np.concatenate([total + np.int16(1), total - np.int16(1)])
    return agreement, total


def levels(adjacency: np.ndarray, density: Fraction) -> tuple[np.ndarray, dict[int, int], int]:
    """Codes of all labellings, the integer level of every code that occurs, and what a level is worth.

    With density b = N / M in lowest terms and D = 2 M, the level N (s^2 - n) - D H is an integer, the smaller
    the better, and exp(-(epsilon / 2) level / D) = exp((epsilon / 2) (H - b (s^2 - n) / 2)). Returns (codes,
    {code: level}, D).
    """
    n = np.asarray(adjacency).shape[0]
    agreement, total = agreements(adjacency)
    codes = (agreement.astype(np.int64) << 8) + (total.astype(np.int64) + n)
    scale = 2 * density.denominator

    def level(code: int) -> int:
        h, s = code >> 8, (code & 255) - n
        return density.numerator * (s * s - n) - scale * h

    return codes, {int(code): level(int(code)) for code in np.unique(codes)}, scale


def labelling(number: int, n: int) -> np.ndarray:
    """The labelling of this number, (n,) of +-1 with first label +1."""
    bits = (number >> np.arange(n - 1)) & 1
    return np.concatenate([[1], 1 - 2 * bits]).astype(np.int64)


class ExponentialRecovery(RecoveryEstimator):
    """epsilon-edge-private (pure) labelling of a graph with at most 22 vertices by the exponential mechanism.

    Draws z with probability exactly proportional to exp((epsilon / 2) (sum over edges of z_i z_j - (d / n)
    sum over pairs of z_i z_j)), by listing the 2^(n-1) labellings up to sign, with integers. Larger
    graphs are refused: no sampler with a proven law and a usable running time is known (Markov chains mix
    provably fast only where epsilon times the degree is below about 1, where nothing can be learned). Cost:
    2^n operations, half a second at n = 22. Source: arXiv 2301.04822, Algorithm 5.19;
    docs/proofs/sbm_exponential.md.
    """

    epsilon: float = Field(budget, "budget of one fit, > 0")
    average_degree: float = Field(
        positive,
        "d; only d / n enters, which penalises unequal communities. Wrong values cost "
        "accuracy, never privacy",
    )

    def _release(self, graph: CanonicalGraph) -> Release:
        check_size(graph.n)
        density = Fraction(float(self.average_degree)) / graph.n
        codes, level_of, scale = levels(graph.adjacency.toarray(), density)
        occurring, counts = np.unique(codes, return_counts=True)
        by_level: Counter[int] = Counter()
        for code, count in zip(occurring.tolist(), counts.tolist()):
            by_level[level_of[code]] += count
        bits = open_bits(self.insecure_seed)
        level = exact.categorical_exp(by_level, Fraction(self.epsilon) / (2 * scale), bits)
        chosen = [code for code in occurring.tolist() if level_of[code] == level]
        members = np.flatnonzero(np.isin(codes, chosen))
        labels = labelling(int(members[exact.random_below(len(members), bits)]), graph.n)
        terms = self._terms(graph, "sbm.exponential")
        return terms.seal(
            release_value(labels, graph, "exponential"),
            terms.guarantee(epsilon=float(self.epsilon), rho=range_rho(self.epsilon)),
            bits,
            public={"n": graph.n, "average_degree": float(self.average_degree)},
        )


def check_size(n: int) -> None:
    """Raise ValueError, with the reason, for more vertices than can be listed."""
    if n > LARGEST:
        raise ValueError(
            f"the exponential mechanism lists all 2^(n-1) labellings, which is done up to n = {LARGEST}, not "
            f"n = {n}; beyond that no sampler has a proven law. Use CertificateRecovery (all labels or "
            "none), RandomizedResponseRecovery (pure epsilon) or ProjectionRecovery"
        )
