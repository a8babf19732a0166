"""Which mechanism to use, from public facts alone: how many vertices, edges and queries, and the budget.

Forecasts are typical sizes of the largest error over the queries, not bounds; measured in docs/cuts.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sosdp.privacy.arguments import integer
from sosdp.privacy.calibrate import between, check_delta, check_epsilon, check_positive

from .estimators.cut_release import CutRelease
from .estimators.query_release import DENSE_LIMIT, QueryRelease
from .forecasts import largest_errors
from .theory import MAX_CUT_OF_NOISE, flip_deviation


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
        contrast: what a constant-density graph typically gets wrong, as a part of the answer (0 for a graph
            without structure, 1/2 for clear communities); the notes say what was assumed.

    Raises:
        ValueError: numbers out of range.
    """
    n = integer(n, "n", 2)
    epsilon, edges = check_epsilon(epsilon), check_positive(edges, "edges")
    if delta:
        delta = check_delta(delta)
    contrast = float(between(contrast, "contrast", "[0, 1]"))
    if queries is not None:
        queries = integer(queries, "queries")
    errors, seen = largest_errors(
        n, edges, epsilon, delta, queries=queries, adaptive=adaptive, contrast=contrast
    )
    order = tuple(Forecast(*pair) for pair in sorted(errors.items(), key=lambda pair: pair[1]))
    raw = MAX_CUT_OF_NOISE * flip_deviation(epsilon) * n**1.5
    notes = {
        f"one density is assumed to get {contrast:g} of an answer wrong: contrast, public or guessed": True,
        f"the raw flipped graph gets some cut wrong by about {raw:.3g} of {edges:.3g} edges": True,
        "structure of this size is below the spectral noise: a constant density is about as good": not seen,
        "the online mechanism needs delta > 0; it answers any number of adaptive queries": not delta
        and queries is not None,
        "above 4000 vertices the online mechanism keeps no matrix and answers cuts only": n > DENSE_LIMIT,
    }
    return Recommendation(
        order, tuple(text for text, holds in notes.items() if holds), epsilon, delta, queries
    )
