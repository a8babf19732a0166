"""Cut queries answered online: from a public hypothesis while it is close, from the graph where it is not.

Statements and proofs: docs/proofs/cuts_online.md, docs/proofs/cuts_paid_rounds.md
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.estimator.base import ReleasingEstimator
from sosdp.estimator.field import (
    Field,
    Fitted,
    budget,
    choice,
    optional,
    positive,
    privacy_delta,
    share,
    whole,
)
from sosdp.estimator.planner import Forecasts
from sosdp.privacy.calibrate import check_epsilon, check_positive, float_down
from sosdp.privacy.guarantee.guarantee import Guarantee, compose
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.interaction.online import OnlineInteraction
from sosdp.privacy.mechanisms.interaction.paid_rounds import CALIBRATIONS, paid_rounds
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.terms import Terms, sealed

from ..forecasts import largest_errors, typical_answer
from ..hypotheses import (
    FriezeKannan,
    Hypothesis,
    ImplicitFriezeKannan,
    Measurement,
    MedianMechanism,
    MultiplicativeWeights,
    median_size,
)
from ..private_graph import PrivateGraph
from ..queries import Answer, CutQuery, Query, proven, query_from_dict
from ..synthetic import SyntheticGraph

CONSTRUCTIONS = ("auto", "mw", "fk", "implicit", "median")

DENSE_LIMIT = 4000
"""Hypotheses of more vertices are kept without a matrix ("auto")."""

STATE_FORMAT = "sosdp-cut-queries/1"


class QueryRelease(ReleasingEstimator):
    """(epsilon, delta)-edge-private answers to any number of adaptively chosen queries on one graph.

    After `fit(graph)`: `answer(query)`, `cut(S, T)`, `answers(queries)`, `budget_`, `synthetic()`,
    `state_dict()`
    and `from_state`; release_ and guarantee_ cover all answers. Source: Gupta, Roth and Ullman 2012.
    """

    epsilon: float = Field(budget, "budget of everything ever answered after one fit")
    delta: float = Field(privacy_delta, "budget of everything ever answered after one fit")
    construction: str = Field(
        choice(*CONSTRUCTIONS),
        '"mw" (multiplicative weights), "fk" (additive, in the box), "implicit" (additive '
        'without a matrix, cut queries only), "median" (the median of all graphs of a few equal '
        'parts; at most 20 000 of them, so for a handful of vertices), or "auto": "mw" up to 4000 '
        'vertices, then "implicit"',
        default="auto",
        kw_only=True,
    )
    paid: int = Field(
        whole(),
        "B, how many answers may come from the graph; 10 to 20 suit most streams",
        default=20,
        kw_only=True,
    )
    expected_queries: int = Field(
        whole(),
        "with probability 1 - beta the first `expected_queries` answers are within "
        "`error_bound` while the budget lasts. They set the threshold; privacy does not "
        "depend on them",
        default=1000,
        kw_only=True,
    )
    beta: float = Field(
        share,
        "with probability 1 - beta the first `expected_queries` answers are within "
        "`error_bound` while the budget lasts. They set the threshold; privacy does not "
        "depend on them",
        default=0.05,
        kw_only=True,
    )
    calibration: str = Field(
        choice(*CALIBRATIONS),
        '"tight", "tight-rdp" or "paper" (see `paid_rounds`)',
        default="tight",
        kw_only=True,
    )
    refit: int = Field(
        whole(0),
        "sweeps over all measured answers after each paid one; 0 for the plain update rules",
        default=3,
        kw_only=True,
    )
    cautious: bool = Field(
        None,
        "aim at the near end of each answer's confidence interval (the proven rule) instead "
        "of within one noise scale of the answer (better in practice)",
        default=False,
        kw_only=True,
    )
    density_share: float = Field(
        share,
        "part of epsilon spent on the number of edges, in (0, 1)",
        default=0.1,
        kw_only=True,
    )
    weight_bound: float | None = Field(
        optional(positive),
        "public bound of the weights of a weighted graph",
        default=None,
        kw_only=True,
    )

    nodes_: tuple[Hashable, ...] = Fitted()

    _forecasts = Forecasts(
        "largest of an answer, in edges", 'CutRelease(method="constant"): the number of edges', grows=False
    )

    def _expected(self, n: int, edges: float | None = None, contrast: float = 0.5) -> float:
        """Infinite where one density for all pairs is expected to be as good (`planning.recommend`)."""
        graph, budgets = check_positive(edges, "edges"), (float(self.epsilon), float(self.delta))
        queries = int(self.expected_queries)
        errors, _ = largest_errors(n, graph, *budgets, queries=queries, contrast=contrast)
        known = min(errors["constant"], typical_answer(graph))
        return errors["online"] if errors["online"] < known else math.inf

    # ------------------------------------------------------------------------------------------------------
    # Fitting: the number of edges, and an interaction that has not begun

    def _read(self, X: Any) -> PrivateGraph:
        return PrivateGraph(X, self.weight_bound)

    def _release(self, data: PrivateGraph) -> Release:
        if self.construction == "median":
            median_size(data.n)  # refuses by the public number of vertices, before anything is spent
        seed = self.insecure_seed
        epsilon = Fraction(check_epsilon(self.epsilon))
        for_density = float_down(Fraction(float(self.density_share)) * epsilon)
        for_queries = float_down(epsilon - Fraction(for_density))
        bits = open_bits(None if seed is None else 2 * seed)
        pairs = data.n * (data.n - 1) // 2
        noise = exact.discrete_laplace(Fraction(data.unit) / Fraction(for_density), bits)
        total = min(max(data.total() + noise, data.unit), pairs * data.unit)
        terms = Terms(
            epsilon=for_density,
            adjacency=data.adjacency,
            assumptions=data.assumptions,
            mechanism="cuts.number of edges",
        )
        rounds = paid_rounds(for_queries, float(self.delta), self.paid, self.calibration)
        self._graph, self._total = data, total
        self._interaction = OnlineInteraction(
            rounds,
            self._threshold(float(rounds.scale)),
            data.count,
            ledger=data.ledger,
            adjacency=data.adjacency,
            insecure_seed=None if seed is None else 2 * seed + 1,
        )
        self._edges = sealed(terms.guarantee(), bits)
        self._begin()
        return Release(
            {"edges": total / data.unit * self._unit},
            self._composed(),
            public={
                "n": data.n,
                "construction": type(self._hypothesis).__name__,
                "scale": float(rounds.scale),
            },
        )

    def _begin(self) -> None:
        self.nodes_ = self._graph.nodes
        self._place = {node: position for position, node in enumerate(self.nodes_)}
        self._measured: list[Measurement] = []
        self._hypothesis = self._start()

    def _threshold(self, scale: float) -> Fraction:
        """T = b ln(2 k / beta), in units of a query's sensitivity."""
        return Fraction(
            math.ceil(scale * math.log(2.0 * self.expected_queries / float(self.beta)) * 2**10), 2**10
        )

    def _composed(self) -> Guarantee:
        return compose([self._edges, self._interaction.guarantee], mechanism="cuts.online queries")

    @property
    def _unit(self) -> float:
        return 1.0 if self.weight_bound is None else float(self.weight_bound)

    def _start(self) -> Hypothesis:
        n, mass = self._graph.n, self._total / self._graph.unit
        density = mass / (n * (n - 1) / 2.0)
        chosen = self.construction
        if chosen == "auto":
            chosen = "mw" if n <= DENSE_LIMIT else "implicit"
        if chosen == "mw":
            return MultiplicativeWeights(n, mass, refit=self.refit)
        if chosen == "median":
            return MedianMechanism(n, mass, median_size(n))
        if chosen == "fk":
            return FriezeKannan(n, density, refit=self.refit)
        return ImplicitFriezeKannan(n, density, refit=self.refit)

    # ------------------------------------------------------------------------------------------------------
    # Answering

    def answer(self, query: Query) -> Answer:
        """One answer, in the units of the weights.

        Raises:
            ValueError: a query for another number of vertices, or not a cut where there is no dense
            hypothesis. TypeError: a query of another class than the three of this package.
        """
        self._need_fit()
        if proven(query).n != self._graph.n:
            raise ValueError(f"the query is for {query.n} vertices, the graph has {self._graph.n}")
        left = self._interaction.remaining
        if query.sensitivity == 0:  # constant 0: the data are not needed
            return Answer(0.0, False, 0.0, left, self._interaction.exhausted)
        believed = self._hypothesis.answer(query)
        if self._interaction.exhausted:
            return Answer(believed * self._unit, False, math.inf, 0, True)
        unit = query.unit / self._graph.unit
        guess = Fraction(believed) / unit
        outcome = self._interaction.ask(query, query.sensitivity * self._graph.unit, guess)
        weight = query.delta * self._unit
        if outcome.answer is None:
            bound = (float(self._interaction.threshold) + self._z()) * weight
            return Answer(believed * self._unit, False, bound, left, False)
        value = float(outcome.answer * unit)
        slack = (self._z() if self.cautious else float(self._interaction.rounds.scale)) * query.delta
        self._measured.append(Measurement(query, value, slack))
        self._hypothesis.update(self._measured[-1])
        return Answer(
            value * self._unit,
            True,
            self._z() * weight,
            self._interaction.remaining,
            self._interaction.exhausted,
        )

    def answers(self, queries: Iterable[Query]) -> list[Answer]:
        """Answers in order."""
        return [self.answer(query) for query in queries]

    def cut(self, first: Iterable[Hashable], second: Iterable[Hashable], *, count: str = "pairs") -> Answer:
        """Edges between two lists of vertices, by their names.

        Raises:
            ValueError: a name that is no vertex.
        """
        self._need_fit()
        places = []
        for side in (first, second):
            try:
                places.append([self._place[node] for node in side])
            except KeyError as error:
                raise ValueError(f"{error.args[0]!r} is no vertex of this graph") from None
        return self.answer(CutQuery(len(self.nodes_), places[0], places[1], count=count))

    def _z(self) -> float:
        """All noises so far are within it with probability 1 - beta, in units of a query's sensitivity."""
        queries = max(self.expected_queries, self._interaction.questions)
        # the noise is on a grid of at most one unit: rounded up to the next point
        return float(self._interaction.rounds.scale) * math.log(queries / float(self.beta)) + 1.0

    def _need_fit(self) -> None:
        if not hasattr(self, "_interaction"):
            raise AttributeError("fit this QueryRelease on a graph first")

    @property
    def budget_(self) -> dict[str, Any]:
        """What is public about the budget: B, what is used, the noise scale and the threshold."""
        self._need_fit()
        rounds = self._interaction.rounds
        return {
            "paid": rounds.paid,
            "used": self._interaction.used,
            "asked": self._interaction.questions,
            "scale": float(rounds.scale),
            "threshold": float(self._interaction.threshold),
            "epsilon": float(self.epsilon),
            "delta": rounds.delta,
            "renyi": rounds.renyi_curve(),
        }

    def synthetic(self) -> SyntheticGraph:
        """The hypothesis as a weighted graph.

        Raises:
            ValueError: the hypothesis has no matrix (more than 4000 vertices).
        """
        self._need_fit()
        belief = self._hypothesis.matrix()
        if belief is None:
            raise ValueError("this hypothesis is kept without a matrix: ask it queries instead")
        return SyntheticGraph(np.clip(belief, 0.0, None) * self._unit, self.nodes_, weight_bound=self._unit)

    # ------------------------------------------------------------------------------------------------------
    # State: public numbers only, the hypothesis is rebuilt by replay

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on later, ready for json; nothing of the graph, no randomness."""
        self._need_fit()
        return {
            "format": STATE_FORMAT,
            "parameters": {k: v for k, v in self.get_params().items() if k != "insecure_seed"},
            "n": self._graph.n,
            "total": self._total,
            "edges": self._edges.to_dict(),
            "interaction": self._interaction.state_dict(),
            "measurements": [
                {"query": m.query.to_dict(), "answer": m.answer, "slack": m.slack} for m in self._measured
            ],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], graph: Any, *, only_copy: bool = False) -> QueryRelease:
        """Go on from a stored state on the same graph.

        Args:
            state: of `state_dict`. graph: the `PrivateGraph` it was fitted on (`private_graph_`), or, in a
            new process,
                the graph itself with only_copy=True: the caller asserts that the state is the newest copy.

        Raises:
            ValueError: another format or graph size, a state older than the data's ledger.
        """
        if state.get("format") != STATE_FORMAT:
            raise ValueError(f"not a stored state of cut queries: format {state.get('format')!r}")
        made = cls(**state["parameters"])
        made._check_parameters()
        data = graph if isinstance(graph, PrivateGraph) else made._read(graph)
        if data.n != state["n"]:
            raise ValueError(f"the state is for {state['n']} vertices, the graph has {data.n}")
        made._graph, made._total = data, int(state["total"])
        made._edges = Guarantee.from_dict(state["edges"])
        made._interaction = OnlineInteraction.resume(
            state["interaction"],
            data.count,
            ledger=data.ledger,
            adjacency=data.adjacency,
            only_copy=only_copy,
        )
        made._begin()
        for stored in state["measurements"]:
            query = query_from_dict(stored["query"])
            made._measured.append(Measurement(query, float(stored["answer"]), float(stored["slack"])))
            made._hypothesis.update(made._measured[-1])
        made.release_ = Release(
            {"edges": made._total / data.unit * made._unit}, made._composed().resting_on(data.assumptions)
        )
        made.guarantee_, made.released_ = made.release_.guarantee, True
        return made

    @property
    def private_graph_(self) -> PrivateGraph:
        """The private data handle with its ledger: not publishable."""
        self._need_fit()
        return self._graph
