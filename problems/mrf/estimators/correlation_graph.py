"""The pairs of columns with a correlation above a public threshold, released when no pair is close to it.

Proof: docs/proofs/mrf_structure.md
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sosdp.estimator.field import Field, positive
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_with_margin

from ..program import signs
from ..structure import THRESHOLD_STEP, correlated_pairs, product_sums
from .tree import StructureEstimator, structure_value


class CorrelationGraph(StructureEstimator):
    """The graph of |mean z_i z_j| > threshold; for weak interactions, the graph of a zero-field Ising model.

    Attributes after fit: edges_, or None where the graph was not released.
    """

    threshold: float = Field(positive, "tau; taken as the exact rational that the float is")

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
