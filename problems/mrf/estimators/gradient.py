"""Ising parameters by noisy projected gradient descent on the regressions of all nodes together.

Proof: docs/proofs/mrf_moments.md
"""

from __future__ import annotations

import numpy as np

from sosdp.estimator.field import Field
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.projected_gradient import private_projected_gradient

from ..program import ising_parameters, ising_regressions, signs
from .base import FieldEstimator, parameter_value


class GradientIsing(FieldEstimator):
    """Weights and field of an Ising model by noisy gradients; noise of order p / n."""

    iterations: int = Field(None, "number of gradient steps", default=60, kw_only=True)
    step: float = Field(None, "size of one", default=1.0, kw_only=True)

    def _release(self, data: np.ndarray) -> Release:
        release = private_projected_gradient(
            self._terms(data),
            ising_regressions(signs(data)),
            radius=2.0 * float(self.width),
            iterations=self.iterations,
            step=float(self.step),
        )
        value = parameter_value(*ising_parameters(release.value), self.threshold)
        return release.postprocess(value, mechanism="mrf.gradient", public={"dimension": data.shape[1]})
