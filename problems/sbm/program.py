"""The programs behind the estimators: the centred matrix of the projection, and the dual slack of a
labelling.

Proofs: docs/proofs/sbm_weak_recovery.md (sensitivity) and docs/proofs/sbm_certificate.md (dual slack).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sosdp.conic.eigenvalues import eigenvalues_between
from sosdp.privacy.mechanisms.propose_test_release.stability import SMALLEST_COIN
from sosdp.structured import StructuredMatrix

UNIT_ROUNDOFF = float(np.finfo(float).eps) / 2

DEFAULT_TAU = 0.5
"""Edge density that a graph is compared with by default; docs/proofs/sbm_certificate.md says why."""

DEFAULT_TAU0 = 0.25
"""The statistic r below which a labelling counts as none."""

STATISTIC_ERROR = 2.0**-14
"""Public bound on the error of a computed r: proven in every run, and charged (.01 % of the sensitivity)."""


COIN_UP_TO = 0.7
"""Largest epsilon at which a coin decides on a release by default; docs/proofs/certificate_stability.md."""


def chosen_decision(decision: str, epsilon: float) -> str:
    """Either "noise" or "coin" where "auto" is allowed; raises ValueError for others, or if no coin fits."""
    if decision == "auto":
        return "coin" if SMALLEST_COIN <= epsilon <= COIN_UP_TO else "noise"
    if decision not in ("noise", "coin"):
        raise ValueError(f'decision must be "auto", "noise" or "coin", got {decision!r}')
    if decision == "coin" and epsilon < SMALLEST_COIN:
        raise ValueError(f'a coin needs epsilon >= {SMALLEST_COIN}; use decision="noise"')
    return decision


def centred_matrix(adjacency: sp.csr_array, average_degree: float, gamma: float) -> StructuredMatrix:
    """B = n Y with Y = (A - (d/n) J) / (gamma d), the matrix that Algorithm 5.4 projects, in scaled space.

    Its diagonal is irrelevant (every feasible point has unit diagonal) and kept as it comes out.
    """
    n = adjacency.shape[0]
    return StructuredMatrix(adjacency, n / (gamma * average_degree), -1.0 / gamma)


def projection_sensitivity(n: int, average_degree: float, gamma: float, calibration: str = "tight") -> float:
    """Frobenius sensitivity of the projected matrix C = n X, in scaled space, for every graph on n vertices.

    tight: min(2 sqrt(n / (gamma d)), sqrt(2) n / (gamma d)); paper: sqrt(24 n / (gamma d)) (Lemma 5.5).
    """
    signal = gamma * average_degree
    if calibration == "paper":
        return float(np.sqrt(24 * n / signal))
    return float(min(2 * np.sqrt(n / signal), np.sqrt(2) * n / signal))


def tilted_adjacency(adjacency: sp.csr_array, tau: float) -> StructuredMatrix:
    """A_tau = A - tau (J - I), the objective of the linear program over the elliptope."""
    n = adjacency.shape[0]
    return StructuredMatrix(adjacency + tau * sp.eye_array(n, format="csr"), 1.0, -tau)


def slack_matrix(adjacency: sp.csr_array, labels: np.ndarray, tau: float) -> np.ndarray:
    """M_x = Diag(x * (A_tau x)) - A_tau, the dual slack of the labelling x: dense (n, n), M_x x = 0.

    Written as Diag(x * A x) - A + tau (J - (sum x) Diag(x)), so that everything but tau is exact integers.
    """
    labels = np.asarray(labels, dtype=np.int64)
    slack = -adjacency.toarray().astype(float)
    slack += tau
    diagonal = labels * (adjacency @ labels) - tau * (int(labels.sum()) * labels)
    slack[np.diag_indices_from(slack)] += diagonal
    return slack


def projection_error_bound(n: int, average_degree: float, gamma: float) -> float:
    """Public bound on the part of the projection's certified distance that is rounding, for every graph.

    sqrt(20 n^2 u K) + 0.1 u K sqrt(n K), K = 2 n (1 + max |B_ij|) a bound on the norm of B + Diag(y) near
    the optimum; about 1e-3 of the sensitivity at n = 1000. The first term is the certificate's margin; the
    second, felt from K about 1e9 on, is what a dual vector of size K, known to u K an entry, allows. The
    public tolerance is enlarged by it, so that it can be reached: by trial, while what a run certifies is
    proven.
    """
    return rounding_distance(n, 1.0 + max(1.0 / gamma, abs(n / (gamma * average_degree) - 1.0 / gamma)))


def rounding_distance(n: int, largest: float) -> float:
    """`projection_error_bound` of a target whose entries are at most `largest` - 1."""
    norm = 2.0 * n * largest
    margin = np.sqrt(20.0 * n**2 * UNIT_ROUNDOFF * norm)
    return float(margin + 0.1 * UNIT_ROUNDOFF * norm * np.sqrt(n * norm))


def dual_slack(adjacency: sp.csr_array, labels: np.ndarray, tau: float) -> float:
    """lambda(G, x): the smallest eigenvalue of M_x on the subspace orthogonal to x; -inf if LAPACK fails.

    adjacency: (n, n) sparse 0/1, n >= 2; labels: (n,) of +-1. One extremal eigenvalue of a dense matrix,
    O(n^3). Positive lambda proves that x x^T is the unique maximum of <A_tau, C> over C psd with unit
    diagonal.
    """
    slack = slack_matrix(adjacency, labels, tau)
    signs = np.asarray(labels, dtype=float)
    # x itself is moved out of the way: its eigenvalue becomes 2 n (1 + |tau|), at least the norm of M_x.
    slack += 2.0 * (1.0 + abs(tau)) * np.outer(signs, signs)
    try:
        smallest = float(eigenvalues_between(slack, 0, 0)[0])
    except (np.linalg.LinAlgError, ValueError):
        return -np.inf
    return smallest if np.isfinite(smallest) else -np.inf
