"""One of many, exactly and fast: permute-and-flip, and the exponential mechanism for many tables of scores.

Floats decide where they can: weights are known to a relative 2^-40, and a uniform number that falls closer
than 2^-38 to a boundary is compared with more digits of both, in integers.

Proofs: docs/proofs/noise.md; docs/proofs/mrf_frank_wolfe.md, Lemma 3
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sosdp.privacy.guarantee.rounding import rational
from sosdp.privacy.randomness.bits import RandomBits, open_bits
from sosdp.privacy.randomness.cells import float_exp
from sosdp.privacy.randomness.exact import Interval, categorical_lazy, decide_exp, exp_bounds, random_below

MOST = 1 << 12
"""Candidates of one table: their float weights add up with a relative error below 2^-40."""

_BLOCK = 1 << 15
_CAP = 64.0
_SQUARINGS = 8
_MARGIN = 2.0**-38
_DIGITS = 64


def permute_and_flip(
    levels: npt.ArrayLike,
    rate: float | Fraction,
    *,
    source: RandomBits | None = None,
    insecure_seed: int | None = None,
) -> int:
    """Index of a nearly highest level: the law of permute-and-flip, exactly, for any number of candidates.

    epsilon-DP for rate = epsilon / (2 Delta) when neighbours move every level by at most Delta, and never
    worse than the exponential mechanism in expected error (McKenna and Sheldon 2020). 20 milliseconds for
    10^6 candidates.

    Args:
        levels: int64 array of one dimension, higher is better.
        rate: public rational >= 0 (a float is taken exactly).

    Raises:
        ValueError: levels not integers of one dimension, none, or a negative rate.
    """
    array = _integers(levels, 1)
    exact = rational(rate)
    if exact < 0:
        raise ValueError(f"rate must be >= 0, got {rate!r}")
    bits = source or open_bits(insecure_seed)
    # Unsigned differences are right even where the signed ones would overflow.
    gaps = array.max().astype(np.uint64) - array.astype(np.uint64)
    kept = []
    for start in range(0, gaps.size, _BLOCK):
        part = gaps[start : start + _BLOCK]
        word = bits.u64(part.size)
        gap = _weights(part.astype(np.float64) * float(exact)) - (word >> np.uint64(11)) * 2.0**-53
        heads = gap > 0.0
        for at in np.flatnonzero(np.abs(gap) <= _MARGIN):
            heads[at] = decide_exp(exact * int(part[at]), int(word[at]), _DIGITS, bits)
        kept.append(start + np.flatnonzero(heads))
    every = np.concatenate(kept)
    return int(every[random_below(every.size, bits)])


def softmax_rows(
    levels: npt.ArrayLike, rate: float | Fraction, *, source: RandomBits | None = None
) -> npt.NDArray[np.intp]:
    """For every row an index j, with probability exactly proportional to exp(-rate levels[row, j]).

    Args:
        levels: (rows, candidates) int64, lower is better; at most 2^12 candidates. Magnitudes below 2^62.
        rate: public rational > 0 (a float is taken exactly).

    Raises:
        ValueError: levels not a non-empty table of integers, too many candidates, or rate <= 0.

    Cost: 50 nanoseconds a candidate, 8 random bytes a row.
    """
    table = _integers(levels, 2)
    exact = rational(rate)
    if table.shape[1] > MOST or exact <= 0:
        raise ValueError(f"at most {MOST} candidates and a rate > 0, got {table.shape[1]} and {rate!r}")
    bits = source or open_bits()
    gaps = table - table.min(axis=1, keepdims=True)
    ends = _weights(gaps * float(exact)).cumsum(axis=1)
    drawn = bits.u64(len(table)).copy()
    target = (drawn >> np.uint64(11)) * 2.0**-53 * ends[:, -1]
    chosen = np.minimum((ends <= target[:, None]).sum(axis=1), table.shape[1] - 1)
    distance = np.abs(ends[:, :-1] - target[:, None]).min(axis=1, initial=np.inf)
    for row in np.flatnonzero(distance <= _MARGIN * ends[:, -1]):
        chosen[row] = _decide([int(gap) for gap in gaps[row]], exact, int(drawn[row]), bits)
    return chosen


def _integers(levels: npt.ArrayLike, dimensions: int) -> npt.NDArray[np.int64]:
    array = np.asarray(levels)
    if array.ndim != dimensions or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"levels must be integers, an array of {dimensions} dimensions that holds some, got "
            f"{array.dtype} of shape {array.shape}"
        )
    return array


def _weights(gamma: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """exp(-min(gamma, 64)) to a relative 2^-41, by products and sums alone."""
    values = float_exp(np.minimum(gamma, _CAP) * 2.0**-_SQUARINGS)
    for _ in range(_SQUARINGS):
        values *= values
    return values


def _decide(gaps: list[int], rate: Fraction, known: int, bits: RandomBits) -> int:
    """The index for the uniform number 0.known..., further digits drawn on demand."""

    def weights(places: int) -> list[Interval]:
        parts = [gap * rate for gap in gaps]
        return [exp_bounds(part.numerator, part.denominator, places) for part in parts]

    return categorical_lazy(weights, bits, known=(known, _DIGITS))
