"""Counts of the values that occur, over a domain that need not be known or finite.

Proof: docs/proofs/private_histogram.md
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_ADDED, ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import LEFT_OUT, canonical, check_keys, column
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.terms import Terms, on_terms


@on_terms("private histogram", needs="epsilon delta", takes="adjacency", adjacency=ONE_RECORD_REPLACED)
def private_histogram(terms: Terms, records: Iterable[Any]) -> Release:
    """Noisy counts of the values that occur often enough; values that occur rarely are not named.

    Args:
        terms: epsilon and delta, delta at most 1/2 and at most 1 - exp(-epsilon / moves); adjacency "one
            record (replace)" (moves = 2: two counts change) or "one record (add or remove)" (1).
        records: the values, one a record: texts, bytes, integers, floats, None, or (nested) tuples of these.
            True counts as 1 and 2.0 as 2; NaN and other kinds of objects are left out, record by record, as
            are dates and times (give texts of them; a column whose public type is one of times is refused).

    Returns:
        Release of a list of pairs (value, noisy count), sorted by type and text of the value.

    Raises:
        ValueError: public arguments out of range; never because of the records.

    Source: Korolova, Kenthapadi, Mishra and Ntoulas 2009; optimal selection and truncated geometric noise:
    Desfontaines, Voss, Gipson and Mandayam 2022. Cost: 40
    microseconds a distinct value.
    """
    check_keys(records)
    units, margin = calibration(*terms.approximate, terms.neighbours)
    bits = terms.bits()
    counts = Counter(key for key in map(canonical, column(records, text=True)) if key is not LEFT_OUT)
    noisy = [(key, counts[key] + truncated(units, margin, bits)) for key in sorted(counts, key=_order)]
    law = Law("truncated geometric", (units, margin, MOVES[terms.neighbours], 1))
    return terms.seal(
        [(key, count) for key, count in noisy if count >= 1 + margin],
        terms.guarantee(),
        bits,
        evidence=proven_by("private_histogram", law),
        public={"threshold": 1 + margin, "scale": float(units)},
    )


def calibration(epsilon: float, delta: float, adjacency: str) -> tuple[Fraction, int]:
    """Scale u and top j of the noise, P(k) ~ exp(-|k| / u) for k <= j; shown is a noisy count >= 1 + j.

    A value that occurs once is shown with probability P(j) <= delta, and no calibration shows values that
    occur more often with a larger one (optimal selection, up to the rounding of j to an integer).

    Raises:
        ValueError: a budget or adjacency outside what is proven.
    """
    moves = MOVES.get(adjacency)
    if moves is None:
        raise ValueError(
            f"a histogram is proven for one record replaced, or added or removed, not {adjacency!r}"
        )
    return truncation(epsilon, delta, moves)


def truncation(epsilon: float, delta: float, moves: int, new: int = 1) -> tuple[Fraction, int]:
    """Scale and top of the noise where counts of neighbours differ by `moves` units in all, of which at most
    `new` are in values that one of them does not have (docs/proofs/releases.md).

    Raises:
        ValueError: a budget outside what is proven.
    """
    epsilon, delta = calibrate.check_epsilon(epsilon), calibrate.check_delta(delta)
    if delta > 0.5 or delta > -math.expm1(-epsilon / moves) * (1 - 1e-12):
        raise ValueError(
            f"delta must be at most 1/2 and at most 1 - exp(-epsilon/{moves}), got {delta}: lower delta"
        )
    units = Fraction(calibrate.float_up(moves / Fraction(epsilon)))
    several = math.log(math.expm1(new / float(units)) / math.expm1(1 / float(units)))
    guess = float(units) * (math.log(math.tanh(0.5 / float(units)) / delta) + several)
    top = max(new, math.floor(guess) - 2)
    while not _top_at_most(units, top, delta, new):
        top += 1
    return units, top


def _top_at_most(units: Fraction, top: int, delta: float, new: int) -> bool:
    """Whether P(top) + ... + P(top - new + 1) <= delta is proven, P(k) = a^k (1 - a) / (1 + a - a^(top + 1))
    for a = exp(-1 / units)."""

    def excess() -> Any:
        a = (-1 / calibrate.ball(units)).exp()
        several = sum(a ** (top - k) for k in range(new))
        return several * (1 - a) / (1 + a - a ** (top + 1)) - calibrate.ball(delta)

    return calibrate.decide(excess) is False


def truncated(units: Fraction, top: int, bits: RandomBits) -> int:
    """An integer k <= top with probability exactly proportional to exp(-|k| / units), by rejection."""
    while True:
        drawn = exact.discrete_laplace(units, bits)
        if drawn <= top:
            return drawn


MOVES: dict[str, int] = {ONE_RECORD_REPLACED: 2, ONE_RECORD_ADDED: 1}
"""How many counts change between neighbours."""


def _order(value: Any) -> tuple[str, str]:
    return type(value).__name__, ascii(value)


def as_shares(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Noisy counts as shares of 1: none is negative, and all are equal where no count is positive."""
    kept = np.maximum(counts, 0.0)
    return kept / kept.sum() if kept.sum() > 0.0 else np.full(len(kept), 1.0 / len(kept))
