"""The public description of a packing score: features, the bound on their moments, and how records are read.

Source: docs/proofs/gaussian_scores.md, 1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from sosdp.conic.rigorous import UNIT, least_eigenvalue_bound
from sosdp.conic.svec import roots, smat, triangle
from sosdp.estimator.records import LARGEST_RECORD
from sosdp.privacy.arguments import integer, positive, settle
from sosdp.privacy.calibrate import one_of
from sosdp.privacy.inputs import floats
from sosdp.privacy.silence import no_warnings
from sosdp.structured.packing import dual_parts
from sosdp.structured.packing_bound import Limit

CLIP = 2.0**20  # records are clipped to this unless the problem says otherwise, one by one
DIGITS = 2.0**51  # multiples of the spacing up to which differences are exact
Named = Literal["identity", "covariance"]
Kind = Literal["completion", "second moment"]


@dataclass(frozen=True)
class FeatureMap:
    """Polynomials of a record: of each the terms (coefficient, coordinates that are multiplied)."""

    terms: tuple[tuple[tuple[float, tuple[int, ...]], ...], ...]

    def on(self, rows: np.ndarray) -> np.ndarray:
        """(n, features) of rows (n, d), by sums and products of single entries, so that a record's features
        are a function of it alone; what is not finite is 0."""
        result = np.zeros((rows.shape[0], len(self.terms)))
        with np.errstate(all="ignore"):
            for k, terms in enumerate(self.terms):
                for coefficient, places in terms:
                    term = np.full(rows.shape[0], coefficient)
                    for place in places:
                        term = term * rows[:, place]
                    result[:, k] += term
        return np.nan_to_num(result, nan=0.0, posinf=0.0, neginf=0.0)

    def largest(self, reach: float) -> float:
        """A bound on what they are for entries in [-reach, reach], up to rounding."""
        sizes = [sum(abs(c) * reach ** len(places) for c, places in terms) for terms in self.terms]
        return max(sizes, default=0.0)


@dataclass(frozen=True)
class PackingProblem:
    """Public description of one family of packing scores: features, their dimension, and lam.

    Attributes:
        features: "identity" (means), "covariance" (svec(x x^T), D = d(d+1)/2 coordinates), or a `FeatureMap`.
        dimension: d, of a record. lam: bound on the covariance of the features, > 0.
        kind: "completion" (default) or "second moment" (without the link to the candidate's mass: a baseline
            whose accuracy is worse, see docs/gaussian.md).
        relative: covariance features only. The bound moves with the candidate Sigma: lam times the matrix of
            X -> Sigma X Sigma, which is half the covariance of svec(x x^T) for x ~ N(0, Sigma). The score is
            then that of the records Sigma^(-1/2) x at the candidate I: no frame is needed.
        clip: every coordinate of a record is clipped to [-clip, clip]; public, at most 2^40.
    """

    features: Named | FeatureMap
    dimension: int
    lam: float
    kind: Kind = "completion"
    relative: bool = False
    clip: float = CLIP

    def __post_init__(self) -> None:
        if not isinstance(self.features, FeatureMap) and self.features not in get_args(Named):
            raise ValueError(f"features={self.features!r}: choose 'identity' or 'covariance'")
        one_of(self.kind, "kind", get_args(Kind))
        settle(
            self,
            dimension=integer(self.dimension, "dimension"),
            lam=float(positive(self.lam, "lam")),
            clip=float(positive(self.clip, "clip")),
        )
        if self.clip > LARGEST_RECORD:
            raise ValueError(f"clip must lie in (0, 2^40], got {self.clip!r}")
        if self.relative and (self.features != "covariance" or self.kind != "completion"):
            raise ValueError("relative=True is for completion scores of covariance features")

    @property
    def size(self) -> int:
        """Coordinates of a candidate."""
        d = self.dimension
        if isinstance(self.features, FeatureMap):
            return len(self.features.terms)
        return d if self.features == "identity" else d * (d + 1) // 2

    def records(self, X: Any, spacing: Fraction) -> np.ndarray:
        """The features of checked records, (n, size) float64, rounded to multiples of the spacing.

        Each row is a function of its own record alone: what is not finite counts as 0, what is beyond
        ``clip`` (or 2^51 spacings) is clipped. Multiples of a power of two minus multiples of it are exact in
        float64.
        """
        rows = clean(X, self.dimension, self.clip)
        unit = float(spacing)
        with no_warnings():
            if isinstance(self.features, FeatureMap):
                rows = self.features.on(rows)
            if self.features == "covariance":
                rows = svec_of_outer(np.clip(rows, -(2.0**10), 2.0**10))
            return np.clip(np.round(rows / unit), -DIGITS, DIGITS) * unit

    def rows(self, features: np.ndarray, candidate: np.ndarray) -> np.ndarray:
        """The vectors a_i of the packing program, (n, size + 1), or (n, size) for second moments."""
        shifted = features - candidate
        if self.kind == "second moment":
            return shifted
        return np.hstack([shifted, np.ones((features.shape[0], 1))])

    def bound(self, n: int, candidate: np.ndarray) -> Limit:
        """The right side of the matrix inequality, a public function of n and the candidate."""
        lam = np.full(self.size, n * self.lam)
        if self.kind == "second moment":
            return Limit(lam)
        if not self.relative:
            return Limit(np.append(lam, float(n)))
        entries = np.zeros((self.size + 1, self.size + 1))
        square = np.einsum("abcd,c,d->ab", self.tensor, candidate, candidate)
        entries[:-1, :-1] = (n * self.lam) * (square + square.T) / 2
        entries[-1, -1] = n
        return Limit(entries)

    @cached_property
    def tensor(self) -> np.ndarray:
        """K with sum_cd K_abcd t_c t_d the matrix of X -> T X T, T the symmetric matrix of svec t."""
        basis = smat(np.eye(self.size), self.dimension)
        whole = np.einsum("aij,cjk,bkl,dli->abcd", basis, basis, basis, basis)
        return np.asarray(whole + np.swapaxes(whole, 2, 3)) / 2


def clean(X: Any, dimension: int, clip: float = CLIP) -> np.ndarray:
    """Records as (n, dimension) float64, each made finite and clipped by itself.

    Raises:
        ValueError: the shape is not (n, dimension) with n >= 1; never because of what a record holds.
    """
    rows = floats(X, (dimension,))
    if rows.ndim != 2 or rows.shape[1] != dimension or rows.shape[0] < 1:
        raise ValueError(f"records must have shape (n, {dimension}) with n >= 1, got {rows.shape}")
    return np.clip(np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0), -clip, clip)


def svec_of_outer(rows: np.ndarray) -> np.ndarray:
    """svec(x x^T) of every row, (n, d(d+1)/2)."""
    i, j = triangle(rows.shape[1])
    return rows[:, i] * rows[:, j] * roots(rows.shape[1])


# ------------------------------------------------------------------------------------------------------------
# Dual certificates that bound a score at every candidate, and over boxes of candidates


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
