"""Exact or nothing: whether labels that are released already should be, by the least vote of any vertex.

Statement and proof: docs/proofs/sbm_rounds.md, section "Exact or nothing"
"""

from __future__ import annotations

import numpy as np

from sosdp.privacy import randomness as noise
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_rule
from sosdp.privacy.randomness.bits import RandomBits

from .edges import CanonicalEdges


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
