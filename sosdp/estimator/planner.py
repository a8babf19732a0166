"""What plans from public numbers share: the best of a grid, the least number that is enough, an outlook."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from sosdp.privacy.calibrate import narrowed

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
    return narrowed(enough, low, high, ratio - 1.0)[1] if enough(high) else math.inf


MOST_RECORDS = 10**12
NOTHING = "no useful answer is expected"
EPSILONS = (1.0 / 32.0, 64.0)
"""Budgets among which the least one is looked for, in multiples of the one that is given."""


@dataclass(frozen=True)
class Outlook:
    """What to expect of a fit, by public numbers alone; nothing is read or spent.

    Attributes
    ----------
    answers
        Whether an answer is expected that says something.
    error
        Expected error at this n; infinite where nothing is released.
    measure
        What the error is.
    least_n
        Number of records from which an answer is expected at this budget, to 2 %; None where no number is
        enough, or where more vertices do not help.
    least_budget
        Epsilon (or rho) from which it is expected at this n, to 5 %, where that is between a thirtieth and 64
        times the given one; infinite above.
    simpler
        A statistic that would work now.
    """

    answers: bool
    error: float
    measure: str
    least_n: int | None
    least_budget: float
    simpler: str

    def __repr__(self) -> str:
        lines = [f"expected error {self.error:.3g} ({self.measure})" if self.answers else NOTHING]
        if self.least_n is not None:
            lines.append(f"answers are expected from {self.least_n} records on")
        if math.isfinite(self.least_budget):
            lines.append(f"at this n they are expected from a budget of {self.least_budget:.3g} on")
        return "; ".join(lines if self.answers else [*lines, f"what would work now: {self.simpler}"])


@dataclass(frozen=True)
class Forecasts:
    """What the forecasts of a kind of estimator are about.

    Attributes
    ----------
    measure
        What the expected error is.
    simpler
        A statistic that works where the estimator does not.
    useful
        An answer says something where its error is below this.
    grows
        Whether more records help.
    """

    measure: str
    simpler: str
    useful: float = math.inf
    grows: bool = True


def outlook(
    about: Forecasts, forecast: Callable[[int, float], float], n: int, budget: float = 1.0
) -> Outlook:
    """The outlook of a fit on n records.

    Parameters
    ----------
    forecast
        Expected error of n records at a multiple of the budget; infinite where nothing would be released.
    budget
        The one that is given.
    """

    def enough(records: int, factor: float = 1.0) -> bool:
        return forecast(records, factor) < about.useful

    error = forecast(n, 1.0)
    factor = least_budget(lambda factor: enough(n, factor), *EPSILONS, 1.05)
    least_n = least(enough, 2, MOST_RECORDS, 1.02) if about.grows else None
    return Outlook(error < about.useful, error, about.measure, least_n, budget * factor, about.simpler)
