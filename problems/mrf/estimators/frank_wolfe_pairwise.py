"""Pairwise models over k symbols by private Frank-Wolfe (Algorithm 3, with the public n in its loss).

Proof: docs/proofs/mrf_frank_wolfe.md
"""

from __future__ import annotations

import numpy as np

from sosdp.estimator.field import Field, whole
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.frank_wolfe import overlap, private_frank_wolfe

from ..program import pairwise_parameters, pairwise_regressions, symbols
from .base import FieldEstimator, Iterated, parameter_value


class FrankWolfePairwise(Iterated, FieldEstimator):
    """Weights (p, p, k, k) and field (p, k) of a pairwise model over the symbols 0..k-1."""

    alphabet: int = Field(whole(2), "k; an entry that is none of the symbols is read as 0")

    def _release(self, data: np.ndarray) -> Release:
        n, p = data.shape
        k = int(self.alphabet)
        radius = 2.0 * float(self.width) * k
        regressions = pairwise_regressions(symbols(data, k), k)
        release = private_frank_wolfe(
            self._terms(data),
            regressions,
            radius=radius,
            iterations=self._rounds(
                n, radius, float(overlap(regressions.tables)), 2 * regressions.columns.shape[1]
            ),
        )
        value = parameter_value(*pairwise_parameters(release.value, p, k), self.threshold)
        return release.postprocess(
            value, mechanism="mrf.frank-wolfe.pairwise", public={"dimension": p, "alphabet": k}
        )
