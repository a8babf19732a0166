"""Arrays of discrete Gaussian, rounded Gaussian and discrete Laplace draws at 10^8 a second.

An alias table draws a cell of equal width, uniform bits the place in the cell, and a rejection step, exact by
lazily completed comparisons, turns the step function into the law. Small scales need no rejection: the table
holds the law itself. No law is approximated anywhere: what the tables lose to rounding, and what lies beyond
them, is drawn exactly when its entry comes up.

Proof: docs/proofs/noise.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sosdp.privacy.guarantee.rounding import rational
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.randomness.exact import Interval, bernoulli_exp, decide_exp, exp_bounds
from sosdp.privacy.randomness.tables import (
    AliasTable,
    Design,
    Weights,
    alias_table,
    gaussian_bounds,
    geometric_bounds,
)

Counts = npt.NDArray[np.int64]

_BLOCK = 1 << 15
_GATHER = 1 << 20
_SATURATED = 3 << 61
_SIGN = 63
# On [0, 0.4] fourteen terms leave exp(-g) an error below 2^-50; beyond it nothing is decided in floats.
_LARGEST_GAMMA = 0.4
_TERMS = 14
_MARGIN = 2.0**-40
_ROUNDED_MARGIN = 2.0**-18
_ROUNDED_BITS = 24
_STEP = 64


@dataclass(frozen=True, eq=False)
class Direct:
    """The law itself in one table: index a stands for a - reach; the Laplace law has an overflow entry.

    Attributes:
        reach: T; the table holds -T..T.
        overflow: index of the entry for |k| > T, or None.
        rate: 1/s, for the geometric rest behind the overflow entry.
    """

    table: AliasTable
    reach: int
    overflow: int | None
    rate: Fraction


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of width 2^shift, and what the accept step needs.

    Attributes:
        law: "discrete", "rounded" or "laplace".
        constant: gamma = constant (|x|^2 - (Ka)^2) for the Gaussians, constant (|x| - Ka) for Laplace.
        quick: per cell, accept at once when the digits are below.
        fraction_bits: p; the rounded law lives in units of 2^-p grid units.
        overflow: index of the entry that restarts behind all cells, or None.
        margin: half-width of the band in which float64 does not decide.
    """

    law: str
    table: AliasTable
    shift: int
    constant: Fraction
    quick: Counts
    fraction_bits: int
    overflow: int | None
    margin: float

    @property
    def special(self) -> int:
        """Indices from here on are no cell of the table: its overflow entry and its rest."""
        return self.table.rest if self.overflow is None else self.overflow


PRODUCTION = Design()


@lru_cache(maxsize=64)
def plan(law: str, units: float, design: Design = PRODUCTION) -> Direct | Cells:
    """Tables for a law at the parameter `units` (the float is taken exactly); 1-5 ms, 0.2 MB, cached."""
    scale = rational(units)
    if law == "laplace":
        return _laplace_plan(scale, design)
    return _rounded_plan(scale, design) if law == "rounded" else _discrete_plan(scale, design)


def _discrete_plan(scale: Fraction, design: Design) -> Direct | Cells:
    cells = 1 << design.index_bits
    reach = math.ceil(design.tail * scale)
    if 2 * reach + 2 > cells:
        return _gaussian_cells("discrete", scale, 0, design)

    def bounds(places: int) -> list[Interval]:
        half = gaussian_bounds(reach + 1, 1 / (2 * scale**2), places)
        inner, outer, (_, left) = half[: reach + 1], half[reach + 1 : -1], half[-1]
        beyond = [pair for pair in outer for _ in range(2)]  # T + 1, -(T + 1), T + 2, ...
        return [*inner[:0:-1], *inner, *beyond, (0, 2 * left)]

    weights = Weights(bounds, 2 * reach + 1, True)
    return Direct(alias_table(weights, design), reach, None, 1 / scale)


def _rounded_plan(scale: Fraction, design: Design) -> Cells:
    floor_log2 = math.frexp(float(scale))[1] - 1
    places = max(1, _ROUNDED_BITS - floor_log2)
    return _gaussian_cells("rounded", scale * (1 << places), places, design)


def _gaussian_cells(law: str, scale: Fraction, places: int, design: Design) -> Cells:
    cells = 1 << design.index_bits
    shift = 0
    while design.tail * scale > (cells - 1) << shift:
        shift += 1
    width = 1 << shift
    constant = 1 / (2 * scale**2)
    count = math.ceil(design.tail * scale / width)
    step = constant * width * width
    weights = Weights(lambda digits: gaussian_bounds(count, step, digits), count, True)
    ends = np.arange(cells, dtype=np.float64)
    gamma = (2.0 * ends + 1.0) * float(step)
    # Between y and y + 1 the density of the rounded law varies by up to 2^-20.
    least = max(_ROUNDED_MARGIN if law == "rounded" else _MARGIN, design.margin)
    return Cells(
        law,
        alias_table(weights, design),
        shift,
        constant,
        _quick(gamma, shift),
        places,
        None,
        max(least, 2.0 ** (1 - (_SIGN - shift))),
    )


def _laplace_plan(scale: Fraction, design: Design) -> Direct | Cells:
    cells = 1 << design.index_bits
    rate = 1 / scale
    if design.cover * 2 * scale < cells:
        reach = min(cells // 2 - 2, math.ceil(design.cover * scale))

        def direct(places: int) -> list[Interval]:
            half = geometric_bounds(reach + 2, rate, places)
            low, high = half.pop()
            ratio_low, ratio_high = half[1]
            one = 1 << places
            rest = 2 * (low << places) // (one - ratio_low), 2 * (high << places) // (one - ratio_high) + 1
            return [*half[:0:-1], *half, rest]

        weights = Weights(direct, 2 * reach + 2, False)
        return Direct(alias_table(weights, design), reach, 2 * reach + 1, rate)
    shift = 0
    while design.cover * 2 * scale >= cells << (shift + 1):
        shift += 1
    step = rate * (1 << shift)

    def bounds(places: int) -> list[Interval]:
        ratios = geometric_bounds(cells - 1, step, places)
        low, high = ((1 << places) - bound for bound in reversed(ratios[1]))
        inner = [(below * low >> places, (above * high >> places) + 1) for below, above in ratios[:-1]]
        return [*inner, ratios[-1]]

    return Cells(
        "laplace",
        alias_table(Weights(bounds, cells - 1, False), design),
        shift,
        rate,
        _quick(np.full(cells, float(step)), shift),
        0,
        cells - 2,
        max(_MARGIN, design.margin, 2.0 ** (1 - (_SIGN - shift))),
    )


def _quick(gamma: npt.NDArray[np.float64], shift: int) -> Counts:
    """Integers F with F 2^-(63 - shift) <= exp(-gamma), short by some 2^-40; 0 where floats do not decide."""
    digits = 2.0 ** (_SIGN - shift)
    # The tiny enlargement covers the rounding of gamma itself.
    bound = (float_exp(np.minimum(gamma, _LARGEST_GAMMA) * (1.0 + 2.0**-45)) - _MARGIN) * digits
    return np.where(gamma <= _LARGEST_GAMMA, np.floor(bound), 0.0).astype(np.int64)


def float_exp(gamma: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """exp(-gamma) within 2^-50 for 0 <= gamma <= 0.4, by products and sums alone."""
    value = np.ones_like(gamma)
    for i in range(_TERMS, 0, -1):
        value *= gamma
        value *= -1.0 / i
        value += 1.0
    return value


# ------------------------------------------------------------------------------------------------------------
# Filling arrays


def fill(out: Counts, chosen: Direct | Cells, bits: RandomBits) -> None:
    """Write independent draws into a contiguous int64 array; scratch of a few MB, whatever its size."""
    for start in range(0, out.size, _GATHER):
        part = out[start : start + _GATHER]
        rejected = [
            _propose(part[first : first + _BLOCK], chosen, bits) + first
            for first in range(0, part.size, _BLOCK)
        ]
        waiting = np.concatenate(rejected)
        while waiting.size:
            # Every position sees proposals of its own until one is accepted, so entries stay independent.
            again = np.empty(min(waiting.size, _BLOCK), dtype=np.int64)
            missed = _propose(again, chosen, bits)
            part[waiting[: again.size]] = again
            waiting = np.concatenate([waiting[missed], waiting[again.size :]])


def _propose(out: Counts, chosen: Direct | Cells, bits: RandomBits) -> npt.NDArray[np.intp]:
    """One proposal for every entry; the positions of the rejected ones."""
    if isinstance(chosen, Direct):
        return _propose_direct(out, chosen, bits)
    return _propose_cells(out, chosen, bits)


def _propose_direct(out: Counts, chosen: Direct, bits: RandomBits) -> npt.NDArray[np.intp]:
    index = chosen.table.draw(out.size, bits).view(np.int32)
    np.subtract(index, chosen.reach, out=out)
    special = index > 2 * chosen.reach
    if special.any():
        for at in np.flatnonzero(special):
            out[at] = _direct_special(chosen, int(index[at]), bits)
    return np.empty(0, dtype=np.intp)


def _direct_special(chosen: Direct, index: int, bits: RandomBits) -> int:
    """The value behind the overflow entry or the rest of a direct table."""
    if index == chosen.table.rest:
        index = chosen.table.draw_rest(bits)
    if index <= 2 * chosen.reach:
        return index - chosen.reach
    if chosen.overflow is None:  # the Gaussian beyond its table: T + 1, -(T + 1), T + 2, ...
        beyond, negative = divmod(index - 2 * chosen.reach - 1, 2)
        magnitude = chosen.reach + 1 + beyond
        return -magnitude if negative else magnitude
    magnitude = chosen.reach + 1
    while bernoulli_exp(chosen.rate, bits):
        magnitude += 1
    return -magnitude if bits.integer(1) else magnitude


def _propose_cells(out: Counts, chosen: Cells, bits: RandomBits) -> npt.NDArray[np.intp]:
    shift = chosen.shift
    cell = chosen.table.draw(out.size, bits)
    word = bits.u64(out.size).view(np.int64)
    digits = word & np.int64((1 << _SIGN) - 1)
    digits >>= shift
    hard = np.flatnonzero(digits >= chosen.quick.take(cell, mode="wrap"))
    # From here on `cell` is the left end of the cell, and x = end + offset, or its bitwise NOT.
    end = cell.astype(np.int64)
    end <<= shift
    np.bitwise_and(word, np.int64((1 << shift) - 1), out=out)
    out += end
    word = word >> np.int64(_SIGN)
    refused = _refused(out, end, digits, word, hard, chosen, bits)
    if chosen.law == "rounded":
        out += 1 << (chosen.fraction_bits - 1)
        out >>= chosen.fraction_bits
        out ^= word
        out -= word
    else:
        out ^= word
    special = cell >= chosen.special
    if not special.any():
        return refused
    rejected = set(refused.tolist())
    for at in np.flatnonzero(special):
        rejected.discard(int(at))  # the digits were never looked at for this position
        value = _propose_special(chosen, int(cell[at]), bits)
        if value is None:
            rejected.add(int(at))
        else:
            out[at] = value
    return np.array(sorted(rejected), dtype=np.intp)


def _refused(
    place: Counts,
    end: Counts,
    digits: Counts,
    sign: Counts,
    hard: npt.NDArray[np.intp],
    chosen: Cells,
    bits: RandomBits,
) -> npt.NDArray[np.intp]:
    """Those of the positions `hard` where V < exp(-gamma) is false, decided exactly."""
    if not hard.size:
        return hard
    left = end[hard]
    magnitude = place[hard]
    if chosen.law != "rounded":
        magnitude -= sign[hard]  # |NOT m| = m + 1
    gamma = (magnitude - left).astype(np.float64)
    if chosen.law != "laplace":
        gamma *= (magnitude + left).astype(np.float64)
    gamma *= float(chosen.constant)
    known = digits[hard]
    gap = float_exp(np.minimum(gamma, 1.0)) - known * 2.0 ** -(_SIGN - chosen.shift)
    open_ = (np.abs(gap) <= chosen.margin) | (gamma > _LARGEST_GAMMA)
    accepted = gap > 0.0
    for i in np.flatnonzero(open_):
        accepted[i] = decide(chosen, int(magnitude[i]), int(left[i]), int(known[i]), bits)
    return hard[~accepted]


def decide(chosen: Cells, magnitude: int, left: int, known: int, bits: RandomBits) -> bool:
    """Whether V < exp(-gamma), V = 0.known... in binary; exact, drawing further digits when needed.

    `magnitude` is |x|, or for the rounded law the integer part of |Z|, whose fraction is revealed as well.
    """
    digits = _SIGN - chosen.shift
    if chosen.law == "laplace":
        return decide_exp(chosen.constant * (magnitude - left), known, digits, bits)
    if chosen.law == "discrete":
        return decide_exp(chosen.constant * (magnitude**2 - left**2), known, digits, bits)
    places = 0
    while True:
        gammas = [
            chosen.constant * (Fraction(point, 1 << places) ** 2 - left**2)
            for point in (magnitude, magnitude + 1)
        ]
        high = exp_bounds(gammas[0].numerator, gammas[0].denominator, digits)[1]
        low = exp_bounds(gammas[1].numerator, gammas[1].denominator, digits)[0]
        if known + 1 <= low:
            return True
        if known >= high:
            return False
        magnitude = magnitude << _STEP | bits.integer(_STEP)
        places += _STEP
        known = known << _STEP | bits.integer(_STEP)
        digits += _STEP


def _propose_special(chosen: Cells, cell: int, bits: RandomBits) -> int | None:
    """A proposal that starts at the rest or the overflow entry of the table; None if it is rejected.

    Overflow makes one fresh proposal and moves it outward: a restart consumes exactly one proposal, and its
    rejection rejects the draw; redrawing it alone would give the tail too much weight.
    """
    behind = 0
    while True:
        if cell == chosen.table.rest:
            cell = chosen.table.draw_rest(bits)
        if cell != chosen.overflow:
            break
        behind += 1
        cell = chosen.table.draw_one(bits)
    word = bits.integer(_STEP)
    negative = word >> _SIGN
    digits = (word & ((1 << _SIGN) - 1)) >> chosen.shift
    left = cell << chosen.shift
    place = left + (word & ((1 << chosen.shift) - 1))
    rounded = chosen.law == "rounded"
    if not decide(chosen, place if rounded else place + negative, left, digits, bits):
        return None
    if rounded:
        place = min((place + (1 << (chosen.fraction_bits - 1))) >> chosen.fraction_bits, _SATURATED)
        return -place if negative else place
    if chosen.overflow is not None:
        place += behind * (chosen.overflow << chosen.shift)
    place = min(place, _SATURATED)
    return ~place if negative else place
