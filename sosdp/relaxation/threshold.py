"""The least feasible threshold of a system with a scalar parameter, bracketed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .functionals import violations
from .pseudoexpectation import PseudoExpectation


@dataclass(frozen=True, eq=False)
class Threshold:
    """Bracket of the least feasible value.

    ``low``: the largest tested value that is *proven* infeasible (minus infinity if none is); ``high``: the
    smallest at which a pseudo-expectation was found, satisfying the system to ``violation``; ``undecided``:
    values between them at which the solver decided nothing. Feasibility is monotone by assumption; ``low <=
    true threshold`` needs only the proof.
    """

    low: float
    high: float
    violation: float
    solution: PseudoExpectation | None = field(repr=False)
    refutation: PseudoExpectation | None = field(repr=False)
    undecided: tuple[float, ...] = ()
    solves: int = 0


def bisect(
    at: Callable[[float], PseudoExpectation], low: float, high: float, tolerance: float = 1e-3
) -> Threshold:
    """Least value in [low, high] at which ``at(value)``, a feasibility problem, is feasible, by bisection.

    Larger values are easier by assumption. Stops when the bracket is shorter than ``tolerance`` (absolute) or
    the solver can no longer decide. Cost: about log2((high - low) / tolerance) solves. ValueError for an
    empty interval.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high and tolerance > 0):
        raise ValueError(
            f"bisect needs finite low < high and a positive tolerance, not {low}, {high}, {tolerance}"
        )
    found: PseudoExpectation | None = None
    refuted: PseudoExpectation | None = None
    undecided: list[float] = []
    solves = 0

    def ask(value: float) -> str:
        nonlocal found, refuted, solves
        solves += 1
        answer = at(value)
        if answer.status == "optimal":
            found = answer
        elif answer.status == "infeasible":
            refuted = answer
        else:
            undecided.append(value)
        return answer.status

    proven, feasible = -np.inf, np.inf
    first = ask(high)
    if first == "optimal":
        feasible = high
        second = ask(low)
        if second == "optimal":
            feasible = low
        elif second == "infeasible":
            proven = low
        bottom = low
        while feasible > low and feasible - bottom > tolerance and len(undecided) < 3:
            middle = (bottom + feasible) / 2
            status = ask(middle)
            if status == "optimal":
                feasible = middle
            else:
                bottom = middle
                proven = middle if status == "infeasible" else proven
    elif first == "infeasible":
        proven = high
    worst = violations(found).worst if found is not None else np.inf
    return Threshold(proven, feasible, worst, found, refuted, tuple(undecided), solves)
