"""Ising parameters by private Frank-Wolfe, a logistic regression a node (Algorithm 2).

Proof: docs/proofs/mrf_frank_wolfe.md
"""

from __future__ import annotations

import numpy as np

from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.frank_wolfe import private_frank_wolfe

from ..program import ising_parameters, ising_regressions, signs
from .base import FieldEstimator, Iterated, parameter_value


class FrankWolfeIsing(Iterated, FieldEstimator):
    """Weights and field of an Ising model with the sqrt(p) rate of the paper."""

    def _release(self, data: np.ndarray) -> Release:
        n, p = data.shape
        radius = 2.0 * float(self.width)
        release = private_frank_wolfe(
            self._terms(data),
            ising_regressions(signs(data)),
            radius=radius,
            iterations=self._rounds(n, radius, p, 2 * p),
        )
        value = parameter_value(*ising_parameters(release.value), self.threshold)
        return release.postprocess(value, mechanism="mrf.frank-wolfe", public={"dimension": p})
