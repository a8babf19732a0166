"""Pairwise models over k symbols by private Frank-Wolfe (Algorithm 3, with the public n in its loss).

Proof: docs/proofs/mrf_frank_wolfe.md
"""

from __future__ import annotations

import numpy as np

from sosdp.estimator.field import Field, privacy_delta_or_zero, whole
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.frank_wolfe import overlap, private_frank_wolfe

from ..planning import choose_iterations
from ..program import pairwise_parameters, pairwise_regressions, symbols
from .base import FieldEstimator, budget_rho, parameter_value


class FrankWolfePairwise(FieldEstimator):
    """Weights (p, p, k, k) and field (p, k) of a pairwise model over the symbols 0..k-1."""

    alphabet: int = Field(whole(2), "k; an entry that is none of the symbols is read as 0")
    delta: float = Field(privacy_delta_or_zero, "budget of one fit", default=1e-6, kw_only=True)
    iterations: int | str = Field(
        None,
        'T of every regression, or "auto" (from n, the width and the budget)',
        default="auto",
        kw_only=True,
    )
    calibration: str = Field(
        None,
        '"tight", or "paper" for the published constants',
        default="tight",
        kw_only=True,
    )

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
            self._terms(data),
            regressions,
            radius=radius,
            iterations=iterations,
        )
        value = parameter_value(*pairwise_parameters(release.value, p, k), self.threshold)
        return release.postprocess(
            value, mechanism="mrf.frank-wolfe.pairwise", public={"dimension": p, "alphabet": k}
        )
