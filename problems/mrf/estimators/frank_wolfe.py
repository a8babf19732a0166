"""Ising parameters by private Frank-Wolfe, a logistic regression a node (Algorithm 2).

Proof: docs/proofs/mrf_frank_wolfe.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.frank_wolfe import private_frank_wolfe

from ..planning import choose_iterations
from ..program import ising_parameters, ising_regressions, signs
from .base import FieldEstimator, budget_rho, check_budget, parameter_value


class FrankWolfeIsing(FieldEstimator):
    """Weights and field of an Ising model with the sqrt(p) rate of the paper.

    Parameters (all public):
        width: lambda >= max_i sum_j |A_ij| + |theta_i|; never estimated from the data.
        epsilon, delta: budget; delta = 0 for a pure one.
        iterations: T of every regression, or "auto" (from n, the width and the budget).
        threshold: edges are the pairs with a weight above it, for example half the smallest weight expected.
        calibration: "tight" (Gumbel) or "paper" (Laplace with the repaired constant).
        insecure_seed: tests only; voids the guarantee.
    """

    least_records = 1

    def __init__(
        self,
        width: float,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        iterations: int | str = "auto",
        threshold: float | None = None,
        calibration: str = "tight",
        insecure_seed: int | None = None,
    ) -> None:
        self.width = width
        self.epsilon = epsilon
        self.delta = delta
        self.iterations = iterations
        self.threshold = threshold
        self.calibration = calibration
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        self._check_field()
        check_budget(self.epsilon, self.delta, pure=True)

    def _release(self, data: np.ndarray) -> Release:
        n, p = data.shape
        radius = 2.0 * float(self.width)
        release = private_frank_wolfe(
            ising_regressions(signs(data)),
            radius=radius,
            iterations=self._iterations(n, p, radius),
            epsilon=self.epsilon,
            delta=self.delta,
            calibration=self.calibration,
            insecure_seed=self.insecure_seed,
        )
        value: dict[str, Any] = parameter_value(*ising_parameters(release.value), self.threshold)
        return release.postprocess(value, mechanism="mrf.frank-wolfe", public={"dimension": p})

    def _iterations(self, n: int, p: int, radius: float) -> int:
        if self.iterations != "auto":
            return int(self.iterations)
        # for a pure budget epsilon^2 / 2 stands in: a public choice, not a promise
        rho = budget_rho(self.epsilon, self.delta) if self.delta else self.epsilon**2 / 2.0
        return choose_iterations(n, radius, rho / p, 2 * p)
