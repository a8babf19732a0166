"""The published algorithm with free constants: what its steps cost, and how many records its modes need.

Both modes refuse by public numbers: no input that fits into a computer satisfies their conditions. Every
function is a formula of docs/proofs/gmm_program.md, which tests hold measured numbers against. n points,
k clusters, row cap s, weight c, variance budget B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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


def ramp(matrix: npt.ArrayLike, low: float, high: float) -> Array:
    """phi(W) = clip((W - lo)/(hi - lo), 0, 1)."""
    return np.clip((np.asarray(matrix, dtype=np.float64) - low) / (high - low), 0.0, 1.0)


def published_log10_n(clusters: int) -> float:
    """log10 of the least n from which the published sensitivity n^1.6 is one, with the published objective.

    10 n (12 10^10 k^300 n)^(1/2) <= n^1.6. The result is above 500 for k = 2.
    """
    return 10.0 * (1.0 + 0.5 * math.log10(12e10) + 150.0 * math.log10(clusters))


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


@dataclass(frozen=True)
class ModeVerdict:
    """Whether a mode can run at a size, from public numbers.

    Attributes:
        mode: "paper" or "direct".
        possible: False at every size that can be solved.
        reason: why, in numbers.
        log10_needed: log10 of the number of records needed.
    """

    mode: str
    possible: bool
    reason: str
    log10_needed: float


def paper_verdict(n: int, clusters: int) -> ModeVerdict:
    """The published constants: n^1.6 is a sensitivity only from a number of records with 500 digits on."""
    needed = published_log10_n(clusters)
    possible = math.log10(n) >= needed
    return ModeVerdict(
        "paper",
        possible,
        f"the published sensitivity n^1.6 is proven from n = 10^{needed:.0f} on for k = {clusters}",
        needed,
    )


def direct_verdict(
    n: int, clusters: int, epsilon: float, delta: float, bounds: DirectBounds | None = None
) -> ModeVerdict:
    """Free constants: the test must be able to pass, and arbitrary rows must be rare in the sample."""
    here = bounds or DirectBounds(n, clusters)
    needed = direct_required_log10_n(clusters, epsilon, delta)
    shift = here.test_shift(epsilon / 2.0, delta / 4.0) / (here.n * here.cap)
    fraction = min(1.0, here.arbitrary_rows / here.n)
    return ModeVerdict(
        "direct",
        math.log10(n) >= needed,
        f"the test lowers its statistic by {shift:.3g} of its range and {fraction:.3g} of the rows may move "
        f"arbitrarily; about 10^{needed:.1f} records are needed",
        needed,
    )


def direct_required_log10_n(clusters: int, epsilon: float, delta: float) -> float:
    """log10 of the least n, in half decades, for which some constants pass every condition on an ideal input.

    Conditions: the test can pass (its shift is below zeta n s); in a sample of r rows at most q are
    arbitrary, except with probability delta / 4; q (e2 + e3) <= epsilon / 4 with the k bins of the histogram
    above its shift. Utility of the noisy rows is not asked for: this is a lower limit. A grid search.
    """
    from scipy.stats import poisson

    for half in range(4, 60):
        n = 10.0 ** (half / 2.0)
        for eta in (0.01, 0.03, 0.1, 0.3):
            for x in (0.1, 0.25, 0.5):
                base = DirectBounds(int(n), clusters, saturation=x, movement=eta)
                zeta = base.test_shift(epsilon / 2.0, delta / 4.0) / (n * base.cap / base.high) * 1.01
                if zeta >= 1.0:
                    continue
                rare = replace(base, shortfall=zeta).arbitrary_rows / n
                for sample in np.logspace(2, 6, 17):
                    if sample >= n or sample * rare > 1e4:
                        continue
                    q = int(poisson.isf(delta / 4.0, sample * rare))
                    each = epsilon / 4.0 / max(q, 1) / 2.0
                    share = delta / 4.0 / max(q, 1) / math.exp(epsilon / 4.0)
                    shift = 2.0 / each * math.log((math.expm1(each / 2.0) + share / 2.0) / share)
                    if sample / clusters - q >= shift + 2.0:
                        return half / 2.0
    return math.inf
