"""A point between the smallest and the largest value: the problem behind private medians and intervals.

Proof: docs/proofs/interior_point.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.calibrate import range_rho
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.basic.quantile import draw, grid, runs, tallied
from sosdp.privacy.terms import Terms, on_terms


@on_terms("interior point", adjacency=ONE_RECORD_REPLACED)
def interior_point(terms: Terms, values: Sequence[Any], *, low: float, high: float, step: float) -> Release:
    """A grid point that lies between the extreme values, with probability at least 1 - `failure_bound`.

    P(theta) ~ exp(epsilon d / 2), d = min(#{x <= theta}, #{x >= theta}, ceil(n/2)); epsilon-DP and
    (epsilon^2 / 8)-zCDP.

    Args:
        terms: epsilon.
        values: n >= 1 numbers, n public; moved to the nearest point of the public grid.
        low, high, step: the public grid.

    Raises:
        ValueError: public arguments out of range; never because of the values.

    Source: Bun, Nissim, Stemmer and Vadhan 2015 (the problem); the exponential mechanism of McSherry and
    Talwar 2007. Cost: n log n.
    """
    epsilon = terms.pure
    points = grid(low, high, step)
    n = len(values)
    if n == 0:
        raise ValueError("an interior point needs at least one value (their number is public)")
    half = (n + 1) // 2

    def level(below: Any, above: Any) -> Any:
        return half - np.minimum(n - np.maximum(below, above), half)

    bits = terms.bits()
    cut = runs(tallied(points.counts(values), points.size), points.size, level)
    chosen = draw(cut, Fraction(epsilon) / 2, bits)
    return terms.seal(
        points.value(chosen),
        terms.guarantee(epsilon=epsilon, rho=range_rho(epsilon)),
        bits,
        evidence=proven_by("interior_point", Law("exponential", (Fraction(epsilon) / 2, 2))),
        public={"n": n, "failure": failure_bound(n, points.size, epsilon)},
    )


def failure_bound(n: int, size: int, epsilon: float) -> float:
    """Bound on the probability that the point lies outside the values: about size * exp(-epsilon n / 4)."""
    exponent = math.log(size) - epsilon * ((n + 1) // 2) / 2.0
    return min(1.0, math.exp(min(exponent, 0.0)) * (1.0 + 1e-9))
