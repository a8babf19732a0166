"""Pairwise models over k symbols by private Frank-Wolfe (Algorithm 3, with the public n in its loss).

Proof: docs/proofs/mrf_frank_wolfe.md
"""

from __future__ import annotations

import numpy as np

from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import integer
from sosdp.privacy.mechanisms.frank_wolfe import overlap, private_frank_wolfe

from ..planning import choose_iterations
from ..program import pairwise_parameters, pairwise_regressions, symbols
from .base import FieldEstimator, budget_rho, check_budget, parameter_value


class FrankWolfePairwise(FieldEstimator):
    """Weights (p, p, k, k) and field (p, k) of a pairwise model over the symbols 0..k-1.

    Parameters (all public):
        width: lambda >= max over i, a of sum_j max_b |W_ij(a, b)| + |theta_i(a)|.
        alphabet: k; an entry that is none of the symbols is read as 0.
        epsilon, delta, iterations, threshold, calibration, insecure_seed: as for `FrankWolfeIsing`; edges are
        the pairs with max_ab |W_ij(a, b)| above the threshold.
    """

    def __init__(
        self,
        width: float,
        alphabet: int,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        iterations: int | str = "auto",
        threshold: float | None = None,
        calibration: str = "tight",
        insecure_seed: int | None = None,
    ) -> None:
        self.width = width
        self.alphabet = alphabet
        self.epsilon = epsilon
        self.delta = delta
        self.iterations = iterations
        self.threshold = threshold
        self.calibration = calibration
        self.insecure_seed = insecure_seed

    def _check_parameters(self) -> None:
        self._check_field()
        check_budget(self.epsilon, self.delta, pure=True)
        integer(self.alphabet, "alphabet", 2)

    def _release(self, data: np.ndarray) -> Release:
        n, p = data.shape
        k = int(self.alphabet)
        radius = 2.0 * float(self.width) * k
        regressions = pairwise_regressions(symbols(data, k), k)
        if self.iterations == "auto":
            rho = budget_rho(self.epsilon, self.delta) if self.delta else self.epsilon**2 / 2.0
            share = rho / float(overlap(regressions.tables))
            iterations = choose_iterations(n, radius, share, 2 * regressions.columns.shape[1])
        else:
            iterations = int(self.iterations)
        release = private_frank_wolfe(
            regressions,
            radius=radius,
            iterations=iterations,
            epsilon=self.epsilon,
            delta=self.delta,
            calibration=self.calibration,
            insecure_seed=self.insecure_seed,
        )
        value = parameter_value(*pairwise_parameters(release.value, p, k), self.threshold)
        return release.postprocess(
            value, mechanism="mrf.frank-wolfe.pairwise", public={"dimension": p, "alphabet": k}
        )
