"""The certified bisection of a graph, and the proof that there is none worth noticing.

Statement and proof: docs/proofs/sbm_certificate.md
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sosdp.structured import maximise_over_elliptope

from .labelling import canonical_signs, leading_eigenvector, majority_polish
from .program import tilted_adjacency
from .resistance import candidate, proven_gap, quotient_bound, resistance


@dataclass(frozen=True, eq=False)
class CertifiedBisection:
    """Outcome of the search; every field is private.

    labels, statistic: the certified labelling and r(G, x) within the public error; or both None.
    resolved: True if a labelling was certified or it is proven that f <= tau0 + error.
    """

    labels: np.ndarray | None
    statistic: float | None
    resolved: bool


UNRESOLVED = CertifiedBisection(None, None, False)
SETTLED = CertifiedBisection(None, None, True)


def certified_bisection(adjacency: sp.csr_array, tau: float, tau0: float, error: float) -> CertifiedBisection:
    """Find the labelling with r(G, x) above tau0 and r within `error`, or prove that there is none.

    adjacency: (n, n) sparse; tau (a multiple of 2^-20), tau0 > 0, error > 0: public. A spectral guess with
    majority polishing settles most graphs; otherwise max <A_tau, C> over the elliptope is solved to a proven
    gap of at most tau0, after which the signs of the first row of C are the only labelling that could have r
    above tau0. Every statement is proven in float64 by residuals; where a proof is missing the outcome is
    `resolved = False`. Cost: a few dense factorisations, or the linear program (seconds at n = 1000).
    """
    tilted = tilted_adjacency(adjacency, tau)
    guess = majority_polish(tilted, canonical_signs(leading_eigenvector(tilted)))
    result = _judge(adjacency, guess, tau, tau0, error)
    if result.labels is not None:
        return result
    optimum = maximise_over_elliptope(tilted, tolerance=tau0 / 2)
    dense = adjacency.toarray() - tau
    np.fill_diagonal(dense, 0.0)
    if not proven_gap(dense, optimum.factor, optimum.dual) <= tau0:
        return UNRESOLVED
    only = candidate(optimum.factor)
    if only is None:
        return SETTLED
    return _judge(adjacency, canonical_signs(only), tau, tau0, error)


def _judge(
    adjacency: sp.csr_array, labels: np.ndarray, tau: float, tau0: float, error: float
) -> CertifiedBisection:
    """One labelling: its statistic where lambda > 0 is proven, or settled where r <= tau0 is."""
    _, bracket = resistance(adjacency, labels, tau)
    if bracket is not None and bracket.within(error):
        return CertifiedBisection(labels, bracket.middle, True)
    return SETTLED if quotient_bound(adjacency, labels, tau) <= tau0 else UNRESOLVED
