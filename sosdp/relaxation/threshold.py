"""The least feasible threshold of a system with a scalar parameter, bracketed."""

from __future__ import annotations

import math
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
    if not (-math.inf < low < high < math.inf and tolerance > 0):
        raise ValueError(
            f"bisect needs finite low < high and a positive tolerance, not {low}, {high}, {tolerance}"
        )
    wanted: list[tuple[float, PseudoExpectation]] = []

    def ask(value: float) -> str:
        wanted.append((value, at(value)))
        return wanted[-1][1].status

    def answers(*statuses: str) -> list[tuple[float, PseudoExpectation]]:
        return sorted((a for a in wanted if a[1].status in statuses), key=lambda a: a[0])

    if ask(high) == "optimal":
        bottom, top = low, low if ask(low) == "optimal" else high
        while top - bottom > tolerance and len(wanted) - len(answers("optimal", "infeasible")) < 3:
            middle = (bottom + top) / 2
            if not bottom < middle < top:
                break  # no float is between them
            bottom, top = (bottom, middle) if ask(middle) == "optimal" else (middle, top)
    proven, result = answers("infeasible"), answers("optimal")
    undecided = [value for value, answer in wanted if answer.status not in ("optimal", "infeasible")]
    return Threshold(
        proven[-1][0] if proven else -np.inf,
        result[0][0] if result else np.inf,
        violations(result[0][1]).worst if result else np.inf,
        result[0][1] if result else None,
        proven[-1][1] if proven else None,
        tuple(undecided),
        len(wanted),
    )
