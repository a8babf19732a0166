"""Ising parameters by noisy projected gradient descent on the regressions of all nodes together.

Proof: docs/proofs/mrf_moments.md
"""

from __future__ import annotations

import numpy as np

from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.projected_gradient import private_projected_gradient

from ..program import ising_parameters, ising_regressions, signs
from .base import FieldEstimator, check_budget, parameter_value


class GradientIsing(FieldEstimator):
    """Weights and field of an Ising model by noisy gradients; noise of order p / n.

    Parameters (all public): as for `FrankWolfeIsing`, with delta > 0 and
        iterations: number of gradient steps. step: size of one.
    """

    def __init__(
        self,
        width: float,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        iterations: int = 60,
        step: float = 1.0,
        threshold: float | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.width = width
        self.epsilon = epsilon
        self.delta = delta
        self.iterations = iterations
        self.step = step
        self.threshold = threshold
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        self._check_field()
        check_budget(self.epsilon, self.delta)

    def _release(self, data: np.ndarray) -> Release:
        release = private_projected_gradient(
            ising_regressions(signs(data)),
            radius=2.0 * float(self.width),
            iterations=self.iterations,
            epsilon=self.epsilon,
            delta=self.delta,
            step=float(self.step),
            insecure_seed=self.insecure_seed,
        )
        value = parameter_value(*ising_parameters(release.value), self.threshold)
        return release.postprocess(value, mechanism="mrf.gradient", public={"dimension": data.shape[1]})
