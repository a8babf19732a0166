"""What plans from public numbers share: the best of a grid, and the least number that is enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Candidate = TypeVar("Candidate")
Plan = TypeVar("Plan")


def best(
    candidates: Iterable[Candidate],
    forecast: Callable[[Candidate], Plan],
    rank: Callable[[Plan], Any],
    *,
    rough: Callable[[Candidate], Any] | None = None,
    kept: int = 8,
) -> Plan:
    """The forecast of the candidate that ranks first (the smallest rank), the earliest of equal ones.

    Parameters
    ----------
    rough
        A cheap rank: only the first `kept` by it are forecast. None forecasts all.
    """
    tried = candidates if rough is None else sorted(candidates, key=rough)[:kept]
    return min(map(forecast, tried), key=rank)


def least(enough: Callable[[int], bool], start: int, most: int, ratio: float) -> int | None:
    """The least number from `start` / 2 on with which `enough` is content, to a factor `ratio`.

    Parameters
    ----------
    enough
        False, then True from some number on.
    start
        Where doubling begins.
    most
        None is the answer where doubling goes beyond this.
    """
    high = start
    while not enough(high):
        high *= 2
        if high > most:
            return None
    low = high // 2
    while high > ratio * low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least_budget(enough: Callable[[float], bool], low: float, high: float, ratio: float) -> float:
    """As `least` for numbers between two ends, by halves of the logarithm; infinite where there is none."""
    if not enough(high):
        return math.inf
    while high / low > ratio:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
