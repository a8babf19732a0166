"""The certified bisection of a graph, the proof that there is none worth noticing, and how safe it is.

r(G, x) = min over u orthogonal to x of u^T M_x u / max_{i<j} (u_i - x_i x_j u_j)^2, the reciprocal of the
largest effective resistance, says how many edges it takes, at least, to undo a labelling; one edge changes it
by at most 1. Statement and proof: docs/proofs/sbm_certificate.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from sosdp.conic.eigenvalues import eigenvectors_between
from sosdp.conic.rigorous import least_eigenvalue_bound
from sosdp.structured import maximise_over_elliptope
from sosdp.structured.residual_proof import OUTWARD, UNIT, gamma, inverse_proof

from .labelling import canonical_signs, leading_eigenvector, majority_polish
from .program import slack_matrix, tilted_adjacency

TAU_UNITS = 1 << 20
"""tau is a multiple of 2^-20, so that every entry of M_x is exact in float64."""

LARGEST_TAU_N = 1 << 31
"""Public limit of |tau| n with the same purpose."""


@dataclass(frozen=True)
class Bracket:
    """A proven interval for a number: low <= value <= high."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The middle of the interval."""
        return self.low / 2 + self.high / 2

    def within(self, error: float) -> bool:
        """Whether the middle is proven to be off by at most `error`."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high)) and (
            Fraction(self.high) - Fraction(self.low) <= 2 * Fraction(error) * (1 - Fraction(1, 1 << 40))
        )


def public_grid(tau: float, n: int) -> float:
    """The nearest multiple of 2^-20; raises ValueError where |tau| n is beyond `LARGEST_TAU_N`."""
    if abs(tau) * n > LARGEST_TAU_N:
        raise ValueError(f"|tau| n must be at most 2^31, got tau = {tau} for n = {n}")
    return round(Fraction(tau) * TAU_UNITS) / TAU_UNITS


def resistance(adjacency: sp.csr_array, labels: np.ndarray, tau: float) -> tuple[float, Bracket | None]:
    """A proven lower bound on lambda(G, x), and a proven bracket of r(G, x) where that bound is positive.

    adjacency: (n, n), entries multiples of 2^-20 in [0, 1]; tau: from `public_grid`. O(n^3).
    """
    matrix = slack_matrix(adjacency, labels, tau)  # exact
    signs = np.asarray(labels, dtype=np.float64)
    matrix += np.outer(signs, signs)  # K = M_x + x x^T, exact: the eigenvalue of x is n
    least = least_eigenvalue_bound(matrix)
    inverse = inverse_proof(matrix, least)
    if inverse is None:
        return min(least, 0.0) if not least > 0 else least, None
    p = (inverse.matrix + inverse.matrix.T) / 2
    diagonal = p.diagonal()
    resistances = diagonal[:, None] + diagonal[None, :] - 2 * (p * np.outer(signs, signs))
    np.fill_diagonal(resistances, 0.0)
    largest = float(resistances.max())
    # |b|^2 = 2 for every pair, so the error of the inverse counts twice; and a few roundings of P.
    error = (2 * inverse.error + 16 * UNIT * float(np.abs(p).max())) * OUTWARD
    if not largest > 2 * error:
        return least, None
    low = 1 / (largest + error) * (1 - 4 * UNIT)
    high = 1 / (largest - error) * (1 + 4 * UNIT)
    return least, Bracket(low, high)


def quotient_bound(adjacency: sp.csr_array, labels: np.ndarray, tau: float) -> float:
    """A proven upper bound on max(r(G, x), 0) from the bottom eigenvector of M_x next to x; inf if none.

    M_x x = 0 and every b_ij is orthogonal to x, so the vector need not be orthogonal to x. O(n^3).
    """
    matrix = slack_matrix(adjacency, labels, tau)
    n = matrix.shape[0]
    signs = np.asarray(labels, dtype=np.float64)
    try:
        u = eigenvectors_between(matrix + np.outer(signs, signs), 0, 0)[:, 0]
    except (np.linalg.LinAlgError, ValueError):
        return np.inf
    if not np.all(np.isfinite(u)):
        return np.inf
    value = float(u @ (matrix @ u))
    rounding = gamma(2 * n + 4) * float(np.abs(u) @ (np.abs(matrix) @ np.abs(u))) * OUTWARD
    y = signs * u
    spread = (float(y.max()) - float(y.min())) * (1 - 4 * UNIT)  # max |u_i - x_i x_j u_j| = max |y_i - y_j|
    if not spread > 0:
        return np.inf
    return max(0.0, (value + rounding) / spread**2 * (1 + 8 * UNIT))


def proven_gap(tilted: np.ndarray, factor: np.ndarray, dual: np.ndarray) -> float:
    """A proven upper bound on max <A, C> - <A, C'>, C' a correlation matrix made of `factor`; inf if none.

    tilted: A, (n, n) exact; factor: (n, k) float rows, nearly of length one: C' is the exact correlation
    matrix of their directions; dual: y (n,), rounded to multiples of 2^-20 here: Diag(y) - A is exact.
    max <= sum y + n max(0, -lambda_min(Diag y - A)), because correlation matrices have trace n. O(n^3).
    """
    n, k = factor.shape
    if not (np.all(np.isfinite(factor)) and np.all(np.isfinite(dual)) and np.abs(dual).max() < 2.0**32):
        return np.inf
    y = np.rint(dual * TAU_UNITS) / TAU_UNITS
    slack = -tilted
    slack[np.diag_indices(n)] += y
    least = least_eigenvalue_bound(slack)
    lengths = (factor * factor).sum(axis=1)
    worst = float(np.abs(lengths - 1).max()) + gamma(k + 2) * 2
    if not (np.isfinite(least) and worst < 1e-6):
        return np.inf
    products = factor @ factor.T
    np.fill_diagonal(products, 1.0)
    # Entries of C' differ from the computed products by rounding and by the lengths of the rows.
    entry = 2 * worst + 2 * gamma(k + 2)
    sizes = np.abs(tilted)
    rows = (tilted * products).sum(axis=1)
    error = float(sizes.sum()) * (entry + gamma(n + 4)) * OUTWARD
    total = sum(map(Fraction, y.tolist()), Fraction(0)) - sum(map(Fraction, rows.tolist()), Fraction(0))
    total += Fraction(error) + n * Fraction(max(0.0, -least))
    return float(total) * (1 + 4 * UNIT) + 1e-300


def candidate(factor: np.ndarray) -> np.ndarray | None:
    """The only labelling with r above the gap, from the rows of C = V V^T; None if there is none.

    x_j = sign of C_1j, and every |C_1j| is at least 1/2. Entries are known to 1e-6, as `proven_gap`
    requires of the rows, so only an entry below 1/2 - 1e-5 in absolute value rules a labelling out.
    """
    first = factor @ factor[0]
    first[0] = 1.0
    if float(np.abs(first).min()) < 0.5 - 1e-5:
        return None
    return np.where(first > 0, 1, -1).astype(np.int64)


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
