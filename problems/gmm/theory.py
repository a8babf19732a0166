"""Proven bounds for the pairwise clustering program: stability, optimal value, integrality, utility, weights.

Every function is a formula of docs/proofs/gmm_program.md, named there; the tests hold measured numbers
against all of them. n points, k clusters, row cap s, weight c, variance budget B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def dropped(matrix: npt.ArrayLike, index: int) -> Array:
    """P_i W: row and column i set to zero. It stays in the set of both neighbouring inputs (Lemma 1)."""
    w = np.array(matrix, dtype=np.float64)
    w[index, :] = 0.0
    w[:, index] = 0.0
    return w


def row_term(matrix: npt.ArrayLike, index: int, weight: float = 1.0) -> float:
    """u_i(W) = 2 sum_{j != i} (c W_ij - W_ij^2) + c W_ii - W_ii^2."""
    w = np.asarray(matrix, dtype=np.float64)
    row = weight * w[index] - w[index] ** 2
    return float(2.0 * row.sum() - row[index])


def dropped_bound(n: int, cap: float, weight: float = 1.0) -> float:
    """2U: bound on |P_i (W - W')|_F^2 for minimisers on neighbouring inputs (Theorem S(a))."""
    mass = min(cap, weight * (n - 1) / 2.0)
    return 2.0 * (2.0 * (weight * mass - mass**2 / (n - 1)) + weight**2 / 4.0)


def whole_bound(cap: float, weight: float = 1.0) -> float:
    """4 c s: bound on |W - W'|_F^2 (Theorem S(b))."""
    return 4.0 * weight * cap


def value_sensitivity(n: int, cap: float, weight: float = 1.0) -> float:
    """D_c: bound on the change of the optimal value min |W - cJ|^2 (Corollary).

    Raises:
        ValueError: c < 1, where this formula is false, or a cap below 1.
    """
    if weight < 1.0 or cap < 1.0:
        raise ValueError(f"the bound is proven for weight >= 1 and cap >= 1, got {weight} and {cap}")
    mass = min(cap, n - 1.0)
    return 2.0 * (2.0 * weight * mass - mass**2 / (n - 1)) + max(2.0 * weight - 1.0, 0.0)


def integrality(low: float, high: float, n: int, weights: tuple[float, float] = (1.0, 2.0)) -> float:
    """T <= |W|_F^2 at the larger weight, from the optimal values at two weights 1 <= c0 < c1.

    Args:
        low, high: min |W - cJ|^2 at c0 and c1 (a lower bound on the first and an upper one on the second will
            do).
        n: number of points. T = n^2/k on an ideal input.
    """
    c0, c1 = weights
    return (c1 * (low - c0**2 * n**2) - c0 * (high - c1**2 * n**2)) / (c1 - c0)


def integrality_sensitivity(n: int, cap: float, weights: tuple[float, float] = (1.0, 2.0)) -> float:
    """Bound on the change of `integrality`."""
    c0, c1 = weights
    return (c1 * value_sensitivity(n, cap, c0) + c0 * value_sensitivity(n, cap, c1)) / (c1 - c0)


def off_mass(matrix: npt.ArrayLike, labels: npt.ArrayLike, clusters: int) -> float:
    """Off(W): sum of W over pairs of different true clusters, over n^2/k."""
    w, z = np.asarray(matrix, dtype=np.float64), np.asarray(labels)
    return float(w[z[:, None] != z[None, :]].sum() * clusters / len(z) ** 2)


def distance_bound(off: float) -> float:
    """U1: |W - W*|_F^2 over n^2/k is at most 2 Off(W), for clusters of n/k = s points, W* feasible."""
    return 2.0 * off


def off_mass_bound(clusters: int, separation: float, moment: float, bound: float, order: int = 1) -> float:
    """U2: Off(W) <= (k-1) 3^(2t-1) Delta^(-2t) (2 m_2t + 2^(t-1) k B_t).

    Args:
        separation: least distance of two cluster means.
        moment: m_2t, largest average of <y - mean, v>^2t over a cluster, v along the line joining two means.
        bound: B_t of the program.
    """
    t = order
    return (
        (clusters - 1)
        * 3.0 ** (2 * t - 1)
        / separation ** (2 * t)
        * (2.0 * moment + 2.0 ** (t - 1) * clusters * bound)
    )


def mean_shift_factor(distance: float, order: int = 1) -> float:
    """F_s(eta) = [(1 - eta) + (1 - eta)^2s eta^(1-2s)]^(-1/2s), with explicit constants for Theorem 3.21.

    Means of laws at total variation distance eta < 1 with 2s-moments at most M_p, M_q about them differ along
    a unit vector by at most (M_p^(1/2s) + M_q^(1/2s)) F_s(eta).
    """
    if not 0.0 <= distance < 1.0:
        raise ValueError(f"the total variation distance must lie in [0, 1), got {distance}")
    if distance == 0.0:
        return 0.0
    p = 2 * order
    stay = 1.0 - distance
    return (stay + stay**p * distance ** (1 - p)) ** (-1.0 / p)


def ramp(matrix: npt.ArrayLike, low: float, high: float) -> Array:
    """phi(W) = clip((W - lo)/(hi - lo), 0, 1)."""
    return np.clip((np.asarray(matrix, dtype=np.float64) - low) / (high - low), 0.0, 1.0)


def published_log10_n(clusters: int) -> float:
    """log10 of the least n from which the published sensitivity n^1.6 is one, with the published objective.

    10 n (12 10^10 k^300 n)^(1/2) <= n^1.6. The result is above 500 for k = 2.
    """
    return 10.0 * (1.0 + 0.5 * math.log10(12e10) + 150.0 * math.log10(clusters))


def bin_mean_sensitivity(diameter: float, least: int) -> float:
    """l2 bound on all bin means together when one point leaves, enters or changes bins of >= `least` points.

    2 D / N: a point that leaves or enters a bin of N moves its mean by at most D / N, one that moves within
    it likewise, and at most two bins are touched. D bounds the distance of two points of one bin.
    """
    return 2.0 * diameter / least


@dataclass(frozen=True)
class DirectBounds:
    """What steps 2 to 4 of the published algorithm cost with free constants, from public numbers.

    Attributes:
        n, clusters, weight, order, bound: n, k, c, t, B_t; the row cap is n / k.
        low, high: of the ramp phi, 4/5 < lo < hi <= 1.
        saturation: x; a row is saturated if |phi(W_i)|_1 >= (1 - x) s / hi.
        shortfall: zeta; the test passes only if |phi(W)|_1 >= (1 - zeta) n s / hi.
        movement: eta, total variation distance within which a row counts as unmoved.

    Raises:
        ValueError: numbers out of range.
    """

    n: int
    clusters: int
    weight: float = 1.0
    order: int = 1
    bound: float = 1.4
    low: float = 0.9
    high: float = 1.0
    saturation: float = 0.25
    shortfall: float = 0.001
    movement: float = 0.05

    def __post_init__(self) -> None:
        if not 0.8 < self.low < self.high <= 1.0:
            raise ValueError("the ramp needs 4/5 < low < high <= 1")
        if self.n < 2 or self.clusters < 1 or self.weight < 1.0 or self.order < 1:
            raise ValueError("need n >= 2, clusters >= 1, weight >= 1 and order >= 1")
        if not all(0.0 < value < 1.0 for value in (self.saturation, self.shortfall, self.movement)):
            raise ValueError("saturation, shortfall and movement must lie in (0, 1)")

    @property
    def cap(self) -> float:
        """s = n / k."""
        return self.n / self.clusters

    @property
    def statistic_sensitivity(self) -> float:
        """Delta_1: bound on the change of |phi(W)|_1."""
        slope = 1.0 / (self.high - self.low)
        entries = min(self.n - 1.0, math.sqrt(2.0 * self.n * self.cap / self.low))
        moved = math.sqrt(dropped_bound(self.n, self.cap, self.weight))
        return slope * entries * moved + 4.0 * self.cap / self.high

    def test_shift(self, epsilon: float, delta: float) -> float:
        """a: how far the statistic is lowered by an (epsilon, delta) test that never errs upwards."""
        shift = self.statistic_sensitivity / epsilon * math.log((math.expm1(epsilon) + delta) / (2.0 * delta))
        return max(shift, self.statistic_sensitivity)

    @property
    def moment(self) -> float:
        """M: bound on the 2t-moment of a saturated row's weights about their mean."""
        doubling = 1.0 if self.order == 1 else 2.0**self.order
        spread = self.clusters * (5.0 * self.low - 4.0) * (1.0 - self.saturation) ** 2 * self.cap**2
        return doubling * self.bound * self.n**2 * self.high**2 / spread

    def movement_of(self, change: float) -> float:
        """eta of a row saturated on both sides whose change off column i has l2 norm `change`.

        (L sqrt(2 s / lo) change + 2) hi / ((1 - x) s): bound on the total variation of its weights.
        """
        slope = 1.0 / (self.high - self.low)
        moved = slope * math.sqrt(2.0 * self.cap / self.low) * change + 2.0
        return moved * self.high / ((1.0 - self.saturation) * self.cap)

    @property
    def movers(self) -> float:
        """Bound on the number of saturated rows whose weights move by more than eta; infinite for small n."""
        allowed = self.movement * (1.0 - self.saturation) * self.cap / self.high - 2.0
        if allowed <= 0.0:
            return math.inf
        slope = 1.0 / (self.high - self.low)
        theta = allowed / (slope * math.sqrt(2.0 * self.cap / self.low))
        return dropped_bound(self.n, self.cap, self.weight) / theta**2

    @property
    def arbitrary_rows(self) -> float:
        """b: rows about which nothing is proven, unsaturated ones included; at most n is useful."""
        return 2.0 * self.shortfall * self.n / self.saturation + self.movers + 1.0
