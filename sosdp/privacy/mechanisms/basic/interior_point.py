"""A point between the smallest and the largest value: the problem behind private medians and intervals.

Proof: docs/proofs/interior_point.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import range_rho, source
from sosdp.privacy.mechanisms.basic.quantile import draw, grid, runs
from sosdp.privacy.seal import seal


def interior_point(
    values: Sequence[Any],
    *,
    low: float,
    high: float,
    step: float,
    epsilon: float,
    insecure_seed: int | None = None,
) -> Release:
    """A grid point that lies between the extreme values, with probability at least 1 - `failure_bound`.

    P(theta) ~ exp(epsilon d / 2), d = min(#{x <= theta}, #{x >= theta}, ceil(n/2)); epsilon-DP and
    (epsilon^2 / 8)-zCDP.

    Args:
        values: n >= 1 numbers, n public; moved to the nearest point of the public grid.
        low, high, step: the public grid.
        epsilon: budget.

    Raises:
        ValueError: public arguments out of range; never because of the values.

    Source: Bun, Nissim, Stemmer and Vadhan 2015 (the problem); the exponential mechanism of McSherry and
    Talwar 2007. Cost: n log n.
    """
    epsilon = calibrate.check_epsilon(epsilon)
    points = grid(low, high, step)
    n = len(values)
    if n == 0:
        raise ValueError("an interior point needs at least one value (their number is public)")
    half = (n + 1) // 2

    def level(below: int, above: int) -> int:
        return half - min(n - above, n - below, half)

    bits = source(insecure_seed)
    chosen = draw(runs(points.counts(values), points.size, level), Fraction(epsilon) / 2, bits)
    return seal(
        points.value(chosen),
        Guarantee(
            mechanism="interior point",
            adjacency=ONE_RECORD_REPLACED,
            epsilon=epsilon,
            delta=0.0,
            rho=range_rho(epsilon),
        ),
        bits,
        evidence=proven_by("interior_point", Law("exponential", (Fraction(epsilon) / 2, 2))),
        public={"n": n, "failure": failure_bound(n, points.size, epsilon)},
    )


def failure_bound(n: int, size: int, epsilon: float) -> float:
    """Bound on the probability that the point lies outside the values: about size * exp(-epsilon n / 4)."""
    exponent = math.log(size) - epsilon * ((n + 1) // 2) / 2.0
    return min(1.0, math.exp(min(exponent, 0.0)) * (1.0 + 1e-9))
