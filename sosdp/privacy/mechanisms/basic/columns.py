"""Count, sum and mean of a column: the number of records may be private, and one person may own several.

Proof: docs/proofs/columns.md
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sosdp.privacy.arguments import Number, interval
from sosdp.privacy.contributions import Unit, kept, unit_of
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_near, float_up
from sosdp.privacy.inputs import LEFT_OUT, canonical, check_keys, number
from sosdp.privacy.randomness import exact
from sosdp.privacy.terms import Terms, on_terms

STEPS = 1 << 20
"""The interval [low, high] in grid steps; even, so that its middle is a grid point."""

PRESENT: Any = object()


@on_terms("private count", takes="adjacency most")
def private_count(
    terms: Terms,
    values: Sequence[Any],
    *,
    equal_to: Any = PRESENT,
    users: Any = None,
) -> Release:
    """How many entries of a column are there, or are equal to a value; discrete Laplace noise, epsilon-DP.

    Args:
        terms: epsilon; adjacency "one record (replace)" (default) or "one record (add or remove)"; with
            users, "one user (replace)" (default) or "one user (add or remove)", and most, the public number
            of records of a user that count, the first ones; the rest is dropped.
        values: one column (list, array, series) of texts, numbers, anything.
        equal_to: public value (True and 1 and 1.0 are equal); without it, entries other than None, NaN and
            objects that are no plain values are counted, False too (columns of bools get a warning).
        users: whose records they are, one id a record.

    Returns:
        Release of an int, which may be negative.

    Raises:
        ValueError, TypeError: public arguments or the form of the column; never because of an entry.
    """
    if equal_to is PRESENT and getattr(getattr(values, "dtype", None), "kind", "") == "b":
        warnings.warn(
            "all entries of this column of True and False are counted; to count the true ones: equal_to=True",
            stacklevel=2,
        )
    check_keys(values)
    unit = unit_of(terms.adjacency, users, terms.most)
    wanted = PRESENT if equal_to is PRESENT else canonical(equal_to)
    if wanted is LEFT_OUT:
        raise ValueError(f"equal_to must be a text, a number, None, or a tuple of these, got {equal_to!r}")
    keys = map(canonical, kept(values, users, unit, text=True))
    if wanted is PRESENT:
        total = sum(key is not LEFT_OUT and key is not None for key in keys)
    else:
        total = sum(key is not LEFT_OUT and key == wanted for key in keys)
    return _sealed(terms, total, unit.most, None, unit)


@on_terms("private sum", takes="adjacency most")
def private_sum(
    terms: Terms,
    values: Sequence[Any],
    *,
    low: float,
    high: float,
    users: Any = None,
) -> Release:
    """The sum of a column's entries, each moved into [low, high]; discrete Laplace noise, epsilon-DP.

    Entries are rounded towards low to a grid of 2^20 steps, one by one, and summed exactly; what is no number
    adds nothing. The noise has standard deviation sqrt(2) `public["scale"]`; the scale is most max(|low|,
    |high|) / epsilon where units are added or removed, most (max(high, 0) - min(low, 0)) / epsilon where
    they are replaced.

    Args:
        low, high: public interval, low < high, both finite.
        terms, values, users: as for `private_count`; columns of numbers.

    Returns:
        Release of a float.

    Raises:
        ValueError, TypeError: public arguments or the form of the column; never because of an entry.
    """
    unit = unit_of(terms.adjacency, users, terms.most)
    ends = interval(low, high)
    step, least, highest = _steps(*ends)
    total = summed(kept(values, users, unit), step, least, highest)
    moved = unit.most * contribution(least, highest, replaced=unit.replaced)
    public = {**terms.public, **_named(ends)}
    return _sealed(replace(terms, public=public), total, moved, step, unit)


def summed(entries: Sequence[Any], step: Fraction, least: int, highest: int) -> int:
    """The sum in grid steps: of every number an integer in [least, highest], of anything else nothing."""
    result = (number(entry) for entry in entries)
    return sum(_clipped(value, step, least, highest) for value in result if value is not None)


def contribution(least: int, highest: int, *, replaced: bool) -> int:
    """How far the sum moves with one record, which adds nothing or an integer in [least, highest]."""
    return max(highest, 0) - min(least, 0) if replaced else max(abs(least), abs(highest))


@on_terms("private mean", takes="adjacency most")
def private_mean(
    terms: Terms,
    values: Sequence[Any],
    *,
    low: float,
    high: float,
    users: Any = None,
) -> Release:
    """The mean of the entries that are numbers, each moved into [low, high]; epsilon-DP for both relations.

    Sum of the deviations from the middle of the interval, and number of entries, each with discrete Laplace
    noise of scale most (high - low) / epsilon and 2 most / epsilon; their quotient, moved into [low, high].
    Missing entries are left out, and how many there are is not shown. A complete column of public length is
    better served by `bounded_average`, many columns and unknown scales by `problems.gaussian.PrivateMean`.

    Args:
        low, high: public interval, low < high, both finite.
        terms, values, users: as for `private_count`; columns of numbers.

    Returns:
        Release of a float in [low, high]; `public["count"]` is the noisy number of entries (released too).

    Raises:
        ValueError, TypeError: public arguments or the form of the column; never because of an entry.
    """
    unit = unit_of(terms.adjacency, users, terms.most)
    epsilon = terms.pure
    ends = interval(low, high)
    step = _steps(*ends)[0]
    first, last = (Fraction(end) for end in ends)
    middle = (first + last) / 2
    total, count = deviations(kept(values, users, unit), step, middle)
    laws = mean_laws(unit, epsilon, STEPS)
    bits = terms.bits()
    deviation = total + exact.discrete_laplace(laws[0].numbers[0], bits)
    entries = count + exact.discrete_laplace(laws[1].numbers[0], bits)
    mean = middle + step * Fraction(deviation, max(entries, 1))
    return terms.seal(
        float_near(min(max(mean, first), last)),
        replace(terms, adjacency=unit.adjacency).guarantee(),
        bits,
        evidence=proven_by("columns", *laws),
        public={**_named(ends), "count": entries, **_most(unit)},
    )


def deviations(entries: Sequence[Any], step: Fraction, middle: Fraction) -> tuple[int, int]:
    """Sum of deviations from the middle in grid steps, at most half an interval each, and their number."""
    result = [value for value in map(number, entries) if value is not None]
    shifted = (value - middle if isinstance(value, Fraction) else value for value in result)
    return sum(_clipped(value, step, -STEPS // 2, STEPS // 2) for value in shifted), len(result)


def mean_laws(unit: Unit, epsilon: float | Fraction, steps: int) -> tuple[Law, Law]:
    """Noise of the deviation and of the count, each with its sensitivity at one of the worst neighbours.

    A replaced unit moves the two together (docs/proofs/columns.md, "Mean"): a full move of the deviation
    leaves the count where it is. `steps`: of the grid, in the length of the interval; even.
    """
    rate = Fraction(epsilon) / unit.most
    moves = (unit.most * steps, 0) if unit.replaced else (unit.most * steps // 2, unit.most)
    return (
        Law("discrete laplace", (steps / rate, moves[0])),
        Law("discrete laplace", (2 / rate, moves[1])),
    )


def _steps(low: Number, high: Number) -> tuple[Fraction, int, int]:
    """Grid step of a public interval, and its first and last multiple in it."""
    first, last = Fraction(low), Fraction(high)
    step = (last - first) / STEPS
    return step, math.ceil(first / step), math.floor(last / step)


def _named(ends: tuple[Number, Number]) -> dict[str, Number]:
    return {"low": ends[0], "high": ends[1]}


def _clipped(number_read: Fraction | float, step: Fraction, least: int, highest: int) -> int:
    """A number in whole steps, moved into [least, highest]."""
    if isinstance(number_read, float):  # an infinity
        return highest if number_read > 0 else least
    return min(max(number_read // step, least), highest)


def _most(unit: Unit) -> dict[str, int]:
    return {"most": unit.most} if unit.adjacency.unit == "user" else {}


def _sealed(terms: Terms, total: int, moved: int, step: Fraction | None, unit: Unit) -> Release:
    """The total with discrete Laplace noise of scale moved / epsilon, in units of `step` (None: integers)."""
    scale = moved / Fraction(terms.pure)
    shown = float_up(scale if step is None else step * scale)  # refused where it is beyond float64
    bits = terms.bits()
    noisy = total + exact.discrete_laplace(scale, bits)
    return terms.seal(
        noisy if step is None else float_near(step * noisy),
        replace(terms, adjacency=unit.adjacency).guarantee(),
        bits,
        evidence=proven_by("columns", Law("discrete laplace", (scale, moved))),
        public={"scale": shown, **_most(unit)},
    )
