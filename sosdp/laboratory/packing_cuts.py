"""Dual certificates of a packing score that bound it at every candidate, and over boxes of candidates.

Source: docs/proofs/gaussian_scores.md, 4
"""

from __future__ import annotations

import math

import numpy as np

from sosdp.conic.rigorous import UNIT, least_eigenvalue_bound
from sosdp.laboratory.packing_problem import PackingProblem
from sosdp.structured.packing import dual_parts


class Cuts:
    """Certificates P = V V^T shared by all candidates:

        s(theta) >= C_P - n |V^T (theta, 1)|^2 - theta^T Q_P theta,

    Q_P = 0 for a fixed bound (whose trace is in C_P). Where Q_P is indefinite, a matrix N >= 0 with
    n V V^T + Q_P + N >= 0 makes a convex majorant of what is paid, with its largest value over a box at a
    vertex.
    """

    def __init__(self, problem: PackingProblem, features: np.ndarray) -> None:
        self.problem = problem
        self.features = features
        self.n, self.size = features.shape
        self.linked = problem.kind == "completion"
        self.plain = np.hstack([features, np.ones((self.n, 1))])
        self.factors = np.zeros((0, self.size + 1, self.size + 1))
        self.sizes = self.factors
        self.constants = np.zeros(0)
        self.quadratics = self.rounding = self.lifts = np.zeros((0, self.size, self.size))

    def add(self, factor: np.ndarray, theta: np.ndarray) -> None:
        """Add the certificate found for one candidate (factor in its shifted coordinates).

        Second-moment scores have none: their dual is not concave in the candidate.
        """
        if not self.linked:
            return
        whole = np.zeros((self.size + 1, self.size + 1))
        whole[:, : factor.shape[1]] = factor
        whole[self.size] -= theta @ whole[: self.size]
        value, paid = dual_parts(self.plain, whole)
        trace = 0.0
        if not self.problem.relative:
            trace = float((whole[: self.size] ** 2).sum()) * self.n * self.problem.lam
        constant = value - paid - trace * (1 + (whole.size + 16) * UNIT) - 8 * UNIT * (value + trace)
        if not (math.isfinite(constant) and np.isfinite(whole).all()):
            return
        if self.problem.relative:
            parts = self._quadratic(whole[: self.size])
            if parts is None:
                return
            self.quadratics = np.concatenate([self.quadratics, parts[0][None]])
            self.rounding = np.concatenate([self.rounding, parts[1][None]])
            self.lifts = np.concatenate([self.lifts, parts[2][None]])
        self.factors = np.concatenate([self.factors, whole[None]])
        self.sizes = np.abs(self.factors)
        self.constants = np.append(self.constants, constant)

    def _quadratic(self, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Q_P, what its rounding errors (and those of B) are at most in theta^T . theta, and N; or None."""
        times = self.n * self.problem.lam
        tensor = self.problem.tensor
        k = self.size
        Q = times * np.einsum("ab,abcd->cd", factor @ factor.T, tensor)
        sizes = times * np.einsum("ab,abcd->cd", np.abs(factor) @ np.abs(factor).T, np.abs(tensor))
        rounding = (4 * k * k + 8 * k + 96) * UNIT * sizes
        whole = Q + self.n * (factor @ factor.T)
        if not (np.isfinite(whole).all() and np.isfinite(rounding).all()):
            return None
        # what the floats may be away from the true quadratic form, in norm
        size = np.abs(factor) @ np.abs(factor).T
        doubt = 2.0 * float(rounding.sum()) + (k * k + 8) * UNIT * (
            self.n * float(size.sum()) + float(np.abs(whole).sum())
        )
        values, vectors = np.linalg.eigh(whole)
        margin = 1e-9 * float(np.abs(values).max(initial=0.0)) + 2.0 * doubt
        lift = (vectors * (np.maximum(-values, 0.0) + margin)) @ vectors.T
        lift = (lift + lift.T) / 2
        proven = least_eigenvalue_bound(whole + lift) >= doubt and least_eigenvalue_bound(lift) >= 0.0
        return (Q, rounding, lift) if proven else None

    def at(self, theta: np.ndarray) -> float:
        """The best certified lower bound at one candidate."""
        return float(self.over(theta[None, :])[0]) if self.constants.size else 0.0

    def over(self, candidates: np.ndarray) -> np.ndarray:
        """For every candidate the lower bound of every cut is computed; the best over cuts, shape (m,)."""
        if not self.constants.size:
            return np.zeros(candidates.shape[0])
        return np.maximum(self._values(candidates).max(axis=0), 0.0)

    def box(self, low: np.ndarray, high: np.ndarray, since: int = 0) -> float:
        """The best of the cuts' lower bounds over a box, from its vertices; cuts from number ``since`` on."""
        if since >= self.constants.size:
            return 0.0
        picks = (np.arange(2**low.size)[:, None] >> np.arange(low.size)) & 1
        vertices = np.where(picks == 1, high, low)
        values = self._values(vertices, since)
        if self.problem.relative:
            half = (high - low) / 2  # exact: lattice points have few digits
            away = np.where(picks == 1, half, -half)
            more = np.einsum("mi,cij,mj->cm", away, self.lifts[since:], away)
            least = np.einsum("i,cij,j->c", half, np.abs(self.lifts[since:]), half)
            values = values - more - (64 + 4 * self.size**2) * UNIT * least[:, None]
        return float(max(0.0, values.min(axis=1).max()))

    def _values(self, candidates: np.ndarray, since: int = 0) -> np.ndarray:
        """Lower bounds, shape (cuts, candidates)."""
        lifted = np.hstack([candidates, np.ones((candidates.shape[0], 1))])
        inner = np.matmul(lifted, self.factors[since:])
        slack = (self.size + 4) * UNIT * np.matmul(np.abs(lifted), self.sizes[since:])
        paid = ((np.abs(inner) + slack) ** 2).sum(axis=2) * self.n * (1 + (self.size + 8) * UNIT)
        if self.problem.relative:
            paid = paid + np.einsum("mi,cij,mj->cm", candidates, self.quadratics[since:], candidates)
            size = np.abs(candidates)
            paid = paid + np.einsum("mi,cij,mj->cm", size, self.rounding[since:], size)
        values = self.constants[since:, None] - paid
        return np.asarray(values - 8 * UNIT * (np.abs(self.constants[since:, None]) + np.abs(paid)))

    def scales(self, theta: np.ndarray) -> np.ndarray:
        """How far each coordinate may move from a candidate before the bound of its best cut falls by 1.

        (size,) floats > 0; all 1 without cuts. Only the time of the sampler depends on them.
        """
        if not self.constants.size:
            return np.ones(self.size)
        best = int(np.argmax(self._values(theta[None, :])[:, 0]))
        curvature = self.n * (self.factors[best, : self.size] ** 2).sum(axis=1)
        if self.problem.relative:
            curvature = curvature + np.abs(np.diagonal(self.quadratics[best]))
        least = 1e-12 * float(curvature.max()) + 1e-300
        return np.asarray(1.0 / np.sqrt(np.maximum(curvature, least)))

    def nearest(self, theta: np.ndarray) -> np.ndarray | None:
        """The factor of the cut that is best at a candidate, in that candidate's shifted coordinates."""
        if not self.constants.size:
            return None
        best = int(np.argmax(self._values(theta[None, :])[:, 0]))
        factor = self.factors[best].copy()
        factor[self.size] += theta @ factor[: self.size]
        return factor
