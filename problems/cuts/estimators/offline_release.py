"""A synthetic graph by the offline construction: for large graphs with strong structure, and to compare.

It learns from a budget on that `offline_budget` says in advance, and nothing below it.
Statement and proof: docs/proofs/cuts_offline.md
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.estimator.base import ReleasingEstimator
from sosdp.estimator.field import Field, Fitted, positive, whole
from sosdp.estimator.planner import Forecasts
from sosdp.privacy.calibrate import check_positive, float_down
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.interaction.offline import (
    DataAccess,
    FiniteList,
    NoisySigns,
    plan_offline,
    run_offline,
)
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import open_bits

from ..forecasts import DENSITY_SHARE, offline_budget
from ..hypotheses import FriezeKannan, Measurement, MultiplicativeWeights
from ..private_graph import PrivateGraph
from ..queries import Query, RankOneQuery, proven
from ..synthetic import SyntheticGraph
from ..theory import MAX_CUT_OF_NOISE


class OfflineRelease(ReleasingEstimator):
    """rho-zCDP synthetic graph of a simple graph, from a few privately found queries.

    `problems.cuts.offline_budget` forecasts the least rho at which it learns anything.

    Attributes after fit: graph_, nodes_, release_, guarantee_.
    """

    rho: float = Field(positive, "budget")
    rounds: int = Field(whole(), "B", default=4, kw_only=True)
    queries: list[Query] | None = Field(
        None,
        "a list of queries of sensitivity 1 (exponential mechanism and multiplicative "
        "weights: MWEM), or None for noisy sign iteration over all sign queries with "
        "additive updates",
        default=None,
        kw_only=True,
    )
    steps: int = Field(whole(), "of the sign iteration", default=5, kw_only=True)

    graph_: SyntheticGraph = Fitted()
    nodes_: tuple[Hashable, ...] = Fitted()

    _forecasts = Forecasts(
        "largest of a cut, in edges", 'CutRelease(method="constant"): the number of edges', grows=False
    )

    def _expected(self, n: int, edges: float | None = None, contrast: float = 0.5) -> float:
        """Of a graph of two communities that keep all but a share of 1 - contrast of their edges apart."""
        density = check_positive(edges, "edges") / (n * (n - 1) / 2.0)
        signal = contrast * density * n
        if float(self.rho) < offline_budget(n, signal, density, rounds=self.rounds, steps=self.steps):
            return math.inf
        return MAX_CUT_OF_NOISE * math.sqrt(density * (1.0 - density)) * n**1.5

    def _read(self, X: Any) -> PrivateGraph:
        return PrivateGraph(X)

    def _release(self, data: PrivateGraph) -> Release:
        bits = open_bits(self.insecure_seed)
        rho = float(self.rho)
        density_rho = DENSITY_SHARE * rho
        plan = plan_offline(float_down(Fraction(rho) - Fraction(density_rho)), self.rounds)
        pairs = data.n * (data.n - 1) // 2
        noisy = data.total() + exact.discrete_gaussian(1 / (2 * Fraction(density_rho)), bits)
        mass = float(min(max(noisy, 1), pairs))
        hypothesis: FriezeKannan | MultiplicativeWeights
        if self.queries is None:
            hypothesis = FriezeKannan(data.n, mass / pairs)
            result: Any = NoisySigns(data.n, lambda x, y: RankOneQuery(x, y), self.steps)
        else:
            hypothesis, result = MultiplicativeWeights(data.n, mass), FiniteList([*map(proven, self.queries)])
        run_offline(
            plan,
            DataAccess(data.count, data.image),
            result,
            hypothesis.answer,
            hypothesis.matrix,
            lambda query, answer, noise: hypothesis.update(Measurement(query, answer, noise)),
            bits,
        )
        facts = {"n": data.n, "rounds": self.rounds, "total": mass}
        terms = self._terms(data, "cuts.offline", adjacency=data.adjacency, public=facts)
        graph = SyntheticGraph(np.clip(hypothesis.matrix(), 0.0, 1.0), data.nodes)
        return terms.seal(graph, terms.guarantee(), bits)

    def _unpack(self, value: Any) -> None:
        self.graph_, self.nodes_ = value, value.nodes
