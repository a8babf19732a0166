"""Graphs released whole or not at all: the Chow-Liu tree, correlations above a threshold, a vote of blocks.

Proof: docs/proofs/mrf_structure.md, docs/proofs/agreement.md (votes)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sosdp.estimator.base import RecordEstimator
from sosdp.estimator.field import Field, Fitted, budget, positive, privacy_delta
from sosdp.estimator.planner import Forecasts
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile
from sosdp.privacy.mechanisms.propose_test_release.block_vote import (
    blocks_needed,
    release_with_margin,
    run_blocks,
    split_blocks,
)
from sosdp.privacy.randomness.bits import open_bits
from sosdp.structured.l1_logistic import projected_gradient

from ..model import Ising
from ..planning import extreme, tree_margin
from ..program import ising_parameters, ising_regressions, signs
from ..structure import (
    THRESHOLD_STEP,
    TREE_STEP,
    VOTE_STEP,
    chow_liu,
    correlated_pairs,
    pair_majority,
    product_sums,
)
from .base import Edges, edges_above

RIGHT = 0.9
"""Share of blocks whose learner is expected to be right about a pair."""


REFUSED = (
    "the graph was not decided by a margin that this budget accepts: with fresh budget try more records or a "
    "larger epsilon (outlook(n, d=...) says how many are enough); entries above 0 count as +1, others as -1"
)


class StructureEstimator(RecordEstimator):
    """Base of what releases a graph whole, or nothing: edges_ is None where it was not released, and advice_
    says what to try then."""

    epsilon: float = Field(budget, "budget", default=1.0, kw_only=True)
    delta: float = Field(privacy_delta, "budget", default=1e-6, kw_only=True)

    edges_: Edges | None = Fitted()

    @property
    def advice_(self) -> str:
        """What to try where nothing was released; "" otherwise. Of this and of public facts alone."""
        return REFUSED if self.edges_ is None else ""

    _forecasts = Forecasts(
        "wrong edges where the graph is released",
        "sosdp.privacy.Table(...).mean(column): the share of ones in every column",
    )
    # how far a replaced record moves the margin
    _step: ClassVar[int]

    def _announced(
        self, data: np.ndarray, mechanism: str, edges: Edges, margin: Any, **public: Any
    ) -> Release:
        """The edges where their margin is wide enough; no edges where it is not."""
        terms = self._terms(data, mechanism, proof=Fact("docs/proofs/mrf_structure.md"))
        release = release_with_margin(terms, edges, margin, self._step)
        value = {"edges": release.value, "weights": None, "field": None}
        facts = {"n": len(data), "dimension": data.shape[1], **public}
        return release.postprocess(value | {"released": release.value is not None}, public=facts)

    @abstractmethod
    def _margin(self, n: int, d: int, strength: float) -> float:
        """Expected margin of n records; strength: see `_expected`."""

    def _expected(self, n: int, d: int = 8, strength: float = 0.4) -> float:
        """strength: the smallest weight of an edge (tree, votes), or the least distance of a correlation from
        the threshold."""
        reach = accept_profile(self.epsilon, self.delta).reach(0.95)
        return 0.0 if self._margin(n, d, strength) >= self._step * reach else math.inf


class ChowLiuTree(StructureEstimator):
    """The tree over the columns of a table of signs; log p records suffice, whatever p is.

    Attributes after fit: edges_, the p - 1 edges, or None where the tree was not released.
    """

    _step = TREE_STEP

    def _margin(self, n: int, d: int, strength: float) -> float:
        return tree_margin(n, d, strength)

    def _release(self, data: np.ndarray) -> Release:
        return self._announced(data, "mrf.tree", *chow_liu(product_sums(signs(data))))


class CorrelationGraph(StructureEstimator):
    """The graph of |mean z_i z_j| > threshold; for weak interactions, the graph of a zero-field Ising model.

    Attributes after fit: edges_, or None where the graph was not released.
    """

    threshold: float = Field(positive, "tau; taken as the exact rational that the float is")

    _step = THRESHOLD_STEP

    def _margin(self, n: int, d: int, strength: float) -> float:
        return n * strength - extreme(d) * math.sqrt(n)

    def _release(self, data: np.ndarray) -> Release:
        n, p = data.shape
        if p < 2:
            raise ValueError("a graph needs at least two columns")
        edges, margin = correlated_pairs(product_sums(signs(data)), n, Fraction(self.threshold))
        return self._announced(data, "mrf.correlation-graph", edges, margin)


def block_structure(block: np.ndarray, width: float, threshold: float, iterations: int) -> Edges:
    """The edges that l1-constrained logistic regression finds in one block."""
    data = ising_regressions(signs(block))
    coefficients = projected_gradient(data, radius=2.0 * width, iterations=iterations)
    result = edges_above(np.abs(ising_parameters(coefficients)[0]), threshold)
    assert result is not None
    return result


class VotedStructure(StructureEstimator):
    """Structure learning with (epsilon, delta)-privacy from any learner that is mostly right in a block.

    Every block votes on every pair; all majorities are released where the narrowest is wide enough, so a
    block with one wrong pair still counts for all others. Attributes after fit: edges_, or None where the
    blocks did not agree. Proof: docs/proofs/mrf_structure.md, Theorem 3.
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

    _step = VOTE_STEP

    def _margin(self, n: int, d: int, strength: float) -> float:
        """0 where the weights of a block are not right to half the smallest one."""
        size = n // self._blocks()
        right = size > 0 and extreme(d) / math.sqrt(size) < strength / 2.0
        return self._blocks() * (2.0 * RIGHT - 1.0) if right else 0.0

    def _blocks(self) -> int:
        return blocks_needed(self.epsilon, self.delta, RIGHT) if self.blocks is None else self.blocks

    def _learn(self, block: np.ndarray) -> Edges:
        return block_structure(block, float(self.width), float(self.threshold or 0.0), int(self.iterations))

    def _release(self, data: np.ndarray) -> Release:
        blocks = self._blocks()
        seed = self.insecure_seed
        parts = split_blocks(len(data), blocks, open_bits(None if seed is None else 2 * seed + 1))
        edges, margin = pair_majority(run_blocks(self._learn, data, parts), data.shape[1])
        return self._announced(data, "mrf.vote", edges, margin, blocks=blocks, block_size=len(parts[0]))

    def required_records(self, model: Ising, *, pilots: int = 24) -> tuple[int, int]:
        """(records, blocks) from which the graph of a public guess of the model is expected to be released.

        The learner is tried on made-up blocks of growing size; the worst pair's share of right votes decides
        how many blocks are needed. Spends nothing. Cost: a minute at nine nodes.

        Raises:
            ValueError: the worst pair is not right in most blocks of 30 000 records.
        """
        best, size = None, 50
        while size <= 30_000 and (best is None or size * 20 < best[0]):
            wrong = np.zeros((model.nodes, model.nodes))
            for pilot in range(pilots):
                result = set(self._learn(model.sample(size, pilot))) ^ set(model.edges)
                for i, j in result:
                    wrong[i, j] += 1
            chance = 1.0 - (float(wrong.max()) + 0.5) / (pilots + 1.0)
            if chance > 0.55:
                blocks = blocks_needed(self.epsilon, self.delta, chance, 0.99)
                best = min(best or (blocks * size, blocks), (blocks * size, blocks))
            size = round(1.5 * size)
        if best is None:
            raise ValueError(
                "no block of up to 30000 records finds the graph: another threshold, or another learner"
            )
        return best
