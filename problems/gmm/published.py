"""The published algorithm with free constants: its deterministic steps, and how many records it needs.

Both modes refuse by public numbers: no input that fits into a computer satisfies their conditions. They exist
so that every inequality of the analysis can be measured. Proofs: docs/proofs/gmm_program.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .theory import DirectBounds, published_log10_n, ramp

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trace:
    """Steps 2 to 4 on one input; functions of private data, for study only.

    Attributes:
        statistic: |phi(W)|_1. saturated: (n,) booleans. weights: (n, n) normalised rows of phi(W), zero rows
        where not saturated. means: (n, d) means of the points under them.
    """

    statistic: float
    saturated: npt.NDArray[np.bool_]
    weights: Array
    means: Array


def trace(points: npt.ArrayLike, matrix: npt.ArrayLike, bounds: DirectBounds) -> Trace:
    """The deterministic steps, on a solution W of the program with all of its options (R0 to R4)."""
    y = np.asarray(points, dtype=np.float64)
    phi = ramp(matrix, bounds.low, bounds.high)
    mass = phi.sum(axis=1)
    saturated = mass >= (1.0 - bounds.saturation) * bounds.cap / bounds.high
    weights = np.where(saturated[:, None], phi / np.maximum(mass, 1e-300)[:, None], 0.0)
    return Trace(float(phi.sum()), saturated, weights, weights @ y)


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
