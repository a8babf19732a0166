"""The relaxation of the largest disjoint cut in ball arithmetic: a bracket of any width, for every matrix.

For the matrices on which the ascent of `disjoint_cut` stops short of the gap asked for.

Statement, and proof that it ends: docs/proofs/cuts_error_bar.md, "The last resort"
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from sosdp.conic.multiprecision import fraction_of, is_positive_definite, precision

from .ball_path import FIRST_BITS, diagonal, exact, follow_path
from .disjoint_cut import exact_gap


def settle_disjoint_cut(
    matrix: Any, *, gap: float | Fraction, last_bits: int | None = None
) -> tuple[Fraction, Fraction] | None:
    """(lower, upper) ends of the relaxation's value, at most `gap` apart; exact numbers, no float is trusted.

    Args:
        matrix: (n, n) finite, symmetric, zero diagonal; see `bound_disjoint_cut`.
        gap: positive.
        last_bits: None is returned where so many bits do not suffice; by default there is no end to them.

    Raises:
        ValueError: gap <= 0.

    Cost: a second at n = 12, minutes at n = 60; it grows with n^3 and depends on the matrix.
    """
    allowed = exact_gap(gap)
    array, bits = np.asarray(matrix, dtype=float), FIRST_BITS
    while True:
        with precision(bits):
            sides = [_OneSign(sign * array, allowed).bracket() for sign in (1.0, -1.0)]
        if sides[0] is not None and sides[1] is not None:
            return max(sides[0][0], sides[1][0]), max(sides[0][1], sides[1][1])
        if last_bits is not None and bits >= last_bits:
            return None
        bits *= 2


@dataclass(frozen=True, eq=False)
class _OneSign:
    """Dual path following for max over disjoint S, T of +M(S, T): multipliers nu of Y_ii = z_i, then d of the
    unit diagonal of the Gram matrix of (e_1, u); slacks R = Diag nu + M / 4 and S = Diag d - C(nu)."""

    matrix: np.ndarray
    gap: Fraction

    def bracket(self) -> tuple[Fraction, Fraction] | None:
        """Proven ends within the gap, or None with this many bits."""
        n = len(self.matrix)
        norm = flint.arb(float(np.abs(self.matrix).sum(axis=1).max()) + 1.0)
        start = [norm / 2] * n + [norm * (n + 1) / 4] + [norm / 2] * n
        return follow_path(start, norm, self.gap, 2 * n + 1, self._derivatives, self._proven)

    def _slacks(self, dual: list[flint.arb]) -> tuple[flint.arb_mat, flint.arb_mat]:
        n = len(self.matrix)
        nu, d = dual[:n], dual[n:]
        border = [
            flint.arb(float(entry)) / 16 + value / 4 for entry, value in zip(self._sums, nu, strict=True)
        ]
        quarter = exact(self.matrix) * (flint.arb(1) / 4)
        gram = [[d[0], *(-entry for entry in border)]]
        for i in range(n):
            row = [-quarter[i, j] / 4 for j in range(n)]
            row[i] = d[i + 1]
            gram.append([-border[i], *row])
        return flint.arb_mat(gram), diagonal(nu) + quarter

    @property
    def _sums(self) -> list[flint.arb]:
        return [sum((flint.arb(float(entry)) for entry in row), flint.arb(0)) for row in self.matrix]

    def _derivatives(self, dual: list[flint.arb], barrier: flint.arb) -> tuple[flint.arb_mat, flint.arb_mat]:
        n = len(self.matrix)
        gram, rest = self._slacks(dual)
        p, q = gram.inv(), rest.inv()
        half, first = barrier / 2, [p[0, i + 1] for i in range(n)]
        gradient = [flint.arb(0.5) + half * first[i] - barrier * q[i, i] for i in range(n)]
        gradient += [1 - barrier * p[j, j] for j in range(n + 1)]
        corner = p[0, 0]
        upper = [
            [
                barrier * ((corner * p[i + 1, k + 1] + first[i] * first[k]) / 8 + q[i, k] ** 2)
                for k in range(n)
            ]
            + [-half * p[0, j] * p[i + 1, j] for j in range(n + 1)]
            for i in range(n)
        ]
        lower = [
            [upper[i][n + j] for i in range(n)] + [barrier * p[j, k] ** 2 for k in range(n + 1)]
            for j in range(n + 1)
        ]
        return flint.arb_mat([[entry] for entry in gradient]), flint.arb_mat(upper + lower)

    def _proven(self, dual: list[flint.arb]) -> tuple[Fraction, Fraction] | None:
        """Ends of the value: the dual's own, and that of the inverse slacks scaled to feasible points."""
        n = len(self.matrix)
        gram, rest = self._slacks(dual)
        p, q = gram.inv(), rest.inv()
        u, w = [p[j, j].sqrt() for j in range(n + 1)], [q[i, i].sqrt() for i in range(n)]
        if not all(value > 0 for value in (*u, *w)):
            return None
        tied = [p[0, i + 1] / (u[0] * u[i + 1]) for i in range(n)]
        z = [(1 + entry) / 2 for entry in tied]
        scale = [entry.sqrt() / w[i] for i, entry in enumerate(z)]
        value = flint.arb(0)
        for i in range(n):
            for j in range(i):
                pair = (p[i + 1, j + 1] / (u[i + 1] * u[j + 1]) + tied[i] + tied[j] + 1) / 4
                value += flint.arb(float(self.matrix[i, j])) * (pair - q[i, j] * scale[i] * scale[j]) / 2
        total = sum(self._sums, flint.arb(0)) / 16
        upper = total + sum(dual[:n], flint.arb(0)) / 2 + sum(dual[n:], flint.arb(0))
        if not (value.is_finite() and upper.is_finite()):
            return None
        ends = fraction_of(value.lower()), fraction_of(upper.upper())
        if ends[1] - ends[0] > self.gap or not (is_positive_definite(gram) and is_positive_definite(rest)):
            return None
        return ends
