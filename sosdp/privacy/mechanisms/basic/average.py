"""The average of numbers in a public interval, or of vectors in a public ball.

Proof: docs/proofs/bounded_average.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import finite, interval
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_near
from sosdp.privacy.inputs import column, number, wholes
from sosdp.privacy.randomness import exact
from sosdp.privacy.rows import counted_width, table
from sosdp.privacy.terms import Terms, on_terms

RESOLUTION = 1 << 20


@on_terms("bounded average", needs="", takes="epsilon delta rho", adjacency=ONE_RECORD_REPLACED)
def bounded_average(
    terms: Terms,
    values: npt.ArrayLike | Sequence[Any],
    *,
    low: float | None = None,
    high: float | None = None,
    radius: float | None = None,
    dimension: int | None = None,
) -> Release:
    """The average of n records, n public, with noise on the exact integer sum.

    Numbers in [low, high]: discrete Laplace noise, epsilon-DP. Vectors in the ball of this radius about 0:
    discrete Gaussian noise, rho-zCDP (or (epsilon, delta)-DP through it), or, with epsilon alone, discrete
    Laplace noise of scale 2 sqrt(d) radius / (n epsilon), epsilon-DP: for few coordinates. Records are
    clipped to the interval or ball and moved to a grid of 2^20 steps, each by itself; NaN is low, or 0 in a
    coordinate.

    Args:
        terms: epsilon (pure), or for a ball epsilon and delta, or rho.
        values: (n,) numbers, or (n, d) vectors.
        low, high: public interval; or
        radius: public radius, and
        dimension: public d; by default the second side of an array or frame, of a list the number of entries
            of more than half of the records, on which the release is then conditional. A record of another
            number of entries is the zero vector; what is no list is one entry.

    Returns:
        Release of a float, or of a (d,) float64 array.

    Raises:
        ValueError: public arguments or shapes out of range; never because of the entries.
        TypeError: several columns where one is expected, or columns of another type (`check_schema`).

    Source: Canonne, Kamath and Steinke 2020 (discrete Gaussian). Cost: 40 to 70 microseconds a coordinate.
    """
    if (radius is None) == (low is None or high is None):
        raise ValueError("give either low and high (numbers) or radius (vectors)")
    if radius is not None:
        records = table(values, dimension)
        rests = () if dimension is not None or not records else counted_width(values, len(records[0]))
        return _ball(terms.assuming(*rests), records, radius)
    if terms.epsilon is None or terms.delta is not None or terms.rho is not None:
        raise ValueError("an average of numbers in an interval takes epsilon alone")
    epsilon = terms.pure
    ends = interval(low, high)
    least, most = (Fraction(end) for end in ends)
    if dimension is not None:
        raise ValueError("a dimension is for vectors in a ball")
    entries = column(values)
    if not entries:
        raise ValueError("there must be at least one record")
    step = (most - least) / RESOLUTION
    bits = terms.bits()
    counted = sum(wholes(entries, step, least, 0, RESOLUTION))
    noisy = counted + exact.discrete_laplace(Fraction(RESOLUTION) / Fraction(epsilon), bits)
    return terms.seal(
        float_near(least + step * Fraction(noisy, len(entries))),
        terms.guarantee(),
        bits,
        evidence=proven_by(
            "bounded_average", Law("discrete laplace", (RESOLUTION / Fraction(epsilon), RESOLUTION))
        ),
        public={"n": len(entries), "low": ends[0], "high": ends[1]},
    )


def whole_vector(row: Sequence[Any], unit: Fraction) -> list[int]:
    """The vector in units, each coordinate towards zero, shrunk until its integer l2 norm is at most 2^20."""
    limit = RESOLUTION << 40
    clipped = []
    for entry in row:
        plain = number(entry)
        if plain is None:
            plain = Fraction(0)
        magnitude = min(abs(plain) // unit if isinstance(plain, Fraction) else limit, limit)
        clipped.append(-magnitude if plain < 0 else magnitude)
    squared = sum(entry * entry for entry in clipped)
    if squared <= RESOLUTION**2:
        return clipped
    norm = math.isqrt(squared - 1) + 1
    return [(1 if entry > 0 else -1) * (abs(entry) * RESOLUTION // norm) for entry in clipped]


def _ball(terms: Terms, rows: list[list[Any]], radius: Any) -> Release:
    epsilon, delta, rho = terms.epsilon, terms.delta, terms.rho
    if not rows:
        raise ValueError("there must be at least one vector")
    radius = finite(radius, "radius", "> 0")
    if radius > 1e200:
        raise ValueError(f"radius must be at most 1e200, got {radius!r}")
    unit = Fraction(radius) / RESOLUTION
    n, d = len(rows), len(rows[0])
    bits = terms.bits()
    if epsilon is not None and delta is None and rho is None:
        # Two integer vectors in the ball are at most 2 * 2^20 apart in l2, sqrt(d) times that in l1.
        furthest = math.isqrt(4 * d * RESOLUTION**2 - 1) + 1
        scale = Fraction(furthest) / Fraction(calibrate.check_epsilon(epsilon))
        draws = [exact.discrete_laplace(scale, bits) for _ in range(d)]
        shown = float_near(unit * scale) / n
        law = Law("discrete laplace", (scale, furthest))
        delta = 0.0
    else:
        rho = terms.concentrated
        # Two integer vectors in the ball are at most 2 * 2^20 apart: rho = Delta^2 / (2 sigma^2).
        variance = Fraction(2 * RESOLUTION) ** 2 / (2 * Fraction(calibrate.check_positive(rho, "rho")))
        draws = [exact.discrete_gaussian(variance, bits) for _ in range(d)]
        shown = float(unit) * math.sqrt(float_near(variance)) / n
        law = Law("discrete gaussian", (variance, 2 * RESOLUTION))
    sums = [0] * d
    for row in rows:
        for j, entry in enumerate(whole_vector(row, unit)):
            sums[j] += entry
    return terms.seal(
        np.array(
            [float_near(unit * Fraction(total + draw, n)) for total, draw in zip(sums, draws, strict=True)]
        ),
        terms.guarantee(epsilon=epsilon, delta=delta, rho=rho),
        bits,
        evidence=proven_by("bounded_average", law),
        public={"n": n, "d": d, "radius": radius, "scale": shown},
    )
