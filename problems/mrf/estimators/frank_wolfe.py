"""Ising parameters by private Frank-Wolfe, a logistic regression a node (Algorithm 2).

Proof: docs/proofs/mrf_frank_wolfe.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sosdp.estimator.field import Field, privacy_delta_or_zero
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.frank_wolfe import private_frank_wolfe

from ..planning import choose_iterations
from ..program import ising_parameters, ising_regressions, signs
from .base import FieldEstimator, budget_rho, parameter_value


class FrankWolfeIsing(FieldEstimator):
    """Weights and field of an Ising model with the sqrt(p) rate of the paper."""

    delta: float = Field(privacy_delta_or_zero, "budget; 0 for a pure one", default=1e-6, kw_only=True)
    iterations: int | str = Field(
        None,
        'T of every regression, or "auto" (from n, the width and the budget)',
        default="auto",
        kw_only=True,
    )
    calibration: str = Field(
        None,
        '"tight" (Gumbel) or "paper" (Laplace with the repaired constant)',
        default="tight",
        kw_only=True,
    )

    least_records = 1

    def _release(self, data: np.ndarray) -> Release:
        n, p = data.shape
        radius = 2.0 * float(self.width)
        release = private_frank_wolfe(
            self._terms(data),
            ising_regressions(signs(data)),
            radius=radius,
            iterations=self._iterations(n, p, radius),
        )
        value: dict[str, Any] = parameter_value(*ising_parameters(release.value), self.threshold)
        return release.postprocess(value, mechanism="mrf.frank-wolfe", public={"dimension": p})

    def _iterations(self, n: int, p: int, radius: float) -> int:
        if self.iterations != "auto":
            return int(self.iterations)
        # for a pure budget epsilon^2 / 2 stands in: a public choice, not a promise
        rho = budget_rho(self.epsilon, self.delta) if self.delta else self.epsilon**2 / 2.0
        return choose_iterations(n, radius, rho / p, 2 * p)
