"""The exponential mechanism for many tables of scores at once, exactly.

Floats decide where they can: the cumulative weights are known to a relative 2^-40, and a uniform number that
falls closer than 2^-38 to a boundary is compared with more digits of both, in integers.

Proof: docs/proofs/mrf_frank_wolfe.md, Lemma 3
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sosdp.privacy.randomness.bits import RandomBits, open_bits
from sosdp.privacy.randomness.cells import float_exp
from sosdp.privacy.randomness.exact import Interval, categorical_lazy, exp_bounds

MOST = 1 << 12
"""Candidates of one table: their float weights add up with a relative error below 2^-40."""

_CAP = 64.0
_SQUARINGS = 8
_MARGIN = 2.0**-38
_DIGITS = 64


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
    table = np.asarray(levels)
    if table.ndim != 2 or table.size == 0 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(f"levels must be a table of integers, got {table.dtype} of shape {table.shape}")
    if table.shape[1] > MOST:
        raise ValueError(f"at most {MOST} candidates, got {table.shape[1]}")
    exact = Fraction(rate)
    if exact <= 0:
        raise ValueError(f"rate must be > 0, got {rate!r}")
    bits = source or open_bits()
    gaps = table - table.min(axis=1, keepdims=True)
    weights = float_exp(np.minimum(gaps * float(exact), _CAP) * 2.0**-_SQUARINGS)
    for _ in range(_SQUARINGS):
        weights *= weights
    ends = weights.cumsum(axis=1)
    drawn = bits.u64(len(table)).copy()
    target = (drawn >> np.uint64(11)) * 2.0**-53 * ends[:, -1]
    chosen = np.minimum((ends <= target[:, None]).sum(axis=1), table.shape[1] - 1)
    distance = np.abs(ends[:, :-1] - target[:, None]).min(axis=1, initial=np.inf)
    for row in np.flatnonzero(distance <= _MARGIN * ends[:, -1]):
        chosen[row] = _decide([int(gap) for gap in gaps[row]], exact, int(drawn[row]), bits)
    return chosen


def _decide(gaps: list[int], rate: Fraction, known: int, bits: RandomBits) -> int:
    """The index for the uniform number 0.known..., further digits drawn on demand."""

    def weights(places: int) -> list[Interval]:
        parts = [gap * rate for gap in gaps]
        return [exp_bounds(part.numerator, part.denominator, places) for part in parts]

    return categorical_lazy(weights, bits, known=(known, _DIGITS))
