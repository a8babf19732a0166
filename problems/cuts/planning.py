"""Which mechanism to use, from public facts alone: how many vertices, edges and queries, and the budget.

Forecasts are typical sizes of the largest error over the queries, not bounds; measured in docs/cuts.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sosdp.privacy.calibrate import check_delta, check_epsilon, check_positive, gaussian_sigma_tight
from sosdp.privacy.inputs import integer
from sosdp.privacy.mechanisms.interaction.offline import SELECT_SHARE
from sosdp.privacy.mechanisms.interaction.paid_rounds import paid_rounds

from .estimators.cut_release import CutRelease
from .estimators.offline_release import DENSITY_SHARE
from .estimators.query_release import DENSE_LIMIT, QueryRelease
from .theory import MAX_CUT_OF_NOISE, flip_deviation

DENSE_GRAPH = 10_000
"""A synthetic graph for all pairs is offered up to this many vertices."""


@dataclass(frozen=True)
class Forecast:
    """A mechanism ("gaussian", "graph", "online" or "constant") and the typical size of its largest error."""

    mechanism: str
    error: float


@dataclass(frozen=True)
class Recommendation:
    """Forecasts, best first; `notes` say what they rest on and what no mechanism can do here."""

    forecasts: tuple[Forecast, ...]
    notes: tuple[str, ...]
    epsilon: float
    delta: float
    queries: int | None

    @property
    def best(self) -> Forecast:
        """The first forecast."""
        return self.forecasts[0]

    def estimator(
        self, mechanism: str | None = None, *, insecure_seed: int | None = None
    ) -> CutRelease | QueryRelease:
        """The recommended (or the named) mechanism, ready to fit; `set_params` sets further parameters.

        Raises:
            ValueError: "gaussian", which needs the list of queries: release their exact answers with
                `sosdp.privacy.mechanisms.release_vector`, l2 sensitivity sqrt(number of queries).
        """
        chosen = self.best.mechanism if mechanism is None else mechanism
        seed: dict[str, Any] = {"insecure_seed": insecure_seed}
        if chosen == "online":
            return QueryRelease(self.epsilon, self.delta, expected_queries=self.queries or 1000, **seed)
        if chosen in ("graph", "constant"):
            method = "posterior" if chosen == "graph" else "constant"
            return CutRelease(self.epsilon, method=method, **seed)
        raise ValueError(
            "Gaussian noise needs the queries beforehand: compute their answers and pass them to "
            "release_vector with sensitivity sqrt(number of queries)"
        )


def recommend(
    n: int,
    edges: float,
    epsilon: float,
    delta: float = 0.0,
    *,
    queries: int | None = None,
    adaptive: bool = True,
    contrast: float = 0.5,
) -> Recommendation:
    """Compare the mechanisms on public (or guessed) facts.

    Args:
        n: vertices. edges: about how many. epsilon, delta: budget (delta = 0: only the purely private ones).
        queries: number of cut queries; None for all cuts.
        adaptive: they are not known beforehand.
        contrast: what a constant-density graph typically gets wrong, as a part of the answer (0 for a
        structureless
            graph, 1/2 for clear communities).

    Raises:
        ValueError: numbers out of range.
    """
    n = integer(n, "n", 2)
    epsilon, edges = check_epsilon(epsilon), check_positive(edges, "edges")
    if delta:
        delta = check_delta(delta)
    if not 0.0 <= contrast <= 1.0:
        raise ValueError(f"contrast must lie in [0, 1], got {contrast}")
    if queries is not None:
        queries = integer(queries, "queries")
    pairs = n * (n - 1) / 2.0
    typical = pairs * 2.0 / 9.0  # between two thirds of the vertices
    answer = edges * typical / pairs
    log = math.log(2.0 * (queries or 2) / 0.05)
    density = min(edges / pairs, 1.0)
    sampling = math.sqrt(density * (1.0 - density))
    # noise of one pair left after Bayes' rule with a perfect belief
    left = sampling * (deviation := flip_deviation(epsilon)) / math.hypot(sampling, deviation)
    spikes = 2.0 * edges / n * contrast  # size of the leading eigenvalue that structure makes
    seen = spikes > 2.0 * math.hypot(sampling, deviation) * math.sqrt(n)
    if queries is None:
        errors = {"constant": max(MAX_CUT_OF_NOISE * sampling * n**1.5, contrast * edges / 2.0)}
        graph = MAX_CUT_OF_NOISE * left * n**1.5
    else:
        errors = {"constant": contrast * answer + sampling * math.sqrt(typical * 2.0 * log)}
        graph = left * math.sqrt(2.0 * typical * log)
    if n <= DENSE_GRAPH:
        errors["graph"] = graph if seen else errors["constant"]
    if queries is not None and delta:
        errors["online"] = min(float(paid_rounds(0.9 * epsilon, delta, 20).scale) * log, answer)
        if not adaptive:
            noise = gaussian_sigma_tight(epsilon, delta) * math.sqrt(queries)
            errors["gaussian"] = noise * math.sqrt(2.0 * log)
    order = tuple(Forecast(*pair) for pair in sorted(errors.items(), key=lambda pair: pair[1]))
    raw = MAX_CUT_OF_NOISE * deviation * n**1.5
    notes = {
        f"the raw flipped graph gets some cut wrong by about {raw:.3g} of {edges:.3g} edges": True,
        "structure of this size is below the spectral noise: a constant density is about as good": not seen,
        "the online mechanism needs delta > 0; it answers any number of adaptive queries": not delta
        and queries is not None,
        "above 4000 vertices the online mechanism keeps no matrix and answers cuts only": n > DENSE_LIMIT,
    }
    said = tuple(text for text, holds in notes.items() if holds)
    return Recommendation(order, said, epsilon, delta, queries)


def offline_budget(n: int, signal: float, density: float, *, rounds: int = 4, steps: int = 5) -> float:
    """The rho from which `OfflineRelease` with noisy signs is expected to learn anything; infinite if none.

    Args:
        n: vertices. signal: largest eigenvalue of the graph less its mean, (p_in - p_out) n / 2 for two equal
            blocks. density: of edges. rounds, steps: of the release.

    A random start of overlap 1 / sqrt(n) grows by .8 signal / sqrt(s^2 + n p (1 - p)) in a step with noise s,
    and has to arrive (five times over). Measured on two sizes: all of the gain at this budget, half of it or
    none at a third, none at a tenth. Source: docs/proofs/cuts_offline.md.

    Raises:
        ValueError: numbers out of range.
    """
    n, rounds, steps = integer(n, "n", 2), integer(rounds, "rounds"), integer(steps, "steps")
    signal = check_positive(signal, "signal")
    if not 0.0 < density < 1.0:
        raise ValueError(f"density must lie in (0, 1), got {density}")
    growth = (5.0 * math.sqrt(n)) ** (1.0 / steps)
    variance = (0.8 * signal / growth) ** 2 - n * density * (1.0 - density)
    if variance <= 0.0:
        return math.inf
    # a selection has the share of the plan in what the number of edges leaves of rho
    return steps / variance * rounds / (SELECT_SHARE * (1.0 - DENSITY_SHARE))
