"""What the estimators by edge randomised response share: parameters, labels, the promise."""

from __future__ import annotations

from typing import Any

import numpy as np

from sosdp.privacy.calibrate import check_epsilon, check_positive
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.seal import seal

from ..labelling import canonical_signs, leading_eigenvector, majority_polish
from .base import ADJACENCY, HasNodes, RecoveryEstimator, release_value


class FlipsRecovery(RecoveryEstimator):
    """Base: a graph with every pair flipped independently is released; labels are post-processing of it.

    Parameters (all public):
        epsilon: budget of one fit; pure differential privacy (delta = 0), even in the local model.
        average_degree: public d, to centre the noisy graph; by default its own density, which is private
        already. rounds: at most this many rounds of majority voting after the spectral step (free
        post-processing). insecure_seed: for tests and figures only; voids the guarantee.
    """

    _mechanism: str
    _method: str

    def __init__(
        self,
        epsilon: float,
        *,
        average_degree: float | None = None,
        rounds: int = 30,
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.average_degree = average_degree
        self.rounds = rounds
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        if self.average_degree is not None:
            check_positive(self.average_degree, "average_degree")
        if isinstance(self.rounds, bool) or int(self.rounds) != self.rounds or self.rounds < 0:
            raise ValueError(f"rounds must be an integer >= 0, got {self.rounds!r}")

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
        promise = Guarantee(
            epsilon=float(self.epsilon),
            delta=0.0,
            adjacency=ADJACENCY,
            assumptions=("the vertex set is public",),
            mechanism=self._mechanism,
        )
        facts = {"n": len(graph.nodes), "flip_probability": flip_probability}
        return seal(release_value(labels, graph, self._method), promise, bits, public=facts)
