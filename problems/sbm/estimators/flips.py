"""What the estimators by edge randomised response share: parameters, labels, the promise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sosdp.estimator.field import Field, budget, optional, positive, whole
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness.bits import RandomBits

from ..labelling import canonical_signs, leading_eigenvector, majority_polish
from .base import HasNodes, RecoveryEstimator, release_value


class FlipsRecovery(RecoveryEstimator):
    """Base: a graph with every pair flipped independently is released; labels are post-processing of it."""

    epsilon: float = Field(
        budget,
        "budget of one fit; pure differential privacy (delta = 0), even in the local model",
    )
    average_degree: float | None = Field(
        optional(positive),
        "public d, to centre the noisy graph; by default its own density, which is private already",
        default=None,
        kw_only=True,
    )
    rounds: int = Field(
        whole(0),
        "at most this many rounds of majority voting after the spectral step (free post- processing)",
        default=30,
        kw_only=True,
    )

    _mechanism: ClassVar[str]
    _method: ClassVar[str]

    def _density(self, n: int) -> float | None:
        """The public density d / n, if it was given."""
        return None if self.average_degree is None else float(self.average_degree) / n

    def _labels(self, centred: Any) -> np.ndarray:
        """Signs of the leading eigenvector of the centred noisy graph, then rounds of voting."""
        labels = canonical_signs(leading_eigenvector(centred))
        return majority_polish(centred, labels, int(self.rounds)) if self.rounds else labels

    def _sealed(
        self, labels: np.ndarray, graph: HasNodes, flip_probability: float, bits: RandomBits
    ) -> Release:
        """The release of labels that were read off a graph flipped with that probability."""
        terms = self._terms(graph, self._mechanism)
        facts = {"n": len(graph.nodes), "flip_probability": flip_probability}
        return terms.seal(release_value(labels, graph, self._method), terms.guarantee(), bits, public=facts)
