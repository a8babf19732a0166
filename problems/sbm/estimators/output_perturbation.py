"""Weak recovery by a noisy projection: Algorithm 5.4 of the paper, by output perturbation.

Statement and proof: docs/proofs/sbm_weak_recovery.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sosdp.estimator.base import NUMERICAL_FAILURES
from sosdp.estimator.field import Field, Fitted, choice, part
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.output_perturbation import NoisyArray, ProjectionProgram, release_symmetric
from sosdp.privacy.terms import Terms
from sosdp.structured import StructuredMatrix, nearest_correlation

from ..graph_input import CanonicalGraph
from ..labelling import balanced_signs, canonical_signs, leading_eigenvector
from ..program import centred_matrix, projection_error_bound
from .base import ModelledRecovery, release_value

MOVED = Fact("one edge moves two entries of what is projected (docs/proofs/sbm_weak_recovery.md)")


def moved_by_an_edge(step: float) -> ProjectionProgram:
    """What one edge does to a matrix that is projected: two entries move by `step`."""
    return ProjectionProgram(
        shift_l1=2 * step,
        shift_frobenius=float(np.sqrt(2)) * step * (1 + 1e-15),
        proof=MOVED,
    )


def projection_program(n: int, average_degree: float, gamma: float) -> ProjectionProgram:
    """What one edge does to the matrix B that is projected: two entries move by n / (gamma d).

    The factor 1 + 1e-12 (1 + d / n) covers the rounding of the two values that an entry of B takes.
    """
    step = n / (gamma * average_degree) * (1 + 1e-12 * (1 + average_degree / n))
    return moved_by_an_edge(step)


class Projected(NamedTuple):
    """A nearest correlation matrix, its certified distance (None: failed) and diagnostics: private."""

    matrix: np.ndarray
    distance: float | None
    diagnostics: dict[str, Any]

    def released(self, terms: Terms, sensitivity: float, eta_max: float) -> Release:
        """The matrix with Gaussian noise above the diagonal."""
        return release_symmetric(
            replace(terms, proof=MOVED),
            self.matrix,
            sensitivity_frobenius=sensitivity,
            eta_max=eta_max,
            certified_eta=self.distance,
            private_diagnostics=self.diagnostics,
        )


def projected(target: Callable[[], StructuredMatrix], n: int, eta_max: float) -> Projected:
    """The correlation matrix (n, n) nearest to a target, whatever goes wrong on the way."""
    try:
        projection = nearest_correlation(target(), tolerance=0.999 * eta_max)
        diagnostics: dict[str, Any] = {
            "solver": projection.method,
            "eigendecompositions": projection.eigendecompositions,
        }
        if not projection.certified:
            return Projected(np.eye(n), None, diagnostics)
        # The factor is certified; forming the product costs at most this much more.
        product = 4e-16 * n * (projection.factor.shape[1] + 2)
        return Projected(projection.matrix, projection.distance + product, diagnostics)
    except NUMERICAL_FAILURES as problem:
        return Projected(np.eye(n), None, {"failure": repr(problem)})


EXPECTED = Fact(
    "why the condition is expected to hold: the last resort of the solver, an interior-point path, ends "
    "within a proven number of exact Newton steps; with inexact ones in float64 no graph is known on which "
    "it does not"
)


class ProjectionRecovery(ModelledRecovery):
    """(epsilon, delta)-edge-private weak recovery of two balanced communities; always answers.

    The centred adjacency matrix is projected onto the correlation matrices, Gaussian noise is added above the
    diagonal, and the signs of the leading eigenvector are the labels. `predict_error` tells beforehand what
    to expect; at small n edge flipping does better (see docs/proofs/sbm_weak_recovery.md). Extra attribute
    after fit: noisy_matrix_, the released `NoisyArray` (n, n). Cost: a few eigendecompositions of size n,
    and 0.1 microseconds a pair of vertices for the noise. Source: arXiv 2301.04822, Algorithm 5.4.
    """

    calibration: str = Field(
        choice("tight", "paper"),
        '"tight" (sharp sensitivity, analytic Gaussian noise) or "paper" (Lemma 5.5, textbook noise)',
        default="tight",
        kw_only=True,
    )
    tolerance: float = Field(
        part,
        "certified solver error, as a fraction of the sensitivity; charged twice in the "
        "noise, with a public allowance for rounding (1e-3 of the sensitivity at n = 1000)",
        default=1e-3,
        kw_only=True,
    )
    balanced: bool = Field(
        None,
        "cut the leading eigenvector at its median instead of at 0, so that both "
        "communities get half of the vertices",
        default=False,
        kw_only=True,
    )

    noisy_matrix_: NoisyArray = Fitted()

    _forecast = "projection"

    def _release(self, graph: CanonicalGraph) -> Release:
        return self._publish(graph, self._project(graph))

    def _claims(self, n: int) -> tuple[float, float, float]:
        """Average degree in units of the weight bound, sensitivity, and the certified distance to reach."""
        average_degree = float(self.average_degree) / self._unit
        program = projection_program(n, average_degree, float(self.gamma))
        rounding = projection_error_bound(n, average_degree, float(self.gamma))
        eta_max = float(self.tolerance) * program.sensitivity("tight") + rounding
        return average_degree, program.sensitivity(self.calibration), eta_max

    def _project(self, graph: CanonicalGraph) -> Projected:
        """The projected matrix: private."""
        average_degree, _, eta_max = self._claims(graph.n)
        return projected(
            lambda: centred_matrix(graph.adjacency, average_degree, float(self.gamma)), graph.n, eta_max
        )

    def _publish(self, graph: CanonicalGraph, projection: Projected) -> Release:
        n = graph.n
        _, sensitivity, eta_max = self._claims(n)
        facts = self._public(n=n, gamma=float(self.gamma), average_degree=float(self.average_degree))
        terms = self._terms(graph, "sbm.projection", EXPECTED, public=facts)
        release = projection.released(terms, sensitivity, eta_max)
        self.noisy_matrix_ = release.value
        direction = leading_eigenvector(release.value.values())
        labels = balanced_signs(direction) if self.balanced else canonical_signs(direction)
        return release.postprocess(release_value(labels, graph, "projection"))
