"""A rule in place of a search: signs of an eigenvector, flips, and a statistic of how safe the result is.

The statistic c(G, x) moves by at most 1 with an edge, and where it is positive the rule surely ends at x, so
its value at the rule's own result is its largest value over all labellings. Proof:
docs/proofs/sbm_certificate.md, section "A rule without a search"
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from sosdp.conic.eigenvalues import eigenvectors_between
from sosdp.conic.rigorous import least_eigenvalue_bound
from sosdp.structured.residual_proof import OUTWARD, UNIT, gamma

from .certificate import SETTLED, UNRESOLVED, Bracket, CertifiedBisection
from .labelling import canonical_signs
from .program import slack_matrix

RESIDUAL = 1e-6
"""Public bound on the residual of the eigenvector, and on what its quotient may lack; checked every time."""

FLIPS = 4
"""At most FLIPS n flips; the statistic is positive only where they suffice."""

WIDEN = 1e-9
"""Added to every bracket: far more than the roundings of evaluating the conditions."""

KAPPA_GRID = 1 << 36


@dataclass(frozen=True)
class Quantities:
    """What the conditions are about, for one graph and labelling; see `shifted`.

    slack: lambda(G, x); half: nu, the least eigenvalue of Diag(t) / 2 - A_tau + kappa x x^T / n; rival: the
    largest eigenvalue of A_tau less 4 x x^T; negative: max(0, -lambda_min(A_tau)); mean, spread: of the t_i
    (mean_low, where less is worse, and mean_high); kappa: 3 mean / 2.
    """

    slack: float
    half: float
    rival: float
    negative: float
    mean_low: float
    mean_high: float
    spread: float
    kappa: float

    def shifted(self, k: float, n: int) -> Quantities:
        """The worst that k changed edges can make of them."""
        return Quantities(
            self.slack - 2 * k,
            self.half - (1.5 + 3 / n) * k,
            self.rival + k,
            self.negative + k,
            self.mean_low - 2 * k / n,
            self.mean_high + 2 * k / n,
            self.spread + k * math.sqrt(2 / n),
            self.kappa + 3 * k / n,
        )


def finds_its_way(q: Quantities, n: int) -> bool:
    """The conditions under which the rule surely ends at x and x is certified; monotone in every quantity."""
    lead = q.mean_low - RESIDUAL - q.rival
    if not (q.slack > 0 and q.half > 0 and q.mean_high > 0 and lead > 0):
        return False
    share = ((q.spread + 2 * RESIDUAL) / lead) ** 2
    if not share < 0.5:
        return False
    share = math.floor(share * n * (1 + 1e-12)) / n  # a number of vertices
    deficit = share * q.mean_high + math.sqrt(share) * q.spread + q.negative * share
    if not deficit / q.slack < 0.25 - 1 / n:
        return False
    branch = (1 - math.sqrt(1 - 4 * deficit / q.slack)) / 2
    return deficit <= 2 * FLIPS * (q.half - q.kappa * branch)


def safe_changes(q: Quantities, n: int, resolution: float, upper: bool) -> float:
    """The largest k at which `finds_its_way` holds for the shifted quantities, from below or from above.

    0 where it does not hold at all.
    """
    if not finds_its_way(q, n):
        return 0.0
    low, high = 0.0, q.slack / 2
    while high - low > resolution:
        middle = (low + high) / 2
        low, high = (middle, high) if finds_its_way(q.shifted(middle, n), n) else (low, middle)
    return high if upper else low


def closed_form_bisection(adjacency: sp.csr_array, tau: float, error: float) -> CertifiedBisection:
    """The rule's result with its statistic within `error`, or settled where that is 0. O(n^3), no search.

    adjacency: (n, n), entries multiples of 2^-20; tau: from `certificate.public_grid`.
    """
    tilted = adjacency.toarray() - tau
    np.fill_diagonal(tilted, 0.0)
    z = rule(tilted)
    if z is None:
        return UNRESOLVED
    result = statistic(adjacency, tilted, z, tau, error)
    if result is None or not result.within(error):
        return UNRESOLVED
    return CertifiedBisection(z, result.middle, True) if result.high > 0 else SETTLED


def rule(tilted: np.ndarray) -> np.ndarray | None:
    """R(G): signs of the leading eigenvector of A_tau, then the least z_i (A z)_i flipped while negative.

    None where the eigenvector is not proven to be as good as `RESIDUAL` says.
    """
    n = len(tilted)
    try:
        v = eigenvectors_between(tilted, n - 1, n - 1)[:, 0]
    except (np.linalg.LinAlgError, ValueError):
        return None
    image = tilted @ v
    size = float(v @ v)
    if not 0.5 < size < 2:
        return None
    quotient = float(v @ image) / size
    slip = gamma(2 * n + 8) * float(np.abs(tilted).sum(axis=1).max()) * math.sqrt(n) * OUTWARD
    top = -least_eigenvalue_bound(-tilted)
    residual = float(np.linalg.norm(image - quotient * v)) / math.sqrt(size) * OUTWARD
    if not (residual + slip <= RESIDUAL and top - quotient + slip <= RESIDUAL):
        return None
    z = canonical_signs(v)
    votes = z * (tilted @ z)  # exact, and so are its changes: multiples of 2^-20
    for _ in range(FLIPS * n):
        worst = int(votes.argmin())
        if votes[worst] >= 0:
            break
        z[worst] = -z[worst]
        votes[worst] = -votes[worst]
        others = 2 * z[worst] * tilted[worst] * z
        others[worst] = 0.0
        votes += others
    return canonical_signs(z)


def statistic(
    adjacency: sp.csr_array, tilted: np.ndarray, labels: np.ndarray, tau: float, error: float
) -> Bracket | None:
    """A proven bracket of c(G, x); None where one of the eigenvalues is not proven."""
    n = len(tilted)
    votes = [Fraction(float(value)) for value in labels * (tilted @ labels)]
    mean = sum(votes, Fraction(0)) / n
    spread = math.sqrt(max(0.0, float(sum((value - mean) ** 2 for value in votes) / n)))
    outer = np.outer(labels, labels).astype(np.float64)
    kappa = Fraction(3, 2) * mean
    step = math.floor(kappa / n * KAPPA_GRID) / KAPPA_GRID
    halved = step * outer - tilted
    halved[np.diag_indices(n)] += np.array([float(value) for value in votes]) / 2
    drop = n / KAPPA_GRID  # kappa was rounded down: the least eigenvalue may rise by this
    slack = _least(slack_matrix(adjacency, labels, tau) + outer)
    half, rival, negative = (_least(matrix) for matrix in (halved, 4 * outer - tilted, tilted))
    if slack is None or half is None or rival is None or negative is None:
        return None

    def at(worse: bool) -> Quantities:
        s = WIDEN if worse else -WIDEN
        m = float(mean)
        return Quantities(
            (slack.low if worse else slack.high) - s,
            (half.low if worse else half.high + drop) - s,
            -(rival.low if worse else rival.high) + s,
            max(0.0, -(negative.low if worse else negative.high)) + s,
            m - s,
            m + s,
            spread + s,
            float(kappa) + s,
        )

    low = safe_changes(at(True), n, error / 8, False)
    return Bracket(low, max(low, safe_changes(at(False), n, error / 8, True)))


def _least(matrix: np.ndarray) -> Bracket | None:
    """A proven bracket of the least eigenvalue of an exactly symmetric float matrix."""
    low = least_eigenvalue_bound(matrix)
    try:
        u = eigenvectors_between(matrix, 0, 0)[:, 0]
    except (np.linalg.LinAlgError, ValueError):
        return None
    size = float(u @ u)
    if not (math.isfinite(low) and 0.5 < size < 2):
        return None
    value = float(u @ (matrix @ u)) / size
    rounding = gamma(2 * len(u) + 8) * float(np.abs(u) @ (np.abs(matrix) @ np.abs(u))) * 2 * OUTWARD
    return Bracket(low, value + rounding + 8 * UNIT * abs(value))
