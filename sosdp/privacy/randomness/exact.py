"""Exact scalar samplers in big integers: uniform, Bernoulli, categorical, discrete Laplace and Gaussian.

No law here is approximated: every comparison of a uniform real with a number known to any precision reads
further digits of both until it is decided. Parameters are public rationals. All take `bits`, a source of
random bits (`sosdp.privacy.randomness.bits`); None means the operating system.

Proofs: docs/proofs/noise.md
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate

from sosdp.privacy.guarantee.rounding import rational
from sosdp.privacy.randomness.bits import RandomBits

Rational = int | float | Fraction
Interval = tuple[int, int]

_STEP = 64


def random_below(n: int, bits: RandomBits | None = None) -> int:
    """A uniform integer in {0, ..., n-1}, any size, by rejection (fewer than two rounds expected).

    Raises:
        ValueError: n < 1.
    """
    if n < 1:
        raise ValueError(f"a uniform integer below n needs n >= 1, got {n}")
    bits = bits or RandomBits()
    size = (n - 1).bit_length()
    if size == 0:
        return 0
    while True:
        drawn = bits.integer(size)
        if drawn < n:
            return drawn


def shuffled(n: int, bits: RandomBits | None = None) -> list[int]:
    """The integers 0, ..., n-1 in a uniformly random order (Fisher and Yates)."""
    bits = bits or RandomBits()
    order = list(range(n))
    for last in range(n - 1, 0, -1):
        other = random_below(last + 1, bits)
        order[last], order[other] = order[other], order[last]
    return order


def _above_zero(value: Rational, name: str) -> Fraction:
    exact = rational(value)
    if exact <= 0:
        raise ValueError(f"{name} must be greater than 0, got {value!r}")
    return exact


def bernoulli(p: Rational, bits: RandomBits | None = None) -> bool:
    """True with probability exactly p, a rational in [0, 1].

    Raises:
        ValueError: p outside [0, 1].
    """
    exact = rational(p)
    if not 0 <= exact <= 1:
        raise ValueError(f"a probability must lie in [0, 1], got {p!r}")
    return random_below(exact.denominator, bits) < exact.numerator


def bernoulli_exp(x: Rational, bits: RandomBits | None = None) -> bool:
    """True with probability exactly exp(-x), x >= 0 rational. About 5 microseconds.

    Raises:
        ValueError: x < 0.
    """
    exact = rational(x)
    if exact < 0:
        raise ValueError(f"exp(-x) is a probability only for x >= 0, got {x!r}")
    bits = bits or RandomBits()
    return decide_exp(exact, bits.integer(_STEP), _STEP, bits)


def decide_exp(gamma: Fraction, known: int, digits: int, bits: RandomBits) -> bool:
    """Whether V < exp(-gamma), for V = 0.known... in binary with `digits` digits known and the rest drawn on
    demand."""
    if gamma == 0:
        return True
    while True:
        low, high = exp_bounds(gamma.numerator, gamma.denominator, digits)
        if known + 1 <= low:
            return True
        if known >= high:
            return False
        known = known << _STEP | bits.integer(_STEP)
        digits += _STEP


def exp_bounds(numerator: int, denominator: int, precision: int) -> Interval:
    """Integers (low, high) with low <= 2^precision exp(-numerator/denominator) <= high, high - low <= 3.

    Source: docs/proofs/noise.md, Lemma 1.
    """
    whole = numerator // denominator
    if whole > precision:  # 2^p e^-g <= (2/e)^p <= 1
        return 0, 1
    halvings = 8 + whole.bit_length()
    places = precision + halvings + 16
    one = 1 << places
    reduced = (numerator << (places - halvings)) // denominator
    value = one
    for i in range(places // 8 + 2, 0, -1):
        value = one - (reduced * value >> places) // i
    for _ in range(halvings):
        value = value * value >> places
    value >>= places - precision
    return max(value - 1, 0), min(value + 2, 1 << precision)


# ------------------------------------------------------------------------------------------------------------
# One of finitely many


def categorical_levels(
    levels_counts: Mapping[int, int] | Iterable[tuple[int, int]],
    base: Rational,
    bits: RandomBits | None = None,
) -> int:
    """A level l, with probability exactly proportional to count_l * base^(-l).

    The level drawn depends on the data twice (the counts do too): draw a uniform element of it next, and
    release only the element. The guarantee is for the element.

    Args:
        levels_counts: integer levels (any sign) with how many elements each has (any size, >= 0).
        base: rational > 1, typically just below exp(epsilon/2 per unit of level).

    Raises:
        ValueError: base <= 1, a negative count, or no element at all.

    Cost: about 1 microsecond a level; the probability of a second pass at higher precision is below 2^-60.
    """
    exact = rational(base)
    if exact <= 1:
        raise ValueError(f"base must be greater than 1, got {base!r}")
    levels, counts = _positive_levels(levels_counts)

    def weights(places: int) -> list[Interval]:
        return _power_weights(levels, counts, places, lambda gap: _inverse_power(exact, gap, places))

    return levels[categorical_lazy(weights, bits, places=2 * _STEP + max(counts).bit_length())]


def categorical_exp(
    levels_counts: Mapping[int, int] | Iterable[tuple[int, int]],
    rate: Rational,
    bits: RandomBits | None = None,
) -> int:
    """A level l, with probability exactly proportional to count_l * exp(-rate l), for rational rate > 0.

    Arguments and warning as for `categorical_levels`.

    Raises:
        ValueError: rate <= 0, a negative count, or no element at all.
    """
    exact = _above_zero(rate, "rate")
    levels, counts = _positive_levels(levels_counts)

    def weights(places: int) -> list[Interval]:
        def factor(gap: int) -> Interval:
            gamma = gap * exact
            return exp_bounds(gamma.numerator, gamma.denominator, places)

        return _power_weights(levels, counts, places, factor)

    return levels[categorical_lazy(weights, bits, places=2 * _STEP + max(counts).bit_length())]


def categorical_lazy(
    weights: Callable[[int], Sequence[Interval]],
    bits: RandomBits | None = None,
    *,
    places: int = 128,
    open_ended: bool = False,
    known: tuple[int, int] | None = None,
) -> int:
    """An index, with probability exactly proportional to a real weight known to any precision.

    Args:
        weights: places -> integers (low, high) per index with low <= w 2^places <= high for fixed reals
            w >= 0, at least one w > 0; the widths relative to the total go to zero as places grow.
        places: where to start.
        open_ended: there are infinitely many indices; the last interval of every answer bounds the sum of all
            that are not listed yet, and more are listed as places grow.
        known: (value, digits): the first binary digits of the uniform number, where they are drawn already.

    Returns:
        The index i with w_0 + ... + w_{i-1} <= U (w_0 + ...) < w_0 + ... + w_i for one uniform real U.
    """
    bits = bits or RandomBits()
    uniform, digits = known or (bits.integer(2 * _STEP), 2 * _STEP)
    while True:
        intervals = weights(places)
        low = list(accumulate(pair[0] for pair in intervals))
        high = list(accumulate(pair[1] for pair in intervals))
        # U lies in [uniform, uniform + 1) 2^-digits, the total in [low[-1], high[-1]], so U * total lies in
        # [least, most) 2^-digits. All sums before `index` are at most `least`; if `most` is within the sum
        # that index ends (always true of the last, for U < 1), it is the one.
        least = uniform * low[-1]
        most = (uniform + 1) * high[-1]
        index = bisect_right(high, least >> digits)
        last = index == len(low) - 1
        if (last and not open_ended) or (not last and most <= low[index] << digits):
            return index
        uniform = uniform << _STEP | bits.integer(_STEP)
        digits += _STEP
        places += max(_STEP, places // 2)


def permute_and_flip(levels: Sequence[int], rate: Rational, bits: RandomBits | None = None) -> int:
    """Index of a nearly highest level: a uniform one among those whose test of probability exp(-rate (max -
    level)) shows heads.

    This is the law of permute-and-flip (McKenna and Sheldon 2020): epsilon-DP for rate = epsilon / (2 Delta)
    when neighbours move every level by at most Delta. For arrays see
    `sosdp.privacy.randomness.permute_and_flip`.

    Raises:
        ValueError: no level, or rate < 0.
    """
    if not levels:
        raise ValueError("at least one level is needed")
    exact = rational(rate)
    bits = bits or RandomBits()
    highest = max(levels)
    heads = [i for i, level in enumerate(levels) if bernoulli_exp(exact * (highest - level), bits)]
    return heads[random_below(len(heads), bits)]


def _positive_levels(
    levels_counts: Mapping[int, int] | Iterable[tuple[int, int]],
) -> tuple[list[int], list[int]]:
    pairs = levels_counts.items() if isinstance(levels_counts, Mapping) else levels_counts
    ordered = sorted((int(level), int(count)) for level, count in pairs)
    if min((count for _, count in ordered), default=0) < 0:
        raise ValueError("counts must be >= 0")
    kept = [(level, count) for level, count in ordered if count]
    if not kept:
        raise ValueError("at least one level must have an element")
    return [level for level, _ in kept], [count for _, count in kept]


def _power_weights(
    levels: list[int], counts: list[int], places: int, factor: Callable[[int], Interval]
) -> list[Interval]:
    """Bounds on count * f^(level - least level) 2^places, f^gap bounded by `factor(gap)`, by recurrence."""
    factors: dict[int, Interval] = {}
    low = high = 1 << places
    weights = []
    previous = levels[0]
    for level, count in zip(levels, counts, strict=True):
        gap = level - previous
        previous = level
        if gap:
            if gap not in factors:
                factors[gap] = factor(gap)
            below, above = factors[gap]
            low = low * below >> places
            high = (high * above >> places) + 1
        weights.append((low * count, high * count))
    return weights


def _inverse_power(base: Fraction, exponent: int, places: int) -> Interval:
    """Bounds on 2^places base^(-exponent), base > 1, by squaring with outward rounding."""
    step_low = (base.denominator << places) // base.numerator
    step_high = step_low + 1
    low = high = 1 << places
    while exponent:
        if exponent & 1:
            low = low * step_low >> places
            high = (high * step_high >> places) + 1
        exponent >>= 1
        if exponent:
            step_low = step_low * step_low >> places
            step_high = (step_high * step_high >> places) + 1
    return low, high


# ------------------------------------------------------------------------------------------------------------
# Integers


def discrete_laplace(scale: Rational, bits: RandomBits | None = None) -> int:
    """An integer k with probability exactly proportional to exp(-|k| / scale), rational scale > 0.

    About 40 microseconds, whatever the scale. Source: Canonne, Kamath and Steinke 2020, Algorithm 2.

    Raises:
        ValueError: scale <= 0.
    """
    bits = bits or RandomBits()
    while True:
        magnitude = geometric(scale, bits)
        negative = bits.integer(1)
        if negative and magnitude == 0:
            continue  # zero has one sign
        return -magnitude if negative else magnitude


def geometric(scale: Rational, bits: RandomBits | None = None) -> int:
    """An integer k >= 0 with probability exactly proportional to exp(-k / scale), rational scale > 0.

    Source: Canonne, Kamath and Steinke 2020, Algorithm 2 without the sign.

    Raises:
        ValueError: scale <= 0.
    """
    exact = _above_zero(scale, "scale")
    bits = bits or RandomBits()
    while True:
        # remainder + numerator * quotient is geometric with ratio exp(-1/numerator).
        remainder = random_below(exact.numerator, bits)
        if not bernoulli_exp(Fraction(remainder, exact.numerator), bits):
            continue
        quotient = 0
        while bernoulli_exp(1, bits):
            quotient += 1
        return (remainder + exact.numerator * quotient) // exact.denominator


def discrete_gaussian(sigma2: Rational, bits: RandomBits | None = None) -> int:
    """An integer k with probability exactly proportional to exp(-k^2 / (2 sigma2)), rational sigma2 > 0.

    About 70 microseconds, whatever sigma2. Source: Canonne, Kamath and Steinke 2020, Algorithm 3.

    Raises:
        ValueError: sigma2 <= 0.
    """
    exact = _above_zero(sigma2, "sigma2")
    bits = bits or RandomBits()
    scale = math.isqrt(math.floor(exact)) + 1
    while True:
        drawn = discrete_laplace(scale, bits)
        if bernoulli_exp((abs(drawn) - exact / scale) ** 2 / (2 * exact), bits):
            return drawn
