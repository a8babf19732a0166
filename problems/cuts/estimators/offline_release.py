"""A synthetic graph by the offline construction: for large graphs with strong structure, and to compare.

At a thousand vertices and the budgets people use it learns nothing (docs/cuts.md): `CutRelease` is what to
use.
Statement and proof: docs/proofs/cuts_offline.md
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.estimator.base import ReleasingEstimator
from sosdp.privacy.calibrate import check_positive, float_down
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import integer
from sosdp.privacy.mechanisms.interaction.offline import (
    DataAccess,
    FiniteList,
    NoisySigns,
    plan_offline,
    run_offline,
)
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.seal import seal

from ..hypotheses import FriezeKannan, Measurement, MultiplicativeWeights
from ..private_graph import PrivateGraph
from ..queries import Query, RankOneQuery
from ..synthetic import SyntheticGraph

DENSITY_SHARE = 0.1


class OfflineRelease(ReleasingEstimator):
    """rho-zCDP synthetic graph of a simple graph, from a few privately found queries.

    Parameters (all public):
        rho: budget. rounds: B. queries: a list of queries of sensitivity 1 (exponential mechanism and
        multiplicative
            weights: MWEM), or None for noisy sign iteration over all sign queries with additive updates.
        steps: of the sign iteration. insecure_seed: tests and figures only; voids the guarantee.

    Attributes after fit: graph_, nodes_, release_, guarantee_.
    """

    graph_: SyntheticGraph
    nodes_: tuple[Hashable, ...]

    def __init__(
        self,
        rho: float,
        *,
        rounds: int = 4,
        queries: list[Query] | None = None,
        steps: int = 5,
        insecure_seed: int | None = None,
    ) -> None:
        self.rho = rho
        self.rounds = rounds
        self.queries = queries
        self.steps = steps
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        check_positive(self.rho, "rho")
        integer(self.rounds, "rounds"), integer(self.steps, "steps")

    def _read(self, X: Any) -> PrivateGraph:
        return PrivateGraph(X)

    def _release(self, data: PrivateGraph) -> Release:
        bits = open_bits(self.insecure_seed)
        density_rho = DENSITY_SHARE * float(self.rho)
        plan = plan_offline(float_down(Fraction(self.rho) - Fraction(density_rho)), self.rounds)
        pairs = data.n * (data.n - 1) // 2
        noisy = data.total() + exact.discrete_gaussian(1 / (2 * Fraction(density_rho)), bits)
        mass = float(min(max(noisy, 1), pairs))
        hypothesis: FriezeKannan | MultiplicativeWeights
        if self.queries is None:
            hypothesis = FriezeKannan(data.n, mass / pairs)
            found: Any = NoisySigns(data.n, lambda x, y: RankOneQuery(x, y), self.steps)
        else:
            hypothesis, found = MultiplicativeWeights(data.n, mass), FiniteList(self.queries)
        run_offline(
            plan,
            DataAccess(data.count, data.image),
            found,
            hypothesis.answer,
            hypothesis.matrix,
            lambda query, answer, noise: hypothesis.update(Measurement(query, answer, noise)),
            bits,
        )
        promise = Guarantee(
            rho=float(self.rho),
            adjacency=data.adjacency,
            assumptions=("the vertex set is public",),
            mechanism="cuts.offline",
        )
        graph = SyntheticGraph(np.clip(hypothesis.matrix(), 0.0, 1.0), data.nodes)
        return seal(graph, promise, bits, public={"n": data.n, "rounds": self.rounds, "total": mass})

    def _unpack(self, value: Any) -> None:
        self.graph_, self.nodes_ = value, value.nodes
