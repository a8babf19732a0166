"""The graph that most disjoint blocks of the records agree on, learnt in each without privacy.

Proof: docs/proofs/agreement.md (votes), docs/proofs/mrf_structure.md (what it costs)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sosdp.estimator.field import Field
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_by_vote
from sosdp.structured.l1_logistic import projected_gradient

from ..planning import suggested_blocks
from ..program import ising_parameters, ising_regressions, signs
from .base import Edges, FieldEstimator, edges_above
from .tree import structure_value


def block_structure(block: np.ndarray, width: float, threshold: float, iterations: int) -> Edges:
    """The edges that l1-constrained logistic regression finds in one block."""
    data = ising_regressions(signs(block))
    coefficients = projected_gradient(data, radius=2.0 * width, iterations=iterations)
    result = edges_above(np.abs(ising_parameters(coefficients)[0]), threshold)
    assert result is not None
    return result


class VotedStructure(FieldEstimator):
    """Structure learning with (epsilon, delta)-privacy from any learner that is mostly right in a block.

    Attributes after fit: edges_, or None where the blocks did not agree.
    """

    threshold: float = Field(None, "edges are pairs with an estimated weight above it")
    blocks: int | None = Field(
        None,
        "number of blocks, or None for what a learner right nine times in ten needs",
        default=None,
        kw_only=True,
    )
    iterations: int = Field(None, "gradient steps in each block", default=200, kw_only=True)

    def _release(self, data: np.ndarray) -> Release:
        width, threshold, iterations = float(self.width), float(self.threshold or 0.0), int(self.iterations)
        release = release_by_vote(
            self._terms(data),
            lambda block: block_structure(block, width, threshold, iterations),
            data,
            blocks=suggested_blocks(self.epsilon, self.delta) if self.blocks is None else self.blocks,
        )
        public = {"n": len(data), "dimension": data.shape[1]}
        return release.postprocess(structure_value(release.value), mechanism="mrf.vote", public=public)

    def _unpack(self, value: Any) -> None:
        self.edges_ = value["edges"]
