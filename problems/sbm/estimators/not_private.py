"""What is lost to privacy: the spectral method and the linear semidefinite program, without any.

Same interface as the private estimators; the guarantee of their releases is of the kind "none".
"""

from __future__ import annotations

import numpy as np

from sosdp.privacy.calibrate import check_positive
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.structured import maximise_over_elliptope

from ..graph_input import CanonicalGraph
from ..labelling import canonical_signs, leading_eigenvector, majority_polish
from ..program import tilted_adjacency
from .base import RecoveryEstimator, release_value


def _published(labels: np.ndarray, graph: CanonicalGraph, adjacency: str, method: str) -> Release:
    guarantee = Guarantee(
        adjacency=adjacency,
        kind="none",
        assumptions=("not private: a baseline that publishes a function of the graph",),
        mechanism=f"sbm.{method}",
    )
    return Release(release_value(labels, graph, method), guarantee, public={"n": graph.n})


class SpectralRecovery(RecoveryEstimator):
    """NOT PRIVATE: signs of the leading eigenvector of A - (d / n) J, with optional majority polishing.

    Parameters: average_degree: d; default: the graph's own mean degree. rounds: at most this many rounds of
    majority voting afterwards. weight_bound: for a weighted graph. Cost: one extremal eigenvector.
    """

    def __init__(
        self, average_degree: float | None = None, *, rounds: int = 0, weight_bound: float | None = None
    ) -> None:
        self.average_degree = average_degree
        self.rounds = rounds
        self.weight_bound = weight_bound

    def _check_parameters(self) -> None:
        if self.average_degree is not None:
            check_positive(self.average_degree, "average_degree")
        if isinstance(self.rounds, bool) or int(self.rounds) != self.rounds or self.rounds < 0:
            raise ValueError(f"rounds must be an integer >= 0, got {self.rounds!r}")

    def _release(self, graph: CanonicalGraph) -> Release:
        n = graph.n
        own = float(graph.adjacency.sum()) / n
        degree = own if self.average_degree is None else float(self.average_degree) / self._unit
        matrix = tilted_adjacency(graph.adjacency, degree / n)
        labels = canonical_signs(leading_eigenvector(matrix))
        if self.rounds:
            labels = majority_polish(matrix, labels, int(self.rounds))
        return _published(labels, graph, self._adjacency, "spectral")


class LinearProgramRecovery(RecoveryEstimator):
    """NOT PRIVATE: signs of the leading eigenvector of the optimum of max <A - tau J, C> over correlation
    matrices C.

    Parameters: average_degree: d, tau = d / n; default: the graph's own mean degree. tolerance: certified gap
    of the program, in edges. weight_bound: for a weighted graph. After `fit`, `gap_` is the certified gap and
    `certified_` whether it is below the tolerance. Cost: about a second at n = 1000.
    """

    gap_: float
    certified_: bool

    def __init__(
        self,
        average_degree: float | None = None,
        *,
        tolerance: float = 0.25,
        weight_bound: float | None = None,
    ) -> None:
        self.average_degree = average_degree
        self.tolerance = tolerance
        self.weight_bound = weight_bound

    def _check_parameters(self) -> None:
        if self.average_degree is not None:
            check_positive(self.average_degree, "average_degree")
        check_positive(self.tolerance, "tolerance")

    def _release(self, graph: CanonicalGraph) -> Release:
        n = graph.n
        own = float(graph.adjacency.sum()) / n
        degree = own if self.average_degree is None else float(self.average_degree) / self._unit
        matrix = tilted_adjacency(graph.adjacency, degree / n)
        optimum = maximise_over_elliptope(matrix, tolerance=float(self.tolerance))
        self.gap_, self.certified_ = optimum.gap, optimum.certified
        return _published(canonical_signs(optimum.leading_vector), graph, self._adjacency, "linear program")
