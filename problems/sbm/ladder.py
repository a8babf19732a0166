"""The search of the certificate release in ball arithmetic, with more and more bits until it is settled.

For the graphs on which float64 proofs fall short. That it ends is proven in docs/proofs/sbm_certificate.md
"""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import scipy.sparse as sp

from .certificate import SETTLED, UNRESOLVED, CertifiedBisection
from .labelling import canonical_signs

FIRST_BITS = 128


def settled_by_ladder(
    adjacency: sp.csr_array, tau: float, tau0: float, error: float, last_bits: int | None = None
) -> CertifiedBisection:
    """`certified_bisection` in arithmetic of 128, 256, ... bits; always resolved if `last_bits` is None.

    Every graph is settled at some precision in exact reasoning about finitely many continuous steps; how many
    bits and hours that takes depends on the graph. Seconds at n = 30, minutes at n = 100.
    """
    bits, before = FIRST_BITS, flint.ctx.prec
    try:
        while True:
            flint.ctx.prec = bits
            result = _attempt(adjacency, tau, tau0, error, bits)
            if result.resolved or (last_bits is not None and bits >= last_bits):
                return result
            bits *= 2
    finally:
        flint.ctx.prec = before


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


def _exact(matrix: np.ndarray) -> flint.arb_mat:
    return flint.arb_mat([[flint.arb(float(entry)) for entry in row] for row in matrix])


def _middles(matrix: flint.arb_mat) -> flint.arb_mat:
    n, m = matrix.nrows(), matrix.ncols()
    return flint.arb_mat([[matrix[i, j].mid() for j in range(m)] for i in range(n)])


def is_positive_definite(matrix: flint.arb_mat) -> bool:
    """Whether elimination proves a symmetric ball matrix positive definite: all pivots > 0."""
    n = matrix.nrows()
    rows = [[matrix[i, j] for j in range(n)] for i in range(n)]
    for k in range(n):
        pivot = rows[k][k]
        if not pivot > 0:
            return False
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot
            row, above = rows[i], rows[k]
            for j in range(i, n):
                row[j] = row[j] - factor * above[j]
            # the lower triangle is read as the transpose of the upper one
        for i in range(k + 1, n):
            for j in range(i + 1, n):
                rows[j][i] = rows[i][j]
    return True


def _near_optimal(tilted: np.ndarray, tau0: float) -> flint.arb_mat | None:
    """Balls around a correlation matrix proven to be within tau0 of the maximum, by dual path following."""
    n = len(tilted)
    matrix = _exact(tilted)
    norm = flint.arb(float(np.abs(tilted).sum(axis=1).max()) + 1.0)
    dual = [2 * norm for _ in range(n)]
    barrier, target = norm, (flint.arb(tau0) / (4 * n)).mid()
    for _ in range(_steps(n, float(norm), tau0)):
        slack = _diagonal(dual) - matrix
        inverse = slack.inv()
        gradient = flint.arb_mat([[1 - barrier * inverse[i, i]] for i in range(n)])
        squares = flint.arb_mat([[barrier * inverse[i, j] ** 2 for j in range(n)] for i in range(n)])
        newton = squares.solve(gradient)
        decrement = (sum((gradient[i, 0] * newton[i, 0] for i in range(n)), flint.arb(0)) / barrier).mid()
        decrement = flint.arb(0) if decrement < 0 else decrement.sqrt().mid()
        near = bool(decrement <= flint.arb(0.25))
        if near and barrier <= target:
            result = _proven(matrix, slack, inverse, dual, tau0)
            if result is not None:
                return result
        elif near:
            fifth = (barrier / 5).mid()
            barrier = fifth if fifth > target else target
        damping = flint.arb(1) if near else 1 + decrement
        dual = [(dual[i] - newton[i, 0] / damping).mid() for i in range(n)]
        if not all(value.is_finite() for value in dual):
            return None
    return None


def _steps(n: int, norm: float, tau0: float) -> int:
    """More steps than dual path following takes in exact arithmetic; see the proof."""
    levels = 2 + int(np.ceil(np.log(max(1.0, norm * 4 * n / tau0)) / np.log(5.0)))
    return levels * (100 * n + 100)


def _diagonal(values: list[flint.arb]) -> flint.arb_mat:
    n = len(values)
    return flint.arb_mat([[values[i] if i == j else flint.arb(0) for j in range(n)] for i in range(n)])


def _proven(
    matrix: flint.arb_mat, slack: flint.arb_mat, inverse: flint.arb_mat, dual: list[flint.arb], tau0: float
) -> flint.arb_mat | None:
    """C = D^-1/2 S^-1 D^-1/2, D the diagonal of S^-1, if S > 0 and sum y - <A, C> <= tau0 are proven."""
    n = matrix.nrows()
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
    slack_balls = _exact(slack)
    moved = _exact(slack + np.outer(signs, signs))
    if is_positive_definite(moved):
        inverse = moved.inv()
        largest = flint.arb(0)
        for i in range(n):
            for j in range(i + 1, n):
                sign = int(labels[i] * labels[j])
                largest = largest.max(inverse[i, i] + inverse[j, j] - 2 * sign * inverse[i, j])
        value = 1 / largest
        low, high = _fraction(value.lower()), _fraction(value.upper())
        middle = float((low + high) / 2)
        if max(high - Fraction(middle), Fraction(middle) - low) <= Fraction(error):
            return CertifiedBisection(labels, middle, True)
    # Inverse iteration: its largest column tends to a bottom eigenvector as the bits grow.
    shifted = moved + _diagonal([flint.arb(2) ** (-bits // 4)] * n)
    inverse = shifted.inv()
    column = max(range(n), key=lambda i: float(abs(inverse[i, i]).mid()))
    u = _middles(flint.arb_mat([[inverse[i, column]] for i in range(n)]))
    value = (u.transpose() * slack_balls * u)[0, 0]
    y = [u[i, 0] * int(labels[i]) for i in range(n)]
    order = sorted(range(n), key=lambda i: float(y[i].mid()))
    spread = (y[order[-1]] - y[order[0]]) ** 2
    if spread > 0 and value <= flint.arb(tau0) * spread:
        return SETTLED
    return UNRESOLVED


def _fraction(number: flint.arb) -> Fraction:
    mantissa, exponent = number.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
