"""What is lost to privacy: the spectral method and the linear semidefinite program, without any.

Same interface as the private estimators; the guarantee of their releases is of the kind "none".
"""

from __future__ import annotations

import numpy as np

from sosdp.estimator.field import Field, Fitted, optional, positive, whole
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.structured import StructuredMatrix, maximise_over_elliptope

from ..graph_input import CanonicalGraph
from ..labelling import canonical_signs, leading_eigenvector, majority_polish
from ..program import tilted_adjacency
from .base import WeightedRecovery, release_value


def _published(labels: np.ndarray, graph: CanonicalGraph, adjacency: str, method: str) -> Release:
    guarantee = Guarantee(
        adjacency=adjacency,
        kind="none",
        assumptions=("not private: a baseline that publishes a function of the graph",),
        mechanism=f"sbm.{method}",
    )
    return Release(release_value(labels, graph, method), guarantee, public={"n": graph.n})


class _Baseline(WeightedRecovery):
    """Base of the two."""

    _without = ("insecure_seed",)

    average_degree: float | None = Field(
        optional(positive), "d, tau = d / n; default: the graph's own mean degree", default=None
    )

    def _tilted(self, graph: CanonicalGraph) -> StructuredMatrix:
        """A - (d / n) (J - I)."""
        own = float(graph.adjacency.sum()) / graph.n
        degree = own if self.average_degree is None else float(self.average_degree) / self._unit
        return tilted_adjacency(graph.adjacency, degree / graph.n)


class SpectralRecovery(_Baseline):
    """NOT PRIVATE: signs of the leading eigenvector of A - (d / n) J, with optional majority polishing.

    Cost: one extremal eigenvector.
    """

    rounds: int = Field(
        whole(0),
        "at most this many rounds of majority voting afterwards",
        default=0,
        kw_only=True,
    )

    def _release(self, graph: CanonicalGraph) -> Release:
        matrix = self._tilted(graph)
        labels = canonical_signs(leading_eigenvector(matrix))
        if self.rounds:
            labels = majority_polish(matrix, labels, int(self.rounds))
        return _published(labels, graph, self._adjacency, "spectral")


class LinearProgramRecovery(_Baseline):
    """NOT PRIVATE: signs of the leading eigenvector of the optimum of max <A - tau J, C> over correlation
    matrices C.

    After `fit`, `gap_` is the certified gap and `certified_` whether it is below the tolerance. Cost: about a
    second at n = 1000.
    """

    tolerance: float = Field(positive, "certified gap of the program, in edges", default=0.25, kw_only=True)

    gap_: float = Fitted()
    certified_: bool = Fitted()

    def _release(self, graph: CanonicalGraph) -> Release:
        optimum = maximise_over_elliptope(self._tilted(graph), tolerance=float(self.tolerance))
        self.gap_, self.certified_ = optimum.gap, optimum.certified
        return _published(canonical_signs(optimum.leading_vector), graph, self._adjacency, "linear program")
