"""A synthetic graph whose cuts are close to the private ones, with a private bound on the largest error.

Statements and proofs: docs/proofs/cuts_synthetic_graph.md, docs/proofs/cuts_error_bar.md
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.estimator.base import NUMERICAL_FAILURES, ReleasingEstimator
from sosdp.estimator.field import Field, Fitted, budget, choice, optional, positive, within
from sosdp.estimator.planner import Forecasts
from sosdp.privacy.calibrate import check_epsilon, check_positive, float_down, float_up
from sosdp.privacy.guarantee.condition import ARITHMETIC, COMPLETE, Fact
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.edge_noise import flip_edges, flip_rule, noisy_weights
from sosdp.privacy.mechanisms.upper_bound import Real, release_upper_bound
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.terms import Terms, join
from sosdp.structured.disjoint_cut import bound_disjoint_cut
from sosdp.structured.disjoint_cut_balls import settle_disjoint_cut

from ..forecasts import largest_errors
from ..private_graph import PrivateGraph
from ..reconstruction import METHODS, NoisyGraph, reconstruct
from ..synthetic import SyntheticGraph
from ..theory import default_gap, flip_deviation, laplace_deviation

NOISES = ("auto", "rr", "laplace")

CUT_SENSITIVITY = 1
"""What the relaxation of the largest cut error moves by when one pair of entries moves by one."""

CERTIFIED_UP_TO = 1000
"""Most vertices (public) of a graph whose error is settled in ball arithmetic where float64 fails."""


class CutRelease(ReleasingEstimator):
    """epsilon-edge-private synthetic graph for all cuts, with a private bound on its largest cut error.

    Attributes after fit, all publishable:
        graph_: the `SyntheticGraph`; cut_error_: {"bound", "confidence"} or None (also in
        graph_); nodes_; release_; guarantee_.

    The guarantee is "certified": the error bound of up to 1000 vertices is computed by a search that ends on
    every graph; above that the bound is the public n^2 / 4, and the whole budget goes to the graph.
    Informative about single cuts when the number of edges is well above .36 n^1.5 / epsilon; see
    `recommend`. Cost:
    a few eigendecompositions, and two seconds at n = 400 for the bound (a minute at n = 2000).
    """

    epsilon: float = Field(budget, "budget of one fit; purely private (delta = 0)")
    noise: str = Field(
        choice(*NOISES),
        '"rr" (randomised response, simple graphs), "laplace" (discrete Laplace; the '
        'published one), or "auto": "rr" unless weights are given',
        default="auto",
        kw_only=True,
    )
    method: str = Field(
        choice(*METHODS),
        'how the noisy graph becomes a synthetic one; costs nothing. "posterior" (shrunk '
        'spikes and Bayes\' rule pair by pair), "smooth" (flattest graph in the spectral '
        'band), "cut_sdp" (nearest in cut norm, the compact form of the published program), '
        '"lp" (the published program itself; at most 36 vertices), "spectral" (eigenvalue '
        'soft-thresholding), "constant" (one density)',
        default="posterior",
        kw_only=True,
    )
    error_share: float = Field(
        within("[0, 1)"),
        'part of epsilon for the error bound, in [0, 1); 0: no bound, and the guarantee is "exact"',
        default=0.05,
        kw_only=True,
    )
    confidence: float = Field(
        within("[0.5, 1)"),
        "probability that the released bound is valid",
        default=0.95,
        kw_only=True,
    )
    conditional: bool = Field(
        None,
        "compute the error bound of more than 1000 vertices too; the guarantee is then conditional on every "
        "run certifying its gap, which no theorem says",
        default=False,
        kw_only=True,
    )
    gap: float | None = Field(
        optional(positive),
        "accuracy to which the relaxation has to be certified; charged. Default n^1.5 / 4096, at least 1/2",
        default=None,
        kw_only=True,
    )
    weight_bound: float | None = Field(
        optional(positive),
        "public bound of the weights of a weighted graph",
        default=None,
        kw_only=True,
    )

    graph_: SyntheticGraph = Fitted()
    cut_error_: dict[str, float] | None = Fitted()
    nodes_: tuple[Hashable, ...] = Fitted()

    _forecasts = Forecasts(
        "largest of a cut, in edges", 'CutRelease(method="constant"): the number of edges', grows=False
    )

    def _expected(self, n: int, edges: float | None = None, contrast: float = 0.5) -> float:
        """Infinite where one density for all pairs is expected to be as good (`planning.recommend`)."""
        graph = check_positive(edges, "edges")
        errors, _ = largest_errors(
            n, graph, float(self.epsilon) * (1.0 - float(self.error_share)), contrast=contrast
        )
        if self.method == "constant":
            return errors["constant"]
        better = errors.get("graph", math.inf)
        return better if better < errors["constant"] else math.inf

    def _read(self, X: Any) -> PrivateGraph:
        return PrivateGraph(X, self.weight_bound)

    def _release(self, data: PrivateGraph) -> Release:
        seed = self.insecure_seed
        seeds = (None, None) if seed is None else (2 * seed, 2 * seed + 1)
        for_graph, for_bound = self._shares(data.n)
        drawn, noisy = self._perturb(data, for_graph, seeds[0])
        weights = reconstruct(noisy, self.method)
        bound = self._bound(data, weights, for_bound, seeds[1]) if for_bound else None
        unit = 1.0 if self.weight_bound is None else float(self.weight_bound)
        error = None
        if bound is not None:
            scaled = float_up(Fraction(bound.value["bound"]) * Fraction(unit))
            if self.weight_bound is None:  # one pair is a cut, and its weight is 0 or 1: seen in the release
                scaled = max(scaled, float(np.abs(weights - np.rint(weights)).max(initial=0.0)))
            error = {"bound": scaled, "confidence": float(self.confidence)}
        elif self.error_share:
            error = {"bound": float_up(Fraction(data.n**2, 4) * Fraction(unit)), "confidence": 1.0}
        graph = SyntheticGraph(
            weights * unit,
            data.nodes,
            None if error is None else error["bound"],
            None if error is None else error["confidence"],
            unit,
            noisy,
        )
        public = {
            "n": data.n,
            "method": self.method,
            "noise": self._noise(),
            "weight_bound": self.weight_bound,
        }
        if bound is None:
            return drawn.postprocess(graph, public=public)
        return join(
            [drawn, bound], graph, mechanism="cuts.synthetic graph", public=public | dict(bound.public)
        )

    def _unpack(self, value: Any) -> None:
        self.graph_ = value
        self.nodes_ = value.nodes
        self.cut_error_ = value.to_dict()["cut_error"]

    def _shares(self, n: int) -> tuple[float, float]:
        """(for the graph, for the bound): float64 numbers whose sum is at most epsilon."""
        if not self.error_share or not (self._complete(n) or self.conditional):
            return float(self.epsilon), 0.0
        epsilon = Fraction(check_epsilon(self.epsilon))  # of Python's integers: numpy's wrap around
        bound = float_down(Fraction(float(self.error_share)) * epsilon)
        return float_down(epsilon - Fraction(bound)), bound

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.noise == "rr" and self.weight_bound is not None:
            raise ValueError('randomised response is for simple graphs: use noise="laplace" with weights')

    def _complete(self, n: int) -> bool:
        """Whether the search for the error ends on every graph of this size: public."""
        return n <= CERTIFIED_UP_TO

    def _noise(self) -> str:
        return "laplace" if self.weight_bound is not None or self.noise == "laplace" else "rr"

    def _perturb(self, private: PrivateGraph, epsilon: float, seed: int | None) -> tuple[Release, NoisyGraph]:
        """Every pair perturbed: purely private, and all that the synthetic graph is made from."""
        bits = open_bits(seed)
        kind = self._noise()
        if kind == "laplace":
            counts = noisy_weights(private.matrix(), epsilon, private.unit, bits)
            noisy = NoisyGraph(counts / private.unit, laplace_deviation(epsilon, private.unit))
        else:
            rule = flip_rule(epsilon)
            flip = float(rule.probability)
            flipped = flip_edges(private.matrix(), rule, bits)
            values = (flipped - flip) / (1.0 - 2.0 * flip)
            np.fill_diagonal(values, 0.0)
            noisy = NoisyGraph(values, flip_deviation(epsilon), flipped, flip)
        terms = Terms(
            epsilon=epsilon,
            adjacency=private.adjacency,
            calibration="paper" if kind == "laplace" and self.weight_bound is None else "tight",
            assumptions=private.assumptions,
            mechanism=f"cuts.{kind}",
        )
        return terms.seal(noisy, terms.guarantee(), bits), noisy

    def _bound(self, private: PrivateGraph, weights: np.ndarray, epsilon: float, seed: int | None) -> Release:
        gap = default_gap(private.n) if self.gap is None else float(self.gap)
        complete = self._complete(private.n)
        bracket: tuple[Real, Real] | None
        # both are multiples of 2^-20 below 2: the difference is exact
        error = private.matrix().toarray() / private.unit - weights
        try:
            result = bound_disjoint_cut(error, gap=gap)
            bracket = (result.value, result.upper) if result.certified else None
        except NUMERICAL_FAILURES:  # how a solver fails depends on the data: the last resort takes its place
            bracket = None
        if bracket is None and complete:
            bracket = settle_disjoint_cut(error, gap=gap)
        return release_upper_bound(
            Terms(
                epsilon=epsilon,
                adjacency=private.adjacency,
                assumptions=(*private.assumptions, ARITHMETIC, *((COMPLETE,) if complete else ())),
                mechanism="cuts.error bound",
                insecure_seed=seed,
                proof=Fact("docs/proofs/cuts_error_bar.md"),
            ),
            bracket,
            sensitivity=CUT_SENSITIVITY,
            gap=gap,
            largest=private.n**2 / 4.0,
            confidence=float(self.confidence),
            search_complete=complete,
        )
