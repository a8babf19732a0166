"""The search of the certificate release in ball arithmetic, with more and more bits until it is settled.

For the graphs on which float64 proofs fall short. That it ends is proven in docs/proofs/sbm_certificate.md
"""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import scipy.sparse as sp

from sosdp.conic.multiprecision import fraction_of, is_positive_definite, precision
from sosdp.structured.ball_path import FIRST_BITS, diagonal, exact, follow_path

from .certificate import SETTLED, UNRESOLVED, CertifiedBisection
from .labelling import canonical_signs


def settled_by_ladder(
    adjacency: sp.csr_array, tau: float, tau0: float, error: float, last_bits: int | None = None
) -> CertifiedBisection:
    """`certified_bisection` in arithmetic of 128, 256, ... bits; always resolved if `last_bits` is None.

    Every graph is settled at some precision in exact reasoning about finitely many continuous steps; how many
    bits and hours that takes depends on the graph. Seconds at n = 30, minutes at n = 100.
    """
    bits = FIRST_BITS
    while True:
        with precision(bits):
            result = _attempt(adjacency, tau, tau0, error, bits)
        if result.resolved or (last_bits is not None and bits >= last_bits):
            return result
        bits *= 2


def _attempt(adjacency: sp.csr_array, tau: float, tau0: float, error: float, bits: int) -> CertifiedBisection:
    tilted = adjacency.toarray() - tau
    np.fill_diagonal(tilted, 0.0)
    try:
        correlations = _near_optimal(tilted, tau0)
        if correlations is None:
            return UNRESOLVED
        n = len(tilted)
        first = [correlations[0, j] for j in range(n)]
        if any(abs(entry) < flint.arb(0.5) for entry in first[1:]):
            return SETTLED
        signs = [1, *(1 if entry > 0 else -1 if entry < 0 else 0 for entry in first[1:])]
        if 0 in signs:
            return UNRESOLVED
        return _judge(tilted, canonical_signs(np.array(signs)), tau0, error, bits)
    except ZeroDivisionError:  # a ball matrix could not be inverted with this many bits
        return UNRESOLVED


def _near_optimal(tilted: np.ndarray, tau0: float) -> flint.arb_mat | None:
    """Balls around a correlation matrix proven to be within tau0 of the maximum, by dual path following."""
    n, matrix = len(tilted), exact(tilted)
    norm = flint.arb(float(np.abs(tilted).sum(axis=1).max()) + 1.0)

    def derivatives(dual: list[flint.arb], barrier: flint.arb) -> tuple[flint.arb_mat, flint.arb_mat]:
        inverse = (diagonal(dual) - matrix).inv()
        gradient = flint.arb_mat([[1 - barrier * inverse[i, i]] for i in range(n)])
        squares = flint.arb_mat([[barrier * inverse[i, j] ** 2 for j in range(n)] for i in range(n)])
        return gradient, squares

    def accept(dual: list[flint.arb]) -> flint.arb_mat | None:
        return _proven(matrix, diagonal(dual) - matrix, dual, tau0)

    return follow_path([2 * norm] * n, norm, tau0, n, derivatives, accept)


def _proven(
    matrix: flint.arb_mat, slack: flint.arb_mat, dual: list[flint.arb], tau0: float
) -> flint.arb_mat | None:
    """C = D^-1/2 S^-1 D^-1/2, D the diagonal of S^-1, if S > 0 and sum y - <A, C> <= tau0 are proven."""
    n, inverse = matrix.nrows(), slack.inv()
    scale = [inverse[i, i].sqrt() for i in range(n)]
    if not all(value > 0 for value in scale):
        return None
    correlations = flint.arb_mat(
        [[inverse[i, j] / (scale[i] * scale[j]) for j in range(n)] for i in range(n)]
    )
    value = sum((matrix[i, j] * correlations[i, j] for i in range(n) for j in range(n)), flint.arb(0))
    if not sum(dual, flint.arb(0)) - value <= flint.arb(tau0):
        return None
    return correlations if is_positive_definite(slack) else None


def _judge(
    tilted: np.ndarray, labels: np.ndarray, tau0: float, error: float, bits: int
) -> CertifiedBisection:
    """One labelling in ball arithmetic: r within `error`, or r <= tau0 + error proven, or unresolved."""
    n = len(tilted)
    signs = labels.astype(np.float64)
    slack = -tilted
    slack[np.diag_indices(n)] += signs * (tilted @ signs)  # exact: multiples of 2^-20
    slack_balls = exact(slack)
    moved = exact(slack + np.outer(signs, signs))
    if is_positive_definite(moved):
        inverse = moved.inv()
        largest = flint.arb(0)
        for i in range(n):
            for j in range(i + 1, n):
                sign = int(labels[i] * labels[j])
                largest = largest.max(inverse[i, i] + inverse[j, j] - 2 * sign * inverse[i, j])
        value = 1 / largest
        low, high = fraction_of(value.lower()), fraction_of(value.upper())
        middle = float((low + high) / 2)
        if max(high - Fraction(middle), Fraction(middle) - low) <= Fraction(error):
            return CertifiedBisection(labels, middle, True)
    # Inverse iteration: its largest column tends to a bottom eigenvector as the bits grow.
    shifted = moved + diagonal([flint.arb(2) ** (-bits // 4)] * n)
    inverse = shifted.inv()
    column = max(range(n), key=lambda i: float(abs(inverse[i, i]).mid()))
    u = flint.arb_mat([[inverse[i, column].mid()] for i in range(n)])
    value = (u.transpose() * slack_balls * u)[0, 0]
    y = [u[i, 0] * int(labels[i]) for i in range(n)]
    order = sorted(range(n), key=lambda i: float(y[i].mid()))
    spread = (y[order[-1]] - y[order[0]]) ** 2
    if spread > 0 and value <= flint.arb(tau0) * spread:
        return SETTLED
    return UNRESOLVED
