"""Arrays of discrete Gaussian, rounded Gaussian and discrete Laplace draws at 10^8 a second.

An alias table draws a cell of equal width, uniform bits the place in the cell, and a rejection step, exact by
lazily completed comparisons, turns the step function into the law. Small scales need no rejection: the table
holds the law itself.

Proof, with the error of whole arrays: docs/proofs/noise.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sosdp.privacy.exact import bernoulli_exp, decide_exp, exp_bounds
from sosdp.privacy.noise.tables import (
    WEIGHT_BITS,
    AliasTable,
    Design,
    alias_table,
    gaussian_weights,
    geometric_weights,
)
from sosdp.privacy.words import Words

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


PRODUCTION = Design()


@lru_cache(maxsize=64)
def plan(law: str, units: float, design: Design = PRODUCTION) -> Direct | Cells:
    """Tables for a law at the parameter `units` (the float is taken exactly); 1-5 ms, 0.2 MB, cached."""
    scale = Fraction(units)
    if law == "laplace":
        return _laplace_plan(scale, design)
    if law == "rounded":
        return _rounded_plan(scale, design)
    return _discrete_plan(scale, design)


def _discrete_plan(scale: Fraction, design: Design) -> Direct | Cells:
    cells = 1 << design.index_bits
    reach = math.ceil(design.tail * scale)
    if 2 * reach + 1 <= cells:
        half = gaussian_weights(reach + 1, 1 / (2 * scale**2))
        return Direct(alias_table([*half[:0:-1], *half], design), reach, None, 1 / scale)
    return _gaussian_cells("discrete", scale, 0, design)


def _rounded_plan(scale: Fraction, design: Design) -> Cells:
    floor_log2 = math.frexp(float(scale))[1] - 1
    places = max(1, _ROUNDED_BITS - floor_log2)
    return _gaussian_cells("rounded", scale * (1 << places), places, design)


def _gaussian_cells(law: str, scale: Fraction, places: int, design: Design) -> Cells:
    cells = 1 << design.index_bits
    shift = 0
    while design.tail * scale > cells << shift:
        shift += 1
    width = 1 << shift
    constant = 1 / (2 * scale**2)
    count = math.ceil(design.tail * scale / width)
    table = alias_table(gaussian_weights(count, constant * width * width), design)
    ends = np.arange(1 << design.index_bits, dtype=np.float64)
    gamma = (2.0 * ends + 1.0) * float(constant * width * width)
    # Between y and y + 1 the density of the rounded law varies by up to 2^-20.
    least = max(_ROUNDED_MARGIN if law == "rounded" else _MARGIN, design.margin)
    return Cells(
        law,
        table,
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
        reach = min(cells // 2 - 1, math.ceil(design.cover * scale))
        half = geometric_weights(reach + 2, rate)
        rest = 2 * (half.pop() << WEIGHT_BITS) // ((1 << WEIGHT_BITS) - half[1])
        weights = [*half[:0:-1], *half, rest]
        return Direct(alias_table(weights, design), reach, len(weights) - 1, rate)
    shift = 0
    while design.cover * 2 * scale >= cells << (shift + 1):
        shift += 1
    width = 1 << shift
    ratios = geometric_weights(cells, rate * width)
    ends = (1 << WEIGHT_BITS) - ratios[1]
    weights = [ratio * ends >> WEIGHT_BITS for ratio in ratios[:-1]] + [ratios[-1]]
    gamma = np.full(cells, float(rate * width))
    return Cells(
        "laplace",
        alias_table(weights, design),
        shift,
        rate,
        _quick(gamma, shift),
        0,
        cells - 1,
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


def fill(out: Counts, chosen: Direct | Cells, words: Words) -> None:
    """Write independent draws into a contiguous int64 array; scratch of a few MB, whatever its size."""
    for start in range(0, out.size, _GATHER):
        part = out[start : start + _GATHER]
        rejected = [
            _propose(part[first : first + _BLOCK], chosen, words) + first
            for first in range(0, part.size, _BLOCK)
        ]
        waiting = np.concatenate(rejected)
        while waiting.size:
            # Every position sees proposals of its own until one is accepted, so entries stay independent.
            again = np.empty(min(waiting.size, _BLOCK), dtype=np.int64)
            missed = _propose(again, chosen, words)
            part[waiting[: again.size]] = again
            waiting = np.concatenate([waiting[missed], waiting[again.size :]])


def _propose(out: Counts, chosen: Direct | Cells, words: Words) -> npt.NDArray[np.intp]:
    """One proposal for every entry; the positions of the rejected ones."""
    if isinstance(chosen, Direct):
        return _propose_direct(out, chosen, words)
    return _propose_cells(out, chosen, words)


def _propose_direct(out: Counts, chosen: Direct, words: Words) -> npt.NDArray[np.intp]:
    index = chosen.table.draw(out.size, words).view(np.int32)
    np.subtract(index, chosen.reach, out=out)
    if chosen.overflow is not None:
        beyond = index == chosen.overflow
        if beyond.any():
            for at in np.flatnonzero(beyond):
                magnitude = chosen.reach + 1
                while bernoulli_exp(chosen.rate, words):
                    magnitude += 1
                out[at] = -magnitude if words.bits(1) else magnitude
    return np.empty(0, dtype=np.intp)


def _propose_cells(out: Counts, chosen: Cells, words: Words) -> npt.NDArray[np.intp]:
    shift = chosen.shift
    cell = chosen.table.draw(out.size, words)
    word = words.u64(out.size).view(np.int64)
    digits = word & np.int64((1 << _SIGN) - 1)
    digits >>= shift
    hard = np.flatnonzero(digits >= chosen.quick.take(cell, mode="wrap"))
    # From here on `cell` is the left end of the cell, and x = end + offset, or its bitwise NOT.
    end = cell.astype(np.int64)
    end <<= shift
    np.bitwise_and(word, np.int64((1 << shift) - 1), out=out)
    out += end
    word = word >> np.int64(_SIGN)
    refused = _refused(out, end, digits, word, hard, chosen, words)
    if chosen.law == "rounded":
        out += 1 << (chosen.fraction_bits - 1)
        out >>= chosen.fraction_bits
        out ^= word
        out -= word
    else:
        out ^= word
    if chosen.overflow is None:
        return refused
    beyond = cell == chosen.overflow
    if not beyond.any():
        return refused
    rejected = set(refused.tolist())
    for at in np.flatnonzero(beyond):
        rejected.discard(int(at))  # the digits were never looked at for this position
        value = _restart(chosen, chosen.overflow, words)
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
    words: Words,
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
        accepted[i] = decide(chosen, int(magnitude[i]), int(left[i]), int(known[i]), words)
    return hard[~accepted]


def decide(chosen: Cells, magnitude: int, left: int, known: int, words: Words) -> bool:
    """Whether V < exp(-gamma), V = 0.known... in binary; exact, drawing further digits when needed.

    `magnitude` is |x|, or for the rounded law the integer part of |Z|, whose fraction is revealed as well.
    """
    digits = _SIGN - chosen.shift
    if chosen.law == "laplace":
        return decide_exp(chosen.constant * (magnitude - left), known, digits, words)
    if chosen.law == "discrete":
        return decide_exp(chosen.constant * (magnitude**2 - left**2), known, digits, words)
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
        magnitude = magnitude << _STEP | words.bits(_STEP)
        places += _STEP
        known = known << _STEP | words.bits(_STEP)
        digits += _STEP


def _restart(chosen: Cells, overflow: int, words: Words) -> int | None:
    """Laplace draws beyond all cells: one fresh proposal, moved outward; None if that proposal is rejected.

    A restart consumes exactly one proposal, and its rejection rejects the draw; redrawing it alone would give
    the tail too much weight.
    """
    behind = 0
    cell = overflow
    while cell == overflow:
        behind += 1
        cell = chosen.table.draw_one(words)
    word = words.bits(_STEP)
    negative = word >> _SIGN
    digits = (word & ((1 << _SIGN) - 1)) >> chosen.shift
    left = cell << chosen.shift
    place = left + (word & ((1 << chosen.shift) - 1))
    if not decide(chosen, place + negative, left, digits, words):
        return None
    place = min(place + behind * (overflow << chosen.shift), _SATURATED)
    return ~place if negative else place
