"""Graphs released whole or not at all: the Chow-Liu tree, correlations above a threshold, a vote of blocks.

Proof: docs/proofs/mrf_structure.md, docs/proofs/agreement.md (votes)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.estimator.base import RecordEstimator
from sosdp.estimator.field import Field, Fitted, budget, positive, privacy_delta
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_by_vote, release_with_margin
from sosdp.structured.l1_logistic import projected_gradient

from ..planning import suggested_blocks
from ..program import ising_parameters, ising_regressions, signs
from ..structure import THRESHOLD_STEP, TREE_STEP, chow_liu, correlated_pairs, product_sums
from .base import Edges, edges_above


def structure_value(edges: Edges | None) -> dict[str, Any]:
    """The published value of a released structure: edges only; None where it was declined."""
    return {"edges": edges, "weights": None, "field": None, "released": edges is not None}


class StructureEstimator(RecordEstimator):
    """Base of what releases a graph whole, or nothing: edges_ is None where it was not released."""

    epsilon: float = Field(budget, "budget", default=1.0, kw_only=True)
    delta: float = Field(privacy_delta, "budget", default=1e-6, kw_only=True)

    edges_: Edges | None = Fitted()


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


def block_structure(block: np.ndarray, width: float, threshold: float, iterations: int) -> Edges:
    """The edges that l1-constrained logistic regression finds in one block."""
    data = ising_regressions(signs(block))
    coefficients = projected_gradient(data, radius=2.0 * width, iterations=iterations)
    result = edges_above(np.abs(ising_parameters(coefficients)[0]), threshold)
    assert result is not None
    return result


class VotedStructure(StructureEstimator):
    """Structure learning with (epsilon, delta)-privacy from any learner that is mostly right in a block.

    Attributes after fit: edges_, or None where the blocks did not agree.
    """

    width: float = Field(positive, "lambda, a public bound on sum_j |A_ij| + |theta_i|")
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
