"""The pairs of columns with a correlation above a public threshold, released when no pair is close to it.

Proof: docs/proofs/mrf_structure.md
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.estimator.base import RecordEstimator
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import positive
from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_with_margin

from ..program import signs
from ..structure import THRESHOLD_STEP, correlated_pairs, product_sums
from .base import Edges, check_budget
from .tree import structure_value


class CorrelationGraph(RecordEstimator):
    """The graph of |mean z_i z_j| > threshold; for weak interactions, the graph of a zero-field Ising model.

    Parameters (all public):
        threshold: tau; taken as the exact rational that the float is.
        epsilon, delta: budget. insecure_seed: tests only; voids the guarantee.

    Attributes after fit: edges_, or None where the graph was not released.
    """

    edges_: Edges | None

    def __init__(
        self,
        threshold: float,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        insecure_seed: int | None = None,
    ) -> None:
        self.threshold = threshold
        self.epsilon = epsilon
        self.delta = delta
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        check_budget(self.epsilon, self.delta)
        positive(self.threshold, "threshold")

    def _release(self, data: np.ndarray) -> Release:
        n, p = data.shape
        if p < 2:
            raise ValueError("a graph needs at least two columns")
        edges, margin = correlated_pairs(product_sums(signs(data)), n, Fraction(self.threshold))
        release = release_with_margin(
            edges,
            margin,
            THRESHOLD_STEP,
            epsilon=self.epsilon,
            delta=self.delta,
            adjacency=ONE_RECORD_REPLACED,
            mechanism="mrf.correlation-graph",
            insecure_seed=self.insecure_seed,
        )
        return release.postprocess(structure_value(release.value), public={"n": n, "dimension": p})

    def _unpack(self, value: Any) -> None:
        self.edges_ = value["edges"]
