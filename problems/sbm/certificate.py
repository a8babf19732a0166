"""The certified bisection of a graph, and the proof that there is none worth noticing.

Statement and proof: docs/proofs/sbm_certificate.md
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sosdp.structured import maximise_over_elliptope

from .labelling import canonical_signs, leading_eigenvector, majority_polish
from .program import dual_slack, tilted_adjacency


@dataclass(frozen=True, eq=False)
class CertifiedBisection:
    """Outcome of the search; every field is private.

    labels, statistic: the certified labelling and f = lambda / 2, above tau0; or both None.
    resolved: True if a labelling was certified or it is proven that f <= tau0 (up to the error of lambda).
    """

    labels: np.ndarray | None
    statistic: float | None
    resolved: bool


def certified_bisection(adjacency: sp.csr_array, tau: float, tau0: float) -> CertifiedBisection:
    """Find the labelling with dual slack above 2 tau0, or prove that there is none.

    adjacency: (n, n) sparse 0/1; tau, tau0 > 0: public. A spectral guess with majority polishing settles most
    graphs; otherwise max <A_tau, C> over the elliptope is solved to a certified gap below tau0, after which
    the signs of the leading eigenvector of C are the only labelling that could have slack above 2 tau0.
    Cost: one extremal eigenvalue of size n, or the linear program (seconds at n = 1000).
    """
    tilted = tilted_adjacency(adjacency, tau)
    guess = majority_polish(tilted, canonical_signs(leading_eigenvector(tilted)))
    slack = dual_slack(adjacency, guess, tau)
    if slack > 2 * tau0:
        return CertifiedBisection(guess, slack / 2, True)
    optimum = maximise_over_elliptope(tilted, tolerance=tau0)
    if not optimum.certified:
        return CertifiedBisection(None, None, False)
    only = canonical_signs(optimum.leading_vector)
    slack = dual_slack(adjacency, only, tau)
    if slack > 2 * tau0:
        return CertifiedBisection(only, slack / 2, True)
    # -inf: the eigenvalue solver failed, so nothing was decided about this labelling.
    return CertifiedBisection(None, None, bool(np.isfinite(slack)))
