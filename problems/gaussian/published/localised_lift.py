"""The localised lift: a score whose sublevel sets are exactly convex, in n matrices of side d + 1.

    s4(theta) = least T with  N_00 = 1, N_0. = theta,  0 <= m_i <= N,  sum_i m_i >= (n - T) N,
                              sum_i F_i m_i F_i^T <= n diag(lam I, 1),     F_i = [[x_i, -I], [1, 0]].

N stands for E[(1, mu)(1, mu)^T], m_i for E[w_i (1, mu)(1, mu)^T]: what the polynomial program for the robust
mean needs of its pseudo-expectation, and no more. s4 <= s2 <= s4 + 3 s4^2 / (n - s4) for s4 <= n / 4, s2 the
completion score. Proof: docs/proofs/gaussian_lifts.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sosdp.conic.quiet_solve import matrix_program
from sosdp.conic.rigorous import UNIT, least_eigenvalue_bound, least_eigenvalue_bounds
from sosdp.conic.svec import triangle
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.scores.lifted import BracketScore
from sosdp.privacy.scores.score import Lattice

LARGEST = 300  # records
WIDTH = 1e-3
CLIP = 1e3  # records are clipped to this, coordinate by coordinate

PROOF = Fact(
    "setting m_1 = 0 keeps a solution feasible with T + 1 when record 1 is replaced "
    "(docs/proofs/gaussian_lifts.md, 1)"
)


@dataclass(frozen=True)
class LocalisedLiftScore:
    """s4 of n records of d coordinates with covariance bound lam; for n <= 300 and small d.

    Raises:
        ValueError: sizes or lam out of range.
    """

    records: int
    dimension: int
    lam: float

    def __post_init__(self) -> None:
        if not 1 <= self.records <= LARGEST:
            raise ValueError(f"records must lie in 1..{LARGEST}, got {self.records}: use PackingScore beyond")
        if self.dimension < 1:
            raise ValueError(f"dimension must be an integer >= 1, got {self.dimension}")
        if not (math.isfinite(self.lam) and self.lam > 0):
            raise ValueError(f"lam must be a number > 0, got {self.lam}")

    def bracket(self, X: Any, candidate: Any, width: float = WIDTH) -> tuple[float, float]:
        """Certified (low, high) with low <= s4 <= high, usually at most ``width`` apart; not private.

        Costs about log2(n / width) conic solves with n (d + 1)(d + 2) / 2 unknowns.

        Raises:
            ValueError: shapes other than the public ones.
        """
        rows, theta = self._checked(X, candidate)
        lift = _Lift(rows, theta, self.lam)
        low, high = 0.0, float(self.records)
        for _ in range(60):
            if high - low <= width:
                break
            middle = (low + high) / 2
            verdict = lift.decide(middle)
            if verdict == 0:
                # the margin is below what can be certified: look on both sides once more and stop
                step = width / 4
                if middle + step < high and lift.decide(middle + step) > 0:
                    high = middle + step
                if middle - step > low and lift.decide(middle - step) < 0:
                    low = middle - step
                break
            low, high = (low, middle) if verdict > 0 else (middle, high)
        return low, high

    def score_function(self, lattice: Lattice) -> BracketScore:
        """The score on a bounded public lattice, for the exponential mechanism (small lattices)."""
        return BracketScore(
            self.bracket,
            lattice,
            self.records,
            largest=float(self.records),
            proof=PROOF,
            sensitivity=1,
            width=4 * WIDTH,
        )

    def _checked(self, X: Any, candidate: Any) -> tuple[np.ndarray, np.ndarray]:
        n, d = self.records, self.dimension
        rows = np.asarray(X, dtype=np.float64)
        rows = rows[:, None] if rows.ndim == 1 and d == 1 else rows
        theta = np.asarray(candidate, dtype=np.float64).reshape(-1)
        if rows.shape != (n, d) or theta.shape != (d,):
            raise ValueError(f"expected {n} records and a candidate of {d} coordinates")
        return np.clip(np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0), -CLIP, CLIP), theta


class _Lift:
    """The feasibility problem at every T, for one data set and one candidate.

    Coordinates are shifted so that the candidate is 0: N becomes diag(1, covariance of mu), and F_i keeps its
    form. The shift's rounding is part of the error bounds below.
    """

    def __init__(self, rows: np.ndarray, theta: np.ndarray, lam: float) -> None:
        self.n, self.d = rows.shape
        self.side = self.d + 1
        self.x = rows - theta
        self.shift_error = UNIT * (np.abs(rows) + np.abs(theta))
        self.limit = np.append(np.full(self.d, self.n * lam), float(self.n))
        self.frames = np.zeros((self.n, self.side, self.side))
        self.frames[:, : self.d, 0] = self.x
        self.frames[:, : self.d, 1:] = -np.eye(self.d)
        self.frames[:, self.d, 0] = 1.0
        self.i, self.j = triangle(self.side)
        self.scale = np.where(self.i == self.j, 1.0, math.sqrt(2.0))
        self.size = self.i.size
        # how svec(m) becomes svec(F m F^T)
        basis = self._matrices(np.eye(self.size))
        moved = np.einsum("nab,kbc,ndc->nkad", self.frames, basis, self.frames)
        self.maps = moved[..., self.i, self.j] * self.scale  # (n, size in, size out)

    def _matrices(self, vectors: np.ndarray) -> np.ndarray:
        out = np.zeros((*vectors.shape[:-1], self.side, self.side))
        values = vectors / self.scale
        out[..., self.i, self.j] = out[..., self.j, self.i] = values
        return out

    def decide(self, threshold: float) -> int:
        """1: proven s4 <= threshold; -1: proven s4 > threshold; 0: neither."""
        result = self._solve(threshold)
        if result is None:
            return 0
        corner, parts, dual_sum, dual_limit, dual_parts = result
        if self._feasible(threshold, corner, parts):
            return 1
        return -1 if self._refuted(threshold, dual_sum, dual_limit, dual_parts) else 0

    def _solve(self, threshold: float) -> tuple[np.ndarray, ...] | None:
        """Largest margin t <= 1 by which every block is positive definite, and its multipliers."""
        n, size, d = self.n, self.size, self.d
        # unknowns: N below its first row (inner), m_1..m_n (svec), t
        below = np.eye(size)[:, self.i > 0]
        free = below.shape[1]
        columns = free + n * size + 1
        embed = sp.hstack([below, sp.csr_matrix((size, n * size + 1))], format="csr")  # svec(N) but N_00
        constant = np.where((self.i == 0) & (self.j == 0), 1.0, 0.0)
        unit = np.where(self.i == self.j, 1.0, 0.0)
        t = sp.csr_matrix((unit, (np.arange(size), np.full(size, columns - 1))), (size, columns))
        zero = sp.csr_matrix((n * size, free))
        parts = sp.hstack([zero, sp.eye_array(n * size), sp.csr_matrix((n * size, 1))], format="csr")
        sums = sp.vstack([sp.csr_matrix(parts[k::size].sum(axis=0).reshape(1, -1)) for k in range(size)])
        many_t = sp.vstack([t] * n)
        many_n = sp.vstack([embed] * n)
        weights = sp.hstack(
            [
                sp.csr_matrix((size, free)),
                sp.csr_matrix(self.maps.reshape(n * size, size).T),
                sp.csr_matrix((size, 1)),
            ],
            format="csr",
        )
        kept = n - threshold
        limit = np.where(self.i == self.j, self.limit[np.minimum(self.i, d)], 0.0)
        spread = self.limit[np.minimum(self.i, d)] * unit  # margins in units of the limit
        t_limit = sp.csr_matrix((spread, (np.arange(size), np.full(size, columns - 1))), (size, columns))
        one = sp.csr_matrix(([1.0], ([0], [columns - 1])), (1, columns))
        # slack = b - A y must lie in the cones
        A = sp.vstack(
            [
                one,
                -parts + many_t,
                -many_n + parts + many_t,
                -sums + kept * embed + n * t,
                weights + t_limit,
            ],
            format="csc",
        )
        b = np.concatenate([[1.0], np.zeros(n * size), np.tile(constant, n), -kept * constant, limit])
        cost = np.zeros(columns)
        cost[-1] = -1.0
        answer = matrix_program(cost, A, b, 1, [self.side] * (2 * n + 2))
        if answer is None:
            return None
        y, z = answer
        corner = self._matrices((embed @ y + constant)[None])[0]
        moments = self._matrices(y[free:-1].reshape(n, size))
        multipliers = self._matrices(z[1:].reshape(2 * n + 2, size))
        return corner, moments, multipliers[2 * n], multipliers[2 * n + 1], multipliers[n : 2 * n]

    def _feasible(self, threshold: float, corner: np.ndarray, parts: np.ndarray) -> bool:
        """Every inequality of the lift, proven for these matrices (N has the exact first row by design)."""
        size = float(np.abs(corner).max() + np.abs(parts).max())
        small = 8 * (self.n + self.side) * UNIT * size * self.n
        blocks = np.concatenate([parts, corner[None] - parts])
        if least_eigenvalue_bounds(blocks).min() < 4 * UNIT * self.side * size:
            return False
        rest = parts.sum(axis=0) - (self.n - threshold) * corner
        if least_eigenvalue_bound(rest) < self.side * small:
            return False
        spent = np.einsum("nab,nbc,ndc->ad", self.frames, parts, self.frames)
        # rounding of the products and sums, and of x_i - theta, entry by entry
        big = np.abs(self.frames)
        moved = np.zeros_like(big)
        moved[:, : self.d, 0] = self.shift_error
        heavy = np.einsum("nab,nbc,ndc->ad", big, np.abs(parts), big)
        shifted = np.einsum("nab,nbc,ndc->ad", moved, np.abs(parts), big + moved)
        error = (self.n + 8 * self.side) * 2 * UNIT * heavy + 3 * (shifted + shifted.T)
        left = np.diag(self.limit) - spent
        return least_eigenvalue_bound(left) >= float(np.linalg.norm(error)) + 16 * UNIT * self.limit.max()

    def _refuted(
        self, threshold: float, dual_sum: np.ndarray, dual_limit: np.ndarray, dual_parts: np.ndarray
    ) -> bool:
        """Multipliers C, D, B_i that no solution survives; made feasible first, then judged with margins.

        For B_i >= 0 and A_i = B_i - C + F_i^T D F_i >= 0 every solution has
        0 <= n <D, diag(lam I, 1)> + <sum B_i - (n - T) C, N>; that is shown to be negative for all N with
        N_00 = 1, N_0. = 0 and trace below the a-priori bound.
        """
        n, d, side = self.n, self.d, self.side
        top = max(float(np.abs(dual_sum).max()), float(np.abs(dual_limit).max()))
        if not (math.isfinite(top) and top > 0):
            return False
        # congruence factors: positive semidefinite whatever the rounding
        C, D = (_nearest_psd(m / top) for m in (dual_sum, dual_limit))
        target = C - np.einsum("nba,bc,ncd->nad", self.frames, D, self.frames)
        moved = np.zeros_like(self.frames)
        moved[:, :d, 0] = self.shift_error
        big = np.abs(self.frames)
        loss = 3 * np.einsum("nba,bc,ncd->nad", moved, np.abs(D), big + moved)
        error = 8 * side * UNIT * (np.abs(C) + np.einsum("nba,bc,ncd->nad", big, np.abs(D), big))
        slack = np.linalg.norm(error + loss + loss.transpose(0, 2, 1), axis=(1, 2))
        B = dual_parts / top
        need = np.maximum(-least_eigenvalue_bounds(B), -least_eigenvalue_bounds(B - target))
        shift = np.maximum(need + 4 * slack + 64 * side * UNIT * (1 + np.abs(B).max(axis=(1, 2))), 0.0)
        B = B + shift[:, None, None] * np.eye(side)
        kept = n - threshold
        G = B.sum(axis=0) - kept * C
        rounding = (n + 8) * UNIT * float(np.abs(B).sum() + kept * np.abs(C).sum())
        paid = float((np.diag(D) * self.limit).sum())
        worst = max(0.0, -least_eigenvalue_bound(-G[1:, 1:])) + rounding if d else 0.0
        if kept <= 0:
            return False
        # (n - T) N <= sum m_i and |mu|^2 <= 2 |x_i - mu|^2 + 2 |x_i|^2 bound the trace of N
        reach = float(((np.abs(self.x) + self.shift_error) ** 2).sum(axis=1).max())
        lam = float(self.limit[0]) / n
        trace = 2.0 * n * (d * lam + reach) / kept * (1 + 64 * UNIT)
        value = paid + float(G[0, 0]) + worst * trace + rounding
        return value < -64 * UNIT * (paid + abs(float(G[0, 0])) + worst * trace + 1.0)


def _nearest_psd(matrix: np.ndarray) -> np.ndarray:
    """The projection on the cone, pushed a rounding error inside it."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    result = vectors * np.maximum(values, 0.0) @ vectors.T
    result = (result + result.T) / 2
    return result + (16 * matrix.shape[0] * UNIT * (1 + float(values[-1]))) * np.eye(matrix.shape[0])
