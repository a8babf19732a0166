"""The pairs of columns with a correlation above a public threshold, released when no pair is close to it.

Proof: docs/proofs/mrf_structure.md
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.estimator.base import RecordEstimator
from sosdp.estimator.field import SEED, Field, Fitted, budget, positive, privacy_delta
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_with_margin

from ..program import signs
from ..structure import THRESHOLD_STEP, correlated_pairs, product_sums
from .base import Edges
from .tree import structure_value


class CorrelationGraph(RecordEstimator):
    """The graph of |mean z_i z_j| > threshold; for weak interactions, the graph of a zero-field Ising model.

    Attributes after fit: edges_, or None where the graph was not released.
    """

    threshold: float = Field(positive, "tau; taken as the exact rational that the float is")
    epsilon: float = Field(budget, "budget", default=1.0, kw_only=True)
    delta: float = Field(privacy_delta, "budget", default=1e-6, kw_only=True)
    insecure_seed: int | None = Field(None, SEED, default=None, kw_only=True)

    edges_: Edges | None = Fitted()

    def _release(self, data: np.ndarray) -> Release:
        n, p = data.shape
        if p < 2:
            raise ValueError("a graph needs at least two columns")
        edges, margin = correlated_pairs(product_sums(signs(data)), n, Fraction(self.threshold))
        release = release_with_margin(
            self._terms(data, "mrf.correlation-graph"),
            edges,
            margin,
            THRESHOLD_STEP,
        )
        return release.postprocess(structure_value(release.value), public={"n": n, "dimension": p})

    def _unpack(self, value: Any) -> None:
        self.edges_ = value["edges"]
