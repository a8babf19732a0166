"""The centre step: origin and units at the means and spreads of the moments found, at most three times."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from ..candidate import Candidate, State
from ..certify.proof import CHECKED
from ..change import Change, Origin, Units, build, shortened
from ..judge import means
from ..solve.solve import cubic_work, solve_program

_ROUNDS = 3
_WORK = 1e8  # of a program that is solved again in other variables, whose symmetry may be gone
_SHRINK, _LESS = 10, 4  # powers of two by which a unit is lowered at most, and from which on that is tried
_DISTANT = 32.0  # |mean| beside the spread, from which moments are measured from their mean


def when(state: State) -> bool:
    """Whether there are moments, of a program that is soon solved again."""
    return state.best.raw.has_values and cubic_work(state.best.built.program.identity) < _WORK


def centred(state: State) -> Candidate | None:
    """The best of the rounds; a proof is looked for where the polynomial's least value is found."""
    lowest = state.statement.lowest
    if lowest is not None:
        return _where_lowest(state, state.ask("least value", lowest))
    result: list[Candidate] = []
    for _ in range(_ROUNDS):
        where = seen(result[-1] if result else state.best)
        if where is None or state.late:
            break
        built = build(state.best.built.given, *where, state.candidates[0].built)
        options = {**state.options.solving(), "time_limit": state.patience()}
        result.append(state.judged("centre", built, solve_program(built.program, **options)))
        if not result[-1].doubtful:
            break
    return max(result, key=lambda c: c.worth, default=None)


def _where_lowest(state: State, lowest: Candidate) -> Candidate | None:
    """The verdict in the centre and the units of an answer about the least value: without a bound, no proof
    exists."""
    if lowest.status == "unbounded":
        given = f"it stays none whatever number is added; {CHECKED}"
        return replace(state.best, status="refuted", reason=given, settled=True)
    if not lowest.raw.has_values:
        return None
    built = lowest.built
    units = [
        {v: float(s.exponent[v]) for v in known if v < s.exponent.size}
        for s, known in zip(built.scalings, means(built, lowest.raw), strict=True)
    ]
    moved = build(state.statement, *(seen(lowest) or (built.change, units)))
    answer = state.judged("centre", moved, solve_program(moved.program, **state.options.solving()))
    return replace(answer, settled=answer.settled or answer.status == "refuted")


def seen(candidate: Candidate) -> tuple[Change, Units] | None:
    """Origins at the means of the moments, and units of a few standard deviations, where a variable is far
    from 0 beside its spread or range, or varies much less than its unit."""
    if not candidate.raw.has_values:
        return None
    built, origins, units, worth = candidate.built, [], [], False
    every = zip(built.statement.demands, built.scalings, means(built, candidate.raw), strict=True)
    for demand, scaling, known in every:
        origin: dict[int, Fraction] = {}
        exponents: dict[int, float] = {}
        for v, (mean, spread) in known.items() if demand.movable else ():
            if v in demand.fixed or not math.isfinite(mean):
                continue
            spread = spread if math.isfinite(spread) else 0.0
            low, high = demand.bounds.ranges.get(v, (-math.inf, math.inf))
            half = (high - low) / 2 if math.isfinite(high - low) else math.inf
            width = min(half, max(spread, abs(mean) * 2.0**-12))
            distant = abs(mean) > 1e-9 and abs(mean) > _DISTANT * width
            unit = float(scaling.exponent[v]) if v < scaling.exponent.size else 0.0
            # digits of a solver are no data: below some part of the unit nothing is known of a spread
            least = unit - _SHRINK
            wanted = max(math.ceil(math.log2(4 * spread)) if spread > 0 else least, least)
            if mean and width > 0:
                origin[v] = shortened(mean, width)
            exponents[v] = float(min(wanted, unit))
            worth = worth or distant or exponents[v] <= unit - _LESS
        origins.append(origin)
        units.append(exponents)
    moved: tuple[Origin, ...] = tuple(origins)
    return (Change(moved).after(built.change), units) if worth else None
