"""The Chow-Liu tree of a zero-field Ising model, released whole when its margin is large.

Proof: docs/proofs/mrf_structure.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sosdp.estimator.base import RecordEstimator
from sosdp.estimator.field import Field, Fitted, budget, privacy_delta
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_with_margin

from ..program import signs
from ..structure import TREE_STEP, chow_liu, product_sums
from .base import Edges


def structure_value(edges: Edges | None) -> dict[str, Any]:
    """The published value of a released structure: edges only; None where it was declined."""
    return {"edges": edges, "weights": None, "field": None, "released": edges is not None}


class StructureEstimator(RecordEstimator):
    """Base of what releases a graph whole, or nothing: edges_ is None where it was not released."""

    epsilon: float = Field(budget, "budget", default=1.0, kw_only=True)
    delta: float = Field(privacy_delta, "budget", default=1e-6, kw_only=True)

    edges_: Edges | None = Fitted()

    def _unpack(self, value: Any) -> None:
        self.edges_ = value["edges"]


class ChowLiuTree(StructureEstimator):
    """The tree over the columns of a table of signs; log p records suffice, whatever p is.

    Attributes after fit: edges_, the p - 1 edges, or None where the tree was not released.
    """

    def _release(self, data: np.ndarray) -> Release:
        edges, margin = chow_liu(product_sums(signs(data)))
        release = release_with_margin(
            self._terms(data, "mrf.tree"),
            edges,
            margin,
            TREE_STEP,
        )
        public = {"n": len(data), "dimension": data.shape[1]}
        return release.postprocess(structure_value(release.value), public=public)
