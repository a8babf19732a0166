"""The exponential mechanism over all labellings of a small graph, drawn exactly (Algorithm 5.19, rough step).

Statement and proof: docs/proofs/sbm_exponential.md
"""

from __future__ import annotations

from fractions import Fraction

from sosdp.estimator.field import Field, budget, positive
from sosdp.privacy.calibrate import range_rho
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness.bits import open_bits

from ..graph_input import CanonicalGraph
from ..labellings import LARGEST, WHOLE, Labellings
from .base import RecoveryEstimator, release_value


class ExponentialRecovery(RecoveryEstimator):
    """epsilon-edge-private (pure) labelling of a graph with at most 40 vertices by the exponential mechanism.

    Draws z with probability exactly proportional to exp((epsilon / 2) (sum over edges of z_i z_j - (d / n)
    sum over pairs of z_i z_j)), with integers: all labellings up to sign are listed up to 22 vertices, and
    beyond by branch and bound on the relaxation's bound. Larger graphs are refused: no sampler with a
    proven law and a usable time is known (Markov chains mix provably fast only where epsilon times the
    degree is below about 1, where nothing can be learned). Cost: half a second at n = 22; at n = 40 less
    than a second for communities that can be seen. A draw lists at most `labellings.most_listed(n)`
    labellings whatever the graph is, about 10^8 a second: half a minute at n = 32, six hours at n = 40.
    Source: arXiv 2301.04822, Algorithm 5.19; docs/proofs/sbm_exponential.md.
    """

    epsilon: float = Field(budget, "budget of one fit, > 0")
    average_degree: float = Field(
        positive,
        "d; only d / n enters, which penalises unequal communities. Wrong values cost "
        "accuracy, never privacy",
    )

    _forecast = "exponential"

    def _release(self, graph: CanonicalGraph) -> Release:
        check_size(graph.n)
        density = Fraction(float(self.average_degree)) / graph.n
        if graph.n > WHOLE and density > 1:
            raise ValueError(f"average_degree is at most the number of vertices, got {self.average_degree}")
        bits = open_bits(self.insecure_seed)
        rate = Fraction(self.epsilon) / (4 * density.denominator)
        labels = Labellings(graph.adjacency.toarray(), density, rate).draw(bits)
        terms = self._terms(graph, "sbm.exponential")
        return terms.seal(
            release_value(labels, graph, "exponential"),
            terms.guarantee(epsilon=float(self.epsilon), rho=range_rho(self.epsilon)),
            bits,
            public={"n": graph.n, "average_degree": float(self.average_degree)},
        )


def check_size(n: int) -> None:
    """Raise ValueError, with the reason, for more vertices than labellings are drawn for."""
    if n > LARGEST:
        raise ValueError(
            f"the exponential mechanism draws from all 2^(n-1) labellings, up to n = {LARGEST}, not n = {n}: "
            "use CertificateRecovery (all labels or none), RandomizedResponseRecovery or ProjectionRecovery"
        )
