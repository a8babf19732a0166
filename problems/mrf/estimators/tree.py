"""The Chow-Liu tree of a zero-field Ising model, released whole when its margin is large.

Proof: docs/proofs/mrf_structure.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sosdp.estimator.base import RecordEstimator
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_with_margin

from ..program import signs
from ..structure import TREE_STEP, chow_liu, product_sums
from .base import Edges, check_budget


def structure_value(edges: Edges | None) -> dict[str, Any]:
    """The published value of a released structure: edges only; None where it was declined."""
    return {"edges": edges, "weights": None, "field": None, "released": edges is not None}


class ChowLiuTree(RecordEstimator):
    """The tree over the columns of a table of signs; log p records suffice, whatever p is.

    Parameters (all public):
        epsilon, delta: budget. insecure_seed: tests only; voids the guarantee.

    Attributes after fit: edges_, the p - 1 edges, or None where the tree was not released.
    """

    edges_: Edges | None

    def __init__(
        self, *, epsilon: float = 1.0, delta: float = 1e-6, insecure_seed: int | None = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        check_budget(self.epsilon, self.delta)

    def _release(self, data: np.ndarray) -> Release:
        edges, margin = chow_liu(product_sums(signs(data)))
        release = release_with_margin(
            edges,
            margin,
            TREE_STEP,
            epsilon=self.epsilon,
            delta=self.delta,
            adjacency=ONE_RECORD_REPLACED,
            mechanism="mrf.tree",
            insecure_seed=self.insecure_seed,
        )
        public = {"n": len(data), "dimension": data.shape[1]}
        return release.postprocess(structure_value(release.value), public=public)

    def _unpack(self, value: Any) -> None:
        self.edges_ = value["edges"]
